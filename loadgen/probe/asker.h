#pragma once
// Asks one server and explains failures to people. Only Asker sends the requests of a probe.
#include <string>
#include <string_view>

#include "core/text/secrets.h"
#include "loadgen/http/fetch.h"
#include "loadgen/probe/endpoint.h"

namespace paretoken::loadgen {

inline constexpr std::size_t kLongestName = 512;  ///< bytes of a model's id

/// Returns whether a server is loading its model or overloaded, so that it must be asked again.
bool is_busy(const http::Fetched& answer);

/// Asks one server, with the timeouts of the options. The options must exist as long as the asker does.
class Asker {
  public:
    Asker(const EndpointOptions& options, const http::Address& address);

    const EndpointOptions& options() const { return options_; }
    const Secrets& secrets() const { return secrets_; }

    /// Sends a GET request that needs no computing.
    http::Fetched get(std::string_view path);

    /// Sends a POST request that makes the server compute.
    http::Fetched post(std::string_view path, std::string_view body);

    /// Sends a request that a measurement does not need. Once one of these took too long, no further one is
    /// sent.
    http::Fetched get_if_quick(std::string_view path);
    http::Fetched post_if_quick(std::string_view path, std::string_view body);

    /// Asks the server's tokenizer, which needs no computing. Many servers have none.
    http::Fetched ask_tokenizer(std::string_view body);

    /// Returns the error that an answer states, or that its text is compressed and cannot be read.
    std::string words_of(const http::Fetched& answer) const;

    [[noreturn]] void refuse(const std::string& what) const;

    /// Ends the command because of a status other than 2xx of the request for `path`, and explains it.
    /// `advice` is added to it: "; name the model".
    [[noreturn]] void refuse_status(std::string_view what, std::string_view path, const http::Fetched& answer,
                                    std::string_view advice = "") const;

    /// Ends the command because a request had no whole answer, and explains it.
    [[noreturn]] void refuse_failure(std::string_view what, const http::FetchFailure& failure,
                                     std::string_view advice = "") const;

    /// Ends the command if an answer is compressed, so that the times of its tokens are not those of the
    /// server.
    void refuse_compression(std::string_view what, const http::ResponseHead& head) const;

  private:
    template <class Ask>
    http::Fetched until_ready(Ask&& ask);
    template <class Ask>
    http::Fetched if_quick(Ask&& ask);
    Duration patience_for(std::string_view what) const;
    bool is_limited_by_user(std::string_view what) const;
    std::string longest_wait(std::string_view what) const;
    std::string why_not_ready(const http::Fetched& answer) const;
    std::string proxy_note() const;
    std::string other_scheme() const;
    void sleep(Duration wait) const;

    const EndpointOptions& options_;
    http::Address address_;
    Secrets secrets_;
    http::Fetcher fetcher_;
    bool impatient_ = false;
};

}  // namespace paretoken::loadgen
