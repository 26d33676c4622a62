#include "microbench/reporters.h"

#include <fmt/format.h>

#include <cstdio>
#include <string>

namespace paretoken::microbench {
namespace {

std::string figures_of(const benchmark::BenchmarkReporter::Run& run) {
    const auto counter = [&](const char* name) {
        const auto found = run.counters.find(name);
        return found == run.counters.end() ? 0 : found->second.value;
    };
    std::string text;
    if (run.counters.contains("bytes_per_second")) {
        text = fmt::format("{:8.1f} GB/s", counter("bytes_per_second") / 1e9);
    } else {
        text = fmt::format("{:8.1f} GFLOP/s", counter("flops_per_second") / 1e9);
    }
    if (run.counters.contains("of_ceiling")) text += fmt::format("  {:5.1f} %", counter("of_ceiling") * 100);
    return text;
}

}  // namespace

bool PlainNames::ReportContext(const Context& context) {
    inner_->SetOutputStream(&GetOutputStream());
    inner_->SetErrorStream(&GetErrorStream());
    return inner_->ReportContext(context);
}

void PlainNames::ReportRuns(const std::vector<Run>& runs) {
    std::vector<Run> renamed = runs;
    for (Run& run : renamed) {
        run.run_name.iterations.clear();
        run.run_name.time_type.clear();
    }
    inner_->ReportRuns(renamed);
}

void Progress::ReportRuns(const std::vector<Run>& runs) {
    for (const Run& run : runs) {
        if (run.run_type != Run::RT_Iteration) continue;
        ++done_;
        const std::string& name = run.run_name.function_name;
        const std::string figures = run.error_occurred ? "ERROR " + run.error_message : figures_of(run);
        fmt::print("[{:2}/{}] {:<62}{}{}{}\n", done_, rows_, name, figures,
                   run.report_label.empty() ? "" : "  ", run.report_label);
    }
    std::fflush(stdout);
}

}  // namespace paretoken::microbench
