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
                 Duration Profile::*, ReasoningPart Profile::*, Hiccups Profile::*, Answers Profile::*,
                 AdmissionRule Profile::*>
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
    {"prompt_step_s", &Profile::prompt_step_s, Needs::batching, Least::zero, Missing::allowed},
    {"request_s", &Profile::request_s, Needs::batching, Least::zero, Missing::allowed},
    {"row_s", &Profile::row_s, Needs::batching, Least::zero, Missing::allowed},
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
    {"expert_bytes_per_s", &Profile::expert_bytes_per_s, Needs::batching, Least::zero, Missing::allowed},
    {"routed_s_per_token", &Profile::routed_s_per_token, Needs::batching, Least::zero, Missing::allowed},
    {"expert_tile", &Profile::expert_tile, Needs::batching, Least::zero, Missing::allowed},
    {"expert_imbalance", &Profile::expert_imbalance, Needs::batching, Least::one, Missing::allowed},
    {"pipeline_stages", &Profile::pipeline_stages, Needs::batching, Least::one, Missing::allowed},
    {"communication_s", &Profile::communication_s, Needs::batching, Least::zero, Missing::allowed},
    {"communication_s_per_token", &Profile::communication_s_per_token, Needs::batching, Least::zero,
     Missing::allowed},
    {"decode_attention_s_per_pair", &Profile::decode_attention_s_per_pair, Needs::batching, Least::zero,
     Missing::allowed},
    {"admission", &Profile::admission, Needs::batching, Least::zero, Missing::allowed},
    {"chunked_prefill", &Profile::chunked_prefill, Needs::batching, Least::zero, Missing::allowed},
    {"kv_offload_bytes", &Profile::kv_offload_bytes, Needs::batching, Least::zero, Missing::allowed},
    {"kv_offload_bytes_per_s", &Profile::kv_offload_bytes_per_s, Needs::batching, Least::above_zero,
     Missing::allowed},
    {"drift", &Profile::drift, Needs::both, Least::zero, Missing::allowed},
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
    const auto found = std::ranges::find_if(
        kFields, [&](const Field& field) { return field.name == name && applies(field, profile.timing); });
    if (found == std::end(kFields)) {
        std::string what = fmt::format("unknown field \"{}\"", name);
        if (std::ranges::find(kFields, name, &Field::name) != std::end(kFields))
            what = fmt::format("it has no field \"{}\", which is one of {}", name,
                               profile.timing == Timing::fixed ? "simulated engines" : "ideal");
        throw UsageError(fmt::format("profile {}: {}; its fields are {}", profile.name, what,
                                     known_fields(profile.timing)));
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

AdmissionRule admission_named(std::string_view text, const Profile& profile) {
    if (text == "prompt") return AdmissionRule::prompt;
    if (text == "no_evict") return AdmissionRule::no_evict;
    throw UsageError(
        fmt::format("profile {}: admission is \"{}\", but must be prompt or no_evict", profile.name, text));
}

/// Reads "10%/h", or a share per hour as a number.
double drift_in(std::string_view text, const Profile& profile) {
    constexpr std::string_view kPercentPerHour = "%/h";
    if (!text.ends_with(kPercentPerHour)) return number_in(text, "drift", profile);
    text.remove_suffix(kPercentPerHour.size());
    return number_in(text, "drift", profile) / 100;
}

void assign(Profile& profile, const Field& field, double value) {
    if (std::holds_alternative<Answers Profile::*>(field.member))
        (void)answers_named(fmt::format("{}", value), profile);  // throws: a number is not a name
    if (std::holds_alternative<AdmissionRule Profile::*>(field.member))
        (void)admission_named(fmt::format("{}", value), profile);
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
    if (const auto* admission = std::get_if<AdmissionRule Profile::*>(&field.member)) {
        profile.*(*admission) = admission_named(text, profile);
        return;
    }
    if (name == "drift") {
        assign(profile, field, drift_in(text, profile));
        return;
    }
    if (const auto* hiccup = std::get_if<Hiccups Profile::*>(&field.member);
        hiccup != nullptr && text.find('/') != std::string_view::npos) {
        profile.*(*hiccup) = hiccups_in(text, profile);
        return;
    }
    const bool has_unit = !text.empty() && std::isalpha(static_cast<unsigned char>(text.back())) != 0;
    const bool time = std::holds_alternative<Duration Profile::*>(field.member) ||
                      (has_unit && name.ends_with("_s") && !name.ends_with("_per_s"));
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

/// Whether a name is that of a model on GPUs.
bool is_of_cards(const std::string& name) {
    std::error_code ignored;
    return !embedded_text(name) && !std::filesystem::is_regular_file(name, ignored) && names_cards(name);
}

/// Returns an embedded profile or a file's.
Profile stored_profile(const std::string& name) {
    const auto embedded = embedded_text(name);
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
    if (profile.timing == Timing::batching && profile.blocks < 1)
        throw UsageError(fmt::format("profile {}: there is no block of KV cache", profile.name));
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

/// A change of a spec: "field=value".
struct Change {
    std::string_view field;
    std::string_view value;
};

std::vector<Change> changes_in(std::string_view spec) {
    std::vector<Change> changes;
    const auto question = spec.find('?');
    std::string_view rest = question == std::string_view::npos ? "" : spec.substr(question + 1);
    while (!rest.empty()) {
        const std::string_view change = rest.substr(0, rest.find('&'));
        rest.remove_prefix(std::min(rest.size(), change.size() + 1));
        const auto equals = change.find('=');
        if (equals == std::string_view::npos)
            throw UsageError(fmt::format("profile {}: \"{}\" is not a change; write field=value, joined by &",
                                         spec, change));
        changes.push_back({change.substr(0, equals), change.substr(equals + 1)});
    }
    return changes;
}

/// Whether a field is a rate, of which more is faster.
bool is_rate(std::string_view field) {
    return field.ends_with("_per_s");
}

/// Whether a field is a speed, and may so change while the server runs: a rate or a time.
bool is_speed(std::string_view field) {
    return is_rate(field) || field.ends_with("_s") || field.find("_s_per_") != std::string_view::npos ||
           field == "ttft" || field == "itl";
}

double value_of(const Profile& profile, const Field& field) {
    if (const auto* time = std::get_if<Duration Profile::*>(&field.member)) return seconds(profile.*(*time));
    if (const auto* real = std::get_if<double Profile::*>(&field.member)) return profile.*(*real);
    return 0;
}

std::string value_text(const Hiccups& hiccups) {
    return fmt::format("{}-{}/{}", text_of(hiccups.shortest), text_of(hiccups.longest),
                       text_of(hiccups.every));
}

std::string value_text(const ReasoningPart& part) {
    return part.share > 0 ? fmt::format("{}%", part.share * 100) : fmt::format("{}tok", part.tokens);
}

std::string_view value_text(Answers answers) {
    switch (answers) {
        case Answers::words:
            return "words";
        case Answers::recall:
            return "recall";
        case Answers::garbage:
            return "garbage";
    }
    return "";
}

/// Puts the value of a field into the text of a profile. A value that a file may lack and that is the default
/// is left out.
void put_value(nlohmann::ordered_json& text, const Field& field, const Profile& profile) {
    static const Profile kDefault;
    std::visit(
        [&](auto member) {
            const auto& value = profile.*member;
            if (field.missing == Missing::allowed && value == kDefault.*member) return;
            using Value = std::remove_cvref_t<decltype(value)>;
            auto& place = text[std::string(field.name)];
            if constexpr (std::is_arithmetic_v<Value>)
                place = value;
            else if constexpr (std::is_same_v<Value, std::optional<double>>)
                place = *value;
            else if constexpr (std::is_same_v<Value, Duration>)
                place = seconds(value);
            else if constexpr (std::is_same_v<Value, AdmissionRule>)
                place = value == AdmissionRule::no_evict ? "no_evict" : "prompt";
            else
                place = value_text(value);
        },
        field.member);
}

/// Reads "60s:step_s=0.01".
LaterChange later_change_in(std::string_view text, const Profile& profile) {
    const auto colon = text.find(':');
    const auto equals = text.find('=', colon == std::string_view::npos ? 0 : colon);
    if (colon == std::string_view::npos || equals == std::string_view::npos)
        throw UsageError(fmt::format(
            "profile {}: from is \"{}\", but must be TIME:FIELD=VALUE, as in from=60s:step_s=0.01",
            profile.name, text));
    const std::string_view name = text.substr(colon + 1, equals - colon - 1);
    if (!is_speed(field_named(name, profile).name))
        throw UsageError(fmt::format(
            "profile {}: from changes \"{}\", but only times and rates can change while a server runs: "
            "step_s, sequence_s, linear_s_per_token, weight_bytes_per_s, kv_bytes_per_s and so on, or ttft "
            "and itl of fixed times",
            profile.name, name));
    Profile changed = profile;
    assign(changed, name, text.substr(equals + 1));
    const Duration after = parse_duration(text.substr(0, colon));
    if (after < Duration{})
        throw UsageError(
            fmt::format("profile {}: from is \"{}\", but the time must not be negative", profile.name, text));
    return {after, std::string(name), value_of(changed, field_named(name, profile))};
}

void add_later_change(Profile& profile, std::string_view text) {
    LaterChange change = later_change_in(text, profile);
    const auto place =
        std::upper_bound(profile.later.begin(), profile.later.end(), change.after,
                         [](Duration at, const LaterChange& other) { return at < other.after; });
    profile.later.insert(place, std::move(change));
}

/// The profile with the fastest value of each speed that changes later.
Profile at_its_fastest(Profile profile) {
    for (const LaterChange& change : profile.later) {
        const Field& field = field_named(change.field, profile);
        const double now = value_of(profile, field);
        assign(profile, field,
               is_rate(field.name) ? std::max(now, change.value) : std::min(now, change.value));
    }
    return profile;
}

/// Makes the profile of a model on GPUs from the changes that choose its deployment, which it takes away.
Profile profile_of_cards(const std::string& name, std::string_view spec, std::vector<Change>& changes) {
    CardChoices choices = usual_choices(name);
    for (const Change& change : changes) {
        choices.cache_is_given |= change.field == "blocks";
        // The engine's buffers, whose sizes follow from these limits, take memory from the cache.
        if (change.field == "max_num_seqs") choices.sequences = parse_count(change.value);
        if (change.field == "max_batched_tokens") choices.step_tokens = parse_count(change.value);
    }
    std::erase_if(changes,
                  [&](const Change& change) { return choose(choices, change.field, change.value, spec); });
    return card_profile(name, choices);
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
    const std::string name(spec.substr(0, spec.find('?')));
    std::vector<Change> changes = changes_in(spec);
    Profile profile = is_of_cards(name) ? profile_of_cards(name, spec, changes) : stored_profile(name);
    profile.name = spec;
    for (const Change& change : changes) {
        if (change.field == "from")
            add_later_change(profile, change.value);
        else
            assign(profile, change.field, change.value);
    }
    check_together(profile);
    return profile;
}

std::string profile_text(const Profile& profile) {
    nlohmann::ordered_json text;
    text["timing"] = profile.timing == Timing::batching ? "batching" : "fixed";
    for (const Field& field : kFields)
        if (applies(field, profile.timing)) put_value(text, field, profile);
    return text.dump(1) + "\n";
}

Profile profile_at(const Profile& profile, Duration since_first_step) {
    Profile now = profile;
    for (const LaterChange& change : profile.later)
        if (change.after <= since_first_step) assign(now, field_named(change.field, profile), change.value);
    return now;
}

double drift_at(const Profile& profile, Duration since_first_step) {
    constexpr double kSecondsPerHour = 3600;
    return 1 + profile.drift * seconds(since_first_step) / kSecondsPerHour;
}

std::int64_t kv_capacity_tokens(const Profile& profile) {
    return profile.blocks * profile.block_tokens;
}

std::int64_t context_limit(const Profile& profile) {
    if (profile.timing == Timing::fixed) return profile.max_model_len;
    return std::min(profile.max_model_len, kv_capacity_tokens(profile));
}

namespace {

/// The profile if every stage always works: all groups together take the time of one.
Profile with_full_pipeline(Profile profile) {
    const auto stages = static_cast<double>(profile.pipeline_stages);
    profile.kv_bytes_per_s *= stages;
    profile.attention_flops_per_s *= stages;
    profile.lm_head_flops_per_s *= stages;
    for (double Profile::*per_work :
         {&Profile::linear_s_per_token, &Profile::routed_s_per_token, &Profile::sequence_s,
          &Profile::communication_s_per_token, &Profile::decode_attention_s_per_pair})
        profile.*per_work /= stages;
    return profile;
}

}  // namespace

std::map<std::string, double> limit_terms(const Profile& changing) {
    const Profile profile = with_full_pipeline(at_its_fastest(changing));
    if (profile.timing == Timing::fixed) {
        return {{"fixed_ttft_s", seconds(profile.ttft)}, {"fixed_itl_s", seconds(profile.itl)}};
    }
    std::map<std::string, double> terms{
        {"weight_bytes", profile.weight_bytes},
        {"weight_bytes_per_s", profile.weight_bytes_per_s},
        {"kv_bytes_per_token", profile.kv_bytes_per_token},
        {"kv_bytes_per_s", profile.kv_bytes_per_s},
        {"linear_s_per_token", profile.linear_s_per_token + profile.routed_s_per_token},
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
    if (profile.prompt_step_s > 0) terms["prompt_step_s"] = profile.prompt_step_s;
    if (profile.routed_layers > 0) {
        terms["routed_layers"] = profile.routed_layers;
        terms["routed_experts"] = profile.routed_experts;
        terms["active_experts"] = profile.active_experts;
        terms["expert_bytes"] = profile.expert_bytes;
        // These explain the gap, too.
        terms["expert_bytes_per_s"] = expert_bandwidth(profile);
        terms["routed_s_per_token"] = profile.routed_s_per_token;
        terms["expert_tile"] = static_cast<double>(profile.expert_tile);
        terms["expert_imbalance"] = profile.expert_imbalance;
    }
    if (profile.communication_s > 0 || profile.communication_s_per_token > 0) {
        terms["communication_s"] = profile.communication_s;
        terms["communication_s_per_token"] = profile.communication_s_per_token;
    }
    if (profile.decode_attention_s_per_pair > 0)
        terms["decode_attention_s_per_pair"] = profile.decode_attention_s_per_pair;
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
