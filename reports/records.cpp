#include "reports/records.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>

#include "core/error.h"
#include "reports/json.h"

namespace paretoken::reports {
namespace {

/// 0, or the errno of the first write that failed.
int write_all(int file, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(file, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return errno;
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return 0;
}

}  // namespace

struct RecordWriter::Shared {
    std::filesystem::path path;
    TimePoint epoch;
    int file = -1;

    std::mutex mutex;  // guards what follows
    std::condition_variable wake;
    std::string pending;
    std::uint64_t left_out = 0;
    bool ending = false;

    int error = 0;  // the thread's, read after it was joined
    std::thread thread;

    /// The disk's side: takes what is pending every kFlushEvery, until told to end. After a failed write
    /// nothing more is written, so that only the last line on disk can be incomplete.
    void drain() {
        std::string batch;
        bool more = true;
        while (more) {
            {
                std::unique_lock lock(mutex);
                wake.wait_for(lock, kFlushEvery, [this] { return ending; });
                batch.clear();
                batch.swap(pending);
                more = !ending;
            }
            if (error == 0) error = write_all(file, batch);
        }
    }
};

RecordWriter::RecordWriter(const std::filesystem::path& path, TimePoint epoch) : shared_(new Shared) {
    shared_->path = path;
    shared_->epoch = epoch;
    shared_->file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
    if (shared_->file < 0)
        throw RuntimeError(
            fmt::format("cannot write {}: {}; give an output directory that can be written (--out)",
                        path.string(), std::strerror(errno)));
    shared_->thread = std::thread([shared = shared_.get()] { shared->drain(); });
}

RecordWriter::~RecordWriter() {
    try {
        finish();
    } catch (const RuntimeError&) {  // whoever wants to know calls finish()
    }
}

void RecordWriter::record(const RequestRecord& record) {
    thread_local std::string line;
    line.clear();
    append_record_line(line, record, shared_->epoch);
    line += '\n';
    const std::lock_guard lock(shared_->mutex);
    if (shared_->pending.size() + line.size() > kBufferBytes)
        ++shared_->left_out;
    else
        shared_->pending += line;
}

void RecordWriter::finish() {
    Shared& shared = *shared_;
    if (!shared.thread.joinable()) return;
    {
        const std::lock_guard lock(shared.mutex);
        shared.ending = true;
    }
    shared.wake.notify_one();
    shared.thread.join();
    // Some systems report a full disk only here. Devices and pipes cannot be synced (EINVAL), which is no
    // error.
    if (shared.error == 0 && ::fsync(shared.file) != 0 && errno != EINVAL) shared.error = errno;
    if (::close(shared.file) != 0 && shared.error == 0) shared.error = errno;
    if (shared.error != 0)
        throw RuntimeError(
            fmt::format("cannot write {}: {}; the records from there on are missing in the file, free "
                        "space or choose another --out",
                        shared.path.string(), std::strerror(shared.error)));
    if (shared.left_out > 0)
        throw RuntimeError(
            fmt::format("{}: the disk was too slow and {} records were left out; choose a faster --out",
                        shared.path.string(), shared.left_out));
}

RecordsRead read_records(const std::filesystem::path& path, TimePoint epoch) {
    const std::string text = read_file(path);
    RecordsRead read;
    std::size_t number = 0;
    for (std::size_t begin = 0; begin < text.size();) {
        ++number;
        const std::size_t newline = text.find('\n', begin);
        const std::string_view line = std::string_view(text).substr(begin, newline - begin);
        begin = newline == std::string::npos ? text.size() : newline + 1;
        if (line.empty()) continue;
        if (begin >= text.size() && !is_complete_json(line)) {
            read.cut_off = true;
            break;
        }
        read.records.push_back(parse_record_line(line, epoch, fmt::format("{}:{}", path.string(), number)));
    }
    return read;
}

}  // namespace paretoken::reports
