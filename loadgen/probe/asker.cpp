#include "loadgen/probe/asker.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <thread>

#include "core/error.h"
#include "core/text/number_text.h"
#include "core/text/printable.h"
#include "loadgen/advice.h"
#include "loadgen/http/tls.h"
#include "loadgen/protocol/answer.h"
#include "loadgen/protocol/tokenize.h"

namespace paretoken::loadgen {
namespace {

constexpr Duration kQuestion = std::chrono::seconds(10);   ///< timeout of requests that need no computing
constexpr Duration kReadiness = std::chrono::seconds(60);  ///< time for a server to load its model
constexpr Duration kGuess = std::chrono::seconds(2);       ///< timeout of the try with the other scheme
constexpr Duration kSlow = std::chrono::seconds(2);        ///< time after which the wait is reported

Secrets secrets_of(const EndpointOptions& options) {
    Secrets secrets;
    for (const auto& [name, value] : options.headers) secrets.add_header(name, value);
    secrets.add_url("?" + options.url.query);
    return secrets;
}

/// Returns whether a stream has come to its [DONE]; not every server then ends the HTTP message.
bool stream_is_done(std::string_view body) {
    constexpr std::size_t kTail = 64;
    const std::string_view tail = body.substr(body.size() - std::min(kTail, body.size()));
    return tail.find("data: [DONE]") != std::string_view::npos ||
           tail.find("data:[DONE]") != std::string_view::npos;
}

GatewayReport report_of(const http::Fetched& answer) {
    return gateway_report(answer.head.status, answer.head.server, answer.body);
}

std::string_view advice_on(Shortage shortage) {
    switch (shortage) {
        case Shortage::rate:
            return "; the server limits the rate of requests, try again later or with a key that has a "
                   "higher limit";
        case Shortage::quota:
            return "; the quota or the credit of this key is used up, so that waiting does not help: raise "
                   "it, or use another key";
        case Shortage::capacity:
            break;
    }
    return "; the server is overloaded or still loading its model, try again when it is ready";
}

[[noreturn]] void interrupted() {
    throw Error(ExitCode::interrupted, "interrupted before the measurement began");
}

}  // namespace

bool is_busy(const http::Fetched& answer) {
    return !answer.failure &&
           (answer.head.status == 429 || answer.head.status == 503 || answer.head.status == 529);
}

Asker::Asker(const EndpointOptions& options, const http::Address& address)
    : options_(options),
      address_(address),
      secrets_(secrets_of(options)),
      fetcher_(options.url, address, options.tls, options.headers, options.stop) {
    if (!options.on_wait) return;
    fetcher_.when_slow(kSlow, [this](const std::string& what) {
        options_.on_wait(fmt::format("waiting for {} to answer {} (at most {})", options_.url.text(), what,
                                     longest_wait(what)));
    });
}

template <class Ask>
http::Fetched Asker::until_ready(Ask&& ask) {
    Duration pause = std::chrono::milliseconds(500);
    const TimePoint deadline = Clock::now() + std::min(kReadiness, options_.timeout);
    while (true) {
        http::Fetched answer = ask();
        if (answer.failure && answer.failure->kind == http::FetchFailure::Kind::stopped) interrupted();
        if (!is_busy(answer) || shortage_of(answer) == Shortage::quota) return answer;
        const Duration wait = http::retry_after_of(answer.head, std::time(nullptr)).value_or(pause);
        if (Clock::now() + wait > deadline) return answer;
        if (options_.on_wait) {
            options_.on_wait(
                fmt::format("{}; asking again in {} s", why_not_ready(answer), number_text(seconds(wait))));
        }
        sleep(wait);
        pause = std::min<Duration>(2 * pause, std::chrono::seconds(5));
    }
}

template <class Ask>
http::Fetched Asker::if_quick(Ask&& ask) {
    if (impatient_) return {.failure = http::FetchFailure{}};
    http::Fetched answer = ask();
    impatient_ =
        is_busy(answer) || (answer.failure && answer.failure->kind == http::FetchFailure::Kind::timed_out);
    return answer;
}

http::Fetched Asker::get(std::string_view path) {
    return until_ready([&] { return fetcher_.get(path, patience_for("GET")); });
}

http::Fetched Asker::post(std::string_view path, std::string_view body) {
    return until_ready([&] { return fetcher_.post(path, body, patience_for("POST"), stream_is_done); });
}

http::Fetched Asker::get_if_quick(std::string_view path) {
    return if_quick([&] { return get(path); });
}

http::Fetched Asker::post_if_quick(std::string_view path, std::string_view body) {
    return if_quick([&] { return post(path, body); });
}

http::Fetched Asker::ask_tokenizer(std::string_view body) {
    if (impatient_) return {.failure = http::FetchFailure{}};
    const std::string what = fmt::format("POST {}", protocol::kTokenizePath);
    return until_ready([&] { return fetcher_.post(protocol::kTokenizePath, body, patience_for(what)); });
}

/// Returns the time in which a request must be answered. `what` begins with its method.
Duration Asker::patience_for(std::string_view what) const {
    const bool needs_computing = !what.starts_with("GET") && !what.ends_with(protocol::kTokenizePath);
    return needs_computing ? options_.timeout : std::min(kQuestion, options_.timeout);
}

/// Returns whether --timeout is what limits that time.
bool Asker::is_limited_by_user(std::string_view what) const {
    return patience_for(what) == options_.timeout;
}

std::string Asker::words_of(const http::Fetched& answer) const {
    const std::string packed = answer.body.empty() ? std::string() : http::compression_note(answer.head);
    return packed.empty() ? protocol::error_text_of(answer.body, secrets_) : packed;
}

std::string Asker::longest_wait(std::string_view what) const {
    return fmt::format("{} s{}", number_text(seconds(patience_for(what))),
                       is_limited_by_user(what) ? ", --timeout" : "");
}

/// Returns who says with a busy answer that it cannot be asked yet, in the answer's words.
std::string Asker::why_not_ready(const http::Fetched& answer) const {
    constexpr std::size_t kShown = 120;
    const std::string said = printable_line(words_of(answer), kShown);
    const std::string status = fmt::format("HTTP {}{}{}", answer.head.status, said.empty() ? "" : ": ", said);
    const std::string fact = report_of(answer).fact;
    if (!fact.empty()) return fmt::format("{}: {} ({})", options_.url.text(), fact, status);
    return fmt::format(
        "{} {} ({})", options_.url.text(),
        shortage_of(answer) == Shortage::rate ? "limits the rate of requests" : "is busy or still loading",
        status);
}

void Asker::sleep(Duration wait) const {
    const TimePoint until = Clock::now() + wait;
    while (Clock::now() < until) {
        if (options_.stop.stop_requested()) interrupted();
        std::this_thread::sleep_for(std::min<Duration>(until - Clock::now(), std::chrono::milliseconds(20)));
    }
}

void Asker::refuse(const std::string& what) const {
    throw RuntimeError(fmt::format("{}: {}", options_.url.text(), secrets_.redacted(what)));
}

void Asker::refuse_status(std::string_view what, std::string_view path, const http::Fetched& answer,
                          std::string_view advice) const {
    const std::string said = words_of(answer);
    std::string words = said.empty() ? "" : ": " + said;
    const http::ResponseHead& head = answer.head;
    if (!head.location.empty()) {
        const std::string location = redacted_url(secrets_.redacted(head.location));
        words += fmt::format(" (Location: {}; {})", printable_line(location, kLongestName),
                             printable_line(redirect_advice(options_.url, path, location), kLongestName));
    }
    if (!head.retry_after.empty()) {
        words += fmt::format(" (Retry-After: {})",
                             printable_line(secrets_.redacted(head.retry_after), kLongestName));
    }
    if (head.status == 401 || head.status == 403) {
        throw RuntimeError(
            fmt::format("{}: {} gave HTTP {}{}; check the API key (OPENAI_API_KEY, the variable that "
                        "--api-key-env names, or a header given with -H) and what it permits{}",
                        options_.url.text(), what, head.status, words, advice));
    }
    if (head.status == 404 || head.status == 405) words += not_found_note(options_.url, path, said);
    if (options_.body.protocol->chat_template && said.find("chat template") != std::string::npos)
        words += "; a model without one is measured with --endpoint-type completions";
    const GatewayReport gateway = report_of(answer);
    if (!gateway.fact.empty())
        words += fmt::format("; {}: {}", gateway.fact, gateway.remedy);
    else if (is_busy(answer))
        words += advice_on(shortage_of(answer));
    throw RuntimeError(
        fmt::format("{}: {} gave HTTP {}{}{}", options_.url.text(), what, head.status, words, advice));
}

void Asker::refuse_failure(std::string_view what, const http::FetchFailure& failure,
                           std::string_view advice) const {
    using Kind = http::FetchFailure::Kind;
    const std::string url = options_.url.text();
    const std::string why = secrets_.redacted(failure.why);
    switch (failure.kind) {
        case Kind::connect_failed:
            throw RuntimeError(fmt::format("cannot connect to {}: {}; is the server running there?{}", url,
                                           why, proxy_note()));
        case Kind::tls_failed:
            throw RuntimeError(fmt::format("TLS with {} failed: {}; {}{}", url, why,
                                           why.find("certificate") == std::string::npos ? other_scheme() : "",
                                           tls_advice(why)));
        case Kind::malformed:
            throw RuntimeError(
                fmt::format("the answer of {} to {} is not valid HTTP ({}); {}check the URL's "
                            "scheme and port",
                            url, what, why, other_scheme()));
        case Kind::disconnected:
            throw RuntimeError(fmt::format("{}: {}: {}; {}is this an OpenAI-compatible server?{}", url, what,
                                           why, other_scheme(), advice));
        case Kind::timed_out:  // a plain HTTP server may wait forever for the rest of a TLS hello
            throw RuntimeError(
                fmt::format("{}: {}: {}; {}is this an OpenAI-compatible server{}?{}{}", url, what, why,
                            options_.url.tls ? other_scheme() : "",
                            is_limited_by_user(what) ? ", and does it need a longer --timeout" : "", advice,
                            proxy_note()));
        case Kind::too_long:
        case Kind::stopped:
            break;
    }
    throw RuntimeError(
        fmt::format("{}: {}: {}; is this an OpenAI-compatible server?{}", url, what, why, advice));
}

void Asker::refuse_compression(std::string_view what, const http::ResponseHead& head) const {
    if (!http::is_compressed(head)) return;
    refuse(
        fmt::format("the answer to {} is compressed ({}), so that the times of single tokens cannot be "
                    "measured; switch compression off in the server and in proxies before it",
                    what, printable_line(head.content_encoding, 64)));
}

std::string Asker::proxy_note() const {
    if (options_.proxy_variable.empty() || http::is_loopback(address_)) return {};
    return fmt::format(" ({} is set; proxies are not used)", options_.proxy_variable);
}

/// Returns a half-sentence that names the right scheme when the server uses the other one. The test sends
/// neither key nor headers.
std::string Asker::other_scheme() const {
    http::Url other = options_.url;
    other.tls = !other.tls;
    const http::TlsContext accept_all({.verify = false});
    const http::Fetched answer =
        http::Fetcher(other, address_, other.tls ? &accept_all : nullptr, {}, options_.stop)
            .get("/", std::min(kGuess, options_.timeout));
    if (answer.failure) return {};
    // A TLS server may answer in plain HTTP that it wants TLS.
    const bool wants_tls = answer.head.status == 400 && (answer.body.find("HTTPS") != std::string::npos ||
                                                         answer.body.find("SSL") != std::string::npos);
    if (!other.tls && wants_tls) return {};
    return fmt::format("the server speaks {} there: try {}; ", other.tls ? "TLS" : "plain HTTP",
                       other.text());
}

}  // namespace paretoken::loadgen
