#pragma once
// Converts results to JSON text and back: run.json ("paretoken/run/3"), sweep.json ("paretoken/sweep/1"), the
// lines of requests.jsonl, cache.json ("paretoken/cache/1") and the report as JSON. The functions are pure;
// run_directory.h reads and writes the files. Every field is named once, for both directions. Unknown keys
// are ignored. Unknown schemas are refused with a UsageError. A number that is not finite is written as null;
// null is read as infinity, or as absent where a value may be absent.
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/record/record.h"
#include "core/result/result.h"
#include "core/run/recorded.h"
#include "reports/cache/analysis.h"
#include "reports/document/section.h"
#include "reports/files/probe_file.h"
#include "reports/files/run_directory.h"
#include "reports/model/report_model.h"
#include "reports/sweep/sweep.h"

namespace paretoken::reports {

inline constexpr std::string_view kRunSchema = "paretoken/run/3";
inline constexpr std::string_view kBegunSchema = "paretoken/begun/1";
inline constexpr std::string_view kEndedSchema = "paretoken/ended/1";
inline constexpr std::string_view kSweepSchema = "paretoken/sweep/1";
inline constexpr std::string_view kCacheSchema = "paretoken/cache/1";
inline constexpr std::string_view kReportSchema = "paretoken/report/1";

// The functions below that take `where` read text. `where` is the name of its file, or "file:line", for
// messages. They throw a UsageError that names it and, if the text is JSON, the key.

/// The result of a run that has ended. Results of "paretoken/run/2" can be read too.
std::string run_json(const RunResult& result);
RunResult parse_run_json(std::string_view text, const std::string& where);

/// What tells a file that a run wrote from another one.
struct FileMark {
    std::uint64_t bytes = 0;
    std::string sha256 = {};  ///< in hexadecimal digits

    bool operator==(const FileMark&) const = default;
};

/// What begun.json holds.
struct BegunFile {
    Begun begun;
    Judging judging;  ///< what the command judged the run by
};
std::string begun_json(const Begun& begun, const Judging& judging);
BegunFile parse_begun_json(std::string_view text, const std::string& where);

/// The content of ended.json: the end of a run, its probe, what is missing in its records, the client's
/// report and the failed scrapes. Times are in seconds since `recorded.observed.began`, which must be set
/// before they are read into `recorded`, and so must `recorded.begun`, whose run must be the same. The other
/// members of `recorded` are not used.
///
/// `files` tells the record files apart from others.
std::string ended_json(const Recorded& recorded, const std::map<std::string, FileMark>& files);
std::map<std::string, FileMark> parse_ended_json(std::string_view text, const std::string& where,
                                                 Recorded& recorded);

std::string sweep_json(const SweepFile& sweep);
SweepFile parse_sweep_json(std::string_view text, const std::string& where);

std::string cache_json(const CacheReport& report);
CacheReport parse_cache_json(std::string_view text, const std::string& where);

/// Appends one line of requests.jsonl without its newline. The line holds scalars only, with times in seconds
/// since `epoch`; absent and empty values are left out. `trace_id` is the id of the trace context that the
/// request carried; empty if it carried none.
void append_record_line(std::string& out, const RequestRecord& record, TimePoint epoch,
                        const std::string& trace_id = {});

/// The request in a line of requests.jsonl. Times in the line are added to `epoch`.
RequestRecord parse_record_line(std::string_view line, TimePoint epoch, const std::string& where);

/// Appends one line of answers.jsonl without its newline: the request, and the text of its answer.
void append_answer_line(std::string& out, const RequestRecord& record);

/// The answer in a line of answers.jsonl.
KeptAnswer parse_answer_line(std::string_view line, const std::string& where);

/// Appends one line of probe.jsonl without its newline.
void append_probe_line(std::string& out, const ProbeAnswer& answer);
ProbeAnswer parse_probe_line(std::string_view line, const std::string& where);

/// Whether `text` is one complete JSON value.
bool is_complete_json(std::string_view text);

/// The whole report ("paretoken/report/1"), with the metrics of every run but without their time series,
/// which only run.json holds.
std::string report_json(const ReportModel& model);

/// The data that the page's script draws: the runs, for the charts of the front and of the load, and the
/// charts of the sections. The text is safe inside a script element ("<" is escaped).
std::string chart_json(const ReportModel& model, const std::vector<Section>& sections);

}  // namespace paretoken::reports
