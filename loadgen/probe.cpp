#include "loadgen/probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>
#include <utility>

#include "core/error.h"
#include "core/random.h"
#include "core/text/number_text.h"
#include "core/text/printable.h"
#include "core/text/secrets.h"
#include "datasets/synthetic/synthetic.h"
#include "datasets/synthetic/text.h"
#include "loadgen/advice.h"
#include "loadgen/protocol/answer.h"
#include "loadgen/protocol/delta.h"
#include "loadgen/protocol/model_list.h"
#include "loadgen/protocol/tokenize.h"

namespace paretoken::loadgen {
namespace {

using Json = nlohmann::json;

constexpr Duration kQuestion = std::chrono::seconds(10);   ///< timeout of requests that need no computing
constexpr Duration kReadiness = std::chrono::seconds(60);  ///< time for a server to load its model
constexpr Duration kGuess = std::chrono::seconds(2);       ///< timeout of the try with the other scheme
constexpr Duration kSlow = std::chrono::seconds(2);        ///< time after which the wait is reported
constexpr std::size_t kLongestName = 512;                  ///< bytes of a model's id
constexpr std::size_t kMostTerms = 64;

/// Returns the JSON value of a text; a discarded value if it is not JSON.
Json parsed(const std::string& text) {
    return Json::parse(text, nullptr, false);
}

std::string text_at(const Json& object, const char* key) {
    const auto it = object.is_object() ? object.find(key) : object.end();
    return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

/// Returns a count of tokens; nothing if it is missing, below 1, or larger than any real server's.
std::optional<std::int64_t> count_at(const Json& object, const char* key) {
    const auto it = object.is_object() ? object.find(key) : object.end();
    if (it == object.end() || !it->is_number()) return std::nullopt;
    const auto count = it->get<double>();
    if (!(count >= 1 && count <= static_cast<double>(protocol::kMostTokens))) return std::nullopt;
    return static_cast<std::int64_t>(count);
}

Secrets secrets_of(const EndpointOptions& options) {
    Secrets secrets;
    for (const auto& [name, value] : options.headers) secrets.add_header(name, value);
    secrets.add_url("?" + options.url.query);
    return secrets;
}

// ---- asking

/// Returns whether a server is loading its model or overloaded, so that it must be asked again.
bool is_busy(const http::Fetched& answer) {
    return !answer.failure &&
           (answer.head.status == 429 || answer.head.status == 503 || answer.head.status == 529);
}

/// Returns whether a stream has come to its [DONE]; not every server then ends the HTTP message.
bool stream_is_done(std::string_view body) {
    constexpr std::size_t kTail = 64;
    const std::string_view tail = body.substr(body.size() - std::min(kTail, body.size()));
    return tail.find("data: [DONE]") != std::string_view::npos ||
           tail.find("data:[DONE]") != std::string_view::npos;
}

/// Asks one server, with the timeouts of the options, and explains failures to people.
class Asker {
  public:
    Asker(const EndpointOptions& options, const http::Address& address)
        : options_(options),
          address_(address),
          secrets_(secrets_of(options)),
          fetcher_(options.url, address, options.tls, options.headers, options.stop) {
        if (!options.on_wait) return;
        fetcher_.when_slow(kSlow, [this](const std::string& what) {
            options_.on_wait(fmt::format("waiting for {} to answer {} (at most {})", options_.url.text(),
                                         what, longest_wait(what)));
        });
    }

    const EndpointOptions& options() const { return options_; }
    const Secrets& secrets() const { return secrets_; }

    /// Sends a GET request that needs no computing.
    http::Fetched get(std::string_view path) {
        return until_ready([&] { return fetcher_.get(path, patience_for("GET")); });
    }

    /// Sends a POST request that makes the server compute.
    http::Fetched post(std::string_view path, std::string_view body) {
        return until_ready([&] { return fetcher_.post(path, body, patience_for("POST"), stream_is_done); });
    }

    /// Returns the time in which a request must be answered. `what` begins with its method.
    Duration patience_for(std::string_view what) const {
        return what.starts_with("GET") ? std::min(kQuestion, options_.timeout) : options_.timeout;
    }

    /// Returns whether --timeout is what limits that time.
    bool is_limited_by_user(std::string_view what) const { return patience_for(what) == options_.timeout; }
    std::string longest_wait(std::string_view what) const {
        return fmt::format("{} s{}", number_text(seconds(patience_for(what))),
                           is_limited_by_user(what) ? ", --timeout" : "");
    }

    /// Sends a request that a measurement does not need. Once one of these took too long, no further one is
    /// sent.
    http::Fetched get_if_quick(std::string_view path) {
        return if_quick([&] { return get(path); });
    }
    http::Fetched post_if_quick(std::string_view path, std::string_view body) {
        return if_quick([&] { return post(path, body); });
    }

    [[noreturn]] void refuse(const std::string& what) const {
        throw RuntimeError(fmt::format("{}: {}", options_.url.text(), secrets_.redacted(what)));
    }

    /// Ends the command because of a status other than 2xx of the request for `path`, and explains it.
    /// `advice` is added to it: "; name the model".
    [[noreturn]] void refuse_status(std::string_view what, std::string_view path, const http::Fetched& answer,
                                    std::string_view advice = "") const {
        const std::string said = protocol::error_text_of(answer.body, secrets_);
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
            words += "; the server is overloaded or still loading its model, try again when it is ready";
        throw RuntimeError(
            fmt::format("{}: {} gave HTTP {}{}{}", options_.url.text(), what, head.status, words, advice));
    }

    [[noreturn]] void refuse_failure(std::string_view what, const http::FetchFailure& failure,
                                     std::string_view advice = "") const {
        using Kind = http::FetchFailure::Kind;
        const std::string url = options_.url.text();
        const std::string why = secrets_.redacted(failure.why);
        switch (failure.kind) {
            case Kind::connect_failed:
                throw RuntimeError(fmt::format("cannot connect to {}: {}; is the server running there?{}",
                                               url, why, proxy_note(options_, address_)));
            case Kind::tls_failed:
                throw RuntimeError(fmt::format(
                    "TLS with {} failed: {}; {}{}", url, why,
                    why.find("certificate") == std::string::npos ? other_scheme() : "", tls_advice(why)));
            case Kind::malformed:
                throw RuntimeError(
                    fmt::format("{} does not speak HTTP ({}); {}check the URL's scheme and port", url, why,
                                other_scheme()));
            case Kind::disconnected:
                throw RuntimeError(fmt::format("{}: {}: {}; {}is this an OpenAI-compatible server?{}", url,
                                               what, why, other_scheme(), advice));
            case Kind::timed_out:  // a plain HTTP server may wait forever for the rest of a TLS hello
                throw RuntimeError(
                    fmt::format("{}: {}: {}; {}is this an OpenAI-compatible server{}?{}", url, what, why,
                                options_.url.tls ? other_scheme() : "",
                                is_limited_by_user(what) ? ", and does it need a longer --timeout" : "",
                                proxy_note(options_, address_)));
            case Kind::too_long:
            case Kind::stopped:
                break;
        }
        throw RuntimeError(
            fmt::format("{}: {}: {}; is this an OpenAI-compatible server?{}", url, what, why, advice));
    }

    static std::string proxy_note(const EndpointOptions& options, const http::Address& address) {
        if (options.proxy_variable.empty() || http::is_loopback(address)) return {};
        return fmt::format(" ({} is set; proxies are not used)", options.proxy_variable);
    }

  private:
    template <class Ask>
    http::Fetched until_ready(Ask&& ask) {
        Duration pause = std::chrono::milliseconds(500);
        const TimePoint deadline = Clock::now() + std::min(kReadiness, options_.timeout);
        while (true) {
            http::Fetched answer = ask();
            if (answer.failure && answer.failure->kind == http::FetchFailure::Kind::stopped) interrupted();
            if (!is_busy(answer)) return answer;
            const Duration wait = http::retry_after_of(answer.head, std::time(nullptr)).value_or(pause);
            if (Clock::now() + wait > deadline) return answer;
            if (options_.on_wait) {
                options_.on_wait(fmt::format("{}; asking again in {} s", why_not_ready(answer),
                                             number_text(seconds(wait))));
            }
            sleep(wait);
            pause = std::min<Duration>(2 * pause, std::chrono::seconds(5));
        }
    }

    static GatewayReport report_of(const http::Fetched& answer) {
        return gateway_report(answer.head.status, answer.head.server, answer.body);
    }

    /// Returns who says with a busy answer that it cannot be asked yet, in the answer's words.
    std::string why_not_ready(const http::Fetched& answer) const {
        constexpr std::size_t kShown = 120;
        const std::string said = printable_line(protocol::error_text_of(answer.body, secrets_), kShown);
        const std::string status =
            fmt::format("HTTP {}{}{}", answer.head.status, said.empty() ? "" : ": ", said);
        const std::string fact = report_of(answer).fact;
        if (!fact.empty()) return fmt::format("{}: {} ({})", options_.url.text(), fact, status);
        return fmt::format("{} is busy or still loading ({})", options_.url.text(), status);
    }

    template <class Ask>
    http::Fetched if_quick(Ask&& ask) {
        if (impatient_) return {.failure = http::FetchFailure{}};
        http::Fetched answer = ask();
        impatient_ = is_busy(answer) ||
                     (answer.failure && answer.failure->kind == http::FetchFailure::Kind::timed_out);
        return answer;
    }

    void sleep(Duration wait) const {
        const TimePoint until = Clock::now() + wait;
        while (Clock::now() < until) {
            if (options_.stop.stop_requested()) interrupted();
            std::this_thread::sleep_for(
                std::min<Duration>(until - Clock::now(), std::chrono::milliseconds(20)));
        }
    }

    [[noreturn]] static void interrupted() {
        throw Error(ExitCode::interrupted, "interrupted before the measurement began");
    }

    /// Returns a half-sentence that names the right scheme when the server uses the other one. The test sends
    /// neither key nor headers.
    std::string other_scheme() const {
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

    const EndpointOptions& options_;
    http::Address address_;
    Secrets secrets_;
    http::Fetcher fetcher_;
    bool impatient_ = false;
};

void refuse_compression(const Asker& asker, std::string_view what, const http::ResponseHead& head) {
    if (!http::is_compressed(head)) return;
    asker.refuse(
        fmt::format("the answer to {} is compressed ({}), so that the times of single tokens cannot be "
                    "measured; switch compression off in the server and in proxies before it",
                    what, printable_line(head.content_encoding, 64)));
}

// ---- reaching the server, and its list of models

std::vector<http::Address> addresses_of(const EndpointOptions& options) {
    try {
        return http::resolve(options.url);
    } catch (const RuntimeError& error) {
        if (options.proxy_variable.empty()) throw;
        throw RuntimeError(
            fmt::format("{} ({} is set; proxies are not used)", error.what(), options.proxy_variable));
    }
}

/// The answer to the question for the models, and the path that was asked.
struct ModelsAnswer {
    std::string path;
    http::Fetched fetched = {};

    std::string what() const { return "GET " + path; }
};

constexpr std::string_view kModels = "/models";  ///< path of the models at a base without a version

/// Returns whether the paths of requests may be those at a base without a version.
bool may_lack_version(const EndpointOptions& options) {
    return options.path.empty() && !options.url.has_version();
}

/// Returns the paths that may have the list of models. The second one, if any, is beside the path of the
/// requests, or at the base without a version.
std::vector<std::string> models_paths(const EndpointOptions& options) {
    std::vector<std::string> paths{std::string(options.url.api_path("/v1/models"))};
    const std::string target = target_of(options);
    const protocol::Protocol* const protocol = protocol::protocol_of_address(target);
    if (protocol == nullptr) return paths;
    std::string beside = target.substr(0, target.size() - protocol->path_in_version().size()) + "/models";
    if (may_lack_version(options)) beside = kModels;
    if (beside != paths.front()) paths.push_back(std::move(beside));
    return paths;
}

std::vector<protocol::ListedModel> models_in(const http::Fetched& answer) {
    return answer.ok() ? protocol::listed_models(answer.body) : std::vector<protocol::ListedModel>();
}

/// Finds the first address that accepts a connection. Returns its answer to the question for the models. A
/// list that breaks off is not needed if a model was given.
ModelsAnswer first_contact(const EndpointOptions& options, http::Address& chosen) {
    using Kind = http::FetchFailure::Kind;
    const std::vector<std::string> paths = models_paths(options);
    ModelsAnswer answer{.path = paths.front()};
    for (const http::Address& address : addresses_of(options)) {
        chosen = address;
        answer.fetched = Asker(options, address).get(answer.path);
        if (!answer.fetched.failure || answer.fetched.failure->kind != Kind::connect_failed) break;
    }
    const auto& failure = answer.fetched.failure;
    const bool is_needed = options.body.model.empty();
    if (failure && (is_needed || (failure->kind != Kind::disconnected && failure->kind != Kind::too_long)))
        Asker(options, chosen)
            .refuse_failure(answer.what(), *failure,
                            failure->kind == Kind::too_long || failure->kind == Kind::disconnected
                                ? "; if only its list of models fails, name the model with --model"
                                : "");
    const int status = answer.fetched.head.status;
    const bool is_elsewhere =
        status == 404 || status == 405 || (answer.fetched.ok() && models_in(answer.fetched).empty());
    if (failure || !is_elsewhere || paths.size() == 1) return answer;
    ModelsAnswer second{.path = paths.back(), .fetched = Asker(options, chosen).get(paths.back())};
    return models_in(second.fetched).empty() ? answer : second;
}

/// Returns the first words of an answer that is a page for people, such as that of a login; empty for
/// another.
std::string page_note(const Asker& asker, const http::Fetched& answer) {
    constexpr std::size_t kShown = 80;
    if (!answer.ok() || answer.body.find("<html") == std::string::npos) return {};
    return fmt::format(", but a web page for people (\"{}\")",
                       printable_line(protocol::error_text_of(answer.body, asker.secrets()), kShown));
}

/// Returns the listed model that requests will name; nothing if a model was given that is not listed.
std::optional<protocol::ListedModel> model_for(const Asker& asker, const ModelsAnswer& models) {
    const EndpointOptions& options = asker.options();
    const http::Fetched& answer = models.fetched;
    const std::vector<protocol::ListedModel> list = models_in(answer);
    if (list.empty()) {
        if (!options.body.model.empty()) return std::nullopt;
        const int status = answer.head.status;
        constexpr std::string_view kAdvice =
            "; if only its list of models fails, name the model with --model";
        if (is_busy(answer) || !answer.head.location.empty() || status == 401 || status == 403 ||
            status >= 500)
            asker.refuse_status(models.what(), models.path, answer, kAdvice);
        if (answer.ok() && protocol::is_model_list(answer.body))
            asker.refuse("the server lists no model; load or pull one, or name one with --model");
        std::string said = " without a model list" + page_note(asker, answer);
        if (!answer.ok()) said = protocol::error_text_of(answer.body, asker.secrets());
        if (!answer.ok() && !said.empty()) said.insert(0, ": ");
        if (options.tls == nullptr && said.find("HTTPS") != std::string::npos)
            said += "; try https" + options.url.text().substr(4);
        throw RuntimeError(fmt::format(
            "{} does not look like an OpenAI-compatible server: GET {} gave HTTP {}{}; check the URL, or "
            "name the model with --model",
            options.url.text(), address_text(options.url, models.path), status, said));
    }
    return protocol::chosen_model(list, options.body.model);
}

/// Returns whether requests have another path than with a version: that one is unknown to the server, and
/// the one at its base is known. The requests are empty, so that the server computes nothing.
bool lacks_version(Asker& asker) {
    const protocol::Protocol& protocol = *asker.options().body.protocol;
    const auto is_unknown = [&](std::string_view path) {
        const http::Fetched answer = asker.post(path, "{}");
        const int status = answer.head.status;
        return !answer.failure &&
               ((status == 404 || status == 405) && answer.body.find("model") == std::string::npos);
    };
    return is_unknown(protocol.path) && !is_unknown(protocol.path_in_version());
}

// ---- the kind of server

/// Stores the numbers, flags and short texts of an object in the facts.
void note_settings(const Asker& asker, const Json& object, EndpointFacts& facts) {
    constexpr std::size_t kLongestValue = 200;
    constexpr std::size_t kMostSettings = 64;
    if (!object.is_object()) return;
    for (const auto& [key, value] : object.items()) {
        const bool is_plain = value.is_string() || value.is_number() || value.is_boolean();
        if (!is_plain || names_a_secret(key) || facts.server_config.size() == kMostSettings) continue;
        const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
        if (text.empty() || text.size() > kLongestValue) continue;
        facts.server_config[printable_line(key, kLongestValue)] =
            printable_line(asker.secrets().redacted(text));
    }
}

void ask_what_it_is(Asker& asker, const std::optional<protocol::ListedModel>& model, EndpointFacts& facts) {
    if (model) {
        facts.server_kind = protocol::kind_by_owner(model->owner);
        facts.context = model->context;
    }
    if (facts.server_kind == "vllm" || facts.server_kind == "paretoken-sim") {
        const http::Fetched version = asker.get_if_quick("/version");
        if (version.ok()) note_settings(asker, parsed(version.body), facts);
    }
    if (facts.server_kind != "llama.cpp") return;
    const http::Fetched props = asker.get_if_quick("/props");
    if (!props.ok()) return;
    const Json answer = parsed(props.body);
    note_settings(asker, answer, facts);
    facts.slots = count_at(answer, "total_slots");
    if (answer.is_object() && answer.contains("default_generation_settings") && !facts.context)
        facts.context = count_at(answer["default_generation_settings"], "n_ctx");
}

void ask_for_profile(Asker& asker, EndpointFacts& facts) {
    const http::Fetched answer = asker.get_if_quick("/sim/profile");
    if (!answer.ok()) return;
    const Json profile = parsed(answer.body);
    facts.simulator_profile =
        printable_line(asker.secrets().redacted(text_at(profile, "profile")), kLongestName);
    if (facts.simulator_profile.empty() || !profile.contains("limit_terms")) return;
    facts.server_kind = "paretoken-sim";
    for (const auto& [name, value] : profile["limit_terms"].items()) {
        if (!value.is_number() || facts.simulator_terms.size() == kMostTerms) continue;
        facts.simulator_terms[printable_line(asker.secrets().redacted(name), kLongestName)] =
            value.get<double>();
    }
}

// ---- the options that it accepts

/// One generation, read in the same way as by the load.
struct Trial {
    http::Fetched fetched;
    Duration took{};
    RequestRecord record;

    bool accepted() const { return fetched.ok(); }
    bool refused_options() const {
        return !fetched.failure && (fetched.head.status == 400 || fetched.head.status == 422);
    }
};

enum class Need { must, if_quick };

Trial attempt(Asker& asker, const protocol::BodyOptions& body, const Request& request, Need need) {
    Trial trial;
    const std::string path = target_of(asker.options());
    const std::string text = protocol::BodyWriter(body).body(request);
    const TimePoint began = Clock::now();
    trial.fetched = need == Need::must ? asker.post(path, text) : asker.post_if_quick(path, text);
    trial.took = Clock::now() - began;
    protocol::DeltaParser parser(asker.secrets(), *body.protocol);
    protocol::AnswerReader reader(parser);
    reader.begin(trial.record, {.stream = body.stream});
    trial.record.http_status = trial.fetched.head.status;
    protocol::PaddedBuffer padded;
    padded.append(trial.fetched.body);
    reader.on_body({padded.view().data(), padded.size()}, Clock::now(), false, true);
    reader.finish(!trial.fetched.failure);
    return trial;
}

Request small_request(Prompt prompt, const EndpointFacts& facts) {
    Request request;
    request.id = "probe";
    request.prompt = std::move(prompt);
    request.wanted_output_tokens = facts.fewest_output_tokens;
    return request;
}

/// Returns an option that the requests still have: the first whose name is in `message`, else the first.
const protocol::OptionalField* option_to_leave_out(const protocol::BodyOptions& body,
                                                   std::string_view message) {
    const protocol::OptionalField* chosen = nullptr;
    for (const protocol::OptionalField& option : body.protocol->optional_fields) {
        if (!(body.*option.flag)) continue;
        if (message.find(option.name) != std::string_view::npos) return &option;
        if (chosen == nullptr) chosen = &option;
    }
    return chosen;
}

/// Returns whether the protocol has two names for the limit on output tokens, and the requests have one.
bool has_other_limit(const protocol::BodyOptions& body) {
    if (body.protocol->limit_key == body.protocol->reasoning_limit_key) return false;
    const protocol::BodyWriter writer(body);
    const Request small = small_request(std::string(), {});
    Request longer = small;
    longer.wanted_output_tokens = *longer.wanted_output_tokens + 1;
    // An --extra-body with a limit of its own replaces it.
    return writer.asked_output_tokens(longer) != writer.asked_output_tokens(small);
}

std::string_view limit_name(const protocol::BodyOptions& body) {
    return body.max_completion_tokens ? body.protocol->reasoning_limit_key : body.protocol->limit_key;
}

bool names(const Trial& trial, std::string_view name) {
    return trial.fetched.body.find(name) != std::string::npos;
}

/// Finds the options that the server accepts: gives the limit on output tokens its other name if the server
/// refuses the first one, and leaves out the options that it refuses, one by one. Those that a refusal names
/// come first.
class Settlement {
  public:
    Settlement(Asker& asker, EndpointFacts& facts)
        : asker_(asker), facts_(facts), can_rename_(has_other_limit(facts.body)) {}

    Trial settled() {
        const protocol::BodyOptions all = facts_.body;
        const std::vector<std::string> refused = facts_.refused;
        Trial trial = left_out(ask());
        if (!trial.refused_options() || !can_rename_) return trial;
        // Not even the plainest request is accepted and no refusal has named the limit. All is tried again
        // with its other name.
        const EndpointFacts plainest = facts_;
        facts_.body = all;
        facts_.refused = refused;
        can_rename_ = false;
        rename();
        Trial renamed = left_out(ask());
        if (renamed.refused_options()) facts_ = plainest;
        if (renamed.refused_options()) return trial;
        note();
        return renamed;
    }

  private:
    Trial ask() {
        return attempt(asker_, facts_.body, small_request(std::string("Hello there, how are you?"), facts_),
                       Need::must);
    }

    void rename() { facts_.body.max_completion_tokens = !facts_.body.max_completion_tokens; }

    void note() {
        const std::string_view now = limit_name(facts_.body);
        facts_.notes.push_back(fmt::format("the server refuses {}, so that requests limit their output by {}",
                                           now == facts_.body.protocol->limit_key
                                               ? facts_.body.protocol->reasoning_limit_key
                                               : facts_.body.protocol->limit_key,
                                           now));
    }

    /// Returns whether the server refuses the options, if need be by another status and an option's name.
    bool refuses(const Trial& trial) const {
        const int status = trial.fetched.head.status;
        if (trial.fetched.failure || (status < 400 || is_busy(trial.fetched))) return false;
        return trial.refused_options() ||
               std::ranges::any_of(facts_.body.protocol->optional_fields,
                                   [&](const protocol::OptionalField& option) {
                                       return facts_.body.*option.flag && names(trial, option.name);
                                   });
    }

    Trial left_out(Trial trial) {
        constexpr std::int64_t kMore = 16;  // the fewest of OpenAI's Responses
        while (refuses(trial)) {
            if (facts_.fewest_output_tokens < kMore &&
                wants_more_tokens(trial.fetched.body, limit_name(facts_.body))) {
                facts_.fewest_output_tokens = kMore;
                trial = ask();
                continue;
            }
            if (can_rename_ && names(trial, limit_name(facts_.body))) {
                can_rename_ = false;
                rename();
                Trial renamed = ask();
                if (!renamed.refused_options() || !names(renamed, limit_name(facts_.body))) {
                    note();
                    trial = std::move(renamed);
                    continue;
                }
                rename();
            }
            const protocol::OptionalField* option = option_to_leave_out(facts_.body, trial.fetched.body);
            if (option == nullptr) break;
            facts_.body.*option->flag = false;
            facts_.refused.emplace_back(option->name);
            trial = ask();
        }
        return trial;
    }

    Asker& asker_;
    EndpointFacts& facts_;
    bool can_rename_;
};

/// Ends the command because a request failed whose answer had begun, or that took a while. Servers and
/// proxies are then known to speak HTTP, and `remark` says what else is known.
[[noreturn]] void refuse_trial(const Asker& asker, const std::string& what, const Trial& trial,
                               std::string_view remark) {
    constexpr Duration kWhile = std::chrono::milliseconds(200);
    const bool was_taken = trial.fetched.head.status != 0 || trial.took > kWhile || !remark.empty();
    if (trial.fetched.failure->kind != http::FetchFailure::Kind::disconnected || !was_taken)
        asker.refuse_failure(what, *trial.fetched.failure);
    asker.refuse(cut_off_note(what, trial.took, trial.fetched, remark));
}

/// Settles the options that requests have. Throws when the server refuses the plainest request.
void settle_options(Asker& asker, EndpointFacts& facts) {
    if (facts.body.ignore_eos &&
        !protocol::has_field(*facts.body.protocol, &protocol::BodyOptions::ignore_eos)) {
        facts.body.ignore_eos = false;
        facts.refused.emplace_back("ignore_eos");
    }
    Trial trial = Settlement(asker, facts).settled();
    const std::string what = "POST " + target_of(asker.options());
    if (trial.fetched.failure) refuse_trial(asker, what, trial, "");
    if (!trial.accepted()) asker.refuse_status(what, target_of(asker.options()), trial.fetched);
    refuse_compression(asker, what, trial.fetched.head);
    if (trial.record.outcome == Outcome::malformed) {
        asker.refuse(
            fmt::format("the answer to {} is not one of the protocol {} ({}); check the URL, --endpoint and "
                        "--endpoint-type",
                        what, facts.body.protocol->name, trial.record.error));
    }
    if (trial.record.outcome == Outcome::stream_error) {
        asker.refuse(fmt::format("the answer to {} is an error: {}", what, trial.record.error));
    }
}

// ---- prompt lengths

/// Returns whether the server accepts token ids. Tries ids from both ends of the range of prompts.
bool takes_token_ids(Asker& asker, const EndpointFacts& facts) {
    const datasets::IdRange range = datasets::safe_token_ids(std::nullopt);
    TokenIds ids;
    for (std::int32_t i = 0; i < 4; ++i) {
        ids.push_back(range.low + i);
        ids.push_back(range.high - 1 - i);
    }
    const auto expected = static_cast<std::int64_t>(ids.size());
    const Trial trial = attempt(asker, facts.body, small_request(std::move(ids), facts), Need::if_quick);
    // The server may add a BOS; if it read the ids as text, it would count many more tokens.
    return trial.accepted() && trial.record.usage.prompt && *trial.record.usage.prompt >= expected &&
           *trial.record.usage.prompt <= expected + 1;
}

std::optional<datasets::Calibration> calibration_by_tokenizer(Asker& asker, const EndpointFacts& facts) {
    for (const auto dialect : {protocol::TokenizeDialect::vllm, protocol::TokenizeDialect::llama_cpp}) {
        const std::string body =
            protocol::tokenize_body(dialect, facts.body.model, datasets::calibration_text());
        const http::Fetched answer = asker.post_if_quick(protocol::kTokenizePath, body);
        if (!answer.ok()) continue;
        const auto tokens = protocol::parse_tokenization(answer.body);
        if (!tokens) continue;
        if (auto calibration = datasets::calibration_from_pieces(tokens->pieces)) return calibration;
    }
    return std::nullopt;
}

/// Finds the tokens that the chat template or a BOS adds, from the server's counts for texts of known length.
void find_overhead(Asker& asker, const EndpointFacts& facts, datasets::Calibration& calibration) {
    const datasets::TextWriter writer(calibration);
    std::vector<datasets::OverheadSample> samples;
    for (const std::size_t words : {8, 24}) {
        const std::string text = writer.of_words(words, words, Random(derived_seed(0, "calibration", words)));
        const Trial trial = attempt(asker, facts.body, small_request(text, facts), Need::if_quick);
        if (!trial.accepted() || !trial.record.usage.prompt) continue;
        samples.push_back({.expected_text_tokens = writer.expected_tokens(text),
                           .prompt_tokens = static_cast<double>(*trial.record.usage.prompt)});
    }
    if (const auto overhead = datasets::overhead_from(samples)) calibration.overhead_tokens = *overhead;
}

std::optional<datasets::Calibration> calibration_by_usage(Asker& asker, const EndpointFacts& facts) {
    const datasets::TextWriter writer(datasets::uncalibrated());
    std::vector<datasets::CountSample> samples;
    for (const std::size_t words : {16, 64, 160}) {
        const std::string text = writer.of_words(words, words, Random(derived_seed(0, "calibration", words)));
        const Trial trial = attempt(asker, facts.body, small_request(text, facts), Need::if_quick);
        if (!trial.accepted() || !trial.record.usage.prompt) continue;
        samples.push_back(
            {.words = static_cast<double>(words), .tokens = static_cast<double>(*trial.record.usage.prompt)});
    }
    return datasets::calibration_from_counts(samples);
}

/// Finds the tokens per word of the prose that prompts are cut from. Without an answer it takes the mean of
/// our words.
void find_prose_cost(Asker& asker, const EndpointFacts& facts, datasets::Calibration& calibration) {
    const std::vector<double>& own = calibration.word_tokens;
    if (!own.empty())
        calibration.prose_word_tokens =
            std::accumulate(own.begin(), own.end(), 0.0) / static_cast<double>(own.size());
    const std::string& text = asker.options().prose;
    const auto words = static_cast<double>(1 + std::ranges::count(text, ' '));
    const Trial trial = attempt(asker, facts.body, small_request(text, facts), Need::if_quick);
    if (!trial.accepted() || !trial.record.usage.prompt) return;
    const double tokens = static_cast<double>(*trial.record.usage.prompt) - calibration.overhead_tokens;
    if (tokens > 0) calibration.prose_word_tokens = tokens / words;
}

void settle_lengths(Asker& asker, EndpointFacts& facts) {
    const EndpointOptions& options = asker.options();
    if (options.token_ids && facts.body.protocol->takes_token_ids && takes_token_ids(asker, facts)) {
        facts.prompt_form = datasets::PromptForm::token_ids;
        return;
    }
    if (!options.calibrate) return;
    facts.calibration = calibration_by_tokenizer(asker, facts);
    if (facts.calibration) {
        find_overhead(asker, facts, *facts.calibration);
    } else {
        facts.calibration = calibration_by_usage(asker, facts);
    }
    if (facts.calibration && !options.prose.empty()) find_prose_cost(asker, facts, *facts.calibration);
}

}  // namespace

std::string target_of(const EndpointOptions& options) {
    if (options.path.empty()) return std::string(options.url.api_path(options.body.protocol->path));
    return options.path.starts_with('/') ? options.path : "/" + options.path;
}

EndpointFacts probe(const EndpointOptions& given) {
    EndpointOptions options = given;
    EndpointFacts facts;
    const ModelsAnswer models = first_contact(options, facts.address);
    Asker asker(options, facts.address);
    const bool no_list = models_in(models.fetched).empty();
    if (may_lack_version(options) && (no_list ? !options.body.model.empty() : models.path == kModels) &&
        lacks_version(asker))
        options.path = facts.path = options.body.protocol->path_in_version();
    const auto model = model_for(asker, models);
    facts.local = http::is_loopback(facts.address);
    facts.body = options.body;
    if (facts.body.model.empty()) facts.body.model = model->name;
    if (facts.body.model.size() > std::max(kLongestName, options.body.model.size())) {
        asker.refuse(
            fmt::format("the first model in the answer to {} has a name of {} bytes, more than {}; name the "
                        "model with --model",
                        models.what(), facts.body.model.size(), kLongestName));
    }
    ask_what_it_is(asker, model, facts);
    ask_for_profile(asker, facts);
    settle_options(asker, facts);
    settle_lengths(asker, facts);
    return facts;
}

TokenUsage try_one(const EndpointOptions& options, const EndpointFacts& facts, const Request& request) {
    Asker asker(options, facts.address);
    Request short_one = request;
    const std::int64_t few = facts.fewest_output_tokens;
    short_one.wanted_output_tokens = std::min(few, request.wanted_output_tokens.value_or(few));
    const Trial trial = attempt(asker, facts.body, short_one, Need::must);
    const std::string what = "the workload's first request";
    if (trial.fetched.failure) refuse_trial(asker, what, trial, ", although shorter requests were answered");
    if (!trial.accepted()) asker.refuse_status(what, target_of(asker.options()), trial.fetched);
    if (is_failure(trial.record.outcome) && trial.record.outcome != Outcome::empty) {
        asker.refuse(fmt::format("{} failed: {}", what, trial.record.error));
    }
    return trial.record.usage;
}

}  // namespace paretoken::loadgen
