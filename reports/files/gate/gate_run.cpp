#include "reports/files/gate/gate_run.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "core/error.h"
#include "core/text/printable.h"
#include "reports/files/file_io.h"
#include "reports/files/probe_file.h"
#include "reports/files/recorded_files.h"
#include "reports/files/run_directory.h"

namespace paretoken::reports {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view kGateRunSchema = "paretoken/gate-run/1";
constexpr const char* kGateRunFileName = "gate-run.json";

/// Returns the faults of the stored answers of the requests `answered`. Empty answers are not in the file.
AnswerFaults faults_in(const fs::path& answers, std::set<std::uint64_t> answered) {
    AnswerCheck check;
    if (!fs::exists(answers)) return {};
    for_each_answer(answers, [&](const KeptAnswer& answer) {
        if (!answer.warmup && answered.erase(answer.index) > 0) check.add(answer.index, answer.text);
    });
    for (const std::uint64_t index : answered) check.add(index, {});
    return check.faults();
}

void read_answers_from_records(const fs::path& directory, GateRun& run) {
    if (!fs::exists(directory / kRecordsFileName)) return;
    std::set<std::uint64_t> answered;  // requests that ended well
    for_each_recorded(directory, [&](RequestRecord&& record) {
        if (record.warmup || record.outcome != Outcome::ok) return;
        answered.insert(record.index);
        if (!record.finish_reason.empty()) ++run.finish_reasons[record.finish_reason];
    });
    run.answers = faults_in(directory / kAnswersFileName, std::move(answered));
}

Json json_of(const GateRun& run) {
    return {{"schema", kGateRunSchema},
            {"finish_reasons", run.finish_reasons},
            {"answers", run.answers.answers},
            {"empty", run.answers.empty},
            {"repeated", run.answers.repeated},
            {"empty_example", run.answers.empty_example},
            {"repeated_example", run.answers.repeated_example}};
}

void read_compact(const fs::path& file, GateRun& run) {
    try {
        const Json object = Json::parse(read_file(file));
        if (object.at("schema") != kGateRunSchema) throw UsageError("");
        object.at("finish_reasons").get_to(run.finish_reasons);
        object.at("answers").get_to(run.answers.answers);
        object.at("empty").get_to(run.answers.empty);
        object.at("repeated").get_to(run.answers.repeated);
        object.at("empty_example").get_to(run.answers.empty_example);
        object.at("repeated_example").get_to(run.answers.repeated_example);
    } catch (const std::exception&) {
        throw UsageError(
            fmt::format("{} is not a \"{}\" file; store the baseline again", file.string(), kGateRunSchema));
    }
}

}  // namespace

GateRun read_gate_run(const fs::path& directory) {
    GateRun run{.directory = shown_name(directory),
                .result = read_whole_run(directory),
                .probe = read_probe_file(directory / kProbeFileName)};
    if (fs::exists(directory / kGateRunFileName))
        read_compact(directory / kGateRunFileName, run);
    else
        read_answers_from_records(directory, run);
    return run;
}

void write_gate_run(const fs::path& directory, const GateRun& run) {
    constexpr std::size_t kAnswerBytes = 100;  // more than a verdict quotes
    std::error_code error;
    fs::create_directories(directory, error);
    if (error) throw RuntimeError(fmt::format("cannot create {}: {}", directory.string(), error.message()));
    RunResult result = run.result;
    result.series.clear();
    write_run(directory, result);
    write_file_atomically(directory / kGateRunFileName,
                          json_of(run).dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
    if (run.probe.empty()) return;
    std::vector<ProbeAnswer> probe = run.probe;
    for (ProbeAnswer& answer : probe)
        if (answer.answer.size() > kAnswerBytes) answer.answer = printable_line(answer.answer, kAnswerBytes);
    write_probe_file(directory / kProbeFileName, probe);
}

}  // namespace paretoken::reports
