#pragma once
// The turns of the jobs in a file (datasets/job.h), which is checked, hashed and indexed in one pass. Rows
// without a request are left out. The rows of a generated dataset are made once and kept.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "datasets/files/agents/job_index.h"
#include "datasets/files/file_dataset.h"
#include "datasets/files/kept_turns.h"
#include "datasets/files/row_notes.h"

namespace paretoken::datasets {

/// Reads rows in their order; remembers a csv's header, and counts rows without a request.
class RowReader {
  public:
    explicit RowReader(RowFormat format) : format_(std::move(format)) {}

    /// Reads the next row; returns nothing for the header.
    std::optional<Row> read(std::string_view text, const RowPlace& place);
    /// Reads a row that was read before. Thread-safe.
    Row read_again(std::string_view text, const RowPlace& place) const;

    /// Ends the first pass: throws UsageError if no row of the file holds a request, or by the format's end.
    void require_rows(const RowFile& file) const;
    std::vector<std::string> notes() const;
    const std::vector<std::size_t>& left_out() const { return notes_.left_out(); }
    const RowFormat& format() const { return format_; }

  private:
    Row cut(Row row) const;

    RowFormat format_;
    std::string header_;
    RowNotes notes_;
};

class TurnFile {
  public:
    /// Reads the file, which for a generated dataset is its name, and calls `visit` with every row that holds
    /// a request, in order. `with_replies`: the turns must hold the recorded replies to the turns before
    /// them. Throws the errors of RowFile, JobIndex and the format's reader, and UsageError if no row holds a
    /// request, if the time of a job is before that of the job before it, or if only some jobs have times.
    TurnFile(const std::string& path, const RowFormat& format, bool with_replies,
             const std::function<void(const Row& row, const RowPlace& place)>& visit);

    const JobIndex& jobs() const { return jobs_; }

    /// Returns a turn of a job. Thread-safe. Throws RuntimeError when the file can no longer be read.
    Row turn(std::size_t job, std::uint32_t turn) const;

    /// Returns the time of a job, counted from the first job; nothing in a file without times.
    std::optional<Duration> recorded_time(std::size_t job) const;

    std::vector<std::string> notes() const;
    const std::string& path() const { return path_; }
    /// Returns the hash of the file; empty for a generated dataset.
    std::string content() const { return file_ ? file_->content() : std::string(); }

  private:
    void add(Row row, bool with_replies, const RowPlace& place,
             const std::function<void(const Row& row, const RowPlace& place)>& visit);
    Row row(TurnPlace at) const;
    void add_time(const Row& row, const RowPlace& place);

    std::string path_;
    RowReader reader_;
    JobIndex jobs_;
    KeptTurns kept_;
    std::size_t timed_ = 0;  ///< jobs that have times
    std::size_t seen_ = 0;   ///< jobs whose times were looked at
    double first_at_s_ = 0;
    double last_at_s_ = 0;
    std::unique_ptr<RowFile> file_;
};

}  // namespace paretoken::datasets
