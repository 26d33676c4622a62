#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "cli/words/composing.h"
#include "cli/words/groups.h"
#include "cli/words/pasted_line.h"
#include "core/error.h"
#include "core/spec.h"
#include "core/text/letter_case.h"

namespace paretoken::cli {
namespace {

constexpr std::string_view kOverSaturation =
    "over-saturation ends a run by itself (--stop diverging, which is on for constant rates)";
constexpr std::string_view kPoissonOnly =
    "a sweep varies the rate of Poisson arrivals, not of requests at equal distances";

/// A sweep has one axis. Beside numbers of requests in flight, rates belong to the grid.
void set_grid_of_rates(const Composing& now, std::string_view process,
                       const std::vector<std::string>& rates) {
    std::string values;
    for (const std::string& rate : rates)
        values += fmt::format("{}{}:rate={}", values.empty() ? "" : ",", process, rate);
    now.out.several = true;
    now.option("--grid", "arrivals=" + values);
}

void set_constant_rate(const Composing& now, const std::vector<std::string>& rates) {
    constexpr const char* kMostInFlight = "512";  // as guidellm has
    if (rates.size() == 1 && now.out.command != "sweep" && !now.out.several)
        return now.parts.set("arrivals", fmt::format("constant:rate={}", rates.front()));
    if (!now.parts.has("concurrency"))
        now.note(fmt::format("requests at equal distances are a grid of arrivals, with at most {} in flight",
                             kMostInFlight));
    now.parts.set_if_absent("concurrency", kMostInFlight);
    set_grid_of_rates(now, "constant", rates);
}

/// Returns the levels of a list or a range ("100..500:50") one by one.
Texts levels_in(const std::string& text) {
    Texts levels;
    if (text.find("..") == std::string::npos) return list_of(text);
    for (const double level : parse_ladder(text, Rungs::decimal)) levels.push_back(text_of_number(level));
    return levels;
}

/// The highest load at which enough requests meet their limits.
void search_goodput(const Composing& now) {
    now.out.several = true;
    const std::string share = now.parts.take("target_share").value_or("0.9");
    const std::string percent = text_of_number(100 * number("target_attainment", share));
    for (std::string limit : now.parts.take_all("goodput")) {
        limit.insert(limit.find(':'), "_p" + percent);
        now.parts.add("slo", limit);
    }
    if (!now.parts.has("slo")) now.absent("profile goodput: give the limits with --slo ttft_p90:800");
    now.note(fmt::format("the search wants each limit met by {} % of the requests", percent));
    now.option("--search", "slo");
}

/// A rate counts requests in the other tools, and conversations here. Returns the rates of conversations.
std::vector<std::string> of_conversations(const Composing& now, std::vector<std::string> rates) {
    const std::string turns = now.parts.value("turns_of_each");
    if (turns.empty()) return rates;
    if (has_shell_variable(turns)) {
        now.note(fmt::format("a rate counts conversations here; divide it by their {} turns", turns));
        return rates;
    }
    for (std::string& rate : rates) {
        if (has_shell_variable(rate) || rate.starts_with("auto") || rate == "inf") continue;
        const std::string requests = rate;
        rate = text_of_number(number("a rate", rate) / number("a number of turns", turns));
        now.note(fmt::format("{} requests per second are {} conversations of {} turns per second", requests,
                             rate, turns));
    }
    return rates;
}

/// GuideLLM's profile (or rate type), with its rates.
void set_profile(const Composing& now, const std::string& kind, std::vector<std::string> rates) {
    Parts& parts = now.parts;
    if (kind == "synchronous") return parts.set("concurrency", "1");
    if (kind == "replay") {
        if (rates.size() == 1 && number("the scale of time", rates.front()) != 1)
            return parts.set("arrivals", fmt::format("trace:scale={}", rates.front()));
        return parts.set("arrivals", "trace");
    }
    if (kind == "sweep") {
        now.out.several = true;
        const std::string count =
            rates.empty() ? "10" : text_of_number(std::floor(number("--rate", rates.front())));
        return parts.set("request_rate", "auto:" + count);
    }
    if (kind == "goodput") return search_goodput(now);
    if (kind == "knee") {
        now.out.several = true;
        now.note("the curve over these levels shows the knee; guidellm chooses the levels by itself");
        return parts.set("concurrency",
                         rates.size() > 1 ? fmt::format("{}", fmt::join(rates, ",")) : "1..512");
    }
    if (kind == "throughput") {
        if (!rates.empty()) return parts.set("concurrency", rates.front());
        if (parts.has("num_prompts")) return parts.set("request_rate", "inf");
        if (parts.has("concurrency")) return;
        now.note("profile throughput keeps 512 requests in flight, as guidellm does");
        return parts.set("concurrency", "512");
    }
    if (has_shell_variable(kind)) return now.absent(fmt::format("profile {}: {}", kind, kValueNeeded));
    if (rates.empty()) throw UsageError(fmt::format("profile '{}': --rate is missing", kind));
    if (kind == "concurrent" || kind == "concurrency") return set_levels(now, "concurrency", rates);
    if (kind == "constant" || kind == "async") return set_constant_rate(now, of_conversations(now, rates));
    if (kind == "poisson") return set_levels(now, "request_rate", of_conversations(now, rates));
    now.absent(
        fmt::format("profile {}: known are synchronous, concurrent, throughput, constant, poisson, sweep, "
                    "goodput, knee and replay",
                    kind));
}

/// The fields of a profile besides its kind and its rates.
void set_profile_fields(const Composing& now, Fields& fields, const std::string& kind) {
    if (const std::string time = fields.value("rampup_duration"); !time.empty())
        now.parts.set("rampup", time);
    for (const char* const key : {"warmup", "warmup.percent", "warmup.value"})
        if (const std::string amount = fields.value(key); !amount.empty()) now.parts.set("warmup", amount);
    const std::string type = fields.value("strategy_type");
    if (const std::string share = fields.value("target_attainment"); !share.empty() && kind == "goodput")
        now.parts.set("target_share", share);
    if (kind == "sweep" && type != "poisson") now.note(std::string(kPoissonOnly));
    constexpr std::array kUnneeded = {"cooldown",        "tolerance",  "max_probes",       "confidence",
                                      "count",           "adaptive",   "points_each_side", "max_step",
                                      "initial_streams", "min_streams"};
    for (const std::string& key : fields.unread()) {
        const bool unneeded = key.starts_with("cooldown.") || key == "warmup.mode" ||
                              std::ranges::find(kUnneeded, key) != kUnneeded.end();
        if (unneeded)
            now.out.unneeded.push_back("--profile " + key);
        else
            now.absent(fmt::format("--profile {}: it has no counterpart", key));
    }
}

/// GuideLLM's "--override profile.rate 10,20" as rates.
void compose_override(const Composing& now) {
    const Texts words = now.parts.take_all("override");
    for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
        constexpr std::array kLevels = {"profile.rate", "profile.streams", "profile.sweep_size"};
        if (std::ranges::find(kLevels, words[i]) != kLevels.end())
            now.parts.add("rate", words[i + 1]);
        else
            now.absent(fmt::format("--override {}: every level of a sweep has the same end", words[i]));
    }
}

void compose_profile(const Composing& now) {
    Parts& parts = now.parts;
    compose_override(now);
    auto profile = parts.take("profile");
    Texts rates = parts.take_list("rate");  // an option that is given again adds a rate
    constexpr std::array kWithoutRate = {"sweep", "throughput", "synchronous"};
    const bool is_profile =
        rates.size() == 1 && std::ranges::find(kWithoutRate, rates.front()) != kWithoutRate.end();
    if (is_profile && !profile) profile = std::exchange(rates, {}).front();  // "--rate sweep"
    if (profile) {
        Fields fields(profile->find('=') != std::string::npos || profile->starts_with('{')
                          ? group_of(*profile).value_or(Group{})
                          : Group{{"kind", *profile}});
        for (const char* const key : {"rate", "streams", "sweep_size", "time_scale", "max_streams"})
            if (const std::string given = fields.value(key); !given.empty()) rates = list_of(given);
        const std::string cap = fields.value("max_concurrency");
        const std::string kind = fields.value("kind");
        set_profile_fields(now, fields, kind);
        set_profile(now, kind,
                    !cap.empty() && rates.empty() && kind == "throughput" ? std::vector{cap} : rates);
        if (!cap.empty() && kind != "sweep") parts.set_if_absent("concurrency", cap);
        if (kind == "sweep")
            if (const auto most = parts.take("concurrency"); most || !cap.empty())
                now.note(
                    fmt::format("the rates are sent without a largest number of requests in flight; "
                                "guidellm keeps at most {}",
                                most.value_or(cap)));
    } else if (now.whole(Tool::guidellm) && !rates.empty()) {
        now.note(
            "without a profile, --rate is the number of levels of a sweep in guidellm; so is the number in "
            "--request-rate auto:N");
        set_profile(now, "sweep", rates);
    } else if (!rates.empty()) {
        set_levels(now, "request_rate", of_conversations(now, rates));
    } else if (now.whole(Tool::guidellm) && !parts.has("request_rate") && !parts.has("concurrency")) {
        now.note("guidellm sweeps ten rates unless a profile is given; so does --request-rate auto:10");
        set_profile(now, "sweep", {});
    } else if (now.is(Tool::guidellm) && now.origin.names_server && !parts.has("request_rate") &&
               !parts.has("concurrency") && !parts.has("arrivals") && !now.origin.hides_options) {
        now.note(
            "guidellm sweeps ten rates unless a profile is given; so does `paretoken sweep --request-rate "
            "auto:10`");
    }
    const auto rampup = parts.take("rampup");
    if (!rampup || number("--rampup", *rampup) <= 0) return;
    if (parts.has("concurrency") && !parts.has("request_rate") && !parts.has("arrivals"))
        parts.set("ramp_up", *rampup);
    else
        now.note(
            fmt::format("the rate does not rise over the first {} s; --arrivals "
                        "ramp:from=1,to=R,over={}s begins low",
                        *rampup, *rampup));
}

/// GuideLLM's warm-up: a share below 1, or seconds or requests, whichever ends the run.
void compose_warmup(const Composing& now) {
    Parts& parts = now.parts;
    const auto warmup = parts.take("warmup");
    if (!warmup) return;
    const double amount = number("--warmup", *warmup);
    if (amount <= 0) return;
    if (amount >= 1 && !parts.has("duration"))
        parts.set("num_warmups", text_of_number(amount));
    else if (parts.has("duration"))
        parts.set(
            "warmup_duration",
            text_of_number(amount < 1 ? amount * seconds(parse_duration(parts.value("duration"))) : amount) +
                "s");
    else if (parts.has("num_prompts"))
        parts.set("num_warmups",
                  text_of_number(std::ceil(amount * number("--max-requests", parts.value("num_prompts")))));
}

/// The arrivals of vLLM's rate that rises exponentially from request to request: steps of equal length, each
/// with as many requests as vLLM sends in that time. Request i comes at (1 - (b/a)^(-i/n)) n / (a ln(b/a)).
std::string steps_of_ramp(double a, double b, double n) {
    constexpr int kSteps = 20;
    const double growth = std::log(b / a);
    const double over = n * (1 - a / b) / (a * growth);
    const auto requests_until = [&](double time) {
        return -n / growth * std::log(1 - time * a * growth / n);
    };
    std::string rates;
    for (int step = 0; step < kSteps; ++step) {
        const double end = over * (step + 1) / kSteps;
        const double begin = over * step / kSteps;
        rates += fmt::format("{}{:.4g}", step == 0 ? "" : ";",
                             (requests_until(end) - requests_until(begin)) / (end - begin));
    }
    return fmt::format("steps:rates={},each={:.4g}s", rates, over / kSteps);
}

/// vLLM's rate that rises from request to request. One that rises linearly with the number of requests rises
/// exponentially with time.
void compose_ramp(const Composing& now) {
    Parts& parts = now.parts;
    const auto shape = parts.take("ramp_shape");
    const auto from = parts.take("ramp_from");
    const auto to = parts.take("ramp_to");
    if (!shape && !from && !to) return;
    if (!from || !to)
        throw UsageError(
            "a ramp needs both --ramp-up-start-rps and --ramp-up-end-rps (or --arrivals "
            "ramp:from=R,to=R,over=60s)");
    const double a = number("--ramp-up-start-rps", *from);
    const double b = number("--ramp-up-end-rps", *to);
    const std::string given = parts.has("num_prompts") ? parts.value("num_prompts") : "1000";
    if (!(a > 0 && b > 0)) throw UsageError("the rates of a ramp must be above 0");
    parts.take("request_rate");
    if (a == b) return parts.set("request_rate", *from);
    const double n = number("--num-prompts", given);
    if (shape.value_or("linear") == "exponential") {
        parts.set("arrivals", steps_of_ramp(a, b, n));
        return now.note(
            "vllm's rate rises with the number of requests, which no ramp over time does exactly; these are "
            "20 "
            "steps with as many requests");
    }
    parts.set("arrivals", fmt::format("ramp:from={},to={},over={:.4g}s,shape=exponential", *from, *to,
                                      n * std::log(b / a) / (b - a)));
    now.note(
        "a rate that rises linearly with the number of requests, as vllm's does, rises exponentially "
        "with time");
}

/// AIPerf's rate that rises to its value, from the share of it that one step of a tenth of a second is.
void compose_rate_ramp(const Composing& now) {
    Parts& parts = now.parts;
    const auto over = parts.take("rate_ramp");
    const auto rates = list_of(parts.value("request_rate"));
    if (!over || rates.empty()) return;
    if (rates.size() > 1 || now.out.several)
        return now.note("each rate of a sweep is held from its beginning, and does not rise");
    const double rate = number("--request-rate", rates.front());
    const double time = number("--request-rate-ramp-duration", *over);
    if (time <= 0) return;
    parts.take("request_rate");
    parts.set("arrivals",
              fmt::format("ramp:from={},to={},over={}s", text_of_number(rate * std::min(1.0, 0.1 / time)),
                          rates.front(), *over));
}

/// AIPerf's "time_to_first_token:p95:le:500" as a limit.
void set_limit(const Composing& now, const std::string& text) {
    std::vector<std::string> words(1);
    for (const char c : text) {
        if (c == ':')
            words.emplace_back();
        else
            words.back() += c;
    }
    constexpr std::array kMetrics = {std::pair{"time_to_first_token", "ttft"},
                                     std::pair{"inter_token_latency", "tpot"},
                                     std::pair{"request_latency", "e2e"}};
    const auto* const metric =
        std::ranges::find_if(kMetrics, [&](const auto& one) { return one.first == words.front(); });
    const bool is_limit = words.size() == 4 && words[1].starts_with('p') && words[2].starts_with('l');
    if (metric == kMetrics.end() || !is_limit)
        return now.absent(
            fmt::format("--search-sla {}: limits are on percentiles: --slo ttft_p95:800 (ms)", text));
    now.parts.add("slo", fmt::format("{}_{}:{}", metric->second, words[1], words[3]));
}

/// AIPerf's search for the highest load within limits.
void compose_search(const Composing& now) {
    Parts& parts = now.parts;
    const auto limit = [&](const char* part, const char* slo) {
        if (const auto value = parts.take(part)) parts.add("slo", fmt::format("{}:{}", slo, *value));
    };
    limit("ttft_limit", "ttft_p95");
    limit("tpot_limit", "tpot_p95");
    limit("e2e_limit", "e2e_p99");
    for (const std::string& text : parts.take_all("search_limit")) set_limit(now, text);
    const auto search = parts.take_all("search");
    const auto pairs = parts.take("length_pairs");
    if (pairs && search == Texts{"pareto-sweep"}) {  // lengths that belong together, at each concurrency
        std::string values;
        for (const std::string& pair : list_of(*pairs))
            values += fmt::format("{}pairs:{}", values.empty() ? "" : ",", pair);
        parts.take("isl");
        parts.take("osl");
        now.out.several = true;
        return now.option("--grid", "isl=" + values);
    }
    if (search.empty()) return;
    now.out.several = true;
    const std::string& space = search.front();  // "concurrency:1,1000:int"
    const auto colon = space.find(':');
    const auto comma = space.find(',');
    if (!parts.has("slo") && colon != std::string::npos && comma != std::string::npos && comma > colon) {
        const std::string least = space.substr(colon + 1, comma - colon - 1);
        const std::string most = space.substr(comma + 1, space.find(':', comma) - comma - 1);
        const bool is_rate = space.substr(0, colon).ends_with("rate");
        parts.set(is_rate ? "request_rate" : "concurrency",
                  is_rate ? "auto:10" : fmt::format("{}..{}", least, most));
        now.note(
            "these levels show where the figure is best; the other tool's search chooses levels by itself");
        return;
    }
    if (!parts.has("slo")) now.absent("--search-recipe: a search needs limits: --slo ttft_p95:800 (ms)");
    if (parts.take("concurrency"))
        now.note("the search doubles and bisects the number of requests in flight by itself");
    now.option("--search", "slo");
}

/// GenAI-Perf measures intervals until three of them agree.
void compose_interval(const Composing& now) {
    Parts& parts = now.parts;
    const auto interval = parts.take("interval");
    if (!interval || parts.has("num_prompts")) return;
    parts.set_if_absent("duration",
                        has_shell_variable(*interval)
                            ? fmt::format("$((3 * {} / 1000))s", *interval)  // the shell computes it
                            : text_of_number(3 * number("--measurement-interval", *interval) / 1000) + "s");
    now.note("three intervals of measurement are one run of that length");
}

/// The levels of `genai-perf analyze`.
void compose_analysis(const Composing& now) {
    Parts& parts = now.parts;
    const auto type = parts.take("sweep_type");
    const auto values = parts.take("sweep_values");
    if (!values) return;
    now.out.several = true;
    std::string range = *values;  // "1:256", "100:500:50" or "100,150"
    if (const auto colon = range.find(':'); colon != std::string::npos) range.replace(colon, 1, "..");
    if (type == "request_rate") return parts.set("request_rate", range);
    if (type == "input_sequence_length") {
        parts.take("isl");
        now.option("--grid", "isl=" + *values);
        if (values->find(':') != std::string::npos)
            now.absent("--sweep-range of lengths: list them: --grid isl=128,256,512");
        return;
    }
    if (type && *type != "concurrency")
        return now.absent(fmt::format("--sweep-type {}: it does not change what a server does", *type));
    parts.set("concurrency", range);
}

/// Lengths and other values that AIPerf takes as lists.
void compose_grid(const Composing& now) {
    Parts& parts = now.parts;
    if (!now.is(Tool::aiperf) && !now.is(Tool::sglang)) return;
    for (const char* const field : {"isl", "osl"}) {
        const Texts texts = now.parts.texts.contains(field) ? now.parts.texts.find(field)->second : Texts{};
        std::string values = fmt::format("{}", fmt::join(texts, ","));
        if (values.find(',') == std::string::npos || values.find_first_of(":=") != std::string::npos)
            continue;
        parts.take(field);
        now.out.several = true;
        now.option("--grid", fmt::format("{}={}", field, values));
    }
    const auto repeats = parts.take("repeats");
    if (!repeats || *repeats == "1") return;
    now.out.several = true;
    now.option("--repeat", *repeats);
}

/// How long a line of AIPerf runs if it does not say so.
void compose_end_of_aiperf(const Composing& now) {
    Parts& parts = now.parts;
    if (!now.whole(Tool::aiperf) || now.out.several) return;
    if (parts.has("num_prompts") || parts.has("duration")) return;
    if (parts.has("dataset_path") && (now.origin.form != Form::genai_perf || parts.has("arrivals"))) {
        const bool replays = parts.value("arrivals").starts_with("trace");  // which sends every row anyway
        if (now.out.file.empty() && !replays)
            parts.set("num_prompts", "all");  // each row of the reader's file
        return;
    }
    const std::string slots = parts.has("concurrency") ? parts.value("concurrency") : "1";
    if (is_place(slots)) return;
    parts.set("num_prompts", has_shell_variable(slots)
                                 ? fmt::format("$(({0} > 5 ? 2 * {0} : 10))", slots)  // by the shell
                                 : text_of_number(std::max(10.0, 2 * number("--concurrency", slots))));
}

/// Batches that are sent at once, again and again.
void compose_batches(const Composing& now) {
    Parts& parts = now.parts;
    const Texts batches = parts.take_all("batches");
    const auto rounds = parts.take("iterations");
    const auto warmups = parts.take("iterations_warmup");
    if (now.origin.form != Form::vllm_static && now.origin.form != Form::sglang_static) return;
    const bool is_vllm = now.is(Tool::vllm);
    const Texts sizes = batches.empty() ? Texts{is_vllm ? "8" : "1"} : batches;
    for (const std::string& size : sizes)
        if (size.find("[@]") != std::string::npos || size.find("[*]") != std::string::npos)
            return now.absent(fmt::format("--batch-size {}: {}", size, kValueNeeded));
    parts.set_if_absent("isl", is_vllm ? "32" : "1024");
    parts.set_if_absent("osl", is_vllm ? "128" : "16");
    now.note("a batch is a number of requests in flight: the server forms the batches");
    set_levels(now, "concurrency", sizes);
    if (sizes.size() > 1 || !is_vllm) return;
    const std::string& size = sizes.front();
    const auto times = [&](const char* option, const std::string& count) {
        if (has_shell_variable(size + count))
            return fmt::format("$(({} * {}))", size, count);  // of the shell
        return text_of_number(number("--batch-size", size) * number(option, count));
    };
    parts.set("num_prompts", times("--num-iters", rounds.value_or("30")));
    parts.set("num_warmups", times("--num-iters-warmup", warmups.value_or("10")));
}

}  // namespace

void compose_ends(const Composing& now) {
    Parts& parts = now.parts;
    for (const std::string& text : parts.take_all("constraint")) {
        const Group group = group_of(text).value_or(Group{});
        const auto value = [&](const char* key) {
            const auto found = group.find(key);
            return found == group.end() ? std::string() : found->second;
        };
        const std::string kind = value("kind");
        if (kind.empty())
            now.absent(fmt::format("--constraint {}: it names no kind", text));
        else if (kind == "max_requests")
            parts.set_if_absent("num_prompts", value("count"));
        else if (kind == "max_duration")
            parts.set_if_absent("duration", value("seconds"));
        else if (kind == "max_error_rate" || kind == "max_global_error_rate")
            parts.add("error_rate", value("rate"));
        else if (kind == "over_saturation")
            now.note(std::string(kOverSaturation));
        else if (kind == "max_errors")
            parts.add("errors", value("count"));
        else
            now.absent(
                fmt::format("--constraint {}: a share of failures ends a run with --stop errors=5%", kind));
    }
    for (const std::string& text : parts.take_all("over_saturation")) {  // "true" if it has no value
        const Group group = group_of(text).value_or(Group{});
        const auto enabled = group.find("enabled");
        const bool is_on =
            text != "false" && text != "null" &&
            (enabled == group.end() ? !group.empty() || text == "true" : enabled->second == "true");
        if (is_on) now.note(std::string(kOverSaturation));
    }
    for (const std::string& count : parts.take_all("errors"))
        now.note(
            fmt::format("{} failures do not end the run; a share of failures does: --stop errors=5%", count));
    for (const std::string& rate : parts.take_all("error_rate"))
        parts.add("stop", fmt::format("errors={}%", text_of_number(100 * number("error rate", rate))));
    for (const char* const field : {"num_prompts", "duration"})
        if (const auto values = list_of(parts.value(field)); values.size() > 1) {
            parts.set(field, values.front());
            now.note(fmt::format("every level has the same end: {}, the first of the list", values.front()));
        }
}

void set_levels(const Composing& now, std::string_view field, const std::vector<std::string>& values) {
    if (values.size() > 1) now.out.several = true;
    now.parts.set(field, fmt::format("{}", fmt::join(values, ",")));
}

void compose_load(const Composing& now) {
    Parts& parts = now.parts;
    if (lower_case(parts.value("request_rate")) == "infinity") parts.set("request_rate", "inf");
    if (now.is(Tool::aiperf) && parts.has("request_rate"))
        set_levels(now, "request_rate", of_conversations(now, levels_in(parts.value("request_rate"))));
    compose_profile(now);
    parts.take("turns_of_each");
    compose_warmup(now);
    compose_ramp(now);
    compose_search(now);
    compose_interval(now);
    compose_rate_ramp(now);
    if (const auto range = list_of(parts.take("multi_rates").value_or("")); parts.take("multi")) {
        const Texts all = range.empty() ? Texts{"2", "34", "2"} : range;
        now.out.several = true;
        if (all.size() == 3)  // as range() of Python, without its end
            parts.set("request_rate",
                      fmt::format("{}..{}:{}", all[0],
                                  text_of_number(number("--request-rate-range", all[1]) - 1), all[2]));
        else
            set_levels(now, "request_rate", all);
    }
    compose_analysis(now);
    auto pattern = parts.take("pattern");
    if (!pattern && now.origin.form == Form::genai_perf && now.origin.whole && parts.has("request_rate"))
        pattern = "constant";  // as perf_analyzer, which it starts, does
    compose_batches(now);
    compose_grid(now);
    const auto users = parts.take("users");
    const auto user_rate = parts.take("user_rate");
    if (users && !user_rate)
        throw UsageError(
            "--num-users needs --user-centric-rate; --concurrency N keeps N requests in flight all the time");
    if (user_rate) parts.set("arrivals", fmt::format("users:n={},rate={}", users.value_or("1"), *user_rate));
    for (const char* const axis : {"concurrency", "request_rate"})
        if (list_of(parts.value(axis)).size() > 1) now.out.several = true;
    if (pattern == "constant" && parts.has("request_rate")) {
        const std::string rates = *parts.take("request_rate");
        if (rates.starts_with("auto") || rates == "inf")
            parts.set("request_rate", rates);
        else
            set_constant_rate(now, levels_in(rates));
        if (rates.starts_with("auto")) now.note(std::string(kPoissonOnly));
    } else if (pattern && *pattern != "poisson" && *pattern != "gamma" && *pattern != "concurrency_burst" &&
               *pattern != "constant") {
        now.absent(fmt::format("--arrival-pattern {}: see --arrivals for those that are known", *pattern));
    }
    if (parts.value("request_rate") == "inf" && parts.has("concurrency")) parts.take("request_rate");
    const std::string rate = parts.value("request_rate");
    const bool is_range = rate.find("..") != std::string::npos || rate.starts_with("auto");
    if (now.out.several && parts.has("concurrency") && !rate.empty() && !is_range)
        set_grid_of_rates(now, "poisson", list_of(*parts.take("request_rate")));
    const bool has_load = parts.has("concurrency") || parts.has("request_rate") || parts.has("arrivals");
    if ((now.whole(Tool::vllm) || now.whole(Tool::sglang)) && !has_load) {
        parts.set("request_rate", "inf");
        if (!now.origin.starts_server())
            now.note(
                fmt::format("{} sends all requests at once unless a rate or a concurrency is given; so does "
                            "--request-rate inf",
                            row_of(*now.origin.tool).title));
    }
    if ((parts.has("request_rate") || parts.has("arrivals")) && now.is(Tool::aiperf) && parts.take("ramp_up"))
        now.out.unneeded.emplace_back("--concurrency-ramp-duration (the load has a rate)");
    const bool has_rate = parts.has("request_rate") && parts.value("request_rate") != "inf";
    if (now.origin.whole && !has_rate && parts.take("burstiness"))
        now.out.unneeded.emplace_back("--burstiness (the load has no rate)");
    compose_end_of_aiperf(now);
    const auto share = parts.take("cancel_share");
    const auto after = parts.take("cancel_after");
    if (share && number("--request-cancellation-rate", *share) > 0)
        parts.set(
            "cancel",
            fmt::format("p={},after={}s", text_of_number(number("--request-cancellation-rate", *share) / 100),
                        text_of_number(number("--request-cancellation-delay", after.value_or("0")))));
}

}  // namespace paretoken::cli
