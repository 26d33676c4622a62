#include "core/plan/plan_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <concepts>
#include <limits>
#include <set>
#include <utility>

#include "core/error.h"
#include "core/plan/events_kept.h"
#include "core/plan/hang_up.h"
#include "core/plan/model_mix.h"
#include "core/plan/random_duration.h"
#include "core/plan/scrape_places.h"
#include "core/plan/session_names.h"
#include "core/plan/shard.h"
#include "core/result/result.h"
#include "core/result/slo.h"
#include "core/text/command_secrets.h"
#include "core/text/content_hash.h"
#include "core/text/secrets.h"

namespace paretoken {
namespace {

// ---- values as texts

Texts texts_of(const std::string& value) {
    if (value.empty()) return {};
    return {value};
}
Texts texts_of(bool value) {
    return {value ? "true" : "false"};
}
Texts texts_of(std::integral auto value) {
    return {fmt::format("{}", value)};
}
Texts texts_of(double value) {
    return {fmt::format("{}", value)};  // the shortest text that is read as the same number; "inf"
}
Texts texts_of(Duration value) {
    return {text_of(value)};
}
Texts texts_of(const Spec& value) {
    return texts_of(text_of(value));
}
Texts texts_of(const std::vector<std::string>& value) {
    return value;
}
Texts texts_of(const std::map<std::string, std::string>& value) {
    Texts texts;
    for (const auto& [key, text] : value) texts.push_back(fmt::format("{}={}", key, text));
    return texts;
}
template <class Value>
Texts texts_of(const std::optional<Value>& value) {
    return value ? texts_of(*value) : Texts{};
}

// ---- texts as values

template <class Number>
Number whole_number(const std::string& text) {
    Number value{};
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || stop != text.data() + text.size()) {
        throw UsageError(fmt::format("'{}' is not a whole number from {} to {}", text,
                                     std::numeric_limits<Number>::min(), std::numeric_limits<Number>::max()));
    }
    return value;
}

void read(const std::string& text, std::string& value) {
    value = text;
}
void read(const std::string& text, bool& value) {
    if (text != "true" && text != "false")
        throw UsageError(fmt::format("'{}': expected true or false", text));
    value = text == "true";
}
void read(const std::string& text, std::integral auto& value) {
    value = whole_number<std::remove_reference_t<decltype(value)>>(text);
}
void read(const std::string& text, double& value) {
    value = parse_number(text);
}
void read(const std::string& text, Duration& value) {
    value = parse_duration(text);
}
void read(const std::string& text, Spec& value) {
    value = parse_spec(text);
}
template <class Value>
void read(const std::string& text, std::optional<Value>& value) {
    read(text, value.emplace());
}

const std::string& only(const Texts& texts) {
    if (texts.size() != 1) throw UsageError(fmt::format("takes one value, not {}", texts.size()));
    return texts.front();
}

void read_texts(const Texts& texts, std::vector<std::string>& values) {
    values = texts;
}
void read_texts(const Texts& texts, std::map<std::string, std::string>& values) {
    values.clear();
    for (const std::string& text : texts) {
        const auto equals = text.find('=');
        if (equals == std::string::npos || equals == 0)
            throw UsageError(fmt::format("'{}': expected KEY=VALUE", text));
        const std::string key = text.substr(0, equals);
        if (!values.emplace(key, text.substr(equals + 1)).second)
            throw UsageError(fmt::format("'{}': {} is given twice", text, key));
    }
}
template <class Value>
void read_texts(const Texts& texts, Value& value) {
    read(only(texts), value);
}

/// Reads and writes the member of a plan that `access(plan, class)` names.
template <auto access>
struct Member {
    static Texts get(const LoadPlan& plan, std::size_t request_class) {
        return texts_of(access(plan, request_class));
    }
    static void set(LoadPlan& plan, std::size_t request_class, const Texts& texts) {
        read_texts(texts, access(plan, request_class));
    }
    /// Sets a value, and calls `check(value)`, which throws if it is refused.
    template <auto check>
    static void set_checked(LoadPlan& plan, std::size_t request_class, const Texts& texts) {
        set(plan, request_class, texts);
        check(std::as_const(access(plan, request_class)));
    }
};

// ---- the values that are refused

constexpr Interval kRatios{0, 0.99};
constexpr Interval kBurstiness{0.01, 1000};
constexpr Interval kWorkers{1, 256};
constexpr Interval kToolScale{0, 1000};

template <const Interval& range>
void within(double value) {
    if (value >= range.low && value <= range.high) return;
    throw UsageError(fmt::format("{} is not between {} and {}", value, range.low, range.high));
}
template <const Interval& range>
void within_if_given(const std::optional<double>& value) {
    if (value) within<range>(*value);
}

void known_prompt_form(const std::string& form) {
    if (form == "auto" || form == "text" || form == "token-ids") return;
    throw UsageError(fmt::format("'{}': expected auto, text or token-ids", form));
}

void known_replies(const std::string& replies) {
    if (replies == "live" || replies == "recorded") return;
    throw UsageError(fmt::format("'{}': expected live or recorded", replies));
}

void known_route(const std::string& route) {
    if (route == "round-robin" || route == "least-in-flight" || route == "prefix") return;
    throw UsageError(fmt::format("'{}': expected round-robin, least-in-flight or prefix", route));
}

void known_shard(const std::string& text) {
    (void)parse_shard(text);
}
void some_shards(const std::optional<std::uint32_t>& shards) {
    if (shards && (*shards < 1 || *shards > kMostShards))
        throw UsageError(fmt::format("expected a number from 1 to {}", kMostShards));
}
void known_start(const std::string& text) {
    (void)parse_start_at(text);
}
void known_events(const std::string& text) {
    parse_events_kept(text);
}

void known_scrape(const std::vector<std::string>& texts) {
    (void)parse_scrape_places(texts);
}

void known_power(const std::string& text) {
    const std::string kind = text.substr(0, text.find('='));
    const std::string place = kind == text ? "" : text.substr(kind.size() + 1);
    const bool has_place = kind != text;
    if (!has_place && (kind == "auto" || kind == "none" || kind == "nvml" || kind == "rapl")) return;
    if (!place.empty() && (kind == "nvml" || kind == "rapl")) return;
    if (kind == "dcgm" && (place.starts_with("http://") || place.starts_with("https://"))) return;
    throw UsageError(
        fmt::format("'{}': expected auto, nvml, rapl, dcgm=URL (http://host:9400/metrics) or none", text));
}

void at_least_a_second(const Duration& interval) {
    if (interval < std::chrono::seconds(1))
        throw UsageError("must be at least 1s: more frequent readings would add load");
}

void above_zero(const std::optional<Duration>& duration) {
    if (duration && *duration <= Duration{}) throw UsageError("must be above 0");
}

void at_least_one(const std::optional<std::uint64_t>& count) {
    if (count == 0U) throw UsageError("0: expected a number above 0");
}

void model_mix(const std::string& text) {
    (void)parse_model_mix(text);
}

void known_requirement(const std::string& text) {
    if (text != "met") throw UsageError(fmt::format("'{}': expected met", text));
}

void known_rules(const std::string& text) {
    if (std::find(kBenchmarks.begin(), kBenchmarks.end(), text) == kBenchmarks.end())
        throw UsageError(fmt::format("'{}': known are {}", text, fmt::join(kBenchmarks, ", ")));
}

void known_host_noise(const std::string& text) {
    if (text != "accept") throw UsageError(fmt::format("'{}': expected accept", text));
}

void hang_up(const std::string& text) {
    (void)parse_hang_up(text);
}

void random_duration(const std::string& text) {
    (void)RandomDuration(text);
}

/// Checks headers. An invalid one is not quoted in the error, because it may be a key.
void headers_with_names(const std::vector<std::string>& headers) {
    for (const std::string& text : headers) {
        const auto colon = text.find(':');
        if (colon == std::string::npos || colon == 0 || text.find_first_of("\r\n") != std::string::npos)
            throw UsageError("expected 'Name: value' on one line");
    }
}

void session_headers(const std::vector<std::string>& texts) {
    (void)session_headers_of(texts);
}

void session_fields(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) (void)parse_session_name(text);
}

std::string without_value(std::string_view header) {
    return fmt::format("{}: {}", header.substr(0, header.find(':')), Secrets::kHidden);
}

/// Checks that entries are "NAME=VALUE" with a valid name of a variable.
void environment_entries(const std::vector<std::string>& entries) {
    for (const std::string& text : entries) {
        const auto equals = text.find('=');
        if (equals == std::string::npos || equals == 0) throw UsageError("expected NAME=VALUE");
    }
}

/// Hides the value of an entry whose name shows that it is secret.
std::string without_secret_value(std::string_view entry) {
    const auto equals = entry.find('=');
    const std::string name(entry.substr(0, equals));
    if (!names_a_secret(name)) return std::string(entry);
    return fmt::format("{}={}", name, Secrets::kHidden);
}

// ---- fields that are a part of a Spec, or have their own syntax

constexpr std::string_view kInputLength = "isl";
constexpr std::string_view kOutputLength = "osl";
constexpr std::string_view kRatio = "ratio";

/// Returns whether a field of the dataset's Spec has an option of its own.
bool has_own_option(std::string_view key) {
    return key == kInputLength || key == kOutputLength || key == kRatio;
}

Texts get_dataset(const LoadPlan& plan, std::size_t request_class) {
    Spec spec = plan.classes[request_class].dataset;
    std::erase_if(spec.fields, [](const auto& field) { return has_own_option(field.first); });
    return texts_of(spec);
}

Texts get_dataset_field(const LoadPlan& plan, std::size_t request_class, std::string_view key) {
    const auto& fields = plan.classes[request_class].dataset.fields;
    const auto field = fields.find(std::string(key));
    return field == fields.end() ? Texts{} : Texts{field->second};
}

void set_dataset_field(LoadPlan& plan, std::size_t request_class, std::string_view key, std::string text) {
    Spec& dataset = plan.classes[request_class].dataset;
    const auto [field, is_new] = dataset.fields.emplace(key, text);
    if (!is_new) {
        throw UsageError(
            fmt::format("'{}': --dataset says {}={} already; give one of the two", text, key, field->second));
    }
}

template <const std::string_view& key>
struct DatasetField {
    static Texts get(const LoadPlan& plan, std::size_t request_class) {
        return get_dataset_field(plan, request_class, key);
    }
    /// Sets a length, which has a Spec's form; its commas become semicolons inside the dataset's Spec.
    static void set(LoadPlan& plan, std::size_t request_class, const Texts& texts) {
        std::string text = only(texts);
        std::replace(text.begin(), text.end(), ',', ';');
        set_dataset_field(plan, request_class, key, std::move(text));
    }
    static void clear(LoadPlan& plan, std::size_t request_class) {
        plan.classes[request_class].dataset.fields.erase(std::string(key));
    }
};

void set_ramp_up(LoadPlan& plan, std::size_t request_class, const Texts& texts) {
    std::string text = only(texts);
    if (text == "0") text = "0s";
    if (text != "auto") (void)parse_duration(text);
    plan.classes[request_class].ramp_up = std::move(text);
}

void set_ratio(LoadPlan& plan, std::size_t request_class, const Texts& texts) {
    const double ratio = parse_number(only(texts));
    within<kRatios>(ratio);
    set_dataset_field(plan, request_class, kRatio, fmt::format("{}", ratio));
}

/// "http://a:1,http://b:2": cut at the commas behind which an address begins.
std::vector<std::string> split_urls(std::string_view text) {
    constexpr std::array<std::string_view, 3> kBegins = {"http://", "https://", "sim:"};
    std::vector<std::string> urls;
    std::size_t begin = 0;
    for (std::size_t comma = text.find(','); comma != std::string_view::npos;
         comma = text.find(',', comma + 1)) {
        const std::string_view rest = text.substr(comma + 1);
        const bool another = std::any_of(kBegins.begin(), kBegins.end(),
                                         [&](std::string_view start) { return rest.starts_with(start); });
        if (!another) continue;
        urls.emplace_back(text.substr(begin, comma - begin));
        begin = comma + 1;
    }
    urls.emplace_back(text.substr(begin));
    return urls;
}

Texts get_targets(const LoadPlan& plan, std::size_t) {
    return {fmt::format("{}", fmt::join(plan.targets, ","))};
}

void set_targets(LoadPlan& plan, std::size_t, const Texts& texts) {
    constexpr std::size_t kMost = 64;
    plan.targets = split_urls(only(texts));
    if (plan.targets.size() > kMost) throw UsageError(fmt::format("there are more than {} servers", kMost));
}

std::string redacted_urls(std::string_view text) {
    std::vector<std::string> urls = split_urls(text);
    for (std::string& url : urls) url = redacted_url(url);
    return fmt::format("{}", fmt::join(urls, ","));
}

void set_request_rate(LoadPlan& plan, std::size_t request_class, const Texts& texts) {
    const std::string& text = only(texts);
    const double rate = text == "inf" ? std::numeric_limits<double>::infinity() : parse_number(text);
    if (!(rate > 0)) throw UsageError(fmt::format("'{}': a rate is above 0", text));
    plan.classes[request_class].request_rate = rate;
}

void set_concurrency(LoadPlan& plan, std::size_t request_class, const Texts& texts) {
    plan.classes[request_class].concurrency = parse_count(only(texts));
    at_least_one(plan.classes[request_class].concurrency);
}

Texts get_requests(const LoadPlan& plan, std::size_t) {
    if (plan.stop.all_rows && !plan.stop.requests) return {"all"};
    return texts_of(plan.stop.requests);
}

/// Sets the number of requests; "all", and "-1" of other tools, means the rows of the dataset.
void set_requests(LoadPlan& plan, std::size_t, const Texts& texts) {
    const std::string& text = only(texts);
    plan.stop.requests.reset();
    plan.stop.all_rows = text == "all" || text == "-1";
    if (plan.stop.all_rows) return;
    plan.stop.requests = parse_count(text);
    if (plan.stop.requests == 0U) throw UsageError("0: there would be nothing to measure");
}

void set_warmups(LoadPlan& plan, std::size_t, const Texts& texts) {
    plan.warmups = parse_count(only(texts));
}

/// Sets SLOs. One text may hold several, as in other tools: "ttft:500 tpot:15".
void set_goodput(LoadPlan& plan, std::size_t request_class, const Texts& texts) {
    std::vector<std::string>& slos = plan.classes[request_class].goodput;
    slos.clear();
    for (const std::string& text : texts) {
        for (std::string& slo : slo_texts_in(text)) {
            (void)parse_goodput_slo(slo);
            slos.push_back(std::move(slo));
        }
    }
}

/// Splits "interactive:rate=4,isl=512" into the name and the fields.
std::pair<std::string, std::string> name_and_fields(const std::string& spec) {
    const auto colon = spec.find(':');
    const std::string name = spec.substr(0, colon);
    if (!is_plain_name(name) || colon == std::string::npos)
        throw UsageError(
            fmt::format("'{}': expected NAME:KEY=VALUE,…; a name has letters, digits, - and _", spec));
    return {name, spec.substr(colon + 1)};
}

void set_class_specs(LoadPlan& plan, std::size_t, const Texts& texts) {
    std::set<std::string> names;
    for (const std::string& text : texts) {
        const std::string name = name_and_fields(text).first;
        if (!names.insert(name).second)
            throw UsageError(fmt::format("'{}': there are two classes '{}'", text, name));
    }
    plan.class_specs = texts;
}

/// Sets limits. One text may hold several; the name of a preset means the limits in it.
void set_slos(LoadPlan& plan, std::size_t, const Texts& texts) {
    plan.slos.clear();
    for (const std::string& text : texts)
        for (std::string& slo : slo_texts(text)) plan.slos.push_back(std::move(slo));
}

/// Reads "10%" or 0.1.
void set_max_failed(LoadPlan& plan, std::size_t, const Texts& texts) {
    std::string_view text = only(texts);
    const bool percent = text.ends_with('%');
    if (percent) text.remove_suffix(1);
    const double share = parse_number(text) / (percent ? 100 : 1);
    if (!(share >= 0 && share <= 1)) {
        throw UsageError(fmt::format("'{}': expected a share of the requests, from 0% to 100% or from 0 to 1",
                                     texts.front()));
    }
    plan.max_failed = share;
}

// ---- the list

using enum FieldKind;
using enum FieldType;

using RouteOf = Member < [](auto& p, std::size_t) -> auto& {
    return p.route;
}
> ;
using Model = Member < [](auto& p, std::size_t) -> auto& {
    return p.model;
}
> ;
using EndpointTypeOf = Member < [](auto& p, std::size_t) -> auto& {
    return p.endpoint_type;
}
> ;
using EndpointPath = Member < [](auto& p, std::size_t) -> auto& {
    return p.endpoint_path;
}
> ;
using HeadersOf = Member < [](auto& p, std::size_t) -> auto& {
    return p.headers;
}
> ;
using SessionHeaders = Member < [](auto& p, std::size_t) -> auto& {
    return p.session_headers;
}
> ;
using SessionFields = Member < [](auto& p, std::size_t) -> auto& {
    return p.session_fields;
}
> ;
using ApiKeyEnv = Member < [](auto& p, std::size_t) -> auto& {
    return p.api_key_env;
}
> ;
using Insecure = Member < [](auto& p, std::size_t) -> auto& {
    return p.insecure;
}
> ;
using CaFile = Member < [](auto& p, std::size_t) -> auto& {
    return p.ca_file;
}
> ;
using ServerCommandOf = Member < [](auto& p, std::size_t) -> auto& {
    return p.server.command;
}
> ;
using ServerEnvironment = Member < [](auto& p, std::size_t) -> auto& {
    return p.server.environment;
}
> ;
using ReadyUrl = Member < [](auto& p, std::size_t) -> auto& {
    return p.server.ready_url;
}
> ;
using ReadyTimeout = Member < [](auto& p, std::size_t) -> auto& {
    return p.server.ready_timeout;
}
> ;
using ResetCache = Member < [](auto& p, std::size_t) -> auto& {
    return p.server.reset_cache;
}
> ;
using AfterRunCommand = Member < [](auto& p, std::size_t) -> auto& {
    return p.server.after_run_command;
}
> ;
using BenchmarkOf = Member < [](auto& p, std::size_t) -> auto& {
    return p.rules;
}
> ;
using SlosOf = Member < [](auto& p, std::size_t) -> auto& {
    return p.slos;
}
> ;
using VirtualTime = Member < [](auto& p, std::size_t) -> auto& {
    return p.virtual_time;
}
> ;
using Turnaround = Member < [](auto& p, std::size_t) -> auto& {
    return p.turnaround;
}
> ;
using WriteTime = Member < [](auto& p, std::size_t) -> auto& {
    return p.write_time;
}
> ;

using ClassName = Member < [](auto& p, std::size_t c) -> auto& {
    return p.classes[c].name;
}
> ;
using ClassSpecs = Member < [](auto& p, std::size_t) -> auto& {
    return p.class_specs;
}
> ;
using Dataset = Member < [](auto& p, std::size_t c) -> auto& {
    return p.classes[c].dataset;
}
> ;
using DatasetPath = Member < [](auto& p, std::size_t c) -> auto& {
    return p.classes[c].dataset_path;
}
> ;
void set_dataset_path(LoadPlan& plan, std::size_t request_class, const Texts& texts) {
    const auto& fields = plan.classes[request_class].dataset.fields;
    const auto other = fields.find("path");
    if (other != fields.end() && other->second != only(texts))
        throw UsageError(fmt::format("'{}': --dataset says path={} already; give one of the two", only(texts),
                                     other->second));
    DatasetPath::set(plan, request_class, texts);
}
void clear_dataset_path(LoadPlan& plan, std::size_t request_class) {
    plan.classes[request_class].dataset_path.clear();
    plan.classes[request_class].dataset.fields.erase("path");
}
using DatasetContent = Member < [](auto& p, std::size_t c) -> auto& {
    return p.classes[c].dataset_content;
}
> ;
using Replies = Member < [](auto& p, std::size_t c) -> auto& {
    return p.classes[c].replies;
}
> ;
using ToolScale = Member < [](auto& p, std::size_t c) -> auto& {
    return p.classes[c].tool_scale;
}
> ;
using IdleCap = Member < [](auto& p, std::size_t c) -> auto& {
    return p.classes[c].idle_cap;
}
> ;
using IdleSystemCap = Member < [](auto& p, std::size_t c) -> auto& {
    return p.classes[c].idle_system_cap;
}
> ;
using StartInside = Member < [](auto& p, std::size_t c) -> auto& {
    return p.classes[c].start_inside;
}
> ;
using RequestRate = Member < [](auto& p, std::size_t c) -> auto& {
    return p.classes[c].request_rate;
}
> ;
using Burstiness = Member < [](auto& p, std::size_t c) -> auto& {
    return p.classes[c].burstiness;
}
> ;
using ArrivalsOf = Member < [](auto& p, std::size_t c) -> auto& {
    return p.classes[c].arrivals;
}
> ;
using Concurrency = Member < [](auto& p, std::size_t c) -> auto& {
    return p.classes[c].concurrency;
}
> ;
using PrefillConcurrency = Member < [](auto& p, std::size_t c) -> auto& {
    return p.classes[c].prefill_concurrency;
}
> ;
using RampUp = Member < [](auto& p, std::size_t c) -> auto& {
    return p.classes[c].ramp_up;
}
> ;
using ThinkTime = Member < [](auto& p, std::size_t c) -> auto& {
    return p.classes[c].think_time;
}
> ;
using Cancel = Member < [](auto& p, std::size_t c) -> auto& {
    return p.classes[c].cancel;
}
> ;
using Priority = Member < [](auto& p, std::size_t c) -> auto& {
    return p.classes[c].priority;
}
> ;
using Goodput = Member < [](auto& p, std::size_t c) -> auto& {
    return p.classes[c].goodput;
}
> ;

using PromptFormOf = Member < [](auto& p, std::size_t) -> auto& {
    return p.prompt_form;
}
> ;
using IgnoreEos = Member < [](auto& p, std::size_t) -> auto& {
    return p.sampling.ignore_eos;
}
> ;
using MaxCompletionTokens = Member < [](auto& p, std::size_t) -> auto& {
    return p.sampling.max_completion_tokens;
}
> ;
using Temperature = Member < [](auto& p, std::size_t) -> auto& {
    return p.sampling.temperature;
}
> ;
using ExtraBody = Member < [](auto& p, std::size_t) -> auto& {
    return p.sampling.extra_body;
}
> ;
using Refused = Member < [](auto& p, std::size_t) -> auto& {
    return p.refused;
}
> ;
using Seed = Member < [](auto& p, std::size_t) -> auto& {
    return p.seed;
}
> ;
using Salt = Member < [](auto& p, std::size_t) -> auto& {
    return p.salt;
}
> ;

using Text = Member < [](auto& p, std::size_t) -> auto& {
    return p.text;
}
> ;
using TextContent = Member < [](auto& p, std::size_t) -> auto& {
    return p.text_content;
}
> ;
using SaltPrompts = Member < [](auto& p, std::size_t) -> auto& {
    return p.salt_prompts;
}
> ;

using DurationOf = Member < [](auto& p, std::size_t) -> auto& {
    return p.stop.duration;
}
> ;
using Warmups = Member < [](auto& p, std::size_t) -> auto& {
    return p.warmups;
}
> ;
using Rules = Member < [](auto& p, std::size_t) -> auto& {
    return p.stop.rules;
}
> ;
using WarmupDuration = Member < [](auto& p, std::size_t) -> auto& {
    return p.warmup_duration;
}
> ;
using NoKeepalive = Member < [](auto& p, std::size_t) -> auto& {
    return p.no_keepalive;
}
> ;
using NoPreconnect = Member < [](auto& p, std::size_t) -> auto& {
    return p.no_preconnect;
}
> ;
using Grace = Member < [](auto& p, std::size_t) -> auto& {
    return p.grace;
}
> ;
using RequestTimeout = Member < [](auto& p, std::size_t) -> auto& {
    return p.request_timeout;
}
> ;
using Workers = Member < [](auto& p, std::size_t) -> auto& {
    return p.workers;
}
> ;
using Spin = Member < [](auto& p, std::size_t) -> auto& {
    return p.spin;
}
> ;
using UserTimestamps = Member < [](auto& p, std::size_t) -> auto& {
    return p.user_timestamps;
}
> ;
using Scrape = Member < [](auto& p, std::size_t) -> auto& {
    return p.scrape;
}
> ;
using ScrapeInterval = Member < [](auto& p, std::size_t) -> auto& {
    return p.scrape_interval;
}
> ;
using ScrapeKeep = Member < [](auto& p, std::size_t) -> auto& {
    return p.scrape_keep;
}
> ;
using PowerOf = Member < [](auto& p, std::size_t) -> auto& {
    return p.power;
}
> ;
using ListenOn = Member < [](auto& p, std::size_t) -> auto& {
    return p.listen;
}
> ;
using ShardOf = Member < [](auto& p, std::size_t) -> auto& {
    return p.fleet.shard;
}
> ;
using Shards = Member < [](auto& p, std::size_t) -> auto& {
    return p.fleet.shards;
}
> ;
using Rendezvous = Member < [](auto& p, std::size_t) -> auto& {
    return p.fleet.rendezvous;
}
> ;
using RendezvousPatience = Member < [](auto& p, std::size_t) -> auto& {
    return p.fleet.patience;
}
> ;
using StartAt = Member < [](auto& p, std::size_t) -> auto& {
    return p.fleet.start_at;
}
> ;
using Traceparent = Member < [](auto& p, std::size_t) -> auto& {
    return p.traceparent;
}
> ;
using ServerProfile = Member < [](auto& p, std::size_t) -> auto& {
    return p.server_profile;
}
> ;
using Events = Member < [](auto& p, std::size_t) -> auto& {
    return p.events;
}
> ;
using Gpu = Member < [](auto& p, std::size_t) -> auto& {
    return p.gpu;
}
> ;
using ModelCardOf = Member < [](auto& p, std::size_t) -> auto& {
    return p.model_card;
}
> ;
using Require = Member < [](auto& p, std::size_t) -> auto& {
    return p.require;
}
> ;
using HostNoise = Member < [](auto& p, std::size_t) -> auto& {
    return p.host_noise;
}
> ;
using MaxFailed = Member < [](auto& p, std::size_t) -> auto& {
    return p.max_failed;
}
> ;
using Probe = Member < [](auto& p, std::size_t) -> auto& {
    return p.probe;
}
> ;
using AlertsOf = Member < [](auto& p, std::size_t) -> auto& {
    return p.alerts;
}
> ;
using BaselineOf = Member < [](auto& p, std::size_t) -> auto& {
    return p.baseline;
}
> ;
using Out = Member < [](auto& p, std::size_t) -> auto& {
    return p.out;
}
> ;
using Overwrite = Member < [](auto& p, std::size_t) -> auto& {
    return p.overwrite;
}
> ;
using KeepAnswers = Member < [](auto& p, std::size_t) -> auto& {
    return p.keep_answers;
}
> ;
using Metadata = Member < [](auto& p, std::size_t) -> auto& {
    return p.metadata;
}
> ;

constexpr std::string_view kTarget = "Target";
constexpr std::string_view kServer = "Server";
constexpr std::string_view kWorkload = "Workload";
constexpr std::string_view kPace = "Pace";
constexpr std::string_view kProcesses = "Several processes";
constexpr std::string_view kResult = "Result";

constexpr std::array kFields = {
    PlanField{.name = "url",
              .flags = "url,--url",
              .synonyms = "--base-url:vllm,sglang --target:guidellm -u:aiperf",
              .group = kTarget,
              .kind = load,
              .help = "Server: http://HOST:PORT or https://…, with or without the version at its end, or the "
                      "whole address of an endpoint; several servers with commas between them. "
                      "sim:PROFILE starts the simulated server and loads it (PROFILE as for `serve "
                      "--profile`: llama3-8b-h100-bf16, llama3-70b/h200x2/fp8, …)",
              .get = get_targets,
              .set = set_targets,
              .shown = redacted_urls},
    PlanField{.name = "route",
              .flags = "--route",
              .group = kTarget,
              .kind = load,
              .help = "Rule by which a request goes to one of several servers: round-robin, least-in-flight, "
                      "or prefix (requests that begin alike go to the same server)",
              .get = RouteOf::get,
              .set = RouteOf::set_checked<known_route>},
    PlanField{.name = "model",
              .flags = "--model",
              .synonyms = "-m:aiperf --model-names:aiperf --served-model-name:vllm,sglang",
              .group = kTarget,
              .kind = load,
              .help = "Model that requests name, or a mix of several with their shares, such as LoRA "
                      "adapters: A=.7,B=.3 [the first of /v1/models]",
              .get = Model::get,
              .set = Model::set_checked<model_mix>},
    PlanField{.name = "endpoint_type",
              .flags = "--endpoint-type",
              .group = kTarget,
              .kind = workload,
              .help = "Protocol of the API, one of {names}",
              .get = EndpointTypeOf::get,
              .set = EndpointTypeOf::set},
    PlanField{.name = "endpoint",
              .flags = "--endpoint",
              .group = kTarget,
              .kind = load,
              .help = "Path of requests [that of the endpoint type]",
              .get = EndpointPath::get,
              .set = EndpointPath::set},
    PlanField{.name = "header",
              .flags = "-H,--header",
              .group = kTarget,
              .type = list,
              .kind = load,
              .help = "Further HTTP header, 'Name: value'; may be repeated",
              .get = HeadersOf::get,
              .set = HeadersOf::set_checked<headers_with_names>,
              .shown = without_value},
    PlanField{.name = "session_header",
              .flags = "--session-header",
              .group = kTarget,
              .type = list,
              .kind = load,
              .help =
                  "HTTP header with the id of the request's conversation or agent, NAME, or of its job or "
                  "its parent agent, NAME=job, NAME=parent; may be repeated; none sends none "
                  "[X-Session-Affinity and X-Correlation-ID, if the dataset has conversations or jobs]",
              .get = SessionHeaders::get,
              .set = SessionHeaders::set_checked<session_headers>},
    PlanField{.name = "session_field",
              .flags = "--session-field",
              .group = kTarget,
              .type = list,
              .kind = load,
              .help = "Field of the body with such an id, prompt_cache_key=agent, cache_salt=job; may be "
                      "repeated",
              .get = SessionFields::get,
              .set = SessionFields::set_checked<session_fields>},
    PlanField{.name = "api_key_env",
              .flags = "--api-key-env",
              .group = kTarget,
              .help = "Environment variable that holds the API key [OPENAI_API_KEY, if it is set]",
              .get = ApiKeyEnv::get,
              .set = ApiKeyEnv::set},
    PlanField{.name = "insecure",
              .flags = "--insecure",
              .group = kTarget,
              .type = flag,
              .help = "Accept any TLS certificate",
              .get = Insecure::get,
              .set = Insecure::set},
    PlanField{.name = "ca_file",
              .flags = "--ca-file",
              .group = kTarget,
              .help = "PEM file with certificate authorities to trust besides the system's",
              .get = CaFile::get,
              .set = CaFile::set},
    PlanField{.name = "virtual",
              .flags = "--virtual",
              .group = kTarget,
              .type = flag,
              .kind = measuring,
              .help = "With sim:PROFILE: compute the run in virtual time, without sockets or waiting",
              .get = VirtualTime::get,
              .set = VirtualTime::set},
    PlanField{.name = "turnaround",
              .flags = "--turnaround",
              .group = kTarget,
              .type = duration,
              .kind = measuring,
              .help = "With --virtual, in a closed loop: time from the end of an answer to the arrival of "
                      "the next request",
              .get = Turnaround::get,
              .set = Turnaround::set},
    PlanField{.name = "write_time",
              .flags = "--write-time",
              .group = kTarget,
              .type = duration,
              .kind = measuring,
              .help = "With --virtual: time that the server takes to write an event; the events of a step "
                      "are written one after another",
              .get = WriteTime::get,
              .set = WriteTime::set},

    PlanField{.name = "server_cmd",
              .flags = "--server-cmd",
              .group = kServer,
              .kind = load,
              .help = "Command that starts the server. It is split into words as a shell would do, and "
                      "{port} in it becomes a free port. The server is stopped when the measurement ends",
              .get = ServerCommandOf::get,
              .set = ServerCommandOf::set,
              .shown = command_to_show},
    PlanField{.name = "server_env",
              .flags = "--server-env",
              .group = kServer,
              .type = list,
              .kind = load,
              .help = "NAME=VALUE for the environment of the server's command; may be repeated",
              .get = ServerEnvironment::get,
              .set = ServerEnvironment::set_checked<environment_entries>,
              .shown = without_secret_value},
    PlanField{
        .name = "ready_url",
        .flags = "--ready-url",
        .group = kServer,
        .help = "URL or path that the server answers with 200 when it is ready [/health, else /v1/models]",
        .get = ReadyUrl::get,
        .set = ReadyUrl::set},
    PlanField{.name = "ready_timeout",
              .flags = "--ready-timeout",
              .synonyms = "--ready-check-timeout-sec:vllm",
              .group = kServer,
              .type = duration,
              .help = "Longest wait for the server to be ready [10m for a server's command; a URL must be "
                      "ready at once]",
              .get = ReadyTimeout::get,
              .set = ReadyTimeout::set_checked<above_zero>},
    PlanField{.name = "reset_cache",
              .flags = "--reset-cache",
              .synonyms = "--flush-cache:sglang",
              .group = kServer,
              .type = flag,
              .kind = load,
              .help =
                  "Empty the server's prefix cache before every run (vLLM's /reset_prefix_cache, SGLang's "
                  "/flush_cache)",
              .get = ResetCache::get,
              .set = ResetCache::set},
    PlanField{.name = "after_run_cmd",
              .flags = "--after-run-cmd",
              .group = kServer,
              .kind = load,
              .help = "Command to run after every run. It is split into words as a shell would do",
              .get = AfterRunCommand::get,
              .set = AfterRunCommand::set,
              .shown = command_to_show},

    PlanField{.name = "concurrency",
              .flags = "--concurrency",
              .synonyms = "--max-concurrency:vllm,sglang",
              .group = kPace,
              .type = count,
              .kind = load,
              .of_class = true,
              .levels = true,
              .help =
                  "Number of requests in flight (closed loop), or of live jobs if the dataset has jobs or "
                  "conversations; with a request rate or --arrivals: largest number of requests in "
                  "flight [1]",
              .get = Concurrency::get,
              .set = set_concurrency},
    PlanField{.name = "prefill_concurrency",
              .flags = "--prefill-concurrency",
              .group = kPace,
              .type = count,
              .kind = load,
              .of_class = true,
              .help = "Largest number of requests in flight that have no first token yet [no limit]",
              .get = PrefillConcurrency::get,
              .set = PrefillConcurrency::set_checked<at_least_one>},
    PlanField{.name = "ramp_up",
              .flags = "--ramp-up",
              .synonyms = "--concurrency-ramp-duration:aiperf",
              .group = kPace,
              .kind = load,
              .of_class = true,
              .help = "Closed loop: time over which the slots open evenly (4s), 0s for all at once, or auto: "
                      "each slot opens when the request of the slot before it has its first token, and the "
                      "last at the latest after twice the time of the first request [auto; 0s with "
                      "--think-time and --request-rate inf]",
              .get = RampUp::get,
              .set = set_ramp_up},
    PlanField{.name = "think_time",
              .flags = "--think-time",
              .group = kPace,
              .kind = load,
              .of_class = true,
              .help = "Pause of a slot after each request (closed loop), or of a conversation before each "
                      "further turn: 2s, uniform:min=1s,max=3s, exponential:mean=2s, "
                      "normal:mean=2s,stddev=500ms, lognormal:mean=2s,cv=1",
              .get = ThinkTime::get,
              .set = ThinkTime::set_checked<random_duration>},
    PlanField{.name = "cancel",
              .flags = "--cancel",
              .group = kPace,
              .kind = load,
              .of_class = true,
              .help = "Users who hang up, p=.05,after=2s: their share of the requests, and the time after "
                      "which they hang up (a duration as for --think-time, with ';' instead of ',')",
              .get = Cancel::get,
              .set = Cancel::set_checked<hang_up>},
    PlanField{.name = "request_rate",
              .flags = "--request-rate",
              .group = kPace,
              .kind = load,
              .of_class = true,
              .levels = true,
              .help = "Requests per second (open loop, Poisson arrivals); inf starts all requests at once",
              .get = RequestRate::get,
              .set = set_request_rate},
    PlanField{.name = "arrivals",
              .flags = "--arrivals",
              .group = kPace,
              .kind = load,
              .of_class = true,
              .help = "Arrival process, which sets when requests start: {names}",
              .get = ArrivalsOf::get,
              .set = ArrivalsOf::set},
    PlanField{.name = "burstiness",
              .flags = "--burstiness",
              .group = kPace,
              .type = number,
              .kind = load,
              .of_class = true,
              .help = "Shape of the gamma distribution of the gaps between requests: 1 is Poisson, below 1 "
                      "is burstier [1]",
              .get = Burstiness::get,
              .set = Burstiness::set_checked<within_if_given<kBurstiness>>},
    PlanField{.name = "num_prompts",
              .flags = "--num-prompts",
              .synonyms = "--request-count:aiperf --num-requests:aiperf --max-requests:guidellm",
              .group = kPace,
              .type = count,
              .kind = load,
              .help =
                  "Number of measured requests, or of jobs or conversations if the dataset has several turns "
                  "[without --duration: 100, or 20 per slot if that is more; for a trace: its rows]; all "
                  "means every row of a file",
              .get = get_requests,
              .set = set_requests},
    PlanField{.name = "duration",
              .flags = "--duration",
              .synonyms = "--benchmark-duration:aiperf --max-seconds:guidellm",
              .group = kPace,
              .type = duration,
              .kind = load,
              .help = "Time during which requests are started (30s, 5m); requests that are then in flight "
                      "are followed to their end",
              .get = DurationOf::get,
              .set = DurationOf::set_checked<above_zero>},
    PlanField{.name = "stop",
              .flags = "--stop",
              .group = kPace,
              .type = list,
              .kind = load,
              .help =
                  "Further rule that ends the start of requests; the first rule that is met decides. May be "
                  "repeated: requests=N, duration=60s, tokens=1M, errors=5%, precision:ttft_p99=10%, "
                  "slo:ttft_p95:800 (ends when this limit is certainly missed), diverging=off (the rule "
                  "`diverging` is on if the rate of arrivals is constant)",
              .get = Rules::get,
              .set = Rules::set},
    PlanField{
        .name = "grace",
        .flags = "--grace",
        .group = kPace,
        .type = duration,
        .help = "Time for which requests in flight are followed after Ctrl-C; a second Ctrl-C cuts them off",
        .get = Grace::get,
        .set = Grace::set},
    PlanField{
        .name = "warmup_duration",
        .flags = "--warmup-duration",
        .group = kPace,
        .type = duration,
        .kind = load,
        .help =
            "Time at the start whose requests are warm-ups, which are not measured; instead of --num-warmups",
        .get = WarmupDuration::get,
        .set = WarmupDuration::set_checked<above_zero>},
    PlanField{.name = "no_keepalive",
              .flags = "--no-keepalive",
              .group = kPace,
              .type = flag,
              .kind = load,
              .help = "Open a new connection for every request",
              .get = NoKeepalive::get,
              .set = NoKeepalive::set},
    PlanField{
        .name = "no_preconnect",
        .flags = "--no-preconnect",
        .group = kPace,
        .type = flag,
        .kind = load,
        .help = "Open each connection only when a request needs it, so that TCP and TLS handshakes are part "
                "of the measured times",
        .get = NoPreconnect::get,
        .set = NoPreconnect::set},
    PlanField{
        .name = "num_warmups",
        .flags = "--num-warmups",
        .synonyms = "--warmup-request-count:aiperf --num-warmup-requests:aiperf --warmup-requests:sglang",
        .group = kPace,
        .type = count,
        .kind = load,
        .help = "Number of warm-up requests before the first measured one",
        .get = Warmups::get,
        .set = set_warmups},
    PlanField{.name = "workers",
              .flags = "--workers",
              .group = kPace,
              .type = count,
              .kind = measuring,
              .help = "Threads that generate the load; one is enough for most servers",
              .get = Workers::get,
              .set = Workers::set_checked<within<kWorkers>>},
    PlanField{.name = "spin",
              .flags = "--spin",
              .group = kPace,
              .type = duration,
              .kind = measuring,
              .help = "Time for which a worker polls before each due request instead of sleeping (200us), so "
                      "that an open loop starts requests more exactly. The polling does not count as load",
              .get = Spin::get,
              .set = Spin::set},
    PlanField{.name = "user_timestamps",
              .flags = "--user-timestamps",
              .group = kPace,
              .type = flag,
              .kind = measuring,
              .help = "Take the time of an event after it was read, instead of the kernel's receive "
                      "timestamp, to see the difference",
              .get = UserTimestamps::get,
              .set = UserTimestamps::set},
    PlanField{.name = "scrape",
              .flags = "--scrape",
              .group = kPace,
              .type = list,
              .help = "Read the server's own metrics (queue, KV cache, prefix hits, preemptions) from its "
                      "/metrics during the load: auto, none, or the URL of the metrics. NAME=URL also reads "
                      "another exporter, for --scrape-keep. May be repeated",
              .get = Scrape::get,
              .set = Scrape::set_checked<known_scrape>,
              .shown = redacted_scrape_place},
    PlanField{.name = "scrape_keep",
              .flags = "--scrape-keep",
              .group = kPace,
              .type = list,
              .help = "Keep the series whose whole name matches this regular expression as series of the "
                      "result: node_load1, 'node_(load|memory).*'. It applies to the server and to other "
                      "exporters; may be repeated",
              .get = ScrapeKeep::get,
              .set = ScrapeKeep::set_checked<check_regular_expressions>},
    PlanField{.name = "scrape_interval",
              .flags = "--scrape-interval",
              .group = kPace,
              .type = duration,
              .help = "Time between two readings of the metrics, at least 1s",
              .get = ScrapeInterval::get,
              .set = ScrapeInterval::set_checked<at_least_a_second>},
    PlanField{.name = "power",
              .flags = "--power",
              .group = kPace,
              .help = "Read the electrical power of the serving hardware: auto (this machine's GPUs or CPU "
                      "packages, if the server runs here), nvml, rapl, dcgm=URL (a DCGM exporter), or none",
              .get = PowerOf::get,
              .set = PowerOf::set_checked<known_power>},
    PlanField{.name = "listen",
              .flags = "--listen",
              .group = kPace,
              .help = "Serve paretoken's own metrics for Prometheus on http://HOST:PORT/metrics while it "
                      "measures (127.0.0.1:9464)",
              .get = ListenOn::get,
              .set = ListenOn::set},
    PlanField{.name = "shard",
              .flags = "--shard",
              .group = kProcesses,
              .help = "Make one part of the load, I/N with I from 0 to N-1, of a load that N processes make "
                      "together; mpirun, srun and Kubernetes Indexed Jobs give it by themselves",
              .get = ShardOf::get,
              .set = ShardOf::set_checked<known_shard>},
    PlanField{.name = "shards",
              .flags = "--shards",
              .group = kProcesses,
              .type = count,
              .help = "Number of parts, if the launcher tells a process its own number only "
                      "(JOB_COMPLETION_INDEX)",
              .get = Shards::get,
              .set = Shards::set_checked<some_shards>},
    PlanField{.name = "rendezvous",
              .flags = "--rendezvous",
              .group = kProcesses,
              .help = "Where the processes meet: HOST:PORT of the process with shard 0, which listens there, "
                      "or a directory that all of them see. They then begin together, shard 0 decides for "
                      "all, and its result is that of the whole load",
              .get = Rendezvous::get,
              .set = Rendezvous::set},
    PlanField{.name = "rendezvous_timeout",
              .flags = "--rendezvous-timeout",
              .group = kProcesses,
              .type = duration,
              .help = "Longest wait for the other processes",
              .get = RendezvousPatience::get,
              .set = RendezvousPatience::set_checked<above_zero>},
    PlanField{.name = "start_at",
              .flags = "--start-at",
              .group = kProcesses,
              .help = "Begin the load at this time, in UTC (2026-11-21T09:38:00Z) or as Unix time, so that "
                      "processes without a rendezvous begin together; `paretoken merge` joins their results",
              .get = StartAt::get,
              .set = StartAt::set_checked<known_start>},
    PlanField{.name = "traceparent",
              .flags = "--traceparent",
              .group = kPace,
              .type = flag,
              .kind = measuring,
              .help = "Send a W3C trace context with every request, whose trace id requests.jsonl holds, so "
                      "that the server's trace of a request can be found",
              .get = Traceparent::get,
              .set = Traceparent::set},
    PlanField{
        .name = "server_profile",
        .flags = "--server-profile",
        .synonyms = "--profile:vllm,sglang",
        .group = kPace,
        .type = flag,
        .kind = measuring,
        .help =
            "POST /start_profile before the load and /stop_profile after it, if the server has these paths",
        .get = ServerProfile::get,
        .set = ServerProfile::set},
    PlanField{.name = "events",
              .flags = "--events",
              .group = kPace,
              .kind = measuring,
              .help =
                  "Requests whose events (times and tokens) are kept in events.bin: all, none, or sample=N "
                  "(one in N). Inter-token and inter-chunk latency are computed from these requests only",
              .get = Events::get,
              .set = Events::set_checked<known_events>},
    PlanField{.name = "timeout",
              .flags = "--timeout",
              .synonyms = "--request-timeout-seconds:aiperf",
              .group = kPace,
              .type = duration,
              .kind = load,
              .help = "Give up on a request after this time",
              .get = RequestTimeout::get,
              .set = RequestTimeout::set_checked<above_zero>},

    PlanField{.name = "class_name",
              .kind = workload,
              .of_class = true,
              .get = ClassName::get,
              .set = ClassName::set},
    PlanField{.name = "class",
              .flags = "--class",
              .group = kWorkload,
              .type = list,
              .kind = load,
              .help = "Class of requests with options of its own, which take precedence over those of the "
                      "command line: 'interactive:rate=4,isl=512,osl=128,goodput=ttft:500'. May be repeated. "
                      "Keys are the names of options; within a value, ';' stands for ',' and ';;' for ';'",
              .get = ClassSpecs::get,
              .set = set_class_specs},
    PlanField{.name = "priority",
              .flags = "--priority",
              .group = kWorkload,
              .kind = workload,
              .of_class = true,
              .help = "Priority to send with each request, for servers that accept one (vLLM)",
              .get = Priority::get,
              .set = Priority::set},
    PlanField{.name = "dataset",
              .flags = "--dataset",
              .synonyms = "--dataset-name:vllm,sglang",
              .group = kWorkload,
              .kind = workload,
              .of_class = true,
              .help = "Source of the requests: {names} [custom if there is a path, else synthetic]",
              .get = get_dataset,
              .set = Dataset::set},
    PlanField{.name = "dataset_path",
              .flags = "--dataset-path",
              .synonyms = "--input-file:aiperf",
              .group = kWorkload,
              .of_class = true,
              .help =
                  "File of requests, whose format is recognised unless --dataset names one; for custom: JSON "
                  "lines with prompt or messages",
              .get = DatasetPath::get,
              .set = set_dataset_path,
              .clear = clear_dataset_path},
    PlanField{.name = "dataset_content",
              .kind = workload,
              .of_class = true,
              .get = DatasetContent::get,
              .set = DatasetContent::set},
    PlanField{.name = "replies",
              .flags = "--replies",
              .group = kWorkload,
              .kind = workload,
              .of_class = true,
              .help = "Answers with which conversations continue: live (the server's) or recorded (the "
                      "dataset's) [live]",
              .get = Replies::get,
              .set = Replies::set_checked<known_replies>},
    PlanField{
        .name = "tool_scale",
        .flags = "--tool-scale",
        .group = kWorkload,
        .type = number,
        .kind = workload,
        .of_class = true,
        .help = "Factor of the recorded times of tools between the turns of jobs; 0 leaves them out [1]",
        .get = ToolScale::get,
        .set = ToolScale::set_checked<within_if_given<kToolScale>>},
    PlanField{.name = "idle_cap",
              .flags = "--idle-cap",
              .group = kWorkload,
              .type = duration,
              .kind = workload,
              .of_class = true,
              .help = "Longest recorded pause before a turn of a job: 60s; longer ones, tools included, are "
                      "cut to it [no limit]",
              .get = IdleCap::get,
              .set = IdleCap::set},
    PlanField{.name = "idle_system_cap",
              .flags = "--idle-system-cap",
              .group = kWorkload,
              .type = duration,
              .kind = workload,
              .help = "Longest time without any request in flight while jobs pause: 10s; the pauses of all "
                      "jobs are then shortened alike [no limit]",
              .get = IdleSystemCap::get,
              .set = IdleSystemCap::set},
    PlanField{.name = "start_inside",
              .flags = "--start-inside",
              .group = kWorkload,
              .kind = workload,
              .of_class = true,
              .help = "Closed loop of jobs: the first job of each slot begins at a share of its turns, drawn "
                      "from 0.25..0.75, after a primer turn of each of its agents, which is a warm-up",
              .get = StartInside::get,
              .set = StartInside::set},
    PlanField{.name = "isl",
              .flags = "--isl",
              .synonyms = "--random-input-len:vllm,sglang --input-len:vllm "
                          "--synthetic-input-tokens-mean:aiperf --prompt-input-tokens-mean:aiperf",
              .group = kWorkload,
              .kind = workload,
              .of_class = true,
              .help = "Input length in tokens: 512, uniform:min=1;max=8, normal:mean=…;stddev=…, "
                      "lognormal:mean=512;cv=1, zipf:s=1.1;max=4096, empirical:path=FILE;column=K, or, "
                      "together with output lengths, pairs:512/128=.7;4096/256=.3 [512]",
              .get = DatasetField<kInputLength>::get,
              .set = DatasetField<kInputLength>::set,
              .clear = DatasetField<kInputLength>::clear},
    PlanField{.name = "osl",
              .flags = "--osl",
              .synonyms = "--random-output-len:vllm,sglang --output-len:vllm "
                          "--sharegpt-output-len:vllm,sglang --custom-output-len:vllm --hf-output-len:vllm "
                          "--output-tokens-mean:aiperf --prompt-output-tokens-mean:aiperf",
              .group = kWorkload,
              .kind = workload,
              .of_class = true,
              .help = "Output length in tokens (max_tokens): a number or a distribution, as for --isl [128]",
              .get = DatasetField<kOutputLength>::get,
              .set = DatasetField<kOutputLength>::set,
              .clear = DatasetField<kOutputLength>::clear},
    PlanField{.name = "range_ratio",
              .flags = "--range-ratio",
              .synonyms = "--random-range-ratio:vllm",
              .group = kWorkload,
              .type = number,
              .kind = workload,
              .of_class = true,
              .help = "Draw each length uniformly from L(1-ratio) to L(1+ratio), where L is --isl or --osl, "
                      "as vLLM's benchmark does",
              .get = DatasetField<kRatio>::get,
              .set = set_ratio,
              .clear = DatasetField<kRatio>::clear},
    PlanField{.name = "prompt_form",
              .flags = "--prompt-form",
              .group = kWorkload,
              .kind = workload,
              .help = "Form of prompts: text, token-ids, or auto, which means token ids if the endpoint "
                      "accepts them (completions)",
              .get = PromptFormOf::get,
              .set = PromptFormOf::set_checked<known_prompt_form>},
    PlanField{.name = "ignore_eos",
              .flags = "--ignore-eos,!--no-ignore-eos",
              .synonyms = "!--disable-ignore-eos:sglang",
              .group = kWorkload,
              .type = flag,
              .kind = workload,
              .help = "Make answers as long as requested, with the field ignore_eos [on; left out if the "
                      "server refuses it or the protocol has no such field]",
              .get = IgnoreEos::get,
              .set = IgnoreEos::set},
    PlanField{.name = "max_completion_tokens",
              .flags = "--max-completion-tokens",
              .group = kWorkload,
              .type = flag,
              .kind = workload,
              .help = "Send max_completion_tokens instead of max_tokens, as hosted reasoning models require",
              .get = MaxCompletionTokens::get,
              .set = MaxCompletionTokens::set},
    PlanField{.name = "temperature",
              .flags = "--temperature",
              .group = kWorkload,
              .type = number,
              .kind = workload,
              .help = "Sampling temperature [the server's]",
              .get = Temperature::get,
              .set = Temperature::set},
    PlanField{.name = "extra_body",
              .flags = "--extra-body",
              .synonyms = "--extra-request-body:sglang",
              .group = kWorkload,
              .kind = workload,
              .help = "JSON object that is merged into every request; its keys take precedence",
              .get = ExtraBody::get,
              .set = ExtraBody::set,
              .shown = json_to_show},
    PlanField{.name = "refused_by_server", .type = list, .get = Refused::get, .set = Refused::set},
    PlanField{.name = "seed",
              .flags = "--seed",
              .synonyms = "--random-seed:guidellm,aiperf",
              .group = kWorkload,
              .type = count,
              .kind = load,
              .help = "Seed of lengths, prompts and arrivals",
              .get = Seed::get,
              .set = Seed::set},
    PlanField{
        .name = "salt",
        .flags = "--salt",
        .group = kWorkload,
        .kind = load,
        .help =
            "Text that makes prompts new to a prefix cache [a new one for every run, which run.json records]",
        .get = Salt::get,
        .set = Salt::set},
    PlanField{.name = "text",
              .flags = "--text",
              .group = kWorkload,
              .help = "Text file from which generated prompts are cut, instead of random words; for servers "
                      "that draft tokens ahead and for models with routed experts",
              .get = Text::get,
              .set = Text::set},
    PlanField{.name = "text_content", .kind = workload, .get = TextContent::get, .set = TextContent::set},
    PlanField{
        .name = "salt_prompts",
        .flags = "--salt-prompts",
        .group = kWorkload,
        .type = flag,
        .kind = workload,
        .help = "Put a few words of the salt, always the same number, before prompts that come from a file",
        .get = SaltPrompts::get,
        .set = SaltPrompts::set},

    PlanField{.name = "probe",
              .flags = "--probe",
              .group = kResult,
              .kind = measuring,
              .help = "Questions with known answers that are asked after the load at temperature 0: a file "
                      "of JSON lines ({\"prompt\": …, \"expect\": {\"contains\": …}}), or recall:ctx=4k,n=40 "
                      "for values to be found in long texts. The share of right answers is the run's quality",
              .get = Probe::get,
              .set = Probe::set},
    PlanField{.name = "out",
              .flags = "--out",
              .synonyms = "--result-dir:vllm --artifact-dir:aiperf --output-artifact-dir:aiperf",
              .group = kResult,
              .help = "Directory for the result, new or without a result: run and sweep do not replace a "
                      "result, and a sweep continues its own [runs/TIME]",
              .get = Out::get,
              .set = Out::set},
    PlanField{.name = "overwrite",
              .flags = "--overwrite",
              .group = kResult,
              .type = flag,
              .help = "Replace the result that --out holds",
              .get = Overwrite::get,
              .set = Overwrite::set},
    PlanField{.name = "keep_answers",
              .flags = "--keep-answers",
              .group = kResult,
              .type = flag,
              .help = "Keep the texts of the answers, in answers.jsonl",
              .get = KeepAnswers::get,
              .set = KeepAnswers::set},
    PlanField{.name = "metadata",
              .flags = "--metadata",
              .group = kResult,
              .type = list,
              .help = "NAME=VALUE to keep with the result; may be repeated",
              .get = Metadata::get,
              .set = Metadata::set},
    PlanField{.name = "gpu",
              .flags = "--gpu",
              .group = kResult,
              .kind = measuring,
              .help = "Serving hardware, as NAME[xN] (h100, h200x2). A report chooses limits and prices by "
                      "it [for a local server: this machine's CPU]",
              .get = Gpu::get,
              .set = Gpu::set},
    PlanField{.name = "model_card",
              .flags = "--model-card",
              .group = kResult,
              .kind = measuring,
              .help = "Served model: a known model, a config.json or a GGUF file. "
                      "llama-3.1-8b:weights=int4,kv=fp8 states number formats that differ from those of the "
                      "card. A report takes limits and labels from it",
              .get = ModelCardOf::get,
              .set = ModelCardOf::set},
    PlanField{.name = "goodput",
              .flags = "--goodput",
              .group = kResult,
              .type = list,
              .kind = judging,
              .of_class = true,
              .words = true,
              .help = "Limits that a request must meet to count as good, in ms: ttft:500 tpot:15 e2e:2000, "
                      "and those of a job of agents: job:60s (--slo sets limits on percentiles)",
              .get = Goodput::get,
              .set = set_goodput},
    PlanField{.name = "slo",
              .flags = "--slo",
              .group = kResult,
              .type = list,
              .kind = judging,
              .help = "Limit on a percentile: ttft_p95:800 (ms), or in quotes 'ttft_p95<800ms' (p90 if no "
                      "percentile is given), job_p95:60s for jobs of agents, or a preset: @chat, "
                      "@mlperf:MODEL, @mlperf:MODEL:interactive; "
                      "may be repeated",
              .get = SlosOf::get,
              .set = set_slos},
    PlanField{.name = "rules",
              .flags = "--rules",
              .group = kResult,
              .kind = judging,
              .help = "Benchmark whose rules the result is held against: agentx or mlperf-agentic; --recipe "
                      "sets the options that they ask for",
              .get = BenchmarkOf::get,
              .set = BenchmarkOf::set_checked<known_rules>},
    PlanField{.name = "require",
              .flags = "--require",
              .group = kResult,
              .help = "met: end with exit code 5 if a limit (--slo) is not shown at 99 % to be met; without "
                      "it, a load that is measured within its limits is enough",
              .get = Require::get,
              .set = Require::set_checked<known_requirement>},
    PlanField{.name = "max_failed",
              .flags = "--max-failed",
              .group = kResult,
              .type = number,
              .kind = judging,
              .help = "Share of requests that may fail before a run is invalid: 10% or 0.1",
              .get = MaxFailed::get,
              .set = set_max_failed},
    PlanField{.name = "host_noise",
              .flags = "--host-noise",
              .group = kResult,
              .kind = judging,
              .help = "accept: delays of the client and its host, which may have changed figures, make a run "
                      "warn instead of invalid",
              .get = HostNoise::get,
              .set = HostNoise::set_checked<known_host_noise>},
    PlanField{.name = "alerts",
              .flags = "--alerts",
              .group = kResult,
              .kind = judging,
              .help = "JSON file of alerts that replace the default ones (docs/alerts.md)",
              .get = AlertsOf::get,
              .set = AlertsOf::set},
    PlanField{.name = "baseline",
              .flags = "--baseline",
              .group = kResult,
              .kind = judging,
              .help = "Runs with which alerts compare this one: a run directory, or a directory of several",
              .get = BaselineOf::get,
              .set = BaselineOf::set},
};

// ---- functions over the list

/// Returns "isl", or "batch.isl" for a class that has a name.
std::string key_of(const PlanField& field, const LoadPlan& plan, std::size_t request_class) {
    const std::string& name = plan.classes[request_class].name;
    if (!field.of_class || name.empty()) return std::string(field.name);
    return fmt::format("{}.{}", name, field.name);
}

/// Calls visit(field, key, texts) for every value of the plan.
template <class Visit>
void for_each_value(const LoadPlan& plan, Visit visit) {
    for (const PlanField& field : kFields) {
        const std::size_t classes = field.of_class ? plan.classes.size() : 1;
        for (std::size_t c = 0; c < classes; ++c) {
            const Texts texts = field.get(plan, c);
            if (!texts.empty()) visit(field, key_of(field, plan, c), texts);
        }
    }
}

}  // namespace

Texts shown_texts(const PlanField& field, Texts texts) {
    if (field.shown == nullptr) return texts;
    for (std::string& text : texts) text = field.shown(text);
    return texts;
}

namespace {

std::string joined(const Texts& texts) {
    return fmt::format("{}", fmt::join(texts, ", "));
}

std::string default_of(const PlanField& field) {
    static const LoadPlan kDefault;
    return joined(field.get(kDefault, 0));
}

/// Returns the keys of a field in either echo: its name, alone or after the name of a class.
std::set<std::string> keys_of(const PlanField& field, const PlanEcho& a, const PlanEcho& b) {
    std::set<std::string> keys{std::string(field.name)};
    if (!field.of_class) return keys;
    const std::string ending = fmt::format(".{}", field.name);
    for (const PlanEcho* echo : {&a, &b}) {
        for (const auto& [key, value] : *echo) {
            if (key.ends_with(ending)) keys.insert(key);
        }
    }
    return keys;
}

/// Returns the echo with its secrets, which must never be shown or stored.
PlanEcho unhidden(const LoadPlan& plan) {
    PlanEcho echo;
    for_each_value(plan, [&](const PlanField&, const std::string& key, const Texts& texts) {
        echo[key] = joined(texts);
    });
    return echo;
}

std::string value_in(const PlanEcho& echo, const std::string& key, const PlanField& field) {
    const auto found = echo.find(key);
    return found == echo.end() ? default_of(field) : found->second;
}

std::string variable_of(const PlanField& field, std::string_view part) {
    std::string name = fmt::format("PARETOKEN_{}{}{}", field.name, part.empty() ? "" : "_", part);
    for (char& c : name) {
        const auto byte = static_cast<unsigned char>(c);
        c = std::isalnum(byte) != 0 ? static_cast<char>(std::toupper(byte)) : '_';
    }
    return name;
}

}  // namespace

std::string_view name_of(FieldKind kind) {
    switch (kind) {
        case FieldKind::workload:
            return "workload";
        case FieldKind::load:
            return "load";
        case FieldKind::measuring:
            return "measuring";
        case FieldKind::judging:
            return "judging";
        case FieldKind::none:
            return "none";
    }
    return "";
}

std::span<const PlanField> plan_fields() {
    return kFields;
}

const PlanField* plan_field_named(std::string_view name) {
    const auto* const found = std::find_if(kFields.begin(), kFields.end(),
                                           [&](const PlanField& field) { return field.name == name; });
    return found == kFields.end() ? nullptr : found;
}

std::vector<Synonym> synonyms_of(const PlanField& field) {
    std::vector<Synonym> synonyms;
    for (std::string_view rest = field.synonyms; !rest.empty();) {
        const std::string_view entry = rest.substr(0, rest.find(' '));
        const auto colon = entry.find(':');
        synonyms.push_back({.name = entry.substr(0, colon), .tools = entry.substr(colon + 1)});
        rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
    }
    return synonyms;
}

const PlanField* plan_field_called(std::string_view name) {
    const auto is = [name](std::string_view known) {
        const auto plain = [](std::string_view text) {
            text.remove_prefix(std::min(text.find_first_not_of("!-"), text.size()));
            std::string bare(text);
            std::replace(bare.begin(), bare.end(), '-', '_');
            return bare;
        };
        return plain(known) == plain(name);
    };
    const auto* const found = std::find_if(kFields.begin(), kFields.end(), [&](const PlanField& field) {
        if (is(field.name)) return true;
        for (std::string_view rest = field.flags; !rest.empty();) {
            const std::string_view flag = rest.substr(0, rest.find(','));
            if (is(flag)) return true;
            rest.remove_prefix(std::min(flag.size() + 1, rest.size()));
        }
        const auto synonyms = synonyms_of(field);
        return std::any_of(synonyms.begin(), synonyms.end(),
                           [&](const Synonym& synonym) { return is(synonym.name); });
    });
    return found == kFields.end() ? nullptr : found;
}

std::string option_of(const PlanField& field) {
    const auto begin = field.flags.find("--");
    if (begin == std::string_view::npos) return std::string(field.name);
    return std::string(field.flags.substr(begin, field.flags.find(',', begin) - begin));
}

LoadPlan plan_of(const PlanTexts& texts) {
    for (const auto& [name, values] : texts) {
        const PlanField* field = plan_field_named(name);
        if (field == nullptr || field->flags.empty())
            throw UsageError(fmt::format("'{}' is not an option of a run", name));
    }
    LoadPlan plan;
    for (const PlanField& field : kFields) {
        const auto given = texts.find(field.name);
        if (given == texts.end() || given->second.empty()) continue;
        naming(option_of(field), [&] { field.set(plan, 0, given->second); });
    }
    return plan;
}

namespace {

/// Returns the field of an option that a class may give, by its key in the spec.
const PlanField* class_field_named(std::string_view key) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kShort = {
        {{"rate", "request_rate"}, {"path", "dataset_path"}, {"ratio", "range_ratio"}}};
    for (const auto& [name, field] : kShort)
        if (key == name) key = field;
    const PlanField* const field = plan_field_named(key);
    return field != nullptr && field->of_class && !field->flags.empty() ? field : nullptr;
}

constexpr std::string_view kClassSeparators = "within a value, ';' stands for ',' and ';;' for ';'";

/// Returns a class's value, in which ';' means ',', and between SLOs a blank, and ';;' means ';'. Lengths
/// keep it, as in any Spec.
std::string class_value(const PlanField& field, const std::string& text) {
    if (field.name == kInputLength || field.name == kOutputLength) return text;
    std::string value;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool is_double = text.compare(i, 2, ";;") == 0;
        value += text[i] != ';' || is_double ? text[i] : field.words ? ' ' : ',';
        i += is_double ? 1 : 0;
    }
    return value;
}

/// Returns the values that one class gives, by field. Throws UsageError.
std::map<const PlanField*, std::string> class_values(const std::string& text) {
    std::map<const PlanField*, std::string> values;
    const auto [name, rest] = name_and_fields(text);
    for (std::size_t begin = 0; begin < rest.size();) {
        const std::size_t end = std::min(rest.find(',', begin), rest.size());
        const std::string part = rest.substr(begin, end - begin);
        begin = end + 1;
        const auto equals = part.find('=');
        const std::string key = part.substr(0, equals);
        const PlanField* const field = class_field_named(key);
        if (field == nullptr || equals == std::string::npos) {
            std::vector<std::string_view> known;
            for (const PlanField& other : kFields)
                if (other.of_class && !other.flags.empty()) known.push_back(other.name);
            throw UsageError(
                fmt::format("--class {}: '{}' is not KEY=VALUE of a class; keys are rate, path, {}; {}", name,
                            part, fmt::join(known, ", "), kClassSeparators));
        }
        if (!values.emplace(field, class_value(*field, part.substr(equals + 1))).second)
            throw UsageError(fmt::format("--class {}: {} is given twice", name, key));
    }
    return values;
}

/// Clears the common values that a class's own values exclude.
void clear_what_is_replaced(RequestClass& of, const std::map<const PlanField*, std::string>& values) {
    const auto gives = [&](std::string_view name) { return values.contains(plan_field_named(name)); };
    if (gives("arrivals") || gives("request_rate") || gives("concurrency")) {
        of.arrivals.reset();
        of.request_rate.reset();
        of.concurrency.reset();
    }
    if (!gives("dataset")) return;
    of.dataset_path.clear();
    of.dataset_content.clear();
    const auto answers = of.dataset.fields.extract(std::string(kOutputLength));
    of.dataset = {};
    if (answers) of.dataset.fields.emplace(kOutputLength, answers.mapped());
}

void set_class(LoadPlan& plan, std::size_t number, const std::string& spec) {
    RequestClass& of = plan.classes[number];
    of.name = name_and_fields(spec).first;
    const auto values = class_values(spec);
    clear_what_is_replaced(of, values);
    for (const PlanField& field : kFields) {
        const auto given = values.find(&field);
        if (given == values.end()) continue;
        try {
            if (field.name == "dataset") {
                Spec dataset = parse_spec(given->second);
                for (const auto& [key, value] : of.dataset.fields) dataset.fields.emplace(key, value);
                of.dataset = std::move(dataset);
                continue;
            }
            if (field.clear != nullptr) field.clear(plan, number);
            field.set(plan, number, {given->second});
        } catch (const UsageError& error) {
            const bool has_separator = spec.find(';') != std::string::npos;
            throw UsageError(fmt::format("--class {}: {} {}{}{}", of.name, field.name, error.what(),
                                         has_separator ? "; " : "", has_separator ? kClassSeparators : ""));
        }
    }
}

}  // namespace

LoadPlan with_classes(LoadPlan asked) {
    if (asked.class_specs.empty() || !asked.classes.front().name.empty()) return asked;
    asked.classes.resize(asked.class_specs.size(), asked.classes.front());
    for (std::size_t i = 0; i < asked.class_specs.size(); ++i) set_class(asked, i, asked.class_specs[i]);
    return asked;
}

bool every_class_gives(const LoadPlan& asked, const PlanField& field) {
    return !asked.class_specs.empty() &&
           std::all_of(asked.class_specs.begin(), asked.class_specs.end(),
                       [&](const std::string& spec) { return class_values(spec).contains(&field); });
}

PlanTexts texts_of(const LoadPlan& plan) {
    PlanTexts texts;
    for_each_value(plan, [&](const PlanField& field, const std::string& key, const Texts& values) {
        if (!field.flags.empty()) texts[key] = shown_texts(field, values);
    });
    return texts;
}

PlanEcho echo_of(const LoadPlan& plan, bool (*wanted)(const PlanField& field)) {
    PlanEcho echo;
    for_each_value(plan, [&](const PlanField& field, const std::string& key, const Texts& texts) {
        if (wanted == nullptr || wanted(field)) echo[key] = joined(shown_texts(field, texts));
    });
    return echo;
}

void restore_secrets(PlanTexts& texts,
                     const std::function<std::optional<std::string>(const std::string&)>& environment) {
    for (auto& [name, values] : texts) {
        const PlanField* field = plan_field_named(name);
        if (field == nullptr || field->shown == nullptr) continue;
        for (std::string& text : values) {
            if (text.find(Secrets::kHidden) == std::string::npos || text != field->shown(text)) continue;
            const std::size_t end = text.find_first_of(":=");
            // for "Name: value" or NAME=value, but not for a URL
            const bool has_name = field->type == FieldType::list && end != std::string::npos &&
                                  !std::string_view(text).substr(end).starts_with("://");
            const std::string part = has_name ? text.substr(0, end) : std::string();
            const std::string variable = variable_of(*field, part);
            const auto secret = environment(variable);
            if (!secret) {
                throw UsageError(fmt::format("{} '{}': no file holds the hidden secret; set {} to it",
                                             option_of(*field), text, variable));
            }
            if (!has_name)
                text = *secret;
            else
                text = part + (text[end] == ':' ? ": " : "=") + *secret;
        }
    }
}

std::optional<PlanDifference> difference(const PlanEcho& before, const PlanEcho& after,
                                         const std::function<bool(const PlanField&)>& compared) {
    for (const PlanField& field : kFields) {
        if (compared && !compared(field)) continue;
        for (const std::string& key : keys_of(field, before, after)) {
            const std::string a = value_in(before, key, field);
            const std::string b = value_in(after, key, field);
            if (a == b) continue;
            std::string name = option_of(field);
            if (key != field.name)
                name += fmt::format(" of class {}", key.substr(0, key.size() - field.name.size() - 1));
            return PlanDifference{&field, std::move(name), a, b};
        }
    }
    return std::nullopt;
}

std::optional<PlanDifference> difference(const LoadPlan& before, const LoadPlan& after,
                                         const std::function<bool(const PlanField&)>& compared) {
    auto found = difference(unhidden(before), unhidden(after), compared);
    if (!found || found->field->shown == nullptr) return found;
    const std::string name(found->field->name);  // no secret field belongs to a class
    found->before = value_in(echo_of(before), name, *found->field);
    found->after = value_in(echo_of(after), name, *found->field);
    return found;
}

std::string workload_fingerprint(const LoadPlan& resolved) {
    std::string text = "paretoken/workload/2\n";
    for_each_value(resolved, [&](const PlanField& field, const std::string& key, const Texts& values) {
        // Defaults are left out, so that a field added later does not change older fingerprints.
        const std::string value = joined(values);
        if (field.kind != FieldKind::workload || value == default_of(field)) return;
        text += fmt::format("{}={}:{}\n", key, value.size(), value);
    });
    return content_hash(text);
}

}  // namespace paretoken
