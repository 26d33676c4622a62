#pragma once
// Writes and reads the record files of a run: requests.jsonl with one JSON object of scalars per request,
// events.bin with events (reports/files/events.h), and answers.jsonl with texts, if asked for. record() only
// queues; a thread writes, events before lines, so that a killed program leaves no line without its events.
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
    EventsKept events = {};  ///< requests whose events are written
    /// Whether record() waits for the disk when more than kMostPending is pending. Only runs in virtual time
    /// set it, because waiting does not change their times.
    bool waits = false;
    bool answers = false;    ///< whether answers.jsonl is written
    bool trace_ids = false;  ///< whether requests carried a trace context, whose id their lines then hold
};

class RecordWriter : public RecordSink {
  public:
    static constexpr std::chrono::milliseconds kFlushEvery{100};
    static constexpr std::size_t kMostPending = std::size_t{64} << 20;  ///< most bytes of pending records

    /// Opens the files before any load, and replaces existing ones. Times are written relative to `epoch`,
    /// the run's start. Throws RuntimeError when a file cannot be opened for writing.
    RecordWriter(const RecordFiles& files, TimePoint epoch, const RecordWriterOptions& options = {});
    ~RecordWriter() override;  ///< writes the pending records, without reporting errors
    RecordWriter(const RecordWriter&) = delete;
    RecordWriter& operator=(const RecordWriter&) = delete;

    /// Takes a finished request, from any thread, without waiting for the disk unless `waits`. Above
    /// kMostPending pending bytes it leaves out the events, above twice as many the record; finish() tells.
    void record(RequestRecord&& record) override;

    /// Writes everything and closes the files. Returns a sentence with the reason for each kind of data that
    /// is missing; a second call returns the same.
    std::vector<std::string> finish();

  private:
    class Thread;
    std::unique_ptr<Thread> thread_;
};

/// Calls `visit` with the requests of a requests.jsonl, without events, in the order in which they ended.
/// Returns whether the last line was cut off. Throws a UsageError that names the path and line.
bool for_each_record(const std::filesystem::path& path, TimePoint epoch,
                     const std::function<void(RequestRecord&&)>& visit);

/// Reads all requests of a file into memory. Throws like for_each_record().
RequestTable read_requests(const std::filesystem::path& path, TimePoint epoch = {});

}  // namespace paretoken::reports
