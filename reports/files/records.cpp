#include "reports/files/records.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <simdjson.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <concepts>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "core/error.h"
#include "core/text/trace_context.h"
#include "reports/files/events.h"
#include "reports/files/file_io.h"
#include "reports/files/json/json_lines.h"
#include "reports/files/json/record_fields.h"
#include "reports/files/json/record_lines.h"

namespace paretoken::reports {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;  ///< bytes per write

std::string what_failed(const GrowingFile& file, std::string_view what) {
    return fmt::format(
        "cannot write {}: {}; the {} after this error are missing in the file, free space or choose another "
        "--out, and measure again",
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

/// The writer's own thread, and the records that are handed over to it.
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
            missing.push_back(fmt::format(
                "{}: the disk was too slow; {} requests are missing, and {} others have no events, "
                "choose an --out on a faster disk and measure again",
                lines_.path().string(), records_left_out_, events_left_out_));
        return missing;
    }

  private:
    static constexpr std::size_t kEnough = kMostPending / 16;  ///< bytes written without waiting for more

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
        append_record_line(line_bytes_, record, epoch_, options_.trace_ids ? trace_id_of(record.id) : "");
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

    // These members are used only by the thread until it was joined.
    GrowingFile lines_;
    GrowingFile events_;
    std::optional<GrowingFile> answers_;
    TimePoint epoch_;
    RecordWriterOptions options_;
    std::string event_bytes_;
    std::string line_bytes_;
    std::string answer_bytes_;

    std::mutex mutex_;  // guards the members that follow
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

namespace {

namespace ondemand = simdjson::ondemand;

// ---- reading

void enum_named(std::string_view name, std::optional<Outcome>& value) {
    value = outcome_named(name);
}
void enum_named(std::string_view name, std::optional<TokenSource>& value) {
    value = token_source_named(name);
}

/// Fills a record from the object of a line whose keys are in the order in which they are written. It stops
/// at anything that it does not expect; parse_record_line() then reads such a line and reports errors.
class FastReader {
  public:
    FastReader(ondemand::object object, TimePoint epoch)
        : epoch_(epoch), at_(object.begin()), end_(object.end()) {
        if (at_.error() == simdjson::SUCCESS && end_.error() == simdjson::SUCCESS)
            step();
        else
            fail();
    }

    /// Whether every key was known and every value had the right type.
    bool all_read() const { return good_ && !has_key_; }

    template <class T>
    void operator()(std::string_view key, T& value) {
        if (takes(key)) fill(value);
    }
    template <class T>
    void required(std::string_view key, T& value) {
        if (takes(key))
            fill(value);
        else
            fail();
    }
    template <class T, class Part>
    void part(std::string_view key, std::optional<T>& whole, Part T::*member) {
        if (!takes(key)) return;
        if (!whole) whole.emplace();
        fill((*whole).*member);
    }

  private:
    void fail() { good_ = has_key_ = false; }

    /// Moves to the next key, whose value can then be read.
    void step() {
        has_key_ = at_ != end_;
        if (!has_key_) return;
        ondemand::field field;
        if ((*at_).get(field) != simdjson::SUCCESS) return fail();
        key_ = field.key();
        value_ = field.value();
    }
    bool takes(std::string_view key) const { return has_key_ && key_.is_equal(key); }

    template <class T>
    void fill(std::optional<T>& value) {
        fill(value.emplace());
    }
    template <class T>
    void fill(T& value) {
        if (!read(value)) return fail();
        ++at_;
        step();
    }

    bool read(std::string& value) {
        std::string_view text;
        if (value_.get_string().get(text) != simdjson::SUCCESS) return false;
        value.assign(text);
        return true;
    }
    bool read(bool& value) { return value_.get_bool().get(value) == simdjson::SUCCESS; }
    bool read(TimePoint& value) {
        Duration since{};
        if (!read(since)) return false;
        value = epoch_ + since;
        return true;
    }
    bool read(Duration& value) {
        constexpr double kLongest = 9e9;  // longest time in seconds, as in json.cpp
        double seconds = 0;
        if (value_.get_double().get(seconds) != simdjson::SUCCESS || !(std::abs(seconds) <= kLongest))
            return false;
        value = from_seconds(seconds);
        return true;
    }
    template <class T>
    requires std::is_enum_v<T>
    bool read(T& value) {
        std::string_view name;
        if (value_.get_string().get(name) != simdjson::SUCCESS) return false;
        std::optional<T> named;
        enum_named(name, named);
        if (named) value = *named;
        return named.has_value();
    }
    template <std::integral T>
    bool read(T& value) {
        if constexpr (std::is_unsigned_v<T>) {
            std::uint64_t number = 0;
            if (value_.get_uint64().get(number) != simdjson::SUCCESS || !std::in_range<T>(number))
                return false;
            value = static_cast<T>(number);
        } else {
            std::int64_t number = 0;
            if (value_.get_int64().get(number) != simdjson::SUCCESS || !std::in_range<T>(number))
                return false;
            value = static_cast<T>(number);
        }
        return true;
    }

    TimePoint epoch_;
    simdjson::simdjson_result<ondemand::object_iterator> at_;
    simdjson::simdjson_result<ondemand::object_iterator> end_;
    ondemand::raw_json_string key_;
    ondemand::value value_;
    bool has_key_ = false;
    bool good_ = true;
};

/// Reads a line in the form that this program writes. Returns whether it could; `record` is valid only then.
/// Numeric escapes are left to the other reader, which is stricter about halves of surrogate pairs. `line` is
/// followed by SIMDJSON_PADDING readable bytes.
bool read_fast(ondemand::parser& parser, std::string_view line, TimePoint epoch, RequestRecord& record) {
    if (line.find("\\u") != std::string_view::npos) return false;
    ondemand::document document;
    ondemand::object object;
    if (parser.iterate(simdjson::padded_string_view(line.data(), line.size(),
                                                    line.size() + simdjson::SIMDJSON_PADDING))
                .get(document) != simdjson::SUCCESS ||
        document.get_object().get(object) != simdjson::SUCCESS)
        return false;
    FastReader reader(object, epoch);
    record_fields(reader, record);
    const bool checked_here = record.slo.empty();  // parse_record_line() checks the request's own limits
    return checked_here && reader.all_read() &&
           document.current_location().error() == simdjson::OUT_OF_BOUNDS;
}

/// Reads the lines of a file in blocks.
class LineFile {
  public:
    explicit LineFile(const std::filesystem::path& path)
        : path_(path), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
        if (file_ < 0) cannot_read(errno);
    }
    ~LineFile() { ::close(file_); }
    LineFile(const LineFile&) = delete;
    LineFile& operator=(const LineFile&) = delete;

    /// The next line without its end, followed by SIMDJSON_PADDING readable bytes; nothing after the last
    /// line. It is valid until the next call.
    std::optional<std::string_view> next() {
        std::size_t seen = 0;  // bytes of the line that were searched for its end
        while (true) {
            const char* const from = buffer_.data() + begin_ + seen;
            const std::size_t left = end_ - begin_ - seen;
            const auto* const found =
                left == 0 ? nullptr : static_cast<const char*>(std::memchr(from, '\n', left));
            // Whether the line is the last one depends on the bytes after its end, so they must be read
            // first.
            if (found != nullptr && (ended_ || found + 1 < buffer_.data() + end_))
                return taken(static_cast<std::size_t>(found - buffer_.data()), 1);
            if (ended_) {
                if (begin_ == end_) return std::nullopt;
                return taken(end_, 0);
            }
            seen =
                found != nullptr ? static_cast<std::size_t>(found - buffer_.data()) - begin_ : end_ - begin_;
            read_more();
        }
    }
    /// Whether nothing follows the line that next() gave.
    bool at_end() const { return ended_ && begin_ == end_; }

  private:
    static constexpr std::size_t kBlock = std::size_t{1} << 20;

    std::string_view taken(std::size_t line_end, std::size_t separator) {
        const std::string_view line(buffer_.data() + begin_, line_end - begin_);
        begin_ = line_end + separator;
        return line;
    }

    void read_more() {
        buffer_.erase(0, begin_);
        end_ -= begin_;
        begin_ = 0;
        buffer_.resize(end_ + kBlock + simdjson::SIMDJSON_PADDING);
        ssize_t got = 0;
        do got = ::read(file_, buffer_.data() + end_, kBlock);
        while (got < 0 && errno == EINTR);
        if (got < 0) cannot_read(errno);
        ended_ = got == 0;
        end_ += static_cast<std::size_t>(got);
    }

    [[noreturn]] void cannot_read(int error) const {
        throw UsageError(
            fmt::format("cannot read {}: {}; check the path", path_.string(), std::strerror(error)));
    }

    std::filesystem::path path_;
    int file_;
    std::string buffer_;
    std::size_t begin_ = 0;  ///< first byte that was not yet returned
    std::size_t end_ = 0;    ///< end of the bytes that were read
    bool ended_ = false;
};

}  // namespace

bool for_each_record(const std::filesystem::path& path, TimePoint epoch,
                     const std::function<void(RequestRecord&&)>& visit) {
    LineFile file(path);
    ondemand::parser parser;
    std::size_t number = 0;
    while (const auto line = file.next()) {
        ++number;
        if (line->empty()) continue;
        RequestRecord record;
        if (!read_fast(parser, *line, epoch, record)) {
            if (file.at_end() && !is_complete_json(*line)) return true;
            record = parse_record_line(*line, epoch, fmt::format("{}:{}", path.string(), number));
        }
        visit(std::move(record));
    }
    return false;
}

RequestTable read_requests(const std::filesystem::path& path, TimePoint epoch) {
    RequestTable requests;
    for_each_record(path, epoch, [&](RequestRecord&& record) { requests.add(record); });
    return requests;
}

}  // namespace paretoken::reports
