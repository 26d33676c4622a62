#pragma once
// Writes and reads what was recorded of a run (core/run/recorded.h): begun.json, requests.jsonl, events.bin,
// server.jsonl and ended.json. Nothing in them is a conclusion, or changes after it was written.
#include <filesystem>
#include <functional>
#include <string_view>

#include "core/run/judging.h"
#include "core/run/recorded.h"

namespace paretoken::reports {

inline constexpr std::string_view kBegunFileName = "begun.json";
inline constexpr std::string_view kEndedFileName = "ended.json";

/// Creates `directory` if necessary and writes begun.json into it. Throws RuntimeError.
void write_begun(const std::filesystem::path& directory, const Begun& begun, const Judging& judging);

/// Writes ended.json. Throws RuntimeError.
void write_ended(const std::filesystem::path& directory, const Recorded& recorded);

/// Returns whether `directory` has the records of a run.
bool holds_recorded(const std::filesystem::path& directory);

/// What was recorded of a run, and what its command judged it by.
struct StoredRun {
    Recorded recorded;
    Judging judging;
};

/// Whether a run that has not ended may have no request.
enum class Empty { refused, allowed };

/// Reads the records of a run, with times from TimePoint{} and events on demand. Without ended.json,
/// Recorded::ended is false. Throws a UsageError that names what is missing, malformed or another run's.
StoredRun read_recorded(const std::filesystem::path& directory, Empty empty = Empty::refused);

/// Calls `visit` with the requests of the run in `directory`, as for_each_record() does. Throws a UsageError
/// if the run has ended and requests.jsonl is not the file that it wrote.
void for_each_recorded(const std::filesystem::path& directory,
                       const std::function<void(RequestRecord&&)>& visit);

/// Throws a UsageError if a record file of a run that has ended has another length than the run wrote. Files
/// that are missing are not needed for the result in run.json.
void refuse_other_lengths(const std::filesystem::path& directory);

}  // namespace paretoken::reports
