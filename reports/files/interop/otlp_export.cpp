// OpenTelemetry metrics as OTLP/HTTP JSON: the histograms of the GenAI conventions, whose times are those of
// chunks, not of tokens, and exact percentiles as gauges of our own names, because the bounds of the
// histograms are a factor of 2 apart.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>

#include "core/result/metrics.h"
#include "core/result/result.h"
#include "core/text/utc.h"
#include "reports/files/interop/run_export.h"
#include "reports/files/interop/successes.h"

namespace paretoken::reports {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson attribute(const char* key, const std::string& value) {
    return {{"key", key}, {"value", {{"stringValue", value}}}};
}

/// The bounds that the conventions advise: `first` × `factor`^k, 14 of them.
std::vector<double> bounds_of(double first, double factor) {
    std::vector<double> bounds;
    for (int k = 0; k < 14; ++k) bounds.push_back(first * std::pow(factor, k));
    return bounds;
}

/// The times of a run in nanoseconds since 1970, as OTLP writes 64-bit integers: as text. If its start is not
/// known, the end is the time of the export, because points without a time are refused.
struct OtlpTimes {
    std::string start = {};  ///< empty if unknown
    std::string end;
};

OtlpTimes times_of(const RunResult& result) {
    const auto ns = [](double seconds) { return fmt::format("{:.0f}", seconds * 1e9); };
    const auto started = epoch_of_utc(result.provenance.started_at);
    if (!started) return {.end = ns(static_cast<double>(std::time(nullptr)))};
    const auto start = static_cast<double>(*started);
    return {ns(start), ns(start + std::max(0.0, result.window.run_s))};
}

OrderedJson histogram_point(const std::vector<double>& values, const std::vector<double>& bounds,
                            OrderedJson attributes, const OtlpTimes& times) {
    std::vector<std::uint64_t> counts(bounds.size() + 1, 0);
    for (const double value : values)
        ++counts[static_cast<std::size_t>(std::ranges::lower_bound(bounds, value) - bounds.begin())];
    OrderedJson buckets = OrderedJson::array();
    for (const std::uint64_t count : counts) buckets.push_back(std::to_string(count));
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    OrderedJson point{{"attributes", std::move(attributes)}};
    if (!times.start.empty()) point["startTimeUnixNano"] = times.start;
    point.update({{"timeUnixNano", times.end},
                  {"count", std::to_string(values.size())},
                  {"sum", sum_of(values)},
                  {"min", *least},
                  {"max", *most},
                  {"explicitBounds", bounds},
                  {"bucketCounts", buckets}});
    return point;
}

constexpr int kCumulative = 2;

void add_histogram(OrderedJson& metrics, const char* name, const char* unit, OrderedJson points) {
    if (points.empty()) return;
    metrics.push_back(
        {{"name", name},
         {"unit", unit},
         {"histogram", {{"aggregationTemporality", kCumulative}, {"dataPoints", std::move(points)}}}});
}

/// What the conventions call the operation and the provider of an endpoint.
std::pair<std::string, std::string> operation_and_provider(const std::string& endpoint) {
    return {endpoint == "completions" ? "text_completion" : "chat",
            endpoint == "messages" ? "anthropic" : "openai"};
}

/// The host and the port of a URL; empty if it has none, as a simulated server.
std::pair<std::string, std::string> address_of(const std::string& url) {
    const std::size_t scheme = url.find("://");
    if (scheme == url.npos) return {};
    std::string host = url.substr(scheme + 3);
    host = host.substr(0, host.find_first_of("/?#"));
    if (const std::size_t at = host.rfind('@'); at != host.npos) host.erase(0, at + 1);
    const std::size_t colon = host.rfind(':');
    if (colon == host.npos || host.ends_with(']')) return {host, url.starts_with("https") ? "443" : "80"};
    return {host.substr(0, colon), host.substr(colon + 1)};
}

OrderedJson attributes_of(const RunResult& result) {
    const auto [operation, provider] = operation_and_provider(result.workload.endpoint);
    OrderedJson attributes = OrderedJson::array(
        {attribute("gen_ai.operation.name", operation), attribute("gen_ai.provider.name", provider)});
    if (!result.provenance.model.empty())
        attributes.push_back(attribute("gen_ai.request.model", result.provenance.model));
    if (const auto [host, port] = address_of(result.provenance.url); !host.empty()) {
        attributes.push_back(attribute("server.address", host));
        attributes.push_back({{"key", "server.port"}, {"value", {{"intValue", port}}}});
    }
    return attributes;
}

OrderedJson with_attribute(OrderedJson attributes, OrderedJson added) {
    attributes.push_back(std::move(added));
    return attributes;
}

/// The value of "error.type": the status of HTTP, or the name of the outcome.
std::string error_type_of(const RequestRecord& record) {
    return record.http_status >= 400 ? std::to_string(record.http_status)
                                     : std::string(name_of(record.outcome));
}

/// The durations of requests: one point for those that succeeded and one for each type of error.
OrderedJson duration_points(const std::vector<SentRequest>& requests, const OrderedJson& attributes,
                            const OtlpTimes& times) {
    std::map<std::string, std::vector<double>> by_error;
    for (const SentRequest& request : requests) {
        const RequestRecord& record = request.record;
        if (record.outcome == Outcome::ok)
            by_error[""].push_back(seconds(record.finished.value_or(record.closed) - *record.sent));
        else if (is_failure(record.outcome) && record.closed > *record.sent)  // else its end is not known
            by_error[error_type_of(record)].push_back(seconds(record.closed - *record.sent));
    }
    OrderedJson points = OrderedJson::array();
    for (const auto& [error, values] : by_error)
        points.push_back(histogram_point(
            values, bounds_of(.01, 2),
            error.empty() ? attributes : with_attribute(attributes, attribute("error.type", error)), times));
    return points;
}

OrderedJson points_of(const std::vector<double>& values, const std::vector<double>& bounds,
                      const OrderedJson& attributes, const OtlpTimes& times) {
    OrderedJson points = OrderedJson::array();
    if (!values.empty()) points.push_back(histogram_point(values, bounds, attributes, times));
    return points;
}

/// Exact percentiles, and the figures of the window, as gauges of our own names.
void add_gauges(OrderedJson& metrics, const RunResult& result, const OrderedJson& attributes,
                const OtlpTimes& times) {
    const auto add = [&](const std::string& name, std::string_view unit, double value) {
        metrics.push_back({{"name", "paretoken." + name},
                           {"unit", unit},
                           {"gauge",
                            {{"dataPoints", OrderedJson::array({{{"attributes", attributes},
                                                                 {"timeUnixNano", times.end},
                                                                 {"asDouble", value}}})}}}});
    };
    for (const NamedValue& value : named_values(result)) add(value.name, value.unit, value.value);
}

}  // namespace

std::string otlp_text(const ExportedRun& run) {
    const RunResult& result = run.result;
    const OtlpTimes times = times_of(result);
    const OrderedJson attributes = attributes_of(result);
    const std::vector<SentRequest> requests = sent_requests(run.stored);
    const Successes successes = successes_of(requests, run.stored);
    OrderedJson metrics = OrderedJson::array();
    const std::vector<double> seconds_bounds = bounds_of(.01, 2);
    add_histogram(metrics, "gen_ai.client.operation.duration", "s",
                  duration_points(requests, attributes, times));
    add_histogram(metrics, "gen_ai.client.operation.time_to_first_chunk", "s",
                  points_of(successes.ttft, seconds_bounds, attributes, times));
    add_histogram(metrics, "gen_ai.client.operation.time_per_output_chunk", "s",
                  points_of(successes.itl, seconds_bounds, attributes, times));
    OrderedJson usage = OrderedJson::array();
    for (const auto& [type, values] :
         {std::pair{"input", &successes.input_tokens}, std::pair{"output", &successes.output_tokens}})
        if (!values->empty())
            usage.push_back(histogram_point(*values, bounds_of(1, 4),
                                            with_attribute(attributes, attribute("gen_ai.token.type", type)),
                                            times));
    add_histogram(metrics, "gen_ai.client.token.usage", "{token}", std::move(usage));
    add_gauges(metrics, result, attributes, times);
    const OrderedJson resource = {
        {"attributes", OrderedJson::array({attribute("service.name", "paretoken"),
                                           attribute("service.version", result.provenance.version),
                                           attribute("paretoken.run_id", result.provenance.run_id)})}};
    OrderedJson scope{{"scope", {{"name", "paretoken"}, {"version", result.provenance.version}}},
                      {"metrics", std::move(metrics)}};
    const OrderedJson json{
        {"resourceMetrics",
         OrderedJson::array(
             {{{"resource", resource}, {"scopeMetrics", OrderedJson::array({std::move(scope)})}}})}};
    return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace paretoken::reports
