#include "reports/files/events.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/crc.hpp>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.h"

namespace paretoken::reports {
namespace {

constexpr std::size_t kSchemaBytes = kEventsHeaderBytes - sizeof(std::uint64_t);
constexpr std::size_t kFrameHeaderBytes = 16;  ///< length, checksum, index
constexpr std::size_t kChecksumAt = 4;
constexpr std::size_t kIndexAt = 8;

// The attributes of an event, which are stored in one byte.
constexpr unsigned kKindMask = 0x3;
constexpr unsigned kSameRead = 0x4;
constexpr unsigned kUserStamp = 0x8;
constexpr unsigned kTokensShift = 4;
constexpr unsigned kManyTokens = 15;  ///< the number of tokens follows as a varint

constexpr unsigned kWarmup = 0x1;  ///< a bit in the flags of a frame

// ---- bytes

template <class Unsigned>
void put(char* out, Unsigned value) {
    for (std::size_t i = 0; i < sizeof(Unsigned); ++i) out[i] = static_cast<char>(value >> (8 * i));
}

template <class Unsigned>
Unsigned get(const char* in) {
    Unsigned value = 0;
    for (std::size_t i = 0; i < sizeof(Unsigned); ++i)
        value |= static_cast<Unsigned>(static_cast<unsigned char>(in[i])) << (8 * i);
    return value;
}

constexpr std::size_t kLongestVarint = 10;

/// LEB128: seven bits per byte, the lowest bits first. Returns the end of what was written.
char* put_varint(char* out, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) *out++ = static_cast<char>(value | 0x80);
    *out++ = static_cast<char>(value);
    return out;
}

void append_varint(std::string& out, std::uint64_t value) {
    char bytes[kLongestVarint];
    out.append(bytes, put_varint(bytes, value));
}

/// Maps positive and negative numbers of small magnitude to small unsigned numbers.
constexpr std::uint64_t zigzag(std::uint64_t difference) {
    return (difference << 1) ^ (0 - (difference >> 63));
}
constexpr std::uint64_t unzigzag(std::uint64_t coded) {
    return (coded >> 1) ^ (0 - (coded & 1));
}

/// Reads numbers from the front of bytes. After the first number that is missing or malformed, all further
/// numbers are 0 and failed() is true.
class Bytes {
  public:
    explicit Bytes(std::string_view bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

    unsigned byte() {
        if (at_ == end_) return fail();
        return static_cast<unsigned char>(*at_++);
    }
    std::uint64_t varint() {
        if (left() < kLongestVarint) return varint_of([this] { return byte(); });
        return varint_of([this] { return static_cast<unsigned char>(*at_++); });  // no byte needs a check
    }
    std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }
    bool failed() const { return failed_; }

  private:
    template <class NextByte>
    std::uint64_t varint_of(NextByte next_byte) {
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            const unsigned next = next_byte();
            value |= static_cast<std::uint64_t>(next & 0x7f) << shift;
            if (next < 0x80) return value;
        }
        return fail();
    }
    unsigned fail() {
        failed_ = true;
        at_ = end_;
        return 0;
    }

    const char* at_;
    const char* end_;
    bool failed_ = false;
};

#if defined(__x86_64__)
/// Returns the CRC-32C by the instruction of the processor, which takes eight bytes at a time.
__attribute__((target("sse4.2"))) std::uint32_t checksum_by_instruction(std::string_view bytes) {
    std::uint64_t crc = 0xFFFFFFFF;
    const char* at = bytes.data();
    std::size_t left = bytes.size();
    for (; left >= sizeof(std::uint64_t); at += sizeof(std::uint64_t), left -= sizeof(std::uint64_t))
        crc = __builtin_ia32_crc32di(crc, get<std::uint64_t>(at));
    auto rest = static_cast<std::uint32_t>(crc);
    for (; left > 0; ++at, --left) rest = __builtin_ia32_crc32qi(rest, static_cast<unsigned char>(*at));
    return ~rest;
}
#endif

std::uint32_t checksum_of(std::string_view bytes) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("sse4.2")) return checksum_by_instruction(bytes);
#endif
    boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc32c;
    crc32c.process_bytes(bytes.data(), bytes.size());
    return crc32c.checksum();
}

// Times are added and subtracted as unsigned numbers, so that no pair of times overflows.
std::uint64_t nanoseconds_between(TimePoint from, TimePoint to) {
    return static_cast<std::uint64_t>(nanoseconds_since_boot(to)) -
           static_cast<std::uint64_t>(nanoseconds_since_boot(from));
}
TimePoint later(TimePoint from, std::uint64_t nanoseconds) {
    return TimePoint(Duration(
        static_cast<std::int64_t>(static_cast<std::uint64_t>(nanoseconds_since_boot(from)) + nanoseconds)));
}

// ---- attributes

unsigned attributes_of(const StreamEvent& event) {
    return static_cast<unsigned>(event.kind) | (event.same_read ? kSameRead : 0) |
           (event.kernel_stamp ? 0 : kUserStamp) |
           std::min<std::uint32_t>(event.tokens, kManyTokens) << kTokensShift;
}

/// Appends the attributes as runs of equal values, each with the length of the run.
void append_attributes(std::string& out, std::span<const StreamEvent> events) {
    for (std::size_t i = 0; i < events.size();) {
        const unsigned attributes = attributes_of(events[i]);
        std::size_t end = i + 1;
        while (end < events.size() && attributes_of(events[end]) == attributes &&
               events[end].tokens == events[i].tokens)
            ++end;
        out += static_cast<char>(attributes);
        if (attributes >> kTokensShift == kManyTokens) append_varint(out, events[i].tokens);
        append_varint(out, end - i);
        i = end;
    }
}

bool read_attributes(Bytes& bytes, std::vector<StreamEvent>& events) {
    for (std::size_t i = 0; i < events.size();) {
        const unsigned attributes = bytes.byte();
        const unsigned few = attributes >> kTokensShift;
        const std::uint64_t tokens = few == kManyTokens ? bytes.varint() : few;
        const std::uint64_t run = bytes.varint();
        if (bytes.failed() || run == 0 || run > events.size() - i ||
            (attributes & kKindMask) > static_cast<unsigned>(EventKind::tool_call) || tokens > UINT32_MAX)
            return false;
        for (const std::size_t end = i + run; i < end; ++i) {
            // Member by member, because copies of whole events are slower: the processor waits for its
            // stores.
            StreamEvent& event = events[i];
            event.tokens = static_cast<std::uint32_t>(tokens);
            event.kind = static_cast<EventKind>(attributes & kKindMask);
            event.same_read = (attributes & kSameRead) != 0;
            event.kernel_stamp = (attributes & kUserStamp) == 0;
            event.choice = 0;
        }
    }
    return true;
}

/// Appends the choices as runs of equal values, if the answer has several.
void append_choices(std::string& out, std::span<const StreamEvent> events) {
    const auto further = [](const StreamEvent& event) { return event.choice != 0; };
    if (std::ranges::none_of(events, further)) return;
    for (std::size_t i = 0; i < events.size();) {
        std::size_t end = i + 1;
        while (end < events.size() && events[end].choice == events[i].choice) ++end;
        out += static_cast<char>(events[i].choice);
        append_varint(out, end - i);
        i = end;
    }
}

bool read_choices(Bytes& bytes, std::vector<StreamEvent>& events) {
    for (std::size_t i = 0; i < events.size();) {
        const auto choice = static_cast<std::uint8_t>(bytes.byte());
        const std::uint64_t run = bytes.varint();
        if (bytes.failed() || run == 0 || run > events.size() - i) return false;
        for (const std::size_t end = i + run; i < end; ++i) events[i].choice = choice;
    }
    return true;
}

// ---- files

class File {
  public:
    explicit File(int file) : file_(file) {}
    ~File() {
        if (file_ >= 0) ::close(file_);
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    int get() const { return file_; }

  private:
    int file_;
};

[[noreturn]] void cannot_read(const std::filesystem::path& path, int error) {
    throw UsageError(fmt::format("cannot read {}: {}; check the path", path.string(), std::strerror(error)));
}

/// Reads a file through a window of bytes that moves forward.
class Pieces {
  public:
    Pieces(int file, const std::filesystem::path& path) : file_(file), path_(path) {}

    std::string_view bytes() const { return std::string_view(buffer_).substr(begin_); }
    void skip(std::size_t count) { begin_ += count; }

    /// Reads until the window holds `count` bytes, or the file has ended.
    bool fill(std::size_t count) {
        constexpr std::size_t kPiece = std::size_t{1} << 20;
        if (buffer_.size() - begin_ >= count) return true;
        buffer_.erase(0, std::exchange(begin_, 0));
        while (buffer_.size() < count) {
            const std::size_t before = buffer_.size();
            buffer_.resize(before + kPiece);
            const ssize_t got = ::read(file_, buffer_.data() + before, kPiece);
            const int error = errno;
            buffer_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
            if (got < 0 && error != EINTR) cannot_read(path_, error);
            if (got == 0) return false;
        }
        return true;
    }

  private:
    int file_;
    const std::filesystem::path& path_;
    std::string buffer_;
    std::size_t begin_ = 0;
};

}  // namespace

std::string events_header(TimePoint zero) {
    std::string header(kEventsHeaderBytes, '\0');
    kEventsSchema.copy(header.data(), kSchemaBytes);
    put(header.data() + kSchemaBytes, static_cast<std::uint64_t>(nanoseconds_since_boot(zero)));
    return header;
}

std::optional<TimePoint> zero_of_events(std::string_view bytes, const std::string& where) {
    if (bytes.size() < kEventsHeaderBytes) return std::nullopt;
    std::string_view schema = bytes.substr(0, kSchemaBytes);
    schema = schema.substr(0, schema.find('\0'));
    if (schema != kEventsSchema)
        throw UsageError(
            fmt::format("{} is not in the format {}, the only one that this version of paretoken reads; use "
                        "the version that wrote it, or measure again",
                        where, kEventsSchema));
    return later({}, get<std::uint64_t>(bytes.data() + kSchemaBytes));
}

void append_frame(std::string& out, const RequestKey& key, std::span<const StreamEvent> events,
                  TimePoint zero) {
    const std::size_t begin = out.size();
    out.append(kFrameHeaderBytes, '\0');
    out += static_cast<char>(key.warmup ? kWarmup : 0);
    append_varint(out, events.size());
    append_attributes(out, events);
    const std::size_t times = out.size();
    out.resize(times + events.size() * kLongestVarint);
    char* end = out.data() + times;
    TimePoint before = zero;
    for (const StreamEvent& event : events) {
        end = put_varint(end, zigzag(nanoseconds_between(before, event.time)));
        before = event.time;
    }
    out.resize(static_cast<std::size_t>(end - out.data()));
    append_choices(out, events);
    char* const frame = out.data() + begin;
    const std::size_t length = out.size() - begin - kFrameHeaderBytes;
    put(frame, static_cast<std::uint32_t>(length));
    put(frame + kIndexAt, key.index);
    put(frame + kChecksumAt, checksum_of(std::string_view(out).substr(begin + kIndexAt)));
}

namespace {

/// Returns the bytes of the frame at the beginning of `bytes` after its header; nothing when it is cut off or
/// damaged.
std::optional<std::string_view> content_of_frame(std::string_view bytes, Checksum checksum) {
    if (bytes.size() < kFrameHeaderBytes) return std::nullopt;
    const std::size_t length = get<std::uint32_t>(bytes.data());
    if (length > bytes.size() - kFrameHeaderBytes) return std::nullopt;
    const std::string_view checked = bytes.substr(kIndexAt, kFrameHeaderBytes - kIndexAt + length);
    if (checksum == Checksum::unknown &&
        checksum_of(checked) != get<std::uint32_t>(bytes.data() + kChecksumAt))
        return std::nullopt;
    return bytes.substr(kFrameHeaderBytes, length);
}

}  // namespace

std::optional<std::size_t> frame_length(std::string_view bytes, RequestKey& key) {
    const auto content = content_of_frame(bytes, Checksum::unknown);
    if (!content || content->empty()) return std::nullopt;
    key = {.index = get<std::uint64_t>(bytes.data() + kIndexAt),
           .warmup = (static_cast<unsigned char>(content->front()) & kWarmup) != 0};
    return kFrameHeaderBytes + content->size();
}

std::optional<std::size_t> decode_frame(std::string_view bytes, TimePoint zero, Frame& frame,
                                        Checksum checksum) {
    const auto content = content_of_frame(bytes, checksum);
    if (!content) return std::nullopt;
    Bytes rest(*content);
    frame.key = {.index = get<std::uint64_t>(bytes.data() + kIndexAt),
                 .warmup = (rest.byte() & kWarmup) != 0};
    const std::uint64_t count = rest.varint();
    if (rest.failed() || count > rest.left()) return std::nullopt;  // every event takes at least one byte
    frame.events.resize(count);
    if (!read_attributes(rest, frame.events)) return std::nullopt;
    TimePoint time = zero;
    for (StreamEvent& event : frame.events) event.time = time = later(time, unzigzag(rest.varint()));
    if (rest.left() != 0 && !read_choices(rest, frame.events)) return std::nullopt;
    if (rest.failed() || rest.left() != 0) return std::nullopt;
    return kFrameHeaderBytes + content->size();
}

EventsFile::EventsFile(std::filesystem::path path, TimePoint epoch) : path_(std::move(path)), epoch_(epoch) {}

void EventsFile::for_each(const Visit& visit) const {
    extent_ = {};
    const File file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0 && errno == ENOENT) return;
    struct stat facts {};
    if (file.get() < 0 || ::fstat(file.get(), &facts) != 0) cannot_read(path_, errno);
    auto left = static_cast<std::uint64_t>(std::max<off_t>(facts.st_size, 0));
    Pieces pieces(file.get(), path_);
    Frame frame;
    if (pieces.fill(kEventsHeaderBytes)) {
        zero_of_events(pieces.bytes(), path_.string());
        pieces.skip(kEventsHeaderBytes);
        left -= std::min<std::uint64_t>(left, kEventsHeaderBytes);
        while (pieces.fill(kFrameHeaderBytes)) {
            // A damaged length must not request more memory than the size of the file.
            const std::uint64_t size = kFrameHeaderBytes + get<std::uint32_t>(pieces.bytes().data());
            if (size > left || !pieces.fill(size)) break;
            const auto checksum = extent_.frames < verified_frames_ ? Checksum::verified : Checksum::unknown;
            const auto taken = decode_frame(pieces.bytes(), epoch_, frame, checksum);
            if (!taken) break;
            visit(frame.key, frame.events);
            ++extent_.frames;
            pieces.skip(*taken);
            left -= *taken;
        }
    }
    extent_.unread_bytes = left;
    verified_frames_ = std::max(verified_frames_, extent_.frames);
}

}  // namespace paretoken::reports
