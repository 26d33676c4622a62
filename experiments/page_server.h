#pragma once
// A web server for pages that are made on this machine and looked at on it: loopback addresses only, one
// thread, GET and HEAD, a connection for each request. Requests that name another host are refused, so that a
// web page elsewhere cannot read what is served here (DNS rebinding).
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace paretoken::cli {

struct ServedPage {
    std::string type;  ///< "text/html; charset=utf-8"
    std::string body;
};

class PageServer {
  public:
    /// The page at a path such as "/report.json"; nothing: there is none. An Error that it throws is answered
    /// with its text.
    using Answer = std::function<std::optional<ServedPage>(std::string_view path)>;

    /// Listens on `address`, "127.0.0.1:0", "localhost:8080" or "[::1]:0"; port 0 takes a free one. Throws
    /// UsageError for an address that is not of the loopback, RuntimeError when it cannot be listened on.
    PageServer(const std::string& address, Answer answer);
    ~PageServer();
    PageServer(const PageServer&) = delete;
    PageServer& operator=(const PageServer&) = delete;

    std::string url() const;  ///< "http://127.0.0.1:45411"

    /// Answers until a stop is requested.
    void serve(const std::stop_token& stop);

  private:
    int listener_ = -1;
    std::string host_;
    int port_ = 0;
    Answer answer_;
};

}  // namespace paretoken::cli
