#pragma once
// Finds the servers on this machine by asking the ports on which they usually listen for their models.
#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace paretoken::experiments {

struct UsualPort {
    std::uint16_t port = 0;
    std::string_view engine;  ///< "vLLM"
};

/// Returns the ports on which vLLM, SGLang, llama.cpp, Ollama and LM Studio listen unless told otherwise.
std::span<const UsualPort> usual_ports();

struct LocalServer {
    std::uint16_t port = 0;
    bool wants_key = false;  ///< whether it answers only with an API key

    bool operator==(const LocalServer&) const = default;
};

/// Returns the servers of this machine that answer the question for their models, or are still loading one.
/// No key is sent, because any program may listen there.
std::vector<LocalServer> local_servers(std::span<const std::uint16_t> ports, const std::stop_token& stop);

std::string url_of(const LocalServer& server);

/// Returns the URL of the only server. Throws an error that says what to type: RuntimeError if there is none
/// at `ports`, or a key is missing, UsageError if there are several.
std::string only_server(std::span<const LocalServer> found, std::span<const std::uint16_t> ports,
                        bool has_key);

}  // namespace paretoken::experiments
