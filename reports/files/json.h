#pragma once
// Results ↔ JSON text: run.json ("paretoken/run/2"), sweep.json ("paretoken/sweep/1"), the lines of
// requests.jsonl, cache.json ("paretoken/cache/1") and the report as JSON. Pure; the files themselves are
// run_directory.h's. Every field is named once, for both directions. Unknown keys are tolerated, unknown
// schemas refused; infinities are null.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/record/record.h"
#include "core/result/result.h"
#include "reports/cache/analysis.h"
#include "reports/files/probe_file.h"
#include "reports/files/run_directory.h"
#include "reports/files/sweep_file.h"
#include "reports/model/report_model.h"

namespace paretoken::reports {

inline constexpr std::string_view kRunSchema = "paretoken/run/2";
inline constexpr std::string_view kSweepSchema = "paretoken/sweep/1";
inline constexpr std::string_view kCacheSchema = "paretoken/cache/1";
inline constexpr std::string_view kReportSchema = "paretoken/report/1";

/// Whether a run.json is the final word or the mark that a run left when it began.
enum class RunState { running, finished };

struct RunFile {
    RunState state = RunState::finished;
    RunResult result;  ///< of a running one: provenance, plan, workload and load only
};

std::string run_json(const RunResult& result, RunState state = RunState::finished);

/// `where` is the file's name, for messages. Throws UsageError naming it and the key.
RunFile parse_run_json(std::string_view text, const std::string& where);

std::string sweep_json(const SweepFile& sweep);
SweepFile parse_sweep_json(std::string_view text, const std::string& where);

std::string cache_json(const CacheReport& report);
CacheReport parse_cache_json(std::string_view text, const std::string& where);

/// One line of requests.jsonl without its newline: scalars only, times in seconds since `epoch`, what is
/// absent or empty left out.
void append_record_line(std::string& out, const RequestRecord& record, TimePoint epoch);

/// One line of answers.jsonl without its newline: which request, and the text of its answer.
void append_answer_line(std::string& out, const RequestRecord& record);
RequestRecord parse_record_line(std::string_view line, TimePoint epoch, const std::string& where);

/// The answer in a line of answers.jsonl.
KeptAnswer parse_answer_line(std::string_view line, const std::string& where);

/// One line of probe.jsonl without its newline.
void append_probe_line(std::string& out, const ProbeAnswer& answer);
ProbeAnswer parse_probe_line(std::string_view line, const std::string& where);

/// Whether `text` is one complete JSON value.
bool is_complete_json(std::string_view text);

/// The whole report, with every run's metrics (their time series stay in run.json).
std::string report_json(const ReportModel& model);

/// What the charts of the HTML report draw, safe inside a script element ("<" is escaped).
std::string chart_json(const ReportModel& model);

}  // namespace paretoken::reports
