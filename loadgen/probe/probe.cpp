#include "loadgen/probe/probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/text/printable.h"
#include "loadgen/probe/lengths.h"
#include "loadgen/probe/models.h"
#include "loadgen/probe/settlement.h"
#include "loadgen/probe/trial.h"
#include "loadgen/protocol/answer.h"

namespace paretoken::loadgen {
namespace {

using Json = nlohmann::json;

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
        if (model->root.starts_with('/'))
            facts.server_config["model_path"] =
                printable_line(asker.secrets().redacted(model->root), kLongestName);
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

}  // namespace

EndpointFacts probe(const EndpointOptions& given) {
    EndpointOptions options = given;
    EndpointFacts facts;
    const ModelsAnswer models = first_contact(options, facts.address);
    Asker asker(options, facts.address);
    const bool no_list = models.list().empty();
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
    settle_options(asker, options, facts);
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
