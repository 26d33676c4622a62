#pragma once
// Server-sent events from bytes that arrive in any pieces, by the WHATWG rule. Invariant: the events do not
// depend on where the pieces were cut. An event that lies in one piece is handed out where it lies; nothing
// is copied, and nothing is allocated once the buffers for cut events have grown. No I/O.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace paretoken::openai {

/// Bytes that may be read (not: that mean anything) after every piece given to feed() and after every `data`
/// handed out, so that a vector-wise JSON parser needs no copy.
inline constexpr std::size_t kReadablePadding = 64;

/// Views live until the callback returns.
struct SseEvent {
    std::string_view type;  ///< empty: "message"
    std::string_view data;

    bool operator==(const SseEvent&) const = default;
};

/// A growing run of bytes with kReadablePadding readable bytes after it.
class PaddedBuffer {
  public:
    /// A line feed stands behind the bytes, as it does behind an event that was not copied: what a JSON
    /// parser makes of broken bytes may depend on the one that follows them.
    void append(std::string_view bytes);
    void append(char byte) { append(std::string_view(&byte, 1)); }
    /// Appends bytes, as append() does, that come with kReadablePadding readable bytes after them: a short
    /// piece, as the text of one token is, is copied without a call.
    void append_padded(std::string_view bytes) {
        constexpr std::size_t kShort = 16;
        static_assert(kShort <= kReadablePadding);
        if (bytes.size() > kShort || size_ + bytes.size() > capacity_) return append(bytes);
        std::memcpy(bytes_.get() + size_, bytes.data(), kShort);
        size_ += bytes.size();
    }
    /// Appends what `write(char*)` writes, which returns how many bytes: at most `most`.
    template <class Write>
    void append_written(std::size_t most, Write&& write) {
        if (size_ + most > capacity_) grow(size_ + most);
        size_ += write(bytes_.get() + size_);
    }
    void clear() { size_ = 0; }  ///< keeps the memory
    /// Empties the buffer and frees its memory where it has grown beyond the size that answers need.
    void recycle();
    std::size_t size() const { return size_; }
    std::size_t capacity() const { return capacity_; }
    std::string_view view() const { return {bytes_.get(), size_}; }

  private:
    void grow(std::size_t needed);

    std::unique_ptr<char[]> bytes_;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;  ///< usable; the allocation is kReadablePadding larger
};

class SseParser {
  public:
    /// One line or one event's data longer than this is not a stream of tokens.
    static constexpr std::size_t kLongest = std::size_t{1} << 20;

    /// Ready for another stream; buffers are kept.
    void reset();

    /// `on_event(const SseEvent&)` for every event that `bytes` completes. The caller guarantees
    /// kReadablePadding readable bytes after `bytes`. After malformed() everything is ignored.
    template <class OnEvent>
    void feed(std::span<const char> bytes, OnEvent&& on_event) {
        begin_piece(bytes);
        while (next()) on_event(ended_event());
    }

    /// The data that the stream's end leaves without its blank line. (The WHATWG rule drops it; servers
    /// exist that end with a bare "data: [DONE]".) The view lives until the next call.
    std::optional<SseEvent> rest();

    bool malformed() const { return malformed_; }  ///< a line or an event above kLongest
    std::uint64_t comments() const {
        return comments_;
    }                                               ///< comment lines, and named events without data (pings)
    std::uint64_t lines() const { return lines_; }  ///< lines that the format knows: fields and comments

  private:
    void begin_piece(std::span<const char> bytes);
    bool next();  ///< reads on; true: an event has ended
    /// Reads an event of one data line that lies whole at the beginning of the piece in hand, as most do;
    /// false where it is not certain to be one.
    bool take_event_in_one_piece();
    bool take_line(std::string_view line);  ///< true: a blank line ended an event with data
    void add_data(std::string_view value);
    void keep_data();  ///< copies data that is still a view, before what it points into changes
    SseEvent ended_event() const;

    std::string_view piece_;  ///< what is left of the piece in hand
    std::string_view data_;   ///< the event's only data line so far, where it lies
    PaddedBuffer line_;       ///< the beginning of a line that a piece cut off
    PaddedBuffer kept_data_;  ///< data of an event that a piece cut off, or of several lines
    PaddedBuffer type_;
    std::uint64_t comments_ = 0;
    std::uint64_t lines_ = 0;
    bool has_data_ = false;
    bool data_kept_ = false;   ///< data is in kept_data_
    bool first_line_ = true;   ///< a byte order mark may precede it
    bool after_cr_ = false;    ///< a line feed now belongs to the line before
    bool event_over_ = false;  ///< the event handed out last is to be forgotten
    bool malformed_ = false;
};

}  // namespace paretoken::openai
