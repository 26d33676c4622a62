#pragma once
// A small web server for the pages of a report and for figures for Prometheus: one thread, GET and HEAD, one
// request per connection. A client that neither sends nor takes bytes for 10 s is dropped.
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

namespace paretoken::experiments {

struct PageRequest {
    std::string path;    ///< "/report.json", without the query
    std::string accept;  ///< value of the Accept header
};

struct ServedPage {
    std::string type;  ///< "text/html; charset=utf-8"
    std::string body;
};

/// With this_machine, the server listens on loopback addresses only and refuses requests that name another
/// host, so that no foreign page can read the served ones (DNS rebinding).
enum class Reach { this_machine, any };

class PageServer {
  public:
    /// Returns the requested page; nothing if there is none. If it throws an Error, the answer has the status
    /// 500 and the Error's text. It must not throw anything else.
    using Answer = std::function<std::optional<ServedPage>(const PageRequest& request)>;

    /// Listens on `address`, "127.0.0.1:0", "localhost:8080" or "[::1]:0"; port 0 means a free port.
    /// `nothing_here` is the answer for a path without a page. Throws UsageError for a text that is not an
    /// address or not within `reach`, RuntimeError when it cannot listen there.
    PageServer(const std::string& address, Reach reach, std::string nothing_here, Answer answer);
    ~PageServer();
    PageServer(const PageServer&) = delete;
    PageServer& operator=(const PageServer&) = delete;

    std::string url() const;  ///< "http://127.0.0.1:45411"

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
