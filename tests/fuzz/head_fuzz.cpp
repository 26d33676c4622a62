// A whole HTTP response: head, body and end do not depend on the cuts between reads.
#include <vector>

#include "loadgen/http/message.h"
#include "tests/fuzz/fuzz.h"

namespace paretoken::fuzz {
namespace {

struct Read : http::ResponseSink {
    void on_head(const http::ResponseHead& head) override {
        require(heads++ == 0, "a response has one head");
        status = head.status;
        texts = {head.content_type, head.content_encoding, head.retry_after, head.location};
    }
    void on_body(std::span<const char> bytes) override {
        require(heads == 1, "the body follows the head");
        require(!bytes.empty(), "no empty body is told of");
        body.append(bytes.data(), bytes.size());
        for (int i = 0; i < 64; ++i) after += bytes.data()[bytes.size() + static_cast<std::size_t>(i)] != 0;
    }

    int heads = 0;
    int status = 0;
    std::vector<std::string> texts;
    std::string body;
    int after = 0;  ///< reads the readable bytes
    http::ResponseReader::State state = http::ResponseReader::State::reading;
    bool keep_alive = false;
};

void read(Read& read, std::string_view bytes, std::uint8_t seed) {
    using State = http::ResponseReader::State;
    http::ResponseReader reader(read);
    reader.begin();
    for (const std::string_view piece : pieces_of(bytes, seed)) {
        if (read.state != State::reading) {
            read.keep_alive = false;  // there are bytes after the response
            return;
        }
        read.state = reader.feed(Padded(piece).span());
        read.keep_alive = reader.keep_alive();
    }
    if (read.state == State::reading) {
        read.state = reader.feed_end();
        require(read.state != State::reading, "the connection's end is the response's");
        read.keep_alive = read.state == State::complete && reader.keep_alive();
    }
    if (read.state == State::broken) require(!reader.failure().empty(), "what is broken says why");
}

}  // namespace

void fuzz(Input input) {
    const std::uint8_t seed = input.byte();
    Read whole, cut;
    read(whole, input.rest(), 0);
    read(cut, input.rest(), seed);
    require(whole.state == cut.state, "a cut does not change how a response ends");
    require(whole.heads == cut.heads && whole.status == cut.status && whole.texts == cut.texts,
            "a cut does not change a head");
    require(whole.body == cut.body, "a cut does not change a body");
    require(whole.body.size() <= input.rest().size(), "a body is a part of what came");
    if (whole.state == http::ResponseReader::State::complete) {
        require(whole.heads == 1, "a complete response has a head");
        require(whole.keep_alive == cut.keep_alive, "a cut does not change what becomes of the connection");
    }
    for (const std::string& text : whole.texts)
        require(text.find_first_of("\r\n") == std::string::npos, "a header's value is one line");
}

}  // namespace paretoken::fuzz
