#pragma once
// requests.jsonl: one object of scalars per request, appended as requests end. The worker that calls record()
// only formats the line into a bounded buffer; the disk is the business of a thread of its own, at most
// kFlushEvery behind.
#include <chrono>
#include <filesystem>
#include <memory>
#include <vector>

#include "core/record.h"
#include "core/record_sink.h"

namespace paretoken::reports {

class RecordWriter : public RecordSink {
  public:
    static constexpr std::chrono::milliseconds kFlushEvery{100};
    static constexpr std::size_t kBufferBytes = std::size_t{32} << 20;  ///< some 40,000 records

    /// Opens the file (replacing what was there) before any load. Times are written relative to `epoch`, the
    /// run's start. Throws RuntimeError.
    RecordWriter(const std::filesystem::path& path, TimePoint epoch);
    ~RecordWriter() override;  ///< drains, and says nothing of errors
    RecordWriter(const RecordWriter&) = delete;
    RecordWriter& operator=(const RecordWriter&) = delete;

    /// From any thread. Never waits for the disk: records beyond a full buffer are left out, and finish()
    /// says so.
    void record(const RequestRecord& record) override;

    /// Drains and closes. Throws RuntimeError when anything could not be written. A second call does nothing.
    void finish();

  private:
    struct Shared;
    std::unique_ptr<Shared> shared_;
};

struct RecordsRead {
    std::vector<RequestRecord> records;  ///< in the order they ended; `events` empty
    bool cut_off = false;                ///< the last line was incomplete and was left out
};

/// Throws UsageError for a missing file, or a malformed line that is not the last (naming path and line).
RecordsRead read_records(const std::filesystem::path& path, TimePoint epoch = {});

}  // namespace paretoken::reports
