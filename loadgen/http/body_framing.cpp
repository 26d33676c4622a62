#include "loadgen/http/body_framing.h"

#include <algorithm>

namespace paretoken::http {
namespace {

/// Returns the value of a hexadecimal digit; -1 for any other byte.
int digit_of(char byte) {
    if (byte >= '0' && byte <= '9') return byte - '0';
    const char lower = static_cast<char>(byte | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

}  // namespace

BodyFraming BodyFraming::of_length(std::uint64_t bytes) {
    BodyFraming framing;
    framing.left_ = bytes;
    if (bytes == 0) framing.state_ = State::complete;
    return framing;
}

BodyFraming BodyFraming::chunked() {
    BodyFraming framing;
    framing.chunked_ = true;
    framing.place_ = Place::size;
    return framing;
}

BodyFraming BodyFraming::until_close() {
    BodyFraming framing;
    framing.until_close_ = true;
    return framing;
}

std::span<const char> BodyFraming::take(std::span<const char>& bytes) {
    std::size_t at = 0;
    while (at < bytes.size() && place_ != Place::body && state_ == State::reading) take_framing(bytes[at++]);
    bytes = bytes.subspan(at);
    if (state_ != State::reading || bytes.empty()) return {};
    if (until_close_) {
        const auto all = bytes;
        bytes = {};
        return all;
    }
    const auto piece = bytes.first(static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size())));
    bytes = bytes.subspan(piece.size());
    left_ -= piece.size();
    if (left_ == 0 && chunked_) place_ = Place::body_return;
    if (left_ == 0 && !chunked_) state_ = State::complete;
    return piece;
}

void BodyFraming::take_framing(char byte) {
    switch (place_) {
        case Place::size:
            return take_size(byte);
        case Place::extension:
            if (byte == '\r') place_ = Place::size_line_feed;
            return count_extra();
        case Place::size_line_feed:
            return expect(byte, '\n', left_ == 0 ? Place::trailer_start : Place::body);
        case Place::body_return:
            return expect(byte, '\r', Place::body_line_feed);
        case Place::body_line_feed:
            any_digit_ = false;
            extra_ = 0;
            return expect(byte, '\n', Place::size);
        case Place::trailer_start:
            place_ = byte == '\r' ? Place::last_line_feed : Place::trailer;
            return;
        case Place::trailer:
            if (byte == '\r') place_ = Place::trailer_line_feed;
            return count_extra();
        case Place::trailer_line_feed:
            return expect(byte, '\n', Place::trailer_start);
        case Place::last_line_feed:
            expect(byte, '\n', Place::last_line_feed);
            if (state_ == State::reading) state_ = State::complete;
            return;
        case Place::body:
            return;
    }
}

void BodyFraming::take_size(char byte) {
    if (const int digit = digit_of(byte); digit >= 0) {
        left_ = left_ * 16 + static_cast<std::uint64_t>(digit);
        any_digit_ = true;
        if (left_ > kLongestChunk) fail("a chunk's size is too large");
    } else if (!any_digit_) {
        fail("a chunk has no size");
    } else if (byte == '\r') {
        place_ = Place::size_line_feed;
    } else if (byte == ';' || byte == ' ' || byte == '\t') {
        place_ = Place::extension;
    } else {
        fail("a chunk's size is not a hexadecimal number");
    }
}

void BodyFraming::expect(char byte, char wanted, Place next) {
    if (byte != wanted) return fail("a line break (CRLF) is missing after a chunk or its size");
    place_ = next;
}

void BodyFraming::count_extra() {
    if (++extra_ > kMostExtra) fail("more than 64 KiB of chunk extensions or trailers");
}

void BodyFraming::fail(const char* why) {
    state_ = State::broken;
    failure_ = why;
}

void BodyFraming::end() {
    if (state_ != State::reading) return;
    if (until_close_) {
        state_ = State::complete;
    } else {
        fail("the connection ended inside the response");
    }
}

}  // namespace paretoken::http
