#include "loadgen/http/body_framing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <random>
#include <string>

namespace paretoken::http {
namespace {

struct Taken {
    std::string body;
    BodyFraming::State state = BodyFraming::State::reading;
    std::size_t left = 0;  ///< bytes after the body's end

    bool operator==(const Taken&) const = default;
};

/// Takes `text` in pieces of the lengths that `next_length` gives.
template <class NextLength>
Taken taken(BodyFraming framing, std::string_view text, NextLength&& next_length) {
    Taken all;
    while (!text.empty() && framing.state() == BodyFraming::State::reading) {
        const std::size_t length = std::min<std::size_t>(text.size(), next_length());
        std::span<const char> piece(text.data(), length);
        text.remove_prefix(length);
        while (!piece.empty() && framing.state() == BodyFraming::State::reading) {
            const auto body = framing.take(piece);
            all.body.append(body.data(), body.size());
        }
        all.left = piece.size();
    }
    all.left += text.size();
    all.state = framing.state();
    return all;
}

Taken taken_at_once(const BodyFraming& framing, std::string_view text) {
    return taken(framing, text, [&] { return text.size(); });
}

/// Reads the same chunked body with the HTTP library.
Taken taken_by_beast(std::string_view text) {
    namespace http = boost::beast::http;
    const std::string whole = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + std::string(text);
    http::response_parser<http::string_body> parser;
    parser.body_limit(boost::none);
    parser.eager(true);
    std::string_view left = whole;
    boost::beast::error_code ec;
    while (!left.empty() && !ec && !parser.is_done()) {
        const std::size_t n = parser.put(boost::asio::buffer(left.data(), left.size()), ec);
        left.remove_prefix(n);
        if (n == 0) break;
    }
    Taken all{.body = parser.get().body(), .left = left.size()};
    if (ec && ec != http::error::need_more) all.state = BodyFraming::State::broken;
    if (!ec && parser.is_done()) all.state = BodyFraming::State::complete;
    return all;
}

/// Returns a chunked body with extensions, trailers and sizes in either case.
std::string chunked(std::mt19937& random, std::string& body) {
    const auto one_in = [&](unsigned n) { return random() % n == 0; };
    std::string text;
    for (unsigned chunks = random() % 6; chunks > 0; --chunks) {
        std::string piece(1 + random() % 40, 'a');
        for (char& byte : piece) byte = "ab\r\n0;{"[random() % 7];
        body += piece;
        text += one_in(2) ? fmt::format("{:x}", piece.size()) : fmt::format("{:04X}", piece.size());
        if (one_in(3)) text += ";name=value";
        text += "\r\n" + piece + "\r\n";
    }
    text += one_in(2) ? "0\r\n" : "000\r\n";
    if (one_in(2)) text += "X-Trailer: of the answer\r\n";
    return text + "\r\n";
}

TEST(BodyFraming, GivesAChunkedBodyHoweverItIsCut) {
    std::mt19937 random(1);
    for (int i = 0; i < 2000; ++i) {
        std::string body;
        const std::string text = chunked(random, body);
        const Taken expected{.body = body, .state = BodyFraming::State::complete};
        EXPECT_EQ(taken_at_once(BodyFraming::chunked(), text), expected) << text;
        EXPECT_EQ(taken(BodyFraming::chunked(), text, [&] { return 1 + random() % 7; }), expected) << text;
    }
}

TEST(BodyFraming, StopsWhereAnotherImplementationStops) {
    std::mt19937 random(2);
    int complete = 0, broken = 0;
    for (int i = 0; i < 20000; ++i) {
        std::string body;
        std::string text = chunked(random, body);
        text[random() % text.size()] = "0\r\n;gF\x01 "[random() % 8];
        const Taken theirs = taken_by_beast(text);
        const Taken ours = taken_at_once(BodyFraming::chunked(), text);
        if (theirs.state != BodyFraming::State::complete) {
            broken += ours.state != BodyFraming::State::complete ? 1 : 0;
            continue;  // the framing may be right: it refuses a blank in a trailer's name, for example
        }
        ++complete;
        EXPECT_EQ(ours, theirs) << text;
    }
    EXPECT_GT(complete, 1000);
    EXPECT_GT(broken, 1000);
}

TEST(BodyFraming, LeavesWhatFollowsTheBody) {
    EXPECT_EQ(taken_at_once(BodyFraming::of_length(3), "abcHTTP/1.1"),
              (Taken{"abc", BodyFraming::State::complete, 8}));
    EXPECT_EQ(taken_at_once(BodyFraming::chunked(), "1\r\na\r\n0\r\n\r\nHTTP/1.1"),
              (Taken{"a", BodyFraming::State::complete, 8}));
}

TEST(BodyFraming, OfNoLengthIsCompleteAtOnce) {
    EXPECT_EQ(BodyFraming::of_length(0).state(), BodyFraming::State::complete);
}

TEST(BodyFraming, UntilTheCloseEndsWithTheConnection) {
    BodyFraming framing = BodyFraming::until_close();
    const std::string text = "0\r\n\r\n";
    std::span<const char> bytes(text);
    const auto body = framing.take(bytes);
    EXPECT_EQ(std::string(body.data(), body.size()), text);
    EXPECT_EQ(framing.state(), BodyFraming::State::reading);
    framing.end();
    EXPECT_EQ(framing.state(), BodyFraming::State::complete);
}

TEST(BodyFraming, ThatTheConnectionCutsIsBroken) {
    for (BodyFraming framing : {BodyFraming::of_length(3), BodyFraming::chunked()}) {
        framing.end();
        EXPECT_EQ(framing.state(), BodyFraming::State::broken);
        EXPECT_NE(framing.failure(), "");
    }
}

TEST(BodyFraming, TakesBlanksAfterAChunksSize) {
    EXPECT_EQ(taken_at_once(BodyFraming::chunked(), "1  \r\na\r\n0\r\n\r\n"),
              (Taken{"a", BodyFraming::State::complete, 0}));
}

TEST(BodyFraming, TakesAStreamWhoseEveryChunkHasAnExtension) {
    std::string text, body;
    for (std::uint32_t extra = 0; extra < 2 * BodyFraming::kMostExtra; extra += 21) {
        text += "1;sig=0123456789abcdef\r\na\r\n";
        body += 'a';
    }
    EXPECT_EQ(taken_at_once(BodyFraming::chunked(), text + "0\r\n\r\n"),
              (Taken{body, BodyFraming::State::complete, 0}));
}

TEST(BodyFraming, RefusesWhatIsNoChunk) {
    const std::string endless = "1;" + std::string(BodyFraming::kMostExtra + 1, 'x');
    for (const std::string& text :
         {std::string("\r\n"), std::string("x\r\n"), std::string("1x\r\na\r\n"), std::string("1\na\r\n"),
          std::string("1\r\nab\r\n"), std::string("-1\r\n"), std::string("fffffffffffffffff\r\n"), endless}) {
        EXPECT_EQ(taken_at_once(BodyFraming::chunked(), text).state, BodyFraming::State::broken) << text;
    }
}

}  // namespace
}  // namespace paretoken::http
