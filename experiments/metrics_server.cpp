#include "experiments/metrics_server.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "core/error.h"
#include "experiments/watch.h"

namespace paretoken::experiments {
namespace {

constexpr int kPollMs = 100;
constexpr int kPatienceMs = 2000;  ///< with a reader that sends or takes nothing
constexpr std::size_t kLongestRequest = 16384;

struct HostPort {
    std::string host;
    std::string port;
};

HostPort host_port(const std::string& address) {
    const auto colon = address.rfind(':');
    HostPort parts;
    if (colon != std::string::npos) parts = {address.substr(0, colon), address.substr(colon + 1)};
    if (parts.host.size() > 2 && parts.host.front() == '[' && parts.host.back() == ']')
        parts.host = parts.host.substr(1, parts.host.size() - 2);
    const bool is_number =
        !parts.port.empty() && std::all_of(parts.port.begin(), parts.port.end(), [](char c) {
            return std::isdigit(static_cast<unsigned char>(c)) != 0;
        });
    constexpr std::size_t kDigits = 5;
    if (parts.host.empty() || !is_number || parts.port.size() > kDigits || std::stoul(parts.port) > 65535)
        throw UsageError(fmt::format("--listen {}: expected HOST:PORT, e.g. 127.0.0.1:9464", address));
    return parts;
}

/// Listens on the first address that can be listened on. Throws RuntimeError.
int listening_socket(const HostPort& at, const std::string& address) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV | AI_PASSIVE;
    addrinfo* list = nullptr;
    if (const int failed = getaddrinfo(at.host.c_str(), at.port.c_str(), &hints, &list); failed != 0)
        throw RuntimeError(fmt::format("--listen {}: {}", address, gai_strerror(failed)));
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, &freeaddrinfo);
    int error = 0;
    for (const addrinfo* a = list; a != nullptr; a = a->ai_next) {
        const int file = ::socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (file < 0) {
            error = errno;
            continue;
        }
        const int on = 1;
        (void)::setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        constexpr int kWaiting = 16;
        if (::bind(file, a->ai_addr, a->ai_addrlen) == 0 && ::listen(file, kWaiting) == 0) return file;
        error = errno;
        ::close(file);
    }
    throw RuntimeError(fmt::format("--listen {}: {}; choose another port", address, std::strerror(error)));
}

std::string authority_of(int listener) {
    sockaddr_storage storage{};
    socklen_t length = sizeof storage;
    std::array<char, NI_MAXHOST> host{};
    std::array<char, NI_MAXSERV> port{};
    auto* const generic = reinterpret_cast<sockaddr*>(&storage);
    if (::getsockname(listener, generic, &length) != 0 ||
        ::getnameinfo(generic, length, host.data(), host.size(), port.data(), port.size(),
                      NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return "?";
    return storage.ss_family == AF_INET6 ? fmt::format("[{}]:{}", host.data(), port.data())
                                         : fmt::format("{}:{}", host.data(), port.data());
}

bool is_ready(int file, short events) {
    pollfd waiting{.fd = file, .events = events, .revents = 0};
    return ::poll(&waiting, 1, kPatienceMs) == 1;
}

/// A request's head in lower case; empty when none came.
std::string request_head(int connection) {
    std::string head;
    std::array<char, 2048> chunk{};
    while (head.find("\r\n\r\n") == std::string::npos && head.size() < kLongestRequest) {
        if (!is_ready(connection, POLLIN)) return {};
        const ssize_t got = ::recv(connection, chunk.data(), chunk.size(), 0);
        if (got <= 0) return {};
        head.append(chunk.data(), static_cast<std::size_t>(got));
    }
    std::transform(head.begin(), head.end(), head.begin(), [](unsigned char c) { return std::tolower(c); });
    return head;
}

void send_all(int connection, std::string_view bytes) {
    while (!bytes.empty() && is_ready(connection, POLLOUT)) {
        const ssize_t sent = ::send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent <= 0) return;
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
}

std::string response(std::string_view status, std::string_view type, const std::string& body) {
    return fmt::format("HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}",
                       status, type, body.size(), body);
}

reports::MetricFamily gauge(std::string name, std::string help, std::optional<double> value) {
    reports::MetricFamily family{.name = std::move(name), .help = std::move(help)};
    if (value) family.samples.push_back({.value = *value});
    return family;
}

reports::MetricFamily counter(std::string name, std::string help, std::uint64_t value) {
    return {.name = std::move(name),
            .help = std::move(help),
            .counter = true,
            .samples = {{.value = static_cast<double>(value)}}};
}

}  // namespace

MetricsServer::MetricsServer(const std::string& address)
    : listener_(listening_socket(host_port(address), address)), authority_(authority_of(listener_)) {
    thread_ = std::jthread([this](const std::stop_token& over) { run(over); });
}

MetricsServer::~MetricsServer() {
    thread_.request_stop();
    thread_.join();
    ::close(listener_);
}

std::string MetricsServer::url() const {
    return fmt::format("http://{}/metrics", authority_);
}

void MetricsServer::publish(Text text) {
    const std::lock_guard lock(mutex_);
    text_ = std::move(text);
}

void MetricsServer::run(const std::stop_token& over) {
    while (!over.stop_requested()) {
        pollfd waiting{.fd = listener_, .events = POLLIN, .revents = 0};
        if (::poll(&waiting, 1, kPollMs) != 1) continue;
        const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (connection < 0) continue;
        answer(connection);
        ::close(connection);
    }
}

void MetricsServer::answer(int connection) {
    const std::string head = request_head(connection);
    if (head.empty()) return;
    if (!head.starts_with("get /metrics ") && !head.starts_with("get /metrics?")) {
        send_all(connection, response("404 Not Found", "text/plain", "the metrics are at /metrics\n"));
        return;
    }
    const bool open_metrics = head.find("application/openmetrics-text") != std::string::npos;
    std::string text;
    {
        const std::lock_guard lock(mutex_);
        text = text_ ? text_(open_metrics) : reports::exposition_text({}, open_metrics);
    }
    send_all(connection, response("200 OK", reports::exposition_type(open_metrics), text));
}

std::vector<reports::MetricFamily> families_of(const WatchState& state) {
    const auto figure = [&](const char* name) -> std::optional<double> {
        const auto found = state.line.figures.find(name);
        if (found == state.line.figures.end()) return std::nullopt;
        return found->second;
    };
    std::vector<reports::MetricFamily> families{
        counter("paretoken_watch_intervals", "Intervals of the watch that have ended.", state.line.interval),
        counter("paretoken_requests", "Requests that came to their end.", state.requests),
        counter("paretoken_requests_failed", "Requests that failed.", state.failed)};
    constexpr std::array<std::array<const char*, 3>, 3> kLatencies = {
        {{"ttft", "paretoken_ttft_seconds", "Time to first token in the last interval."},
         {"itl", "paretoken_itl_seconds", "Inter-token latency in the last interval."},
         {"e2e", "paretoken_e2e_seconds", "End-to-end latency in the last interval."}}};
    for (const auto& [tag, name, help] : kLatencies) {
        reports::MetricFamily family{.name = name, .help = help};
        for (const char* percentile : {"p50", "p95", "p99"})
            if (const auto value = figure(fmt::format("{}_{}_s", tag, percentile).c_str()))
                family.samples.push_back({.labels = {{"percentile", percentile}}, .value = *value});
        families.push_back(std::move(family));
    }
    families.push_back(gauge("paretoken_server_requests_running", "Requests that the server works on, mean.",
                             figure("running")));
    families.push_back(gauge("paretoken_server_requests_waiting", "Requests that wait in the server, mean.",
                             figure("waiting")));
    families.push_back(
        gauge("paretoken_server_kv_usage_ratio", "Share of the KV cache in use, mean.", figure("kv_usage")));
    families.push_back(gauge("paretoken_server_prefix_hit_ratio",
                             "Share of prompt tokens from the prefix cache.", figure("prefix_hit_ratio")));
    reports::MetricFamily drift{.name = "paretoken_drift_ratio",
                                .help = "Geometric mean of the last requests divided by the reference's."};
    for (const reports::DriftLine& line : state.line.drift)
        drift.samples.push_back({.labels = {{"metric", line.metric}}, .value = line.ratio});
    families.push_back(std::move(drift));
    reports::MetricFamily alerts{.name = "paretoken_alert_firing",
                                 .help = "1 while the alert fires, else 0."};
    for (std::size_t i = 0; i < state.alerts.size(); ++i)
        alerts.samples.push_back({.labels = {{"alert", state.alerts[i].name},
                                             {"severity", std::string(name_of(state.alerts[i].severity))}},
                                  .value = state.now[i] == AlertState::firing ? 1.0 : 0.0});
    families.push_back(std::move(alerts));
    return families;
}

std::vector<reports::MetricFamily> families_of(const loadgen::Progress& progress) {
    return {counter("paretoken_requests_started", "Measured requests that were started.", progress.started),
            counter("paretoken_requests", "Requests that came to their end.", progress.finished),
            counter("paretoken_requests_failed", "Requests that failed.", progress.failed),
            counter("paretoken_output_tokens", "Output tokens of requests that came to their end.",
                    progress.output_tokens),
            gauge("paretoken_requests_in_flight", "Requests that the server works on for this client.",
                  static_cast<double>(progress.in_flight.load()))};
}

}  // namespace paretoken::experiments
