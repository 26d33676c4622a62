#include "simulator/engine/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <variant>

#include "core/embedded.h"
#include "core/error.h"
#include "core/result/speculation.h"
#include "core/spec.h"
#include "simulator/engine/card_profile.h"
#include "simulator/engine/model.h"

namespace paretoken::sim {
namespace {

constexpr std::string_view kFolder = "simulator/profiles/";
constexpr std::string_view kSuffix = ".json";
constexpr std::int64_t kMostDrafts = 256;

enum class Needs : std::uint8_t { batching, fixed, both };
enum class Least : std::uint8_t { above_zero, zero, one };
enum class Missing : std::uint8_t { refused, allowed };

/// One field of a profile: its name, its member, and the timing that has it.
struct Field {
    std::string_view name;
    std::variant<double Profile::*, std::optional<double> Profile::*, std::int64_t Profile::*,
                 Duration Profile::*, ReasoningPart Profile::*, Hiccups Profile::*, Answers Profile::*>
        member;
    Needs needs = Needs::batching;
    Least least = Least::above_zero;
    Missing missing = Missing::refused;  ///< whether a file may lack it: it then has its default
};

const Field kFields[] = {
    {"ttft", &Profile::ttft, Needs::fixed, Least::zero},
    {"itl", &Profile::itl, Needs::fixed, Least::zero},
    {"weight_bytes", &Profile::weight_bytes},
    {"weight_bytes_per_s", &Profile::weight_bytes_per_s},
    {"linear_s_per_token", &Profile::linear_s_per_token},
    {"linear_overlap_exponent", &Profile::linear_overlap_exponent, Needs::batching, Least::one},
    {"layers", &Profile::layers},
    {"hidden_size", &Profile::hidden_size},
    {"vocabulary", &Profile::vocabulary, Needs::both},
    {"kv_bytes_per_token", &Profile::kv_bytes_per_token},
    {"kv_bytes_per_s", &Profile::kv_bytes_per_s},
    {"attention_flops_per_s", &Profile::attention_flops_per_s},
    {"lm_head_flops_per_s", &Profile::lm_head_flops_per_s},
    {"step_s", &Profile::step_s, Needs::batching, Least::zero},
    {"sequence_s", &Profile::sequence_s, Needs::batching, Least::zero},
    {"block_tokens", &Profile::block_tokens},
    {"blocks", &Profile::blocks},
    {"max_num_seqs", &Profile::max_num_seqs},
    {"max_batched_tokens", &Profile::max_batched_tokens},
    {"jitter", &Profile::jitter, Needs::batching, Least::zero},
    {"hiccup", &Profile::hiccup, Needs::batching, Least::zero, Missing::allowed},
    {"speculative_tokens", &Profile::speculative_tokens, Needs::batching, Least::zero, Missing::allowed},
    {"acceptance", &Profile::acceptance, Needs::batching, Least::zero, Missing::allowed},
    {"routed_layers", &Profile::routed_layers, Needs::batching, Least::zero, Missing::allowed},
    {"routed_experts", &Profile::routed_experts, Needs::batching, Least::zero, Missing::allowed},
    {"active_experts", &Profile::active_experts, Needs::batching, Least::zero, Missing::allowed},
    {"expert_bytes", &Profile::expert_bytes, Needs::batching, Least::zero, Missing::allowed},
    {"window", &Profile::window, Needs::batching, Least::zero, Missing::allowed},
    {"windowed_kv_bytes_per_token", &Profile::windowed_kv_bytes_per_token, Needs::batching, Least::zero,
     Missing::allowed},
    {"windowed_attention_flops_per_pair", &Profile::windowed_attention_flops_per_pair, Needs::batching,
     Least::zero, Missing::allowed},
    {"attention_flops_per_pair", &Profile::attention_flops_per_pair, Needs::batching, Least::zero,
     Missing::allowed},
    {"prefix_cache", &Profile::prefix_cache, Needs::batching, Least::zero, Missing::allowed},
    {"max_model_len", &Profile::max_model_len, Needs::both},
    {"answer_tokens", &Profile::answer_tokens, Needs::both},
    {"reasoning", &Profile::reasoning, Needs::both, Least::zero, Missing::allowed},
    {"answers", &Profile::answers, Needs::both, Least::zero, Missing::allowed},
};

bool applies(const Field& field, Timing timing) {
    return field.needs == Needs::both || (field.needs == Needs::fixed) == (timing == Timing::fixed);
}

std::string known_fields(Timing timing) {
    std::string names;
    for (const Field& field : kFields) {
        if (!applies(field, timing)) continue;
        if (!names.empty()) names += ", ";
        names += field.name;
    }
    return names;
}

const Field& field_named(std::string_view name, const Profile& profile) {
    const auto found = std::find_if(std::begin(kFields), std::end(kFields), [&](const Field& field) {
        return field.name == name && applies(field, profile.timing);
    });
    if (found == std::end(kFields)) {
        throw UsageError(fmt::format("profile {}: unknown field \"{}\"; its fields are {}", profile.name,
                                     name, known_fields(profile.timing)));
    }
    return *found;
}

double number_in(std::string_view text, std::string_view name, const Profile& profile) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) {
        throw UsageError(fmt::format("profile {}: {} is \"{}\", not a number", profile.name, name, text));
    }
    return value;
}

void check_range(double value, const Field& field, const Profile& profile) {
    const auto [fine, allowed] = [&]() -> std::pair<bool, std::string_view> {
        switch (field.least) {
            case Least::above_zero:
                return {value > 0, "above 0"};
            case Least::zero:
                return {value >= 0, "0 or more"};
            case Least::one:
                return {value >= 1, "1 or more"};
        }
        return {};
    }();
    if (!fine || !std::isfinite(value))
        throw UsageError(
            fmt::format("profile {}: {} is {}, but must be {}", profile.name, field.name, value, allowed));
}

Answers answers_named(std::string_view text, const Profile& profile) {
    if (text == "words") return Answers::words;
    if (text == "recall") return Answers::recall;
    if (text == "garbage") return Answers::garbage;
    throw UsageError(fmt::format("profile {}: answers is \"{}\", but must be words, recall or garbage",
                                 profile.name, text));
}

void assign(Profile& profile, const Field& field, double value) {
    if (std::holds_alternative<Answers Profile::*>(field.member))
        (void)answers_named(fmt::format("{}", value), profile);  // throws: a number is not a name
    check_range(value, field, profile);
    if (const auto* real = std::get_if<double Profile::*>(&field.member)) profile.*(*real) = value;
    if (const auto* known = std::get_if<std::optional<double> Profile::*>(&field.member))
        profile.*(*known) = value;
    if (const auto* time = std::get_if<Duration Profile::*>(&field.member))
        profile.*(*time) = from_seconds(value);
    const auto* part = std::get_if<ReasoningPart Profile::*>(&field.member);
    const auto* count = std::get_if<std::int64_t Profile::*>(&field.member);
    if (count != nullptr || part != nullptr) {
        if (value > 1e15 || value != std::floor(value)) {
            throw UsageError(
                fmt::format("profile {}: {} is {}, not a whole number", profile.name, field.name, value));
        }
        if (count != nullptr) profile.*(*count) = static_cast<std::int64_t>(value);
        if (part != nullptr) profile.*(*part) = {.tokens = static_cast<std::int64_t>(value)};
    }
    if (const auto* hiccup = std::get_if<Hiccups Profile::*>(&field.member)) {
        if (value != 0) {
            throw UsageError(fmt::format(
                "profile {}: {} is {}, but must be LENGTH/EVERY, as in 20ms/2s or 5ms-20ms/2s, or 0",
                profile.name, field.name, value));
        }
        profile.*(*hiccup) = {};
    }
}

/// Reads "20ms/2s", "5ms-20ms/2s".
Hiccups hiccups_in(std::string_view text, const Profile& profile) {
    const auto slash = text.find('/');
    const std::string_view lengths = text.substr(0, slash);
    const auto dash = lengths.find('-');
    Hiccups hiccups;
    hiccups.shortest = parse_duration(lengths.substr(0, dash));
    hiccups.longest =
        dash == std::string_view::npos ? hiccups.shortest : parse_duration(lengths.substr(dash + 1));
    hiccups.every = parse_duration(text.substr(slash + 1));
    if (hiccups.shortest < Duration{} || hiccups.longest < hiccups.shortest || hiccups.every <= Duration{}) {
        throw UsageError(fmt::format(
            "profile {}: hiccup is \"{}\", but must be LENGTH/EVERY, as in 20ms/2s or 5ms-20ms/2s, or 0",
            profile.name, text));
    }
    return hiccups;
}

/// Reads "64tok" or "64"; "25%".
ReasoningPart reasoning_in(std::string_view text, const Profile& profile) {
    const bool share = text.ends_with('%');
    if (share) text.remove_suffix(1);
    if (text.ends_with("tok")) text.remove_suffix(3);
    const double value = number_in(text, "reasoning", profile);
    if (!(value >= 0) || (share && value > 100) || (!share && (value > 1e15 || value != std::floor(value)))) {
        throw UsageError(
            fmt::format("profile {}: reasoning is {}{}, but must be a number of tokens, as in 64tok, or a "
                        "share up to 100%",
                        profile.name, value, share ? "%" : ""));
    }
    if (share) return {.share = value / 100};
    return {.tokens = static_cast<std::int64_t>(value)};
}

void assign(Profile& profile, std::string_view name, std::string_view text) {
    const Field& field = field_named(name, profile);
    if (const auto* part = std::get_if<ReasoningPart Profile::*>(&field.member)) {
        profile.*(*part) = reasoning_in(text, profile);
        return;
    }
    if (const auto* answers = std::get_if<Answers Profile::*>(&field.member)) {
        profile.*(*answers) = answers_named(text, profile);
        return;
    }
    if (const auto* hiccup = std::get_if<Hiccups Profile::*>(&field.member);
        hiccup != nullptr && text.find('/') != std::string_view::npos) {
        profile.*(*hiccup) = hiccups_in(text, profile);
        return;
    }
    const bool time = std::holds_alternative<Duration Profile::*>(field.member);
    assign(profile, field, time ? seconds(parse_duration(text)) : number_in(text, name, profile));
}

Timing timing_named(const std::string& name, std::string_view profile) {
    if (name == "batching") return Timing::batching;
    if (name == "fixed") return Timing::fixed;
    throw UsageError(
        fmt::format("profile {}: timing is \"{}\", but must be \"batching\" or \"fixed\"", profile, name));
}

void check_complete(const nlohmann::json& object, const Profile& profile) {
    for (const Field& field : kFields) {
        if (field.missing == Missing::allowed || !applies(field, profile.timing)) continue;
        if (!object.contains(std::string(field.name))) {
            throw UsageError(fmt::format("profile {}: field \"{}\" is missing; a profile has {}",
                                         profile.name, field.name, known_fields(profile.timing)));
        }
    }
}

Profile profile_of(const std::string& name, std::string_view text) {
    const nlohmann::json object = nlohmann::json::parse(text, nullptr, false);
    if (!object.is_object()) throw UsageError(fmt::format("profile {}: not a JSON object", name));
    Profile profile;
    profile.name = name;
    if (object.contains("timing")) {
        if (!object["timing"].is_string())
            throw UsageError(fmt::format("profile {}: timing is not a string", name));
        profile.timing = timing_named(object["timing"].get<std::string>(), name);
    }
    for (const auto& [key, value] : object.items()) {
        if (key == "name" || key == "about" || key == "timing") continue;
        if (value.is_string()) {
            assign(profile, key, value.get<std::string>());
        } else if (value.is_number()) {
            assign(profile, field_named(key, profile), value.get<double>());
        } else {
            throw UsageError(fmt::format("profile {}: {} is neither a number nor a string", name, key));
        }
    }
    check_complete(object, profile);
    return profile;
}

std::optional<std::string_view> embedded_text(std::string_view name) {
    for (const EmbeddedFile& file : embedded_simulator()) {
        if (file.name == fmt::format("{}{}{}", kFolder, name, kSuffix)) return file.text;
    }
    return std::nullopt;
}

std::string file_text(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        throw UsageError(
            fmt::format("no profile \"{}\": it is neither a file that can be read, nor MODEL/GPU as "
                        "in llama3-70b/h200x2/fp8, nor one of {}",
                        path, fmt::join(profile_names(), ", ")));
    }
    return {std::istreambuf_iterator<char>(file), {}};
}

/// Returns an embedded profile, a file's, or that of a model on GPUs.
Profile unchanged_profile(const std::string& name) {
    std::error_code ignored;
    const auto embedded = embedded_text(name);
    const bool file = std::filesystem::is_regular_file(name, ignored);
    if (!embedded && !file && names_cards(name)) return card_profile(name);
    Profile profile = profile_of(name, embedded ? std::string(*embedded) : file_text(name));
    profile.model = std::filesystem::path(name).filename().string();
    return profile;
}

/// Checks conditions on several fields.
void check_together(const Profile& profile) {
    if (profile.acceptance > 1)
        throw UsageError(fmt::format("profile {}: acceptance is {}, but must be a probability", profile.name,
                                     profile.acceptance));
    if (profile.speculative_tokens > kMostDrafts)
        throw UsageError(fmt::format("profile {}: speculative_tokens is {}, but must be at most {}",
                                     profile.name, profile.speculative_tokens, kMostDrafts));
    constexpr std::int64_t kMostBlocks = std::numeric_limits<std::int32_t>::max();
    constexpr double kMostTokens = 1e15;
    if (profile.blocks > kMostBlocks ||
        static_cast<double>(profile.blocks) * static_cast<double>(profile.block_tokens) > kMostTokens)
        throw UsageError(
            fmt::format("profile {}: there are {} blocks of {} tokens, but at most {} blocks and "
                        "{:.0f} tokens are possible",
                        profile.name, profile.blocks, profile.block_tokens, kMostBlocks, kMostTokens));
    if (profile.active_experts > profile.routed_experts)
        throw UsageError(fmt::format("profile {}: active_experts is {}, but there are {} routed_experts",
                                     profile.name, profile.active_experts, profile.routed_experts));
}

void apply_changes(Profile& profile, std::string_view changes) {
    while (!changes.empty()) {
        const std::string_view change = changes.substr(0, changes.find('&'));
        changes.remove_prefix(std::min(changes.size(), change.size() + 1));
        const auto equals = change.find('=');
        if (equals == std::string_view::npos) {
            throw UsageError(fmt::format("profile {}: \"{}\" is not a change; write field=value, joined by &",
                                         profile.name, change));
        }
        assign(profile, change.substr(0, equals), change.substr(equals + 1));
    }
}

}  // namespace

std::vector<std::string> profile_names() {
    std::vector<std::string> names;
    for (const EmbeddedFile& file : embedded_simulator()) {
        if (!file.name.starts_with(kFolder)) continue;
        names.emplace_back(
            file.name.substr(kFolder.size(), file.name.size() - kFolder.size() - kSuffix.size()));
    }
    return names;
}

Profile profile_named(std::string_view spec) {
    const auto question = spec.find('?');
    const std::string name(spec.substr(0, question));
    Profile profile = unchanged_profile(name);
    profile.name = spec;
    if (question != std::string_view::npos) apply_changes(profile, spec.substr(question + 1));
    check_together(profile);
    return profile;
}

std::int64_t kv_capacity_tokens(const Profile& profile) {
    return profile.blocks * profile.block_tokens;
}

std::int64_t context_limit(const Profile& profile) {
    if (profile.timing == Timing::fixed) return profile.max_model_len;
    return std::min(profile.max_model_len, kv_capacity_tokens(profile));
}

std::map<std::string, double> limit_terms(const Profile& profile) {
    if (profile.timing == Timing::fixed) {
        return {{"fixed_ttft_s", seconds(profile.ttft)}, {"fixed_itl_s", seconds(profile.itl)}};
    }
    std::map<std::string, double> terms{
        {"weight_bytes", profile.weight_bytes},
        {"weight_bytes_per_s", profile.weight_bytes_per_s},
        {"kv_bytes_per_token", profile.kv_bytes_per_token},
        {"kv_bytes_per_s", profile.kv_bytes_per_s},
        {"linear_s_per_token", profile.linear_s_per_token},
        {"lm_head_s_per_sequence", lm_head_seconds_per_sequence(profile)},
        {"attention_flops_per_token_pair", attention_flops_per_token_pair(profile)},
        {"attention_flops_per_s", profile.attention_flops_per_s},
        {"max_num_seqs", static_cast<double>(profile.max_num_seqs)},
        {"kv_capacity_tokens", static_cast<double>(kv_capacity_tokens(profile))},
        // These are not part of the limit, but explain the gap to it.
        {"step_s", profile.step_s},
        {"sequence_s", profile.sequence_s},
        {"linear_overlap_exponent", profile.linear_overlap_exponent},
        {"max_batched_tokens", static_cast<double>(profile.max_batched_tokens)},
    };
    if (profile.routed_layers > 0) {
        terms["routed_layers"] = profile.routed_layers;
        terms["routed_experts"] = profile.routed_experts;
        terms["active_experts"] = profile.active_experts;
        terms["expert_bytes"] = profile.expert_bytes;
    }
    if (profile.window > 0) {
        terms["window"] = static_cast<double>(profile.window);
        terms["windowed_kv_bytes_per_token"] = profile.windowed_kv_bytes_per_token;
        terms["windowed_attention_flops_per_token_pair"] = profile.windowed_attention_flops_per_pair;
    }
    if (profile.speculative_tokens > 0) {
        terms["drafts"] = static_cast<double>(profile.speculative_tokens);
        terms["tokens_per_pass"] = speculative_tokens_per_pass(profile.acceptance, terms["drafts"]);
    }
    return terms;
}

}  // namespace paretoken::sim
