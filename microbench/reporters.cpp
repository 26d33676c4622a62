#include "microbench/reporters.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdio>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

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
    } else if (run.counters.contains("flops_per_second")) {
        text = fmt::format("{:8.1f} GFLOP/s", counter("flops_per_second") / 1e9);
    } else if (run.counters.contains("median_s")) {
        text = fmt::format("{:8.2f} us", counter("median_s") * 1e6);
    }
    if (run.counters.contains("of_ceiling")) text += fmt::format("  {:5.1f} %", counter("of_ceiling") * 100);
    return text;
}

class PlainNames final : public benchmark::BenchmarkReporter {
  public:
    PlainNames(std::unique_ptr<benchmark::BenchmarkReporter> inner, std::string devices)
        : inner_(std::move(inner)), devices_(std::move(devices)) {}

    bool ReportContext(const Context& context) override {
        std::ostringstream written;
        inner_->SetOutputStream(&written);
        inner_->SetErrorStream(&GetErrorStream());
        const bool goes_on = inner_->ReportContext(context);
        GetOutputStream() << with_devices(written.str());
        inner_->SetOutputStream(&GetOutputStream());
        return goes_on;
    }
    void ReportRuns(const std::vector<Run>& runs) override {
        std::vector<Run> renamed = runs;
        for (Run& run : renamed) {
            run.run_name.iterations.clear();
            run.run_name.time_type.clear();
        }
        inner_->ReportRuns(renamed);
    }
    void Finalize() override { inner_->Finalize(); }

  private:
    std::string with_devices(std::string text) const {
        constexpr std::string_view kContext = "\"context\": {";
        if (const auto at = text.find(kContext); at != std::string::npos)
            text.insert(at + kContext.size(), fmt::format("\n    \"devices\": {},", devices_));
        return text;
    }

    std::unique_ptr<benchmark::BenchmarkReporter> inner_;
    std::string devices_;
};

class Progress final : public benchmark::BenchmarkReporter {
  public:
    explicit Progress(std::size_t rows) : rows_(rows) {}

    bool ReportContext(const Context&) override { return true; }
    void ReportRuns(const std::vector<Run>& runs) override {
        for (const Run& run : runs) {
            if (run.run_type == Run::RT_Iteration) print(run);
        }
        std::fflush(stdout);
    }

  private:
    void print(const Run& run) {
        ++done_;
        const auto error = error_of(run);
        const std::string figures = error ? "ERROR " + *error : figures_of(run);
        fmt::print("[{:2}/{}] {:<74}{}{}{}\n", done_, rows_, run.run_name.function_name, figures,
                   run.report_label.empty() ? "" : "  ", run.report_label);
    }

    std::size_t rows_;
    std::size_t done_ = 0;
};

}  // namespace

std::unique_ptr<benchmark::BenchmarkReporter> with_plain_names(
    std::unique_ptr<benchmark::BenchmarkReporter> inner, std::string devices) {
    return std::make_unique<PlainNames>(std::move(inner), std::move(devices));
}

std::unique_ptr<benchmark::BenchmarkReporter> progress_of(std::size_t rows) {
    return std::make_unique<Progress>(rows);
}

}  // namespace paretoken::microbench
