#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "cli/words/composing.h"
#include "cli/words/groups.h"
#include "core/error.h"
#include "core/spec.h"

namespace paretoken::cli {
namespace {

void set_constant_rate(const Composing& now, const std::vector<std::string>& rates) {
    if (rates.size() == 1 && now.out.command != "sweep")
        return now.parts.set("arrivals", fmt::format("constant:rate={}", rates.front()));
    now.note("a sweep varies the rate of Poisson arrivals, not of requests at equal distances");
    set_levels(now, "request_rate", rates);
}

/// GuideLLM's profile (or rate type), with its rates.
void set_profile(const Composing& now, const std::string& kind, std::vector<std::string> rates) {
    Parts& parts = now.parts;
    if (kind == "synchronous") return parts.set("concurrency", "1");
    if (kind == "replay") {
        if (rates.size() == 1 && rates.front() != "1")
            return parts.set("arrivals", fmt::format("trace:scale={}", rates.front()));
        return parts.set("arrivals", "trace");
    }
    if (kind == "sweep") {
        now.out.several = true;
        const std::string count =
            rates.empty() ? "10" : text_of_number(std::floor(number("--rate", rates.front())));
        return parts.set("request_rate", "auto:" + count);
    }
    if (kind == "throughput") {
        if (!rates.empty()) return parts.set("concurrency", rates.front());
        if (parts.has("num_prompts")) return parts.set("request_rate", "inf");
        now.note("profile throughput keeps 512 requests in flight, as guidellm does");
        return parts.set("concurrency", "512");
    }
    if (rates.empty()) throw UsageError(fmt::format("profile '{}': --rate is missing", kind));
    if (kind == "concurrent") return set_levels(now, "concurrency", rates);
    if (kind == "constant" || kind == "async") return set_constant_rate(now, rates);
    if (kind == "poisson") return set_levels(now, "request_rate", rates);
    now.absent(
        fmt::format("profile {}: known are synchronous, concurrent, throughput, constant, poisson, sweep "
                    "and replay; the highest load within limits is found by `paretoken sweep --search slo "
                    "--slo ttft_p95:800`",
                    kind));
}

void compose_profile(const Composing& now) {
    Parts& parts = now.parts;
    const auto profile = parts.take("profile");
    const auto rate = parts.take("rate");
    const auto rampup = parts.take("rampup");
    if (profile) {
        const auto group = profile->find('=') != std::string::npos || profile->starts_with('{')
                               ? group_of(*profile).value_or(Group{})
                               : Group{{"kind", *profile}};
        std::vector<std::string> rates = rate ? list_of(*rate) : std::vector<std::string>{};
        for (const char* const key : {"rate", "streams", "sweep_size", "time_scale"})
            if (const auto found = group.find(key); found != group.end()) rates = list_of(found->second);
        const auto cap = group.find("max_concurrency");
        const auto kind = group.find("kind");
        set_profile(now, kind == group.end() ? "" : kind->second,
                    cap != group.end() && rates.empty() ? std::vector{cap->second} : rates);
        if (cap != group.end()) parts.set_if_absent("concurrency", cap->second);
    } else if (rate) {
        set_levels(now, "request_rate", list_of(*rate));
    } else if (now.whole(Tool::guidellm) && !parts.has("request_rate") && !parts.has("concurrency")) {
        now.note("guidellm sweeps ten rates unless a profile is given; so does --request-rate auto:10");
        set_profile(now, "sweep", {});
    }
    if (rampup) {
        if (parts.has("concurrency") && !parts.has("request_rate"))
            parts.set("ramp_up", *rampup);
        else if (number("--rampup", *rampup) > 0)
            now.absent("--rampup: in an open loop give --arrivals ramp:from=R,to=R,over=60s");
    }
}

void compose_constraints(const Composing& now) {
    Parts& parts = now.parts;
    for (const std::string& text : parts.take_all("constraint")) {
        const Group group = group_of(text).value_or(Group{});
        const auto value = [&](const char* key) {
            const auto found = group.find(key);
            return found == group.end() ? std::string() : found->second;
        };
        const std::string kind = value("kind");
        if (kind == "max_requests")
            parts.set_if_absent("num_prompts", value("count"));
        else if (kind == "max_duration")
            parts.set_if_absent("duration", value("seconds"));
        else if (kind == "max_error_rate" || kind == "max_global_error_rate")
            parts.add("error_rate", value("rate"));
        else if (kind == "over_saturation")
            now.note(
                "over-saturation ends a run by itself (--stop diverging, which is on for constant rates)");
        else
            now.absent(
                fmt::format("--constraint {}: a share of failures ends a run with --stop errors=5%", kind));
    }
    for (const std::string& rate : parts.take_all("error_rate"))
        parts.add("stop", fmt::format("errors={}%", text_of_number(100 * number("error rate", rate))));
    for (const char* const field : {"num_prompts", "duration"})
        if (const auto values = list_of(parts.value(field)); values.size() > 1) {
            parts.set(field, values.front());
            now.note(fmt::format("every level has the same end: {}, the first of the list", values.front()));
        }
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

/// vLLM's rate that rises from request to request. Ours rises over a time, which is as long as theirs takes.
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
    const double n = parts.has("num_prompts") ? number("--num-prompts", parts.value("num_prompts")) : 1000;
    if (!(a > 0 && b > 0)) throw UsageError("the rates of a ramp must be above 0");
    const bool exponential = shape.value_or("linear") == "exponential";
    const double steepness = std::log(b / a);
    double over = n / a;
    if (a != b) over = exponential ? n * (1 / a - 1 / b) / steepness : n * steepness / (b - a);
    parts.take("request_rate");
    parts.set("arrivals",
              fmt::format("ramp:from={},to={},over={}s,shape={}", *from, *to,
                          text_of_number(std::max(1.0, std::round(over))), shape.value_or("linear")));
    now.note("the rate rises over the time that vllm takes for all its requests");
}

}  // namespace

void set_levels(const Composing& now, std::string_view field, const std::vector<std::string>& values) {
    if (values.size() > 1) now.out.several = true;
    now.parts.set(field, fmt::format("{}", fmt::join(values, ",")));
}

void compose_load(const Composing& now) {
    Parts& parts = now.parts;
    compose_constraints(now);
    compose_profile(now);
    compose_ramp(now);
    const auto pattern = parts.take("pattern");
    const auto users = parts.take("users");
    const auto user_rate = parts.take("user_rate");
    if (user_rate) parts.set("arrivals", fmt::format("users:n={},rate={}", users.value_or("1"), *user_rate));
    if (pattern == "constant" && parts.has("request_rate")) {
        set_constant_rate(now, list_of(*parts.take("request_rate")));
    } else if (pattern && *pattern != "poisson" && *pattern != "gamma" && *pattern != "concurrency_burst" &&
               *pattern != "constant") {
        now.absent(fmt::format("--arrival-pattern {}: see --arrivals for those that are known", *pattern));
    }
    // aiperf sends at equal distances unless the pattern says otherwise; only a whole line of it means that.
    for (const char* const axis : {"concurrency", "request_rate"}) {
        const auto levels = list_of(parts.value(axis));
        if (levels.size() > 1) now.out.several = true;
    }
    if (parts.value("request_rate") == "inf" && parts.has("concurrency")) parts.take("request_rate");
    const bool has_load = parts.has("concurrency") || parts.has("request_rate") || parts.has("arrivals");
    if ((now.whole(Tool::vllm) || now.whole(Tool::sglang)) && !has_load) {
        parts.set("request_rate", "inf");
        now.note(
            fmt::format("{} sends all requests at once unless a rate or a concurrency is given; so does "
                        "--request-rate inf",
                        row_of(*now.origin.tool).title));
    }
    const auto share = parts.take("cancel_share");
    const auto after = parts.take("cancel_after");
    if (share && number("--request-cancellation-rate", *share) > 0)
        parts.set(
            "cancel",
            fmt::format("p={},after={}s", text_of_number(number("--request-cancellation-rate", *share) / 100),
                        text_of_number(number("--request-cancellation-delay", after.value_or("0")))));
}

}  // namespace paretoken::cli
