#pragma once
// One blocking HTTP request at a time, over the same connections, parser and TLS as the load: for questions
// before the clock starts (models, tokenizer, what options a server takes) and for scrapes on a thread of
// their own.
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"
#include "loadgen/http/address.h"
#include "loadgen/http/message.h"
#include "loadgen/http/tls.h"

namespace paretoken::http {

struct FetchFailure {
    enum class Kind { connect_failed, tls_failed, disconnected, malformed, timed_out };
    Kind kind = Kind::disconnected;
    std::string why;
};

struct Fetched {
    ResponseHead head;
    std::string body;                     ///< as far as it came
    std::optional<FetchFailure> failure;  ///< nothing: the response came whole

    bool ok() const { return !failure && head.status == 200; }
};

class Fetcher {
  public:
    /// `headers` go with every request (authorisation, say). `tls` is null for plain HTTP and outlives this.
    Fetcher(const Url& url, const Address& address, const TlsContext* tls, const Headers& headers);
    ~Fetcher();

    Fetched get(std::string_view path, Duration timeout);
    Fetched post(std::string_view path, std::string_view body, Duration timeout);

  private:
    Fetched perform(const RequestHead& head, std::string_view body, Duration timeout);
    RequestHead head_for(std::string_view method, std::string_view path) const;

    struct State;
    Url url_;
    Headers headers_;
    std::unique_ptr<State> state_;
};

}  // namespace paretoken::http
