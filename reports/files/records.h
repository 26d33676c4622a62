#pragma once
// The record files of a run: requests.jsonl holds one object of scalars per request, events.bin the events of
// its answer (reports/files/events.h), answers.jsonl on demand its text; they grow as requests end. Whoever
// calls record() only hands the record over: a thread of the writer encodes it and writes it out, at most
// kFlushEvery behind. A request's events are written before its line, so that after a crash no line lacks its
// events but the last ones.
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/plan/events_kept.h"
#include "core/record/record.h"
#include "core/record/record_sink.h"
#include "core/record/request_table.h"

namespace paretoken::reports {

struct RecordFiles {
    std::filesystem::path lines;         ///< requests.jsonl
    std::filesystem::path events;        ///< events.bin
    std::filesystem::path answers = {};  ///< answers.jsonl
};
RecordFiles record_files_in(const std::filesystem::path& run_directory);

struct RecordWriterOptions {
    EventsKept events = {};
    /// record() waits for the disk when too much is pending. For virtual time, which nothing can delay.
    bool waits = false;
    bool answers = false;  ///< answers.jsonl is written
};

class RecordWriter : public RecordSink {
  public:
    static constexpr std::chrono::milliseconds kFlushEvery{100};
    static constexpr std::size_t kMostPending = std::size_t{64} << 20;  ///< bytes of records in memory

    /// Opens the files (replacing what was there) before any load. Times are written relative to `epoch`, the
    /// run's start. Throws RuntimeError.
    RecordWriter(const RecordFiles& files, TimePoint epoch, const RecordWriterOptions& options = {});
    ~RecordWriter() override;  ///< drains, and says nothing of errors
    RecordWriter(const RecordWriter&) = delete;
    RecordWriter& operator=(const RecordWriter&) = delete;

    /// From any thread. Unless told to, never waits for the disk: when more than kMostPending is pending
    /// events are left out, at twice that whole records, and finish() says so.
    void record(RequestRecord&& record) override;

    /// Drains and closes. Returns what is missing in the files and why, in a sentence each; nothing when all
    /// is there. A second call returns the same.
    std::vector<std::string> finish();

  private:
    class Thread;
    std::unique_ptr<Thread> thread_;
};

/// Calls `visit` with the requests of a file in the order they ended, without events. Reads the file in
/// pieces. Returns whether the last line was incomplete and was left out. Throws UsageError for a missing
/// file, or a malformed line that is not the last (naming path and line).
bool for_each_record(const std::filesystem::path& path, TimePoint epoch,
                     const std::function<void(RequestRecord&&)>& visit);

/// All of them in memory. Throws like for_each_record.
RequestTable read_requests(const std::filesystem::path& path, TimePoint epoch = {});

}  // namespace paretoken::reports
