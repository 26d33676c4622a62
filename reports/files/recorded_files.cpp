#include "reports/files/recorded_files.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <fstream>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

#include "core/error.h"
#include "reports/files/events.h"
#include "reports/files/file_io.h"
#include "reports/files/json/run_json.h"
#include "reports/files/records.h"
#include "reports/files/server_lines.h"

namespace paretoken::reports {
namespace fs = std::filesystem;

namespace {

/// Returns the mark of a file; nothing if there is no such file.
std::optional<FileMark> mark_of(const fs::path& path) {
    constexpr std::size_t kPiece = std::size_t{1} << 20;
    std::error_code error;
    std::ifstream file(path, std::ios::binary);
    if (!file || !fs::is_regular_file(path, error)) return std::nullopt;
    const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> hash(EVP_MD_CTX_new(), EVP_MD_CTX_free);
    EVP_DigestInit_ex(hash.get(), EVP_sha256(), nullptr);
    FileMark mark;
    std::string piece(kPiece, '\0');
    while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())), file.gcount() > 0) {
        const auto got = static_cast<std::size_t>(file.gcount());
        EVP_DigestUpdate(hash.get(), piece.data(), got);
        mark.bytes += got;
    }
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int size = 0;
    EVP_DigestFinal_ex(hash.get(), digest.data(), &size);
    for (unsigned int i = 0; i < size; ++i) mark.sha256 += fmt::format("{:02x}", digest[i]);
    return mark;
}

/// Refuses a file in the place of a run directory.
void refuse_file(const fs::path& directory) {
    std::error_code error;
    if (fs::is_regular_file(directory, error))
        throw UsageError(
            fmt::format("{} is a file, not a run directory; if it is a result of another load generator, "
                        "`paretoken import "
                        "{} --out DIR` makes a run directory of it",
                        directory.string(), directory.string()));
}

/// Refuses a directory that has the name of a record file.
void refuse_directories(const fs::path& directory) {
    for (const std::string_view name : {kBegunFileName, kEndedFileName, kRecordsFileName, kEventsFileName,
                                        std::string_view(kServerFileName)}) {
        std::error_code error;
        if (fs::is_directory(directory / name, error))
            throw UsageError(
                fmt::format("{} is a directory, and a run writes a file of that name; put the file back, or "
                            "measure again",
                            (directory / name).string()));
    }
}

[[noreturn]] void refuse_changed(const fs::path& path, std::uint64_t written, std::uint64_t found) {
    throw UsageError(
        fmt::format("{}: the run wrote a file of {} bytes, and this is another one, of {} bytes, or it was "
                    "changed; restore the file of the run, or measure again",
                    path.string(), written, found));
}

/// Refuses record files that are not those that the run wrote: copies with more or fewer records, files that
/// were changed, or the files of another run. Only events.bin may be missing, because it is large.
void refuse_other_files(const fs::path& directory, const std::map<std::string, FileMark>& files) {
    for (const auto& [name, written] : files) {
        const fs::path path = directory / name;
        const auto found = mark_of(path);
        if (!found && name == kEventsFileName) continue;
        if (!found)
            throw UsageError(fmt::format(
                "{} is missing, and the run wrote it; restore the file, or measure again", path.string()));
        if (*found != written) refuse_changed(path, written.bytes, found->bytes);
    }
}

/// Returns the path of ended.json; nothing if the run has not ended.
std::optional<fs::path> ended_path_in(const fs::path& directory) {
    const fs::path path = directory / kEndedFileName;
    if (fs::exists(path)) return path;
    if (fs::exists(directory / kRunFileName))
        throw UsageError(
            fmt::format("{} is missing, and {} beside it says that the run has ended; restore the "
                        "file, or measure again",
                        path.string(), kRunFileName));
    return std::nullopt;
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

StoredRun read_recorded(const fs::path& directory, Empty empty) {
    refuse_file(directory);
    const fs::path begun_path = directory / kBegunFileName;
    if (!holds_recorded(directory))
        throw UsageError(
            fmt::format("{} is missing: the records of this run are incomplete, or those of an "
                        "earlier version; restore the file, or measure again",
                        begun_path.string()));
    refuse_directories(directory);
    StoredRun stored;
    Recorded& recorded = stored.recorded;
    BegunFile begun = parse_begun_json(read_file(begun_path), begun_path.string());
    recorded.begun = std::move(begun.begun);
    stored.judging = std::move(begun.judging);

    std::future<void> checked;  // the files are hashed while they are read
    const auto ended_path = ended_path_in(directory);
    recorded.ended = ended_path.has_value();
    if (ended_path)
        checked = std::async(std::launch::async, refuse_other_files, directory,
                             parse_ended_json(read_file(*ended_path), ended_path->string(), recorded));
    const RecordFiles files = record_files_in(directory);
    const auto refuse_without = [&](const std::string& what) {
        throw UsageError(
            fmt::format("{} is of a run that did not end or is still running, and {}; wait for its "
                        "end, or run it again",
                        begun_path.string(), what));
    };
    const bool refuses_empty = !recorded.ended && empty == Empty::refused;
    if (refuses_empty && !fs::exists(files.lines))
        refuse_without(fmt::format("{} is missing beside it", kRecordsFileName));
    if (recorded.ended || fs::exists(files.lines)) recorded.observed.records = read_requests(files.lines);
    if (refuses_empty && recorded.observed.records.empty())
        refuse_without(fmt::format("{} holds no finished request", kRecordsFileName));
    recorded.events = std::make_shared<EventsFile>(files.events, TimePoint{});
    read_server_lines(directory / kServerFileName, {}, recorded.observed);
    if (checked.valid()) checked.get();
    return stored;
}

void for_each_recorded(const fs::path& directory, const std::function<void(RequestRecord&&)>& visit) {
    refuse_file(directory);
    // Runs of earlier versions have no begun.json, and do not say what they wrote.
    if (const auto ended_path = holds_recorded(directory) ? ended_path_in(directory) : std::nullopt) {
        auto marks = file_marks_in(read_file(*ended_path), ended_path->string());
        std::erase_if(marks, [](const auto& mark) { return mark.first != kRecordsFileName; });
        refuse_other_files(directory, marks);
    }
    (void)for_each_record(directory / kRecordsFileName, TimePoint{}, visit);
}

void refuse_other_lengths(const fs::path& directory) {
    const fs::path ended_path = directory / kEndedFileName;
    std::error_code error;
    if (!fs::is_regular_file(ended_path, error)) return;
    for (const auto& [name, written] : file_marks_in(read_file(ended_path), ended_path.string())) {
        const std::uint64_t bytes = fs::file_size(directory / name, error);
        if (!error && bytes != written.bytes) refuse_changed(directory / name, written.bytes, bytes);
    }
}

}  // namespace paretoken::reports
