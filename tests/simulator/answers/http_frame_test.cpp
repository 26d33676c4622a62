#include "simulator/answers/http_frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paretoken::sim {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(HttpFrame, HeadsSayHowTheBodyIsFramed) {
    EXPECT_EQ(http_answer({.status = 404, .content_type = "application/json", .keep_alive = false}, "{}"),
              "HTTP/1.1 404 Not Found\r\nserver: paretoken\r\ncontent-type: application/json\r\n"
              "content-length: 2\r\nconnection: close\r\n\r\n{}");
    EXPECT_THAT(http_head({.content_type = "text/event-stream", .framing = Framing::chunked}),
                HasSubstr("transfer-encoding: chunked\r\n\r\n"));
    EXPECT_THAT(http_head({.status = 429, .gzip = true}),
                testing::AllOf(HasSubstr("retry-after: 1\r\n"), HasSubstr("content-encoding: gzip\r\n")));
}

TEST(HttpFrame, LlamacppsHeadsSayHowLongAConnectionIsKept) {
    EXPECT_EQ(
        http_head(
            {.content_type = "text/event-stream", .framing = Framing::chunked, .dialect = Dialect::llamacpp}),
        "HTTP/1.1 200 OK\r\nServer: llama.cpp\r\nAccess-Control-Allow-Origin: \r\nX-Accel-Buffering: no\r\n"
        "Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"
        "Keep-Alive: timeout=5, max=100\r\n\r\n");
    EXPECT_THAT(http_head({.keep_alive = false, .dialect = Dialect::llamacpp}),
                testing::AllOf(HasSubstr("Connection: close\r\n"), Not(HasSubstr("Keep-Alive"))));
}

TEST(HttpFrame, AChunksSizeIsWrittenOnceItIsKnown) {
    for (const std::size_t size : {1U, 15U, 16U, 255U, 4096U, 70000U, 0xffffffU, 0x1000000U, 0x10000001U}) {
        std::string out = "before";
        const std::size_t begin = open_chunk(out, Framing::chunked);
        out.append(size, 'x');
        close_chunk(out, begin, Framing::chunked);
        append_end(out, Framing::chunked);
        EXPECT_EQ(std::stoul(out.substr(6), nullptr, 16), size);
        EXPECT_EQ(out.substr(out.find("\r\n")), "\r\n" + std::string(size, 'x') + "\r\n0\r\n\r\n");
    }
    std::string none = "before";
    close_chunk(none, open_chunk(none, Framing::chunked), Framing::chunked);
    EXPECT_EQ(none, "before") << "a chunk without content would end the body";
    std::string plain;
    const std::size_t begin = open_chunk(plain, Framing::until_close);
    plain += "x";
    close_chunk(plain, begin, Framing::until_close);
    append_end(plain, Framing::until_close);
    EXPECT_EQ(plain, "x");
}

}  // namespace
}  // namespace paretoken::sim
