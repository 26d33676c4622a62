#pragma once
// The simulated OpenAI server in real time: sockets, the engine's schedule and the log of what was sent when
// (simulator/truth.h), on the one thread that runs the io_context. Invariant: a token is written at its
// step's end or later, never before, and a late write delays no later step.
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

struct ServerOptions {
    std::string host = "127.0.0.1";
    std::uint16_t port = 0;  ///< 0 means a free port
    Profile profile;
    std::string model;                          ///< model; empty means the profile's
    std::optional<std::int64_t> max_model_len;  ///< longest context; absent means the profile's
    std::string api_key;                        ///< required key; empty means none
    std::string tls_certificate;                ///< PEM files; both empty means plain HTTP
    std::string tls_key;
    std::uint64_t seed = 0;
    /// Seed of step jitter, hiccups and accepted drafts; absent: `seed`.
    std::optional<std::uint64_t> engine_seed = {};
    Dialect dialect = Dialect::vllm;
    std::optional<KeepAliveLimits> keep_alive = {};  ///< limits; absent means the dialect's
    std::vector<Fault> faults;                       ///< misbehaviour to inject
    std::size_t replicas = 1;     ///< equal engines behind this address, each with its own KV cache
    std::string affinity_header;  ///< requests with one value of it go to one engine; empty: in turn
    /// Header with the session token that answers set and that later requests of the session must return,
    /// whose engine it names; empty: none.
    std::string session_token;
    /// The time before a step's end in which the thread polls the clock instead of sleeping.
    Duration spin = std::chrono::microseconds(80);
};

class Server {
  public:
    /// Binds and listens. Throws RuntimeError, and UsageError for an invalid certificate or key.
    Server(boost::asio::io_context& io, const ServerOptions& options);
    /// Does not stop a started server: pending operations keep it alive until stop() or the io_context's end.
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    /// Begins to accept connections.
    void start();

    /// Closes everything; the io_context then runs out of work. Called on the io_context's thread.
    void stop();

    std::uint16_t port() const;
    std::string url() const;  ///< "http://127.0.0.1:8000"; https with a certificate

  private:
    class Loop;
    std::shared_ptr<Loop> loop_;
};

}  // namespace paretoken::sim
