#pragma once
// HTTP/1.1 as bytes, without I/O. Bodies are passed on as views into the input, in any pieces.
#include <ctime>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/units.h"
#include "loadgen/http/body_framing.h"

namespace paretoken::http {

using Headers = std::vector<std::pair<std::string, std::string>>;

/// Returns whether two header names are equal, ignoring upper and lower case.
bool same_name(std::string_view a, std::string_view b);

/// The head of a request without the length of its body, built once for all requests of a load.
struct RequestHead {
    std::string method = "POST";
    std::string target;     ///< "/v1/chat/completions"
    std::string authority;  ///< value of the Host header
    Headers headers = {};   ///< more headers; each replaces the default of the same name
};

/// Returns the whole request: head, `extra` headers, Content-Length (only for POST) and body.
std::string request_text(const RequestHead& head, const Headers& extra, std::string_view body);

/// Returns the part of request_text() for this head that all requests share; a hot path computes it once.
std::string head_text(const RequestHead& head);

struct ResponseHead {
    int status = 0;
    std::string content_type;
    std::string content_encoding;  ///< or the transfer coding beside "chunked"
    std::string retry_after;
    std::string location;
    std::string server;                     ///< name of the program that answered, by its own words
    std::vector<std::string> further = {};  ///< values of ResponseSink::further_headers(); empty: none
};

/// Returns the time from the Unix time `now` to that of a Retry-After, at most an hour; nothing without one.
std::optional<Duration> retry_after_of(const ResponseHead& head, std::time_t now);

/// Returns whether the body has another encoding than "identity".
bool is_compressed(const ResponseHead& head);

/// Returns in words that the text of an answer is compressed; empty if it is not.
std::string compression_note(const ResponseHead& head);

constexpr bool is_success(int status) {
    return status >= 200 && status < 300;
}

class ResponseSink {
  public:
    virtual ~ResponseSink() = default;
    virtual void on_head(const ResponseHead& head) = 0;
    virtual std::span<const std::string> further_headers() const { return {}; }
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

    void begin();                                    ///< expects a new response
    State feed(std::span<const char> bytes);         ///< ≥ 64 readable bytes must follow
    State feed_end();                                ///< the peer closed, which may complete a body
    bool keep_alive() const { return keep_alive_; }  ///< after complete: whether the connection is reusable
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
    int interim_ = 0;   ///< number of heads with a status of 1xx so far
    std::string head_;  ///< beginning of a head that is not complete yet
    std::string failure_;
};

}  // namespace paretoken::http
