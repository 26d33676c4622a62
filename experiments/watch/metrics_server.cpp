#include "experiments/watch/metrics_server.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "core/result/alerts.h"
#include "experiments/watch/watch.h"

namespace paretoken::experiments {
namespace {

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
    : server_(address, Reach::any, "The metrics are at /metrics.",
              [this](const PageRequest& request) { return answer(request); }),
      thread_([this](const std::stop_token& over) { server_.serve(over); }) {}

std::string MetricsServer::url() const {
    return server_.url() + "/metrics";
}

void MetricsServer::publish(Text text) {
    const std::lock_guard lock(mutex_);
    text_ = std::move(text);
}

std::optional<ServedPage> MetricsServer::answer(const PageRequest& request) {
    if (request.path != "/metrics") return std::nullopt;
    const bool open_metrics = request.accept.find("application/openmetrics-text") != std::string::npos;
    const std::lock_guard lock(mutex_);
    return ServedPage{std::string(reports::exposition_type(open_metrics)),
                      text_ ? text_(open_metrics) : reports::exposition_text({}, open_metrics)};
}

std::vector<reports::MetricFamily> families_of(const WatchState& state) {
    const auto figure = [&](const char* name) -> std::optional<double> {
        const auto found = state.line.figures.find(name);
        if (found == state.line.figures.end()) return std::nullopt;
        return found->second;
    };
    std::vector<reports::MetricFamily> families{
        counter("paretoken_watch_intervals", "Intervals of the watch that have ended.", state.line.interval),
        counter("paretoken_requests", "Measured requests that ended, failed ones included.", state.requests),
        counter("paretoken_requests_failed", "Measured requests that failed.", state.failed)};
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
    families.push_back(gauge("paretoken_server_requests_running",
                             "Mean number of requests that the server processed in the last interval.",
                             figure("running")));
    families.push_back(gauge("paretoken_server_requests_waiting",
                             "Mean number of requests that waited in the server in the last interval.",
                             figure("waiting")));
    families.push_back(gauge("paretoken_server_kv_usage_ratio",
                             "Mean share of the KV cache in use in the last interval.", figure("kv_usage")));
    families.push_back(gauge("paretoken_server_prefix_hit_ratio",
                             "Share of prompt tokens from the prefix cache in the last interval.",
                             figure("prefix_hit_ratio")));
    reports::MetricFamily drift{
        .name = "paretoken_drift_ratio",
        .help = "Geometric mean of a latency of the latest requests, divided by that of the reference."};
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
    return {
        counter("paretoken_requests_started", "Measured requests that were started.", progress.started),
        counter("paretoken_requests", "Measured requests that ended, failed ones included.",
                progress.finished),
        counter("paretoken_requests_failed", "Measured requests that failed.", progress.failed),
        counter("paretoken_output_tokens", "Output tokens of measured requests that ended.",
                progress.output_tokens),
        gauge("paretoken_requests_in_flight", "Requests of this client in flight, warm-up requests included.",
              static_cast<double>(progress.in_flight.load()))};
}

}  // namespace paretoken::experiments
