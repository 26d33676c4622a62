#include "experiments/first_look/local_servers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "core/error.h"
#include "loadgen/http/address.h"
#include "loadgen/http/fetch.h"
#include "loadgen/http/url.h"

namespace paretoken::experiments {
namespace {

constexpr std::array kUsual = {UsualPort{8000, "vLLM"}, UsualPort{30000, "SGLang"},
                               UsualPort{8080, "llama.cpp"}, UsualPort{11434, "Ollama"},
                               UsualPort{1234, "LM Studio"}};

/// Returns "8000 (vLLM)", or the number alone for a port that no server uses usually.
std::string port_text(std::uint16_t port) {
    const auto usual = std::ranges::find(kUsual, port, &UsualPort::port);
    return usual == kUsual.end() ? fmt::format("{}", port) : fmt::format("{} ({})", port, usual->engine);
}

bool is_server(const http::Fetched& answer) {
    constexpr int kLoading = 503;
    if (answer.failure) return false;
    return (answer.ok() && answer.body.find("\"data\"") != std::string::npos) ||
           answer.head.status == kLoading;
}

bool refuses_without_key(const http::Fetched& answer) {
    return !answer.failure && (answer.head.status == 401 || answer.head.status == 403);
}

}  // namespace

std::span<const UsualPort> usual_ports() {
    return kUsual;
}

std::string url_of(const LocalServer& server) {
    return fmt::format("http://127.0.0.1:{}", server.port);
}

std::vector<LocalServer> local_servers(std::span<const std::uint16_t> ports, const std::stop_token& stop) {
    constexpr auto kPatience = std::chrono::seconds(1);
    std::vector<LocalServer> found;
    for (const std::uint16_t port : ports) {
        const LocalServer server{.port = port};
        const http::Url url = http::parse_url(url_of(server));
        http::Fetcher fetcher(url, http::resolve(url).front(), nullptr, {}, stop);
        const http::Fetched answer = fetcher.get("/v1/models", kPatience);
        const bool wants_key = refuses_without_key(answer);
        if (wants_key || is_server(answer)) found.push_back({.port = port, .wants_key = wants_key});
    }
    return found;
}

std::string only_server(std::span<const LocalServer> found, std::span<const std::uint16_t> ports,
                        bool has_key) {
    std::string asked;
    for (const std::uint16_t port : ports) asked += (asked.empty() ? "" : ", ") + port_text(port);
    if (found.empty())
        throw RuntimeError(
            fmt::format("no server answers on this machine at port {}; start one, or give its address: "
                        "paretoken try http://HOST:PORT (paretoken try sim: tries a simulated server)",
                        asked));
    if (found.size() > 1) {
        std::string urls;
        for (const LocalServer& server : found)
            urls += fmt::format("{}{}", urls.empty() ? "" : " and ", url_of(server));
        throw UsageError(
            fmt::format("{} servers answer on this machine: {}; name one of them: paretoken try {}",
                        found.size(), urls, url_of(found.front())));
    }
    const LocalServer& server = found.front();
    if (server.wants_key && !has_key)
        throw RuntimeError(fmt::format(
            "the server at {0} wants an API key: OPENAI_API_KEY=KEY paretoken try {0}", url_of(server)));
    return url_of(server);
}

}  // namespace paretoken::experiments
