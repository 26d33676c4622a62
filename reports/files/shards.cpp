#include "reports/files/shards.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "core/error.h"
#include "core/run/judging.h"
#include "core/run/result_of.h"
#include "core/run/union.h"
#include "core/stable_sort.h"
#include "core/validity/instrument.h"
#include "core/validity/validity.h"
#include "reports/files/events.h"
#include "reports/files/file_io.h"
#include "reports/files/output_directory.h"
#include "reports/files/recorded_files.h"
#include "reports/files/records.h"
#include "reports/files/run_directory.h"
#include "reports/files/server_lines.h"

namespace paretoken::reports {
namespace fs = std::filesystem;

namespace {

/// A file that is read in pieces, nearly in the order of its bytes.
class FileWindow {
  public:
    explicit FileWindow(const fs::path& path) : file_(path, std::ios::binary) {
        std::error_code error;
        const auto size = fs::file_size(path, error);
        size_ = error ? 0 : size;
    }
    std::uint64_t size() const { return size_; }

    /// Returns `count` bytes from `at` on, or those that are there. They are valid until the next call.
    std::string_view bytes(std::uint64_t at, std::size_t count) {
        count = static_cast<std::size_t>(std::min<std::uint64_t>(count, size_ - std::min(at, size_)));
        if (at < begin_ || at + count > begin_ + buffer_.size()) {
            buffer_.resize(static_cast<std::size_t>(
                std::min<std::uint64_t>(std::max(count, kPiece), size_ - std::min(at, size_))));
            file_.clear();
            file_.seekg(static_cast<std::streamoff>(at));
            file_.read(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
            begin_ = at;
        }
        return std::string_view(buffer_).substr(static_cast<std::size_t>(at - begin_), count);
    }

  private:
    static constexpr std::size_t kPiece = std::size_t{1} << 20;
    std::ifstream file_;
    std::uint64_t size_ = 0;
    std::uint64_t begin_ = 0;
    std::string buffer_;
};

/// Where the line and the event frame of a request are.
struct Extent {
    std::uint64_t at = 0;
    std::uint32_t bytes = 0;
};

/// The lines and the event frames of a shard's requests, by their rows.
class ShardFiles {
  public:
    ShardFiles(const fs::path& directory, const RequestTable& records)
        : lines_(record_files_in(directory).lines), events_(record_files_in(directory).events) {
        line_at_.reserve(records.size());
        find_frames(records);
    }
    /// The line of a row with its end.
    std::string_view line(std::uint32_t row) {
        while (line_at_.size() <= row) find_next_line();
        return lines_.bytes(line_at_[row].at, line_at_[row].bytes);
    }
    /// The frame of a row; empty if it has none.
    std::string_view frame(std::uint32_t row) {
        return events_.bytes(frame_at_[row].at, frame_at_[row].bytes);
    }

  private:
    static constexpr std::size_t kLook = std::size_t{1} << 16;  ///< bytes of most lines and frames

    void find_next_line() {
        std::size_t look = kLook;
        std::string_view bytes = lines_.bytes(searched_, look);
        std::size_t end = bytes.find('\n');
        while (end == std::string_view::npos && bytes.size() == look) {
            bytes = lines_.bytes(searched_, look *= 2);
            end = bytes.find('\n');
        }
        if (bytes.empty()) throw RuntimeError("the records of a shard became fewer while they were joined");
        const auto length = static_cast<std::uint32_t>(std::min(end, bytes.size() - 1) + 1);
        if (length > 1) line_at_.push_back({searched_, length});
        searched_ += length;
    }
    /// The frames are in the order of the lines, but some requests may have none.
    void find_frames(const RequestTable& records) {
        frame_at_.resize(records.size());
        std::uint32_t row = 0;
        RequestKey key;
        for (std::uint64_t at = kEventsHeaderBytes; at < events_.size();) {
            std::size_t look = kLook;
            auto length = frame_length(events_.bytes(at, look), key);
            while (!length && at + look < events_.size())
                length = frame_length(events_.bytes(at, look *= 8), key);
            if (!length) return;
            const std::uint32_t before = row;
            while (row < records.size() && !(records.key(row) == key)) ++row;
            if (row < records.size())
                frame_at_[row++] = {at, static_cast<std::uint32_t>(*length)};
            else
                row = before;
            at += *length;
        }
    }

    FileWindow lines_;
    FileWindow events_;
    std::uint64_t searched_ = 0;  ///< bytes in which the lines were found
    std::vector<Extent> line_at_;
    std::vector<Extent> frame_at_;
};

/// Collects bytes and writes them in large pieces.
class Output {
  public:
    explicit Output(const fs::path& path) : file_(path) {}
    void add(std::string_view bytes) {
        bytes_ += bytes;
        if (bytes_.size() > kPiece) write_out();
    }
    /// Throws RuntimeError if not everything could be written.
    void close() {
        write_out();
        file_.close();
        if (file_.error() != 0)
            throw RuntimeError(
                fmt::format("cannot write {}: {}; free space, or choose another output directory (--out)",
                            file_.path().string(), std::strerror(file_.error())));
    }

  private:
    static constexpr std::size_t kPiece = std::size_t{1} << 20;
    void write_out() {
        file_.write(bytes_);
        bytes_.clear();
    }

    GrowingFile file_;
    std::string bytes_;
};

/// What is known of the shards besides their records.
struct ReadShards {
    std::vector<fs::path> directories;
    std::vector<RecordedPart> parts;
    std::vector<ShardResult> results;
    Judging judging;  ///< that of the first shard
};

/// Returns whether a shard was killed before a request had ended.
bool recorded_nothing(const Recorded& shard) {
    return !shard.ended && shard.observed.records.empty();
}

/// Judges the client and the host of a shard by its own result.
void judge_client(StoredRun& stored, ShardResult& result) {
    const auto events = std::exchange(stored.recorded.events, nullptr);  // they would only cost time
    const RunResult own = result_of(stored.recorded, stored.judging);
    stored.recorded.events = events;
    result.client_part = largest_instrument_part(own).part;
    for (const Reason& reason : own.validity.reasons) {
        if (!is_of_host(reason.check) || reason.severity <= result.verdict) continue;
        result.verdict = reason.severity;
        result.reason = reason.text;
    }
}

ShardResult result_of_shard(StoredRun& stored, const ClockErrors& clocks) {
    const Recorded& recorded = stored.recorded;
    ShardResult result{.number = recorded.begun.shard->number,
                       .host = recorded.begun.provenance.host,
                       .ended = recorded.ended && !recorded.observed.interrupted};
    for (const RequestRecord& record : recorded.observed.records) {
        result.requests += record.outcome == Outcome::cancelled && !record.warmup ? 0 : 1;
        result.failed += is_failure(record.outcome) && !record.warmup ? 1 : 0;
    }
    if (const auto found = clocks.find(result.number); found != clocks.end())
        result.clock_error_s = found->second;
    if (!recorded.begun.shape.virtual_time && !recorded_nothing(recorded)) judge_client(stored, result);
    return result;
}

StoredRun shard_in(const fs::path& directory) {
    StoredRun stored = read_recorded(directory, Empty::allowed);
    if (!stored.recorded.begun.shard)
        throw UsageError(fmt::format(
            "{} holds a whole run, and no shard of one; give the directories of runs with --shard",
            directory.string()));
    return stored;
}

/// Reads the shards, several at a time, and returns them by their numbers.
ReadShards read_shards(std::vector<fs::path> directories, const ClockErrors& clocks) {
    struct Read {
        fs::path directory;
        StoredRun stored;
        ShardResult result;
    };
    std::vector<Read> read(directories.size());
    std::atomic<std::size_t> next{0};
    const auto read_some = [&] {
        for (std::size_t i = next++; i < read.size(); i = next++) {
            StoredRun stored = shard_in(directories[i]);
            ShardResult result = result_of_shard(stored, clocks);
            read[i] = {directories[i], std::move(stored), std::move(result)};
        }
    };
    std::vector<std::future<void>> readers;
    for (unsigned i = 0; i < std::clamp(std::thread::hardware_concurrency(), 1U, 8U); ++i)
        readers.push_back(std::async(std::launch::async, read_some));
    for (std::future<void>& reader : readers) reader.get();
    if (std::ranges::all_of(read, [](const Read& one) { return recorded_nothing(one.stored.recorded); }))
        throw UsageError("no shard has recorded a request, so that there is nothing to join");
    sort_stably(read, [](const Read& a, const Read& b) { return a.result.number < b.result.number; });
    ReadShards shards;
    shards.judging = read.front().stored.judging;
    for (Read& one : read) {
        shards.directories.push_back(std::move(one.directory));
        shards.parts.push_back({.recorded = std::move(one.stored.recorded)});
        shards.results.push_back(std::move(one.result));
    }
    return shards;
}

std::vector<ShardFiles> files_of(const ReadShards& shards) {
    std::vector<ShardFiles> files;
    for (std::size_t i = 0; i < shards.parts.size(); ++i)
        files.emplace_back(shards.directories[i], shards.parts[i].recorded.observed.records);
    return files;
}

void write_events(std::vector<ShardFiles>& files, std::span<const PlacedRow> order, const fs::path& out) {
    Output events(record_files_in(out).events);
    events.add(events_header({}));
    for (const PlacedRow& placed : order) events.add(files[placed.part].frame(placed.row));
    events.close();
}

void write_lines(std::vector<ShardFiles>& files, std::span<const PlacedRow> order, const fs::path& out) {
    Output lines(record_files_in(out).lines);
    for (const PlacedRow& placed : order) lines.add(files[placed.part].line(placed.row));
    lines.close();
}

/// Copies what one shard alone has, such as the readings of the server, and joins the texts of the answers.
void copy_others(const ReadShards& shards, const fs::path& out) {
    for (const std::string_view name : {std::string_view(kServerFileName), kProbeFileName})
        for (const fs::path& directory : shards.directories)
            if (fs::exists(directory / name) && !fs::exists(out / name))
                fs::copy_file(directory / name, out / name);
    std::optional<Output> answers;
    for (const fs::path& directory : shards.directories) {
        const fs::path path = record_files_in(directory).answers;
        if (!fs::exists(path)) continue;
        if (!answers) answers.emplace(record_files_in(out).answers);
        answers->add(read_file(path));
    }
    if (answers) answers->close();
}

/// Returns a command line, as shell_line() writes it, without an option of a shard and its value.
std::string without_option(std::string_view command, std::string_view option) {
    std::string kept;
    bool skips = false;
    for (std::size_t begin = 0; begin < command.size();) {
        std::size_t end = begin;
        for (bool quoted = false; end < command.size() && (quoted || command[end] != ' '); ++end) {
            if (command[end] == '\\' && !quoted)
                ++end;
            else if (command[end] == '\'')
                quoted = !quoted;
        }
        const std::string_view word = command.substr(begin, end - begin);
        begin = end + 1;
        const std::string_view name = word.starts_with('\'') ? word.substr(1) : word;
        if (std::exchange(skips, false)) continue;
        skips = word == option;
        if (skips || (name.starts_with(option) && name.substr(option.size()).starts_with('='))) continue;
        kept += fmt::format("{}{}", kept.empty() ? "" : " ", word);
    }
    return kept;
}

/// Returns what all shards recorded, with what is known of each, and names those that did not end. Takes the
/// requests out of the shards.
Recorded joined_records(ReadShards& shards, std::span<const PlacedRow> order) {
    Recorded joined = union_of(shards.parts, order);
    joined.shards = shards.results;
    for (const char* const option : {"shard", "out"}) {
        joined.begun.plan.erase(option);
        std::string& command = joined.begun.provenance.command;
        command = without_option(command, fmt::format("--{}", option));
    }
    for (std::size_t i = 0; i < shards.parts.size(); ++i) {
        const Recorded& own = shards.parts[i].recorded;
        if (own.ended) continue;
        joined.lost +=
            fmt::format("{}shard {} of {} on {} was killed{}", joined.lost.empty() ? "" : "; ",
                        own.begun.shard->number, own.begun.shard->count, shards.results[i].host,
                        recorded_nothing(own) ? " before one of its requests had reached the disk"
                                              : ": its requests that had not reached the disk are missing");
    }
    // The joined files are complete; `lost` says what is missing.
    joined.observed.interrupted |= !std::exchange(joined.ended, true);
    return joined;
}

}  // namespace

RunResult join_shards(const std::vector<fs::path>& directories, const fs::path& out,
                      const ClockErrors& clocks) {
    Recorded joined;
    Judging judging;
    std::vector<PlacedRow> order;
    std::vector<ShardFiles> files;
    {
        ReadShards shards = read_shards(directories, clocks);
        order = order_of(shards.parts);
        files = files_of(shards);
        joined = joined_records(shards, order);  // refuses shards that do not belong together
        judging = std::move(shards.judging);
        ensure_directory(out);
        remove_run(out);
        copy_others(shards, out);
    }
    write_begun(out, joined.begun, judging);
    write_events(files, order, out);
    // The events are read in the order of the requests, so that sums are those of one process bit by bit.
    joined.events = std::make_shared<EventsFile>(record_files_in(out).events, TimePoint{});
    std::future<void> written = std::async(std::launch::async, [&] {
        write_lines(files, order, out);
        write_ended(out, joined);
    });
    RunResult result = result_of(joined, judging);
    written.get();
    write_run(out, result);
    return result;
}

}  // namespace paretoken::reports
