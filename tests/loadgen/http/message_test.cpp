#include "loadgen/http/message.h"

#include <gmock/gmock.h>

#include <cstring>

namespace paretoken::http {
namespace {

struct Heard final : ResponseSink {
    ResponseHead head;
    int heads = 0;
    std::string body;
    std::vector<std::string> further = {};

    std::span<const std::string> further_headers() const override { return further; }
    void on_head(const ResponseHead& h) override {
        head = h;
        ++heads;
    }
    void on_body(std::span<const char> bytes) override {
        ASSERT_EQ(heads, 1) << "the head comes before the body";
        body.append(bytes.data(), bytes.size());
    }
};

/// Feeds `text` in pieces of `size`, each in a buffer of its own with the promised padding.
ResponseReader::State feed_in_pieces(ResponseReader& reader, const std::string& text, std::size_t size) {
    auto state = ResponseReader::State::reading;
    for (std::size_t at = 0; at < text.size() && state == ResponseReader::State::reading; at += size) {
        const std::size_t n = std::min(size, text.size() - at);
        const auto piece = std::make_unique<char[]>(n + 64);
        std::memcpy(piece.get(), text.data() + at, n);
        state = reader.feed({piece.get(), n});
    }
    return state;
}

const std::string kChunked =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    "7\r\ndata: a\r\n3;x=y\r\n\n\nb\r\n1A\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\n\r\n";
const std::string kChunkedBody = "data: a\n\nbabcdefghijklmnopqrstuvwxyz";

TEST(ResponseReader, GivesTheSameBodyHoweverTheBytesAreCut) {
    for (std::size_t size = 1; size <= kChunked.size(); ++size) {
        Heard heard;
        ResponseReader reader(heard);
        reader.begin();
        ASSERT_EQ(feed_in_pieces(reader, kChunked, size), ResponseReader::State::complete) << size;
        EXPECT_EQ(heard.body, kChunkedBody) << size;
        EXPECT_EQ(heard.head.status, 200);
        EXPECT_EQ(heard.head.content_type, "text/event-stream");
        EXPECT_TRUE(reader.keep_alive());
    }
}

TEST(ResponseReader, GivesTheFurtherHeadersThatItsSinkNames) {
    Heard heard;
    heard.further = {"x-session-token", "x-other", "X-TWICE"};
    ResponseReader reader(heard);
    reader.begin();
    const std::string text =
        "HTTP/1.1 200 OK\r\nX-Session-Token: \t a b \r\nx-twice: 1\r\nx-twice: 2\r\nContent-Length: "
        "0\r\n\r\n";
    EXPECT_EQ(feed_in_pieces(reader, text, 7), ResponseReader::State::complete);
    EXPECT_EQ(heard.head.further, (std::vector<std::string>{"a b", "", "1"}));
}

TEST(ResponseReader, ReadsOneResponseAfterTheOther) {
    Heard heard;
    ResponseReader reader(heard);
    for (int i = 0; i < 3; ++i) {
        heard = {};
        reader.begin();
        const std::string text = "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\nServer: x\r\n\r\nno";
        EXPECT_EQ(feed_in_pieces(reader, text, 1000), ResponseReader::State::complete);
        EXPECT_EQ(heard.head.status, 404);
        EXPECT_EQ(heard.body, "no");
    }
}

TEST(ResponseReader, SkipsTheEmptyLineBehindTheAnswerBefore) {
    const std::string text = "\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    for (std::size_t size = 1; size <= text.size(); ++size) {
        Heard heard;
        ResponseReader reader(heard);
        reader.begin();
        EXPECT_EQ(feed_in_pieces(reader, "\r\n", size), ResponseReader::State::reading);
        EXPECT_FALSE(reader.any_bytes()) << "the answer has not begun";
        ASSERT_EQ(feed_in_pieces(reader, text, size), ResponseReader::State::complete) << size;
        EXPECT_EQ(heard.body, "ok");
    }
}

TEST(ResponseReader, SeesThatTheServerWillClose) {
    Heard heard;
    ResponseReader reader(heard);
    reader.begin();
    feed_in_pieces(reader, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", 1000);
    EXPECT_FALSE(reader.keep_alive());
}

TEST(ResponseReader, TakesABodyThatEndsWithTheConnection) {
    Heard heard;
    ResponseReader reader(heard);
    reader.begin();
    EXPECT_EQ(feed_in_pieces(reader, "HTTP/1.0 200 OK\r\n\r\nall of it", 5), ResponseReader::State::reading);
    EXPECT_EQ(reader.feed_end(), ResponseReader::State::complete);
    EXPECT_EQ(heard.body, "all of it");
}

TEST(ResponseReader, CallsAChunkedBodyThatBreaksOffBroken) {
    Heard heard;
    ResponseReader reader(heard);
    reader.begin();
    feed_in_pieces(reader, kChunked.substr(0, kChunked.size() - 10), 1000);
    EXPECT_EQ(reader.feed_end(), ResponseReader::State::broken);
    EXPECT_FALSE(reader.failure().empty());
}

TEST(ResponseReader, TakesAStatusLineWithoutAReason) {
    for (const char* line : {"HTTP/1.1 200", "HTTP/1.1 200 ", "HTTP/1.1 100\r\n\r\nHTTP/1.1 200"}) {
        for (const std::size_t size : {1UL, 5UL, 1000UL}) {
            Heard heard;
            ResponseReader reader(heard);
            reader.begin();
            const std::string text = std::string(line) + "\r\nContent-Length: 3\r\n\r\nyes";
            EXPECT_EQ(feed_in_pieces(reader, text, size), ResponseReader::State::complete) << line;
            EXPECT_EQ(heard.head.status, 200) << line;
            EXPECT_EQ(heard.body, "yes") << line;
        }
    }
}

TEST(ResponseReader, TakesAHeadWhoseLinesEndWithALineFeedAlone) {
    const std::string head = "HTTP/1.1 200\nContent-Type: text/event-stream\nContent-Length: 10\n\n";
    for (std::size_t size = 1; size <= head.size() + 10; ++size) {
        Heard heard;
        ResponseReader reader(heard);
        reader.begin();
        ASSERT_EQ(feed_in_pieces(reader, head + "data: a\n\n\n", size), ResponseReader::State::complete)
            << size;
        EXPECT_EQ(heard.body, "data: a\n\n\n") << size;
        EXPECT_EQ(heard.head.content_type, "text/event-stream") << size;
    }
}

TEST(ResponseReader, SkipsInterimResponses) {
    for (const std::size_t size : {1UL, 7UL, 1000UL}) {
        Heard heard;
        ResponseReader reader(heard);
        reader.begin();
        const std::string text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx";
        EXPECT_EQ(feed_in_pieces(reader, text, size), ResponseReader::State::complete);
        EXPECT_EQ(heard.head.status, 200);
        EXPECT_EQ(heard.body, "x");
    }
}

TEST(ResponseReader, KnowsWhereAnAnswerEndsAndWhetherTheConnectionGoesOn) {
    struct Case {
        std::string text;
        std::string body;
        ResponseReader::State state;
        bool keep_alive;
    };
    using State = ResponseReader::State;
    const std::vector<Case> cases = {
        {"HTTP/1.1 204 No Content\r\n\r\n", "", State::complete, true},
        {"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", "", State::complete, true},
        {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "", State::complete, true},
        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", "ab", State::complete, true},
        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabcd", "ab", State::complete, false},
        {"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nab", "ab", State::complete, false},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX: y\r\n\r\n", "a",
         State::complete, true},
        {"HTTP/1.1 200 OK\r\n\r\nab", "ab", State::reading, false},
        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", "a",
         State::complete, true},
        {"HTTP/1.1 200 OK\ntransfer-encoding: gzip, Chunked\nContent-length: 9\n\n1\r\na\r\n0\r\n\r\n", "a",
         State::complete, true},
        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc", "", State::broken, false},
        {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na", "a", State::complete,
         true},
    };
    for (const Case& expected : cases) {
        for (const std::size_t size : {std::size_t{1}, std::size_t{30}, expected.text.size()}) {
            Heard heard;
            ResponseReader reader(heard);
            reader.begin();
            EXPECT_EQ(feed_in_pieces(reader, expected.text, size), expected.state) << expected.text;
            EXPECT_EQ(heard.body, expected.body) << expected.text;
            // This reader does not see bytes after the end that come in a separate read.
            const bool seen = size == expected.text.size() || expected.text.find("abcd") == std::string::npos;
            if (expected.state != State::broken && seen) {
                EXPECT_EQ(reader.keep_alive(), expected.keep_alive) << expected.text;
            }
        }
    }
}

TEST(ResponseHead, IsCompressedByAnyEncodingButIdentity) {
    const auto compressed = [](std::string_view encoding) {
        ResponseHead head;
        head.content_encoding = encoding;
        return is_compressed(head);
    };
    for (const char* encoding : {"", "identity", "Identity"}) EXPECT_FALSE(compressed(encoding)) << encoding;
    for (const char* encoding : {"gzip", "br"}) EXPECT_TRUE(compressed(encoding)) << encoding;
}

TEST(ResponseHead, HasTheTransferCodingThatPacksTheBody) {
    const auto encoding_of = [](const std::string& codings) {
        Heard heard;
        ResponseReader reader(heard);
        reader.begin();
        feed_in_pieces(reader, "HTTP/1.1 200 OK\r\nTransfer-Encoding: " + codings + "\r\n\r\n0\r\n\r\n", 100);
        return heard.head.content_encoding;
    };
    EXPECT_EQ(encoding_of("chunked"), "");
    EXPECT_EQ(encoding_of("gzip, chunked"), "gzip");
}

TEST(ResponseHead, RetryAfterMayBeADate) {
    constexpr std::time_t kNow = 784111777;  // Sun, 06 Nov 1994 08:49:37 GMT
    const auto wait = [](const char* value) {
        ResponseHead head;
        head.retry_after = value;
        return retry_after_of(head, kNow);
    };
    EXPECT_EQ(wait("7"), std::chrono::seconds(7));
    EXPECT_EQ(wait("Sun, 06 Nov 1994 08:49:39 GMT"), std::chrono::seconds(2));
    EXPECT_EQ(wait("Sun, 06 Nov 1994 08:49:30 GMT"), std::chrono::seconds(0));
    EXPECT_EQ(wait("Mon, 07 Nov 1994 08:49:37 GMT"), std::chrono::hours(1));
    EXPECT_EQ(wait("soon"), std::nullopt);
}

TEST(ResponseReader, NamesATransferEncodingThatIsThereTwice) {
    Heard heard;
    ResponseReader reader(heard);
    reader.begin();
    const std::string header = "Transfer-Encoding: chunked\r\n";
    feed_in_pieces(reader, "HTTP/1.1 200 OK\r\n" + header + header + "\r\n0\r\n\r\n", 200);
    EXPECT_THAT(reader.failure(), ::testing::HasSubstr("Transfer-Encoding: the header is there twice"));
}

TEST(ResponseReader, RefusesWhatIsNotHttp) {
    Heard heard;
    ResponseReader reader(heard);
    reader.begin();
    EXPECT_EQ(feed_in_pieces(reader, "SSH-2.0-OpenSSH_9.2\r\n\r\n", 1000), ResponseReader::State::broken);
    EXPECT_NE(reader.failure().find("HTTP"), std::string::npos);
}

TEST(ResponseReader, NamesTheFirstFrameOfHttp2) {
    Heard heard;
    ResponseReader reader(heard);
    reader.begin();
    const std::string settings("\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x64", 15);
    EXPECT_EQ(feed_in_pieces(reader, settings, 15), ResponseReader::State::broken);
    EXPECT_THAT(reader.failure(), ::testing::HasSubstr("HTTP/2"));
}

TEST(ResponseReader, RefusesHeadersWithoutEnd) {
    Heard heard;
    ResponseReader reader(heard);
    reader.begin();
    std::string text = "HTTP/1.1 200 OK\r\n";
    for (int i = 0; i < 5000; ++i) text += "X-Header-" + std::to_string(i) + ": filler filler\r\n";
    EXPECT_EQ(feed_in_pieces(reader, text, 16384), ResponseReader::State::broken);
}

TEST(RequestText, GivesHeadLengthAndBodyInOnePiece) {
    const RequestHead head{
        .target = "/v1/completions", .authority = "h:1", .headers = {{"Authorization", "Bearer k"}}};
    const std::string text = request_text(head, {{"X-Request-Id", "7"}}, "{}");
    EXPECT_TRUE(text.starts_with("POST /v1/completions HTTP/1.1\r\nHost: h:1\r\n"));
    EXPECT_NE(text.find("\r\nAuthorization: Bearer k\r\n"), std::string::npos);
    EXPECT_NE(text.find("\r\nX-Request-Id: 7\r\n"), std::string::npos);
    EXPECT_NE(text.find("\r\nAccept-Encoding: identity\r\n"), std::string::npos);
    EXPECT_TRUE(text.ends_with("Content-Length: 2\r\n\r\n{}"));
}

TEST(RequestText, LetsAUsersHeaderReplaceADefault) {
    const std::string text =
        request_text({.target = "/", .authority = "h", .headers = {{"host", "other"}}}, {}, "");
    EXPECT_EQ(text.find("Host: h\r\n"), std::string::npos);
    EXPECT_NE(text.find("host: other\r\n"), std::string::npos);
}

}  // namespace
}  // namespace paretoken::http
