#include "reports/files/recorded_files.h"

#include <fmt/format.h>

#include <memory>
#include <system_error>

#include "core/error.h"
#include "reports/files/events.h"
#include "reports/files/json.h"
#include "reports/files/records.h"
#include "reports/files/run_directory.h"
#include "reports/files/server_lines.h"

namespace paretoken::reports {
namespace fs = std::filesystem;

void write_begun(const fs::path& directory, const Begun& begun, const Judging& judging) {
    ensure_directory(directory);
    write_file_atomically(directory / kBegunFileName, begun_json(begun, judging));
}

void write_ended(const fs::path& directory, const Recorded& recorded) {
    write_file_atomically(directory / kEndedFileName, ended_json(recorded));
}

bool holds_recorded(const fs::path& directory) {
    std::error_code error;
    return fs::exists(directory / kBegunFileName, error);
}

StoredRun read_recorded(const fs::path& directory) {
    const fs::path begun_path = directory / kBegunFileName;
    if (!holds_recorded(directory))
        throw UsageError(
            fmt::format("{} is missing: the records of this run are incomplete, or those of an "
                        "earlier version; restore the file, or measure again",
                        begun_path.string()));
    StoredRun stored;
    Recorded& recorded = stored.recorded;
    BegunFile begun = parse_begun_json(read_file(begun_path), begun_path.string());
    recorded.begun = std::move(begun.begun);
    stored.judging = std::move(begun.judging);

    const fs::path ended_path = directory / kEndedFileName;
    recorded.ended = fs::exists(ended_path);
    const RecordFiles files = record_files_in(directory);
    if (!recorded.ended && !fs::exists(files.lines))
        throw UsageError(
            fmt::format("{} is of a run that was killed or is still running, and {} is missing "
                        "beside it; wait for its end, or run it again",
                        begun_path.string(), kRecordsFileName));
    recorded.observed.records = read_requests(files.lines);
    if (!recorded.ended && recorded.observed.records.empty())
        throw UsageError(
            fmt::format("{} is of a run that was killed or is still running, and {} holds no "
                        "finished request; wait for its end, or run it again",
                        begun_path.string(), kRecordsFileName));
    recorded.events = std::make_shared<EventsFile>(files.events, TimePoint{});
    read_server_lines(directory / kServerFileName, {}, recorded.observed);
    if (recorded.ended) parse_ended_json(read_file(ended_path), ended_path.string(), recorded);
    return stored;
}

}  // namespace paretoken::reports
