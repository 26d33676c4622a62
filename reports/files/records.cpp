#include "reports/files/records.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <fstream>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "core/error.h"
#include "reports/files/events.h"
#include "reports/files/json.h"
#include "reports/files/run_directory.h"

namespace paretoken::reports {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;  ///< bytes that are written at a time

/// A file that only grows. After a write that failed nothing more is written, so that only its end can be
/// incomplete.
class GrowingFile {
  public:
    explicit GrowingFile(std::filesystem::path path)
        : path_(std::move(path)),
          file_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644)) {
        if (file_ < 0)
            throw RuntimeError(
                fmt::format("cannot write {}: {}; give an output directory that can be written (--out)",
                            path_.string(), std::strerror(errno)));
    }
    ~GrowingFile() { close(); }
    GrowingFile(const GrowingFile&) = delete;
    GrowingFile& operator=(const GrowingFile&) = delete;

    void write(std::string_view bytes) {
        while (error_ == 0 && !bytes.empty()) {
            const ssize_t written = ::write(file_, bytes.data(), bytes.size());
            if (written >= 0) {
                bytes.remove_prefix(static_cast<std::size_t>(written));
            } else if (errno != EINTR) {
                error_ = errno;
            }
        }
    }

    /// Some systems report a full disk only here. Devices and pipes cannot be synced (EINVAL), which is no
    /// error.
    void close() {
        if (file_ < 0) return;
        if (error_ == 0 && ::fsync(file_) != 0 && errno != EINVAL) error_ = errno;
        if (::close(std::exchange(file_, -1)) != 0 && error_ == 0) error_ = errno;
    }

    int error() const { return error_; }
    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
    int file_;
    int error_ = 0;  ///< errno of the first write that failed
};

std::string what_failed(const GrowingFile& file, std::string_view what) {
    return fmt::format(
        "cannot write {}: {}; the {} from there on are missing in the file, free space or choose another "
        "--out",
        file.path().string(), std::strerror(file.error()), what);
}

std::size_t memory_of(const RequestRecord& record) {
    return sizeof(RequestRecord) + record.events.capacity() * sizeof(StreamEvent) + record.error.capacity() +
           record.answer.capacity();
}

}  // namespace

RecordFiles record_files_in(const std::filesystem::path& run_directory) {
    return {.lines = run_directory / kRecordsFileName,
            .events = run_directory / kEventsFileName,
            .answers = run_directory / kAnswersFileName};
}

/// The writer's own thread, and what is handed over to it.
class RecordWriter::Thread {
  public:
    Thread(const RecordFiles& files, TimePoint epoch, const RecordWriterOptions& options)
        : lines_(files.lines), events_(files.events), epoch_(epoch), options_(options) {
        if (options.answers) answers_.emplace(files.answers);
        event_bytes_ = events_header(epoch);
        thread_ = std::thread([this] { run(); });
    }

    void hand_over(RequestRecord&& record) {
        std::size_t bytes = memory_of(record);
        std::unique_lock lock(mutex_);
        if (options_.waits) {
            room_.wait(lock, [this] { return pending_bytes_ < kMostPending; });
        } else if (pending_bytes_ > 2 * kMostPending) {
            ++records_left_out_;
            return;
        } else if (pending_bytes_ > kMostPending) {
            ++events_left_out_;
            record.events = {};
            bytes = memory_of(record);
        }
        const bool enough = pending_bytes_ < kEnough && pending_bytes_ + bytes >= kEnough;
        pending_bytes_ += bytes;
        pending_.push_back(std::move(record));
        lock.unlock();
        if (enough) wake_.notify_one();
    }

    std::vector<std::string> finish() {
        if (thread_.joinable()) {
            {
                const std::lock_guard lock(mutex_);
                ending_ = true;
            }
            wake_.notify_one();
            thread_.join();
            events_.close();
            lines_.close();
            if (answers_) answers_->close();
        }
        std::vector<std::string> missing;
        if (lines_.error() != 0) missing.push_back(what_failed(lines_, "records"));
        if (events_.error() != 0) missing.push_back(what_failed(events_, "events of requests"));
        if (answers_ && answers_->error() != 0) missing.push_back(what_failed(*answers_, "answers"));
        if (records_left_out_ + events_left_out_ > 0)
            missing.push_back(
                fmt::format("{}: the disk was too slow; {} records and the events of {} more were left out, "
                            "choose a faster --out",
                            lines_.path().string(), records_left_out_, events_left_out_));
        return missing;
    }

  private:
    static constexpr std::size_t kEnough = kMostPending / 16;  ///< is written without waiting for more

    void run() {
        std::vector<RequestRecord> batch;
        bool more = true;
        while (more) {
            {
                std::unique_lock lock(mutex_);
                wake_.wait_for(lock, kFlushEvery, [this] { return ending_ || pending_bytes_ >= kEnough; });
                batch.swap(pending_);
                pending_bytes_ = 0;
                more = !ending_;
            }
            room_.notify_all();
            for (RequestRecord& record : batch) encode(record);
            batch.clear();
            write_out();
        }
    }

    void encode(RequestRecord& record) {
        if (options_.events.keeps(record.index))
            append_frame(event_bytes_, {.index = record.index, .warmup = record.warmup}, record.events,
                         epoch_);
        record.events = {};
        if (answers_ && !record.answer.empty()) {
            append_answer_line(answer_bytes_, record);
            answer_bytes_ += '\n';
        }
        append_record_line(line_bytes_, record, epoch_);
        line_bytes_ += '\n';
        if (event_bytes_.size() + line_bytes_.size() + answer_bytes_.size() > kPiece) write_out();
    }

    void write_out() {
        events_.write(event_bytes_);
        if (answers_) answers_->write(answer_bytes_);
        lines_.write(line_bytes_);
        answer_bytes_.clear();
        event_bytes_.clear();
        line_bytes_.clear();
    }

    // The thread's own, until it was joined.
    GrowingFile lines_;
    GrowingFile events_;
    std::optional<GrowingFile> answers_;
    TimePoint epoch_;
    RecordWriterOptions options_;
    std::string event_bytes_;
    std::string line_bytes_;
    std::string answer_bytes_;

    std::mutex mutex_;  // guards what follows
    std::condition_variable wake_;
    std::condition_variable room_;
    std::vector<RequestRecord> pending_;
    std::size_t pending_bytes_ = 0;
    std::uint64_t records_left_out_ = 0;
    std::uint64_t events_left_out_ = 0;
    bool ending_ = false;

    std::thread thread_;
};

RecordWriter::RecordWriter(const RecordFiles& files, TimePoint epoch, const RecordWriterOptions& options)
    : thread_(std::make_unique<Thread>(files, epoch, options)) {}

RecordWriter::~RecordWriter() {
    finish();
}

void RecordWriter::record(RequestRecord&& record) {
    thread_->hand_over(std::move(record));
}

std::vector<std::string> RecordWriter::finish() {
    return thread_->finish();
}

bool for_each_record(const std::filesystem::path& path, TimePoint epoch,
                     const std::function<void(RequestRecord&&)>& visit) {
    std::ifstream file(path, std::ios::binary);
    const auto cannot_read = [&] {
        throw UsageError(
            fmt::format("cannot read {}: {}; check the path", path.string(), std::strerror(errno)));
    };
    if (!file) cannot_read();
    std::size_t number = 0;
    for (std::string line; std::getline(file, line);) {
        ++number;
        if (line.empty()) continue;
        const bool is_last = file.eof() || file.peek() == std::ifstream::traits_type::eof();
        if (is_last && !is_complete_json(line)) return true;
        visit(parse_record_line(line, epoch, fmt::format("{}:{}", path.string(), number)));
    }
    if (file.bad()) cannot_read();
    return false;
}

RequestTable read_requests(const std::filesystem::path& path, TimePoint epoch) {
    RequestTable requests;
    for_each_record(path, epoch, [&](RequestRecord&& record) { requests.add(record); });
    return requests;
}

}  // namespace paretoken::reports
