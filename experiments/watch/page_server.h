#pragma once
// A small web server for what this program shows of itself: the pages of a report, its own figures for
// Prometheus. One thread, GET and HEAD, a connection for each request; a reader that stalls is dropped and
// holds up nobody.
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

namespace paretoken::experiments {

struct PageRequest {
    std::string path;    ///< "/report.json", without the query
    std::string accept;  ///< the Accept header
};

struct ServedPage {
    std::string type;  ///< "text/html; charset=utf-8"
    std::string body;
};

/// The clients that are answered. With this_machine, only loopback addresses are listened on, and requests
/// that name another host are refused, so that a web page elsewhere cannot read what is served here (DNS
/// rebinding).
enum class Reach { this_machine, any };

class PageServer {
  public:
    /// The page that is asked for; nothing: there is none. An Error that it throws is answered with its text.
    using Answer = std::function<std::optional<ServedPage>(const PageRequest& request)>;

    /// Listens on `address`, "127.0.0.1:0", "localhost:8080" or "[::1]:0"; port 0 takes a free one.
    /// `nothing_here` is what a path without a page is answered with. Throws UsageError for what is no
    /// address or not within `reach`, RuntimeError when it cannot be listened on.
    PageServer(const std::string& address, Reach reach, std::string nothing_here, Answer answer);
    ~PageServer();
    PageServer(const PageServer&) = delete;
    PageServer& operator=(const PageServer&) = delete;

    std::string url() const;  ///< "http://127.0.0.1:45411"

    /// Answers until a stop is requested.
    void serve(const std::stop_token& stop);

  private:
    std::string response_to(const std::string& head) const;

    int listener_ = -1;
    std::string host_;
    int port_ = 0;
    Reach reach_;
    std::string nothing_here_;
    Answer answer_;
};

}  // namespace paretoken::experiments
