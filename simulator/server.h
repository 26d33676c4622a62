#pragma once
// The simulated OpenAI server in real time: sockets, the engine's schedule and the truth log on the one
// thread that runs the io_context. Invariant: a token is written at its step's end or later, never before,
// and each step's with a write of its own (the last one's also ends the answer); the schedule is absolute, so
// a late write delays no later step.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/units.h"
#include "simulator/answers/dialect.h"
#include "simulator/engine/profile.h"
#include "simulator/faults.h"

namespace boost::asio {
class io_context;
}

namespace paretoken::sim {

/// When a kept-alive connection is closed all the same.
struct KeepAliveLimits {
    std::int64_t requests = 0;  ///< after so many; 0: never
    Duration idle{};            ///< or when nothing was asked for so long; 0: never
};

/// What the dialect's server does.
KeepAliveLimits keep_alive_limits(Dialect dialect);

struct ServerOptions {
    std::string host = "127.0.0.1";
    std::uint16_t port = 0;  ///< 0: a free one
    Profile profile;
    std::string model;                          ///< empty: the profile's
    std::optional<std::int64_t> max_model_len;  ///< else the profile's
    std::string api_key;                        ///< empty: none is asked for
    std::string tls_certificate;                ///< PEM files; both empty: plain HTTP
    std::string tls_key;
    std::uint64_t seed = 0;
    Dialect dialect = Dialect::vllm;
    std::optional<KeepAliveLimits> keep_alive = {};  ///< else the dialect's
    std::vector<Fault> faults;                       ///< misbehaviour on purpose
    Duration spin =
        std::chrono::microseconds(80);  ///< how long before a step's end timers are left for polling
};

class Server {
  public:
    /// Binds and listens; throws RuntimeError when that cannot be, UsageError for a certificate that is none.
    /// `io` must be run by one thread only.
    Server(boost::asio::io_context& io, const ServerOptions& options);
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    /// Begins to accept.
    void start();

    /// Closes everything; the io_context then runs out of work. On the io_context's thread.
    void stop();

    std::uint16_t port() const;
    std::string url() const;  ///< "http://127.0.0.1:8000"; https with a certificate

  private:
    class Loop;
    std::shared_ptr<Loop> loop_;
};

}  // namespace paretoken::sim
