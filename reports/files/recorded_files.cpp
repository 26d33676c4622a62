#include "reports/files/recorded_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

#include "core/error.h"
#include "core/text/content_hash.h"
#include "reports/files/events.h"
#include "reports/files/json.h"
#include "reports/files/records.h"
#include "reports/files/run_directory.h"
#include "reports/files/server_lines.h"

namespace paretoken::reports {
namespace fs = std::filesystem;

namespace {

/// Returns the mark of a file; nothing if there is no such file.
std::optional<FileMark> mark_of(const fs::path& path) {
    constexpr std::uint64_t kEnd = 64 << 10;
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    if (!file) return std::nullopt;
    FileMark mark{.bytes = static_cast<std::uint64_t>(file.tellg())};
    std::string end(std::min(mark.bytes, kEnd), '\0');
    file.seekg(static_cast<std::streamoff>(mark.bytes - end.size()));
    file.read(end.data(), static_cast<std::streamsize>(end.size()));
    mark.end_hash = content_hash(end);
    return mark;
}

/// Refuses record files that are not those that the run wrote: copies with more or fewer records, or the
/// files of another run. A file that is missing is left to its reader.
void refuse_other_files(const fs::path& directory, const std::map<std::string, FileMark>& files) {
    for (const auto& [name, written] : files) {
        const auto found = mark_of(directory / name);
        if (!found || *found == written) continue;
        throw UsageError(
            fmt::format("{}: the run wrote a file of {} bytes, and this is another one, of {} bytes; restore "
                        "the file of the "
                        "run, or measure again",
                        (directory / name).string(), written.bytes, found->bytes));
    }
}

}  // namespace

void write_begun(const fs::path& directory, const Begun& begun, const Judging& judging) {
    ensure_directory(directory);
    write_file_atomically(directory / kBegunFileName, begun_json(begun, judging));
}

void write_ended(const fs::path& directory, const Recorded& recorded) {
    std::map<std::string, FileMark> files;
    for (const std::string_view name : {kRecordsFileName, kEventsFileName, std::string_view(kServerFileName)})
        if (auto mark = mark_of(directory / name)) files.emplace(name, *mark);
    write_file_atomically(directory / kEndedFileName, ended_json(recorded, files));
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
    if (recorded.ended)
        refuse_other_files(directory, parse_ended_json(read_file(ended_path), ended_path.string(), recorded));
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
    return stored;
}

}  // namespace paretoken::reports
