#pragma once
// Parses server-sent events, as WHATWG specifies them, from bytes that arrive in pieces of any size.
// Invariant: the events do not depend on how the stream is divided into pieces. If an event has one data line
// and lies within one piece, its data is a view of that piece. All other data, and the type of an event, are
// copied into buffers. Within a stream, memory is allocated only while these buffers grow. No I/O.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace paretoken::protocol {

/// The number of readable bytes (of any value) after every piece given to feed() and after every `data`
/// returned, so that a vectorised JSON parser needs no copy.
inline constexpr std::size_t kReadablePadding = 64;

/// Returns whether a byte is JSON white space: a blank, a tab, a carriage return or a line feed.
inline bool is_blank(char byte) {
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

/// One event. Its views are valid until the callback returns.
struct SseEvent {
    std::string_view type;  ///< type of the event; if empty, the type is "message"
    std::string_view data;

    bool operator==(const SseEvent&) const = default;
};

/// A growing buffer of bytes with kReadablePadding readable bytes after them.
class PaddedBuffer {
  public:
    /// Appends bytes, and stores a line feed behind them that is not part of the content. For invalid JSON,
    /// the result of a JSON parser may depend on the next byte. An event that was not copied is followed by a
    /// line end; with the line feed, an event that was copied is too, so that both give the same result.
    void append(std::string_view bytes);
    void append(char byte) { append(std::string_view(&byte, 1)); }
    /// Appends bytes that have kReadablePadding readable bytes after them. If there are at most 16 bytes (the
    /// text of one token, for example) and the buffer has room, they are copied without a function call, and
    /// no line feed is stored behind them. Otherwise append() appends them.
    void append_padded(std::string_view bytes) {
        constexpr std::size_t kShort = 16;
        static_assert(kShort <= kReadablePadding);
        if (bytes.size() > kShort || size_ + bytes.size() > capacity_) return append(bytes);
        std::memcpy(bytes_.get() + size_, bytes.data(), kShort);
        size_ += bytes.size();
    }
    /// Appends the bytes that `write(char*)` writes. `write` returns their number, which is at most `most`.
    template <class Write>
    void append_written(std::size_t most, Write&& write) {
        if (size_ + most > capacity_) grow(size_ + most);
        size_ += write(bytes_.get() + size_);
    }
    void clear() { size_ = 0; }  ///< keeps the memory
    /// Empties the buffer, and frees its memory if it has grown beyond the size that answers need.
    void recycle();
    std::size_t size() const { return size_; }
    std::size_t capacity() const { return capacity_; }
    std::string_view view() const { return {bytes_.get(), size_}; }

  private:
    void grow(std::size_t needed);

    std::unique_ptr<char[]> bytes_;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;  ///< usable bytes; the allocation is kReadablePadding larger
};

class SseParser {
  public:
    /// The longest line or event data; a stream of tokens has no longer one.
    static constexpr std::size_t kLongest = std::size_t{1} << 20;

    /// Prepares for another stream; buffers are kept.
    void reset();

    /// Calls `on_event(const SseEvent&)` for every event that `bytes` completes. The caller guarantees
    /// kReadablePadding readable bytes after `bytes`. After malformed() everything is ignored.
    template <class OnEvent>
    void feed(std::span<const char> bytes, OnEvent&& on_event) {
        begin_piece(bytes);
        while (next()) on_event(ended_event());
    }

    /// Returns the last event, valid until the next call, if the stream ended before the blank line that
    /// completes it. (The WHATWG rule drops it, but some servers end with a bare "data: [DONE]".)
    std::optional<SseEvent> rest();

    bool malformed() const { return malformed_; }  ///< whether a line or an event exceeded kLongest
    std::uint64_t comments() const {
        return comments_;
    }                                               ///< comment lines, and named events without data (pings)
    std::uint64_t lines() const { return lines_; }  ///< number of valid lines: fields and comments

    /// Returns the last lines of the stream so far, joined by line feeds, if they are neither fields nor
    /// comments. Empty if there are none, or if they have more than kLongestForeign bytes. At the end of a
    /// stream, rest() adds a last line without a line end.
    std::string_view foreign_lines() const {
        const bool is_last = lines_ == lines_before_foreign_ && foreign_.size() <= kLongestForeign;
        return is_last ? foreign_.view() : std::string_view();
    }
    static constexpr std::size_t kLongestForeign = 16 * 1024;

  private:
    void begin_piece(std::span<const char> bytes);
    bool next();  ///< reads further; returns true if an event has ended
    /// Reads an event of one data line that is complete at the beginning of the current piece, as most are;
    /// returns false if it is not certain to be one.
    bool take_event_in_one_piece();
    bool take_line(std::string_view line);  ///< returns true if a blank line ended an event with data
    void add_data(std::string_view value);
    void add_foreign(std::string_view line);
    void keep_data();  ///< copies data that is still a view, before its memory changes
    SseEvent ended_event() const;

    std::string_view piece_;  ///< rest of the current piece
    std::string_view data_;   ///< the event's only data line so far, as a view
    PaddedBuffer line_;       ///< beginning of a line that a piece cut off
    PaddedBuffer kept_data_;  ///< data of an event that a piece cut off, or of several lines
    PaddedBuffer type_;
    PaddedBuffer foreign_;  ///< beginning of the foreign lines since the last valid one
    std::uint64_t comments_ = 0;
    std::uint64_t lines_ = 0;
    std::uint64_t lines_before_foreign_ = 0;
    bool has_data_ = false;
    bool data_kept_ = false;   ///< whether the data is in kept_data_
    bool first_line_ = true;   ///< whether a byte order mark may come next
    bool after_cr_ = false;    ///< whether a line feed now belongs to the line before
    bool event_over_ = false;  ///< whether the event returned last must be cleared
    bool malformed_ = false;
};

}  // namespace paretoken::protocol
