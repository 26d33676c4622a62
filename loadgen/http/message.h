#pragma once
// HTTP/1.1 as bytes, no I/O: request text out, responses in. Body bytes are pushed on as views into what was
// fed, so that chunked framing, reads and events stay independent of each other. Heads are parsed by Beast.
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "loadgen/http/body_framing.h"

namespace paretoken::http {

using Headers = std::vector<std::pair<std::string, std::string>>;

/// Everything of a request but its body's length and the body: built once, used for every request.
struct RequestHead {
    std::string method = "POST";
    std::string target;     ///< "/v1/chat/completions"
    std::string authority;  ///< Host
    Headers headers = {};   ///< further ones; a header given here replaces the default of the same name
};

/// The whole request: head, Content-Length, `extra` headers and the body in one string, for one send.
std::string request_text(const RequestHead& head, const Headers& extra, std::string_view body);

/// The constant part of request_text, for hot paths: ends before Content-Length.
std::string head_text(const RequestHead& head);

struct ResponseHead {
    int status = 0;
    std::string content_type;
    std::string content_encoding;
    std::string retry_after;
    std::string location;
    std::string server;
};

class ResponseSink {
  public:
    virtual ~ResponseSink() = default;
    virtual void on_head(const ResponseHead& head) = 0;
    virtual void on_body(std::span<const char> bytes) = 0;  ///< ≥ 64 readable bytes follow the span
};

/// Reads one response after the other from one connection.
class ResponseReader {
  public:
    explicit ResponseReader(ResponseSink& sink);
    ResponseReader(const ResponseReader&) = delete;
    ResponseReader& operator=(const ResponseReader&) = delete;

    enum class State {
        reading,   ///< more bytes are needed
        complete,  ///< the response ended; bytes after it (there should be none) are dropped
        broken,    ///< not HTTP, or over a limit: see failure()
    };

    void begin();                                    ///< a new response is expected
    State feed(std::span<const char> bytes);         ///< ≥ 64 readable bytes must follow
    State feed_end();                                ///< the peer closed: completes a body that ends so
    bool keep_alive() const { return keep_alive_; }  ///< after complete: may the connection be used again?
    bool any_bytes() const { return any_bytes_; }
    const std::string& failure() const { return failure_; }

  private:
    State read_head(std::span<const char> bytes);
    State read_body(std::span<const char> bytes);
    State broken_by(std::string_view why);

    ResponseSink& sink_;
    BodyFraming framing_ = BodyFraming::until_close();
    bool in_body_ = false;
    bool keep_alive_ = false;
    bool any_bytes_ = false;
    int interim_ = 0;   ///< heads with a status of 1xx so far
    std::string head_;  ///< what has come of a head that a read cut
    std::string failure_;
};

}  // namespace paretoken::http
