#include "loadgen/probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/error.h"
#include "core/random.h"
#include "datasets/synthetic.h"
#include "datasets/text.h"
#include "loadgen/openai/answer.h"
#include "loadgen/openai/delta.h"
#include "loadgen/openai/tokenize.h"

namespace paretoken::loadgen {
namespace {

using Json = nlohmann::json;

constexpr Duration kQuestion = std::chrono::seconds(10);    ///< for what a server answers from memory
constexpr Duration kReadiness = std::chrono::seconds(60);   ///< for a server that is still loading its model
constexpr Duration kGeneration = std::chrono::seconds(60);  ///< for what makes it compute

/// Nothing when it is not JSON.
Json parsed(const std::string& text) {
    return Json::parse(text, nullptr, false);
}

std::string text_at(const Json& object, const char* key) {
    const auto it = object.is_object() ? object.find(key) : object.end();
    return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

std::optional<std::int64_t> integer_at(const Json& object, const char* key) {
    if (!object.is_object()) return std::nullopt;
    const auto it = object.find(key);
    if (it == object.end() || !it->is_number()) return std::nullopt;
    return it->get<std::int64_t>();
}

/// What a status other than 200 means for the command as a whole.
[[noreturn]] void refuse_status(const http::Url& url, std::string_view what, const http::Fetched& answer) {
    const std::string said = openai::error_text_of(answer.body);
    const std::string words = said.empty() ? "" : ": " + said;
    const int status = answer.head.status;
    if (status == 401 || status == 403) {
        throw RuntimeError(
            fmt::format("{} refused the key (HTTP {}){}; set OPENAI_API_KEY, or give --api-key-env or -H",
                        url.text(), status, words));
    }
    throw RuntimeError(fmt::format("{}: {} gave HTTP {}{}", url.text(), what, status, words));
}

[[noreturn]] void refuse_failure(const http::Url& url, std::string_view what,
                                 const http::FetchFailure& failure) {
    using Kind = http::FetchFailure::Kind;
    switch (failure.kind) {
        case Kind::connect_failed:
            throw RuntimeError(fmt::format("cannot connect to {}: {}; is the server running there?",
                                           url.text(), failure.why));
        case Kind::tls_failed:
            throw RuntimeError(
                fmt::format("TLS with {} failed: {}; check the URL's scheme, give --ca-file, or "
                            "--insecure to accept any certificate",
                            url.text(), failure.why));
        case Kind::malformed:
            throw RuntimeError(fmt::format("{} does not speak HTTP ({}); check the URL's scheme and port",
                                           url.text(), failure.why));
        case Kind::timed_out:
        case Kind::disconnected:
            break;
    }
    throw RuntimeError(
        fmt::format("{}: {}: {}; is this an OpenAI-compatible server?", url.text(), what, failure.why));
}

void refuse_compression(const http::Url& url, std::string_view what, const http::ResponseHead& head) {
    if (head.content_encoding.empty() || head.content_encoding == "identity") return;
    throw RuntimeError(
        fmt::format("{}: {} is answered compressed ({}) although identity was asked for; times of compressed "
                    "tokens mean nothing, switch compression off",
                    url.text(), what, head.content_encoding));
}

// ---- reaching the server, and its list of models

constexpr int kServiceUnavailable = 503;  ///< what servers say while they load their model

/// GET /v1/models, again and again while the server is still loading.
http::Fetched models_once_ready(const EndpointOptions& options, const http::Address& address) {
    const TimePoint deadline = Clock::now() + kReadiness;
    while (true) {
        http::Fetched answer =
            http::Fetcher(options.url, address, options.tls, options.headers).get("/v1/models", kQuestion);
        const bool loading = !answer.failure && answer.head.status == kServiceUnavailable;
        if (!loading || Clock::now() > deadline) return answer;
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
    }
}

/// The first address that accepts a connection, with its answer to GET /v1/models.
http::Fetched first_contact(const EndpointOptions& options, http::Address& chosen) {
    http::Fetched answer;
    for (const http::Address& address : http::resolve(options.url)) {
        chosen = address;
        answer = models_once_ready(options, address);
        if (!answer.failure || answer.failure->kind != http::FetchFailure::Kind::connect_failed) break;
    }
    if (answer.failure) refuse_failure(options.url, "GET /v1/models", *answer.failure);
    return answer;
}

/// The entry of the list that requests will name; null when the server has no list and a model was given.
Json chosen_model(const EndpointOptions& options, const http::Fetched& answer) {
    if (answer.head.status == 401 || answer.head.status == 403)
        refuse_status(options.url, "GET /v1/models", answer);
    const Json list = answer.head.status == 200 ? parsed(answer.body) : Json();
    const bool usable =
        list.is_object() && list.contains("data") && list["data"].is_array() && !list["data"].empty();
    if (!usable) {
        if (!options.body.model.empty()) return nullptr;
        throw RuntimeError(
            fmt::format("{} does not look like an OpenAI-compatible server: GET /v1/models gave HTTP {}{}; "
                        "check the URL, or name the model with --model",
                        options.url.text(), answer.head.status,
                        answer.head.status == 200 ? " without a model list" : ""));
    }
    const Json& data = list["data"];
    for (const Json& entry : data) {
        if (text_at(entry, "id") == options.body.model) return entry;
    }
    return options.body.model.empty() ? data.front() : Json(nullptr);
}

// ---- what kind of server it is

std::string kind_by_owner(const std::string& owner) {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kOwners{{
        {"vllm", "vllm"},
        {"llamacpp", "llama.cpp"},
        {"sglang", "sglang"},
        {"library", "ollama"},
        {"paretoken", "paretoken-sim"},
    }};
    for (const auto& [owned_by, kind] : kOwners) {
        if (owner == owned_by) return std::string(kind);
    }
    return {};
}

void ask_what_it_is(http::Fetcher& fetcher, const Json& model, EndpointFacts& facts) {
    facts.server_kind = kind_by_owner(text_at(model, "owned_by"));
    facts.context = integer_at(model, "max_model_len");
    if (facts.server_kind == "llama.cpp" && !facts.context) {
        const http::Fetched props = fetcher.get("/props", kQuestion);
        if (!props.ok()) return;
        const Json answer = parsed(props.body);
        if (answer.is_object() && answer.contains("default_generation_settings")) {
            facts.context = integer_at(answer["default_generation_settings"], "n_ctx");
        }
    }
}

void ask_for_profile(http::Fetcher& fetcher, EndpointFacts& facts) {
    const http::Fetched answer = fetcher.get("/sim/profile", kQuestion);
    if (!answer.ok()) return;
    const Json profile = parsed(answer.body);
    facts.simulator_profile = text_at(profile, "profile");
    if (facts.simulator_profile.empty() || !profile.contains("limit_terms")) return;
    facts.server_kind = "paretoken-sim";
    for (const auto& [name, value] : profile["limit_terms"].items()) {
        if (value.is_number()) facts.simulator_terms[name] = value.get<double>();
    }
}

// ---- which options it takes

/// One generation, read as the load reads it.
struct Trial {
    http::Fetched fetched;
    RequestRecord record;

    bool accepted() const { return fetched.ok(); }
    bool refused_options() const {
        return !fetched.failure && (fetched.head.status == 400 || fetched.head.status == 422);
    }
};

Trial attempt(http::Fetcher& fetcher, const EndpointOptions& options, const openai::BodyOptions& body,
              const Request& request, Duration timeout) {
    Trial trial;
    trial.fetched = fetcher.post(target_of(options), openai::BodyWriter(body).body(request), timeout);
    openai::DeltaParser parser;
    openai::AnswerReader reader(parser);
    reader.begin(trial.record, {.stream = body.stream});
    openai::PaddedBuffer padded;
    padded.append(trial.fetched.body);
    reader.on_body({padded.view().data(), padded.size()}, Clock::now(), false, true);
    reader.finish(!trial.fetched.failure);
    return trial;
}

Request small_request(Prompt prompt) {
    Request request;
    request.id = "probe";
    request.prompt = std::move(prompt);
    request.wanted_output_tokens = 2;
    return request;
}

/// Leaves out, one after the other, what the server refuses. Throws when it refuses the plainest request.
void settle_options(http::Fetcher& fetcher, const EndpointOptions& options, EndpointFacts& facts) {
    struct Dispensable {
        const char* name;
        bool openai::BodyOptions::*flag;
    };
    static constexpr std::array<Dispensable, 4> kDispensable{{
        {"return_token_ids", &openai::BodyOptions::return_token_ids},
        {"continuous_usage_stats", &openai::BodyOptions::continuous_usage},
        {"ignore_eos", &openai::BodyOptions::ignore_eos},
        {"stream_options", &openai::BodyOptions::include_usage},
    }};
    const Request request = small_request(std::string("Hello there, how are you?"));
    Trial trial = attempt(fetcher, options, facts.body, request, kGeneration);
    for (const Dispensable& option : kDispensable) {
        if (!trial.refused_options()) break;
        if (!(facts.body.*option.flag)) continue;
        facts.body.*option.flag = false;
        facts.refused.emplace_back(option.name);
        trial = attempt(fetcher, options, facts.body, request, kGeneration);
    }
    const std::string what = "POST " + target_of(options);
    if (trial.fetched.failure) refuse_failure(options.url, what, *trial.fetched.failure);
    if (!trial.accepted()) refuse_status(options.url, what, trial.fetched);
    refuse_compression(options.url, what, trial.fetched.head);
    if (trial.record.outcome == Outcome::malformed) {
        throw RuntimeError(
            fmt::format("{}: {} answered with something that is no OpenAI answer ({}); check the URL and "
                        "--endpoint",
                        options.url.text(), what, trial.record.error));
    }
    if (trial.record.outcome == Outcome::stream_error) {
        throw RuntimeError(
            fmt::format("{}: {} answered with an error: {}", options.url.text(), what, trial.record.error));
    }
}

// ---- prompt lengths

/// Token ids from both ends of the range that prompts are drawn from.
bool takes_token_ids(http::Fetcher& fetcher, const EndpointOptions& options, const EndpointFacts& facts) {
    const datasets::IdRange range = datasets::safe_token_ids(std::nullopt);
    TokenIds ids;
    for (std::int32_t i = 0; i < 4; ++i) {
        ids.push_back(range.low + i);
        ids.push_back(range.high - 1 - i);
    }
    const auto expected = static_cast<std::int64_t>(ids.size());
    const Trial trial = attempt(fetcher, options, facts.body, small_request(std::move(ids)), kGeneration);
    // A leading BOS may be added; a server that read the ids as text would count far more.
    return trial.accepted() && trial.record.usage.prompt && *trial.record.usage.prompt >= expected &&
           *trial.record.usage.prompt <= expected + 1;
}

std::optional<datasets::Calibration> calibration_by_tokenizer(http::Fetcher& fetcher,
                                                              const EndpointFacts& facts) {
    for (const auto dialect : {openai::TokenizeDialect::vllm, openai::TokenizeDialect::llama_cpp}) {
        const std::string body =
            openai::tokenize_body(dialect, facts.body.model, datasets::calibration_text());
        const http::Fetched answer = fetcher.post(openai::kTokenizePath, body, kQuestion);
        if (!answer.ok()) continue;
        const auto tokens = openai::parse_tokenization(answer.body);
        if (!tokens) continue;
        if (auto calibration = datasets::calibration_from_pieces(tokens->pieces)) return calibration;
    }
    return std::nullopt;
}

/// What the chat template or a BOS adds, from what the server counts for texts of known length.
void find_overhead(http::Fetcher& fetcher, const EndpointOptions& options, const EndpointFacts& facts,
                   datasets::Calibration& calibration) {
    const datasets::TextWriter writer(calibration);
    std::vector<datasets::OverheadSample> samples;
    for (const std::size_t words : {8, 24}) {
        const std::string text = writer.of_words(words, words, Random(derived_seed(0, "calibration", words)));
        const Trial trial = attempt(fetcher, options, facts.body, small_request(text), kGeneration);
        if (!trial.accepted() || !trial.record.usage.prompt) continue;
        samples.push_back({.expected_text_tokens = writer.expected_tokens(text),
                           .prompt_tokens = static_cast<double>(*trial.record.usage.prompt)});
    }
    if (const auto overhead = datasets::overhead_from(samples)) calibration.overhead_tokens = *overhead;
}

std::optional<datasets::Calibration> calibration_by_usage(http::Fetcher& fetcher,
                                                          const EndpointOptions& options,
                                                          const EndpointFacts& facts) {
    const datasets::TextWriter writer(datasets::uncalibrated());
    std::vector<datasets::CountSample> samples;
    for (const std::size_t words : {16, 64, 160}) {
        const std::string text = writer.of_words(words, words, Random(derived_seed(0, "calibration", words)));
        const Trial trial = attempt(fetcher, options, facts.body, small_request(text), kGeneration);
        if (!trial.accepted() || !trial.record.usage.prompt) continue;
        samples.push_back(
            {.words = static_cast<double>(words), .tokens = static_cast<double>(*trial.record.usage.prompt)});
    }
    return datasets::calibration_from_counts(samples);
}

void settle_lengths(http::Fetcher& fetcher, const EndpointOptions& options, EndpointFacts& facts) {
    if (options.token_ids && facts.body.endpoint == openai::EndpointType::completions &&
        takes_token_ids(fetcher, options, facts)) {
        facts.prompt_form = datasets::PromptForm::token_ids;
        return;
    }
    if (!options.calibrate) return;
    facts.calibration = calibration_by_tokenizer(fetcher, facts);
    if (facts.calibration) {
        find_overhead(fetcher, options, facts, *facts.calibration);
    } else {
        facts.calibration = calibration_by_usage(fetcher, options, facts);
    }
}

}  // namespace

std::string target_of(const EndpointOptions& options) {
    return options.path.empty() ? std::string(openai::path_of(options.body.endpoint)) : options.path;
}

EndpointFacts probe(const EndpointOptions& options) {
    EndpointFacts facts;
    const http::Fetched models = first_contact(options, facts.address);
    const Json model = chosen_model(options, models);
    facts.local = http::is_loopback(facts.address);
    facts.body = options.body;
    if (facts.body.model.empty()) facts.body.model = text_at(model, "id");

    http::Fetcher fetcher(options.url, facts.address, options.tls, options.headers);
    ask_what_it_is(fetcher, model, facts);
    ask_for_profile(fetcher, facts);
    settle_options(fetcher, options, facts);
    settle_lengths(fetcher, options, facts);
    return facts;
}

void try_one(const EndpointOptions& options, const EndpointFacts& facts, const Request& request,
             Duration timeout) {
    http::Fetcher fetcher(options.url, facts.address, options.tls, options.headers);
    Request short_one = request;
    short_one.wanted_output_tokens = std::min<std::int64_t>(2, request.wanted_output_tokens.value_or(2));
    const Trial trial = attempt(fetcher, options, facts.body, short_one, timeout);
    const std::string what = "the workload's first request";
    if (trial.fetched.failure) refuse_failure(options.url, what, *trial.fetched.failure);
    if (!trial.accepted()) refuse_status(options.url, what, trial.fetched);
    if (is_failure(trial.record.outcome) && trial.record.outcome != Outcome::empty) {
        throw RuntimeError(fmt::format("{}: {} failed: {}", options.url.text(), what, trial.record.error));
    }
}

}  // namespace paretoken::loadgen
