// Chunked bodies: a body that was sent in any chunks and read in any pieces is returned unchanged, and the
// result for any other bytes does not depend on the cuts.
#include "loadgen/http/body_framing.h"

#include "tests/fuzz/fuzz.h"

namespace paretoken::fuzz {
namespace {

struct Taken {
    std::string body;
    http::BodyFraming::State state = http::BodyFraming::State::reading;
    std::string failure;
    std::size_t left = 0;  ///< bytes after the message

    bool operator==(const Taken&) const = default;
};

Taken take(http::BodyFraming framing, std::string_view bytes, std::uint8_t seed) {
    Taken taken;
    for (const std::string_view piece : pieces_of(bytes, seed)) {
        const Padded padded(piece, 0);
        std::span<const char> rest = padded.span();
        while (!rest.empty() && framing.state() == http::BodyFraming::State::reading) {
            const std::size_t before = rest.size();
            const auto body = framing.take(rest);
            require(rest.size() < before, "every call takes something");
            taken.body.append(body.data(), body.size());
        }
        taken.left += rest.size();
    }
    framing.end();
    require(framing.state() != http::BodyFraming::State::reading, "the connection's end ends the body");
    taken.state = framing.state();
    taken.failure = framing.failure();
    return taken;
}

std::string chunked(std::string_view body, std::uint8_t seed) {
    std::string bytes;
    for (const std::string_view piece : pieces_of(body, seed)) {
        char size[32];
        std::snprintf(size, sizeof size, seed % 2 == 0 ? "%zx\r\n" : "%zX;a=b\r\n", piece.size());
        if (!piece.empty()) bytes.append(size).append(piece).append("\r\n");
    }
    return bytes += "0\r\n\r\n";
}

}  // namespace

void fuzz(Input input) {
    const std::uint8_t form = input.byte();
    const std::uint8_t seed = input.byte();
    const std::string_view bytes = input.rest();
    const auto framing = [&] {
        if (form % 4 == 0) return http::BodyFraming::of_length(form / 4U);
        return form % 4 == 1 ? http::BodyFraming::until_close() : http::BodyFraming::chunked();
    };
    const Taken whole = take(framing(), bytes, 0);
    require(whole == take(framing(), bytes, seed), "a cut does not change what is read");
    require(whole.body.size() + whole.left <= bytes.size(), "a body is a part of what came");
    const Taken sent = take(http::BodyFraming::chunked(), chunked(bytes, form), seed);
    require(sent.state == http::BodyFraming::State::complete && sent.body == bytes && sent.left == 0,
            "what was sent in chunks is read as it was");
}

}  // namespace paretoken::fuzz
