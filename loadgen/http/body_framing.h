#pragma once
// Finds the body in the bytes of a message: chunked, of known length, or up to the connection's end (RFC
// 9112, 6.3 and 7.1). Returns views into the given bytes, which may be cut anywhere; no I/O, no allocation.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace paretoken::http {

class BodyFraming {
  public:
    enum class State : std::uint8_t {
        reading,
        complete,
        broken,  ///< see failure()
    };

    static BodyFraming of_length(std::uint64_t bytes);  ///< zero: complete at once
    static BodyFraming chunked();
    static BodyFraming until_close();

    /// Removes framing and the next piece of the body from the front of `bytes`. Returns that piece; empty if
    /// they hold none. Call again while bytes are left and the state is reading.
    std::span<const char> take(std::span<const char>& bytes);

    /// Handles the connection's end: it completes a body of until_close() and breaks any other.
    void end();

    State state() const { return state_; }
    std::string_view failure() const { return failure_; }

    static constexpr std::uint64_t kLongestChunk = std::uint64_t{1} << 48;  ///< bytes
    static constexpr std::uint32_t kMostExtra =
        64 * 1024;  ///< bytes of a chunk's extensions, or of all trailers

  private:
    /// The part of the message that the next byte belongs to.
    enum class Place : std::uint8_t {
        size,
        extension,
        size_line_feed,
        body,
        body_return,
        body_line_feed,
        trailer_start,
        trailer,
        trailer_line_feed,
        last_line_feed,
    };

    void take_framing(char byte);
    void take_size(char byte);
    void expect(char byte, char wanted, Place next);
    void count_extra();
    void fail(const char* why);

    std::uint64_t left_ = 0;  ///< bytes of this chunk or of the body; while a size is read, the size so far
    const char* failure_ = "";
    std::uint32_t extra_ = 0;
    State state_ = State::reading;
    Place place_ = Place::body;
    bool chunked_ = false;
    bool until_close_ = false;
    bool any_digit_ = false;
};

}  // namespace paretoken::http
