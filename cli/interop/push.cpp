#include "cli/interop/push.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include "cli/options/invocation.h"
#include "core/error.h"
#include "core/text/percent_encoding.h"
#include "core/text/printable.h"
#include "loadgen/http/fetch.h"
#include "reports/files/interop/exposition.h"
#include "reports/files/interop/run_export.h"

namespace paretoken::cli {
namespace {

using namespace std::chrono_literals;

struct Message {
    http::Url url;
    std::string path;
    http::Headers headers;
    std::string body;
    Duration timeout = 10s;
    bool repeats = false;  ///< whether a status that asks for it is answered by sending again
};

bool asks_to_repeat(int status) {
    return status == 429 || status == 502 || status == 503 || status == 504;
}

void send(const Message& message) {
    constexpr int kAttempts = 4;
    const std::optional<http::TlsContext> tls =
        message.url.tls ? std::optional<http::TlsContext>(std::in_place, http::TlsOptions{}) : std::nullopt;
    http::Fetcher fetcher(message.url, http::resolve(message.url).front(), tls ? &*tls : nullptr,
                          message.headers);
    for (int attempt = 1;; ++attempt) {
        const http::Fetched answer = fetcher.post(message.path, message.body, message.timeout);
        if (answer.ok()) return;
        const std::string where = message.url.text() + message.path;
        if (answer.failure)
            throw RuntimeError(fmt::format("--push: {} cannot be reached: {}", where, answer.failure->why));
        if (!message.repeats || !asks_to_repeat(answer.head.status) || attempt == kAttempts)
            throw RuntimeError(fmt::format("--push: {} answered {}: {}", where, answer.head.status,
                                           printable_line(answer.body, 300)));
        std::this_thread::sleep_for(500ms * (1 << (attempt - 1)));
    }
}

std::string variable(const std::string& name) {
    return variable_of_environment(name).value_or("");
}

/// The value of OTEL_EXPORTER_OTLP_METRICS_`name`, or of OTEL_EXPORTER_OTLP_`name`.
std::string otlp_variable(const std::string& name) {
    const std::string own = variable("OTEL_EXPORTER_OTLP_METRICS_" + name);
    return own.empty() ? variable("OTEL_EXPORTER_OTLP_" + name) : own;
}

/// "key=value,key2=value2", where values are percent-encoded.
http::Headers otlp_headers() {
    http::Headers headers;
    const std::string text = otlp_variable("HEADERS");
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find(',', at), text.size());
        const std::string pair = text.substr(at, end - at);
        at = end + 1;
        const std::size_t equals = pair.find('=');
        const std::size_t begin = pair.find_first_not_of(' ');
        if (equals == std::string::npos || begin >= equals) continue;
        headers.emplace_back(pair.substr(begin, equals - begin), percent_decoded(pair.substr(equals + 1)));
    }
    return headers;
}

http::Url otlp_url() {
    if (const std::string own = variable("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"); !own.empty())
        return http::parse_url(own);
    std::string base = variable("OTEL_EXPORTER_OTLP_ENDPOINT");
    if (base.empty()) base = "http://localhost:4318";
    if (base.ends_with('/')) base.pop_back();
    return http::parse_url(base + "/v1/metrics");
}

Duration otlp_timeout() {
    const std::string text = otlp_variable("TIMEOUT");
    const long long milliseconds = text.empty() ? 0 : std::atoll(text.c_str());
    return milliseconds > 0 ? std::chrono::milliseconds(milliseconds) : Duration(10s);
}

void push_otlp(const std::vector<LoadedExport>& runs) {
    for (const LoadedExport& run : runs) {
        http::Headers headers = otlp_headers();
        headers.emplace_back("Content-Type", "application/json");
        send({.url = otlp_url(),
              .path = "",
              .headers = headers,
              .body = reports::otlp_text({run.result, run.stored}),
              .timeout = otlp_timeout(),
              .repeats = true});
    }
}

void push_to_gateway(const http::Url& url, const std::vector<LoadedExport>& runs) {
    std::vector<const RunResult*> results;
    for (const LoadedExport& run : runs) results.push_back(&run.result);
    send({.url = url,
          .path = url.base.empty() ? "/metrics/job/paretoken" : "",
          .headers = {{"Content-Type", std::string(reports::exposition_type(false))}},
          .body = reports::exposition_text(reports::run_families(results), false)});
}

}  // namespace

void check_push(const std::string& target) {
    (void)(target == kPushOtlp ? otlp_url() : http::parse_url(target));
}

void push(const std::string& target, const std::vector<LoadedExport>& runs) {
    if (target == kPushOtlp) return push_otlp(runs);
    push_to_gateway(http::parse_url(target), runs);
}

}  // namespace paretoken::cli
