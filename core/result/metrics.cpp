#include "core/result/metrics.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "core/record/record_events.h"

namespace paretoken {
namespace {

std::optional<double> between(std::optional<TimePoint> from, std::optional<TimePoint> to) {
    if (!from || !to) return std::nullopt;
    return seconds(*to - *from);
}

std::optional<double> ratio_of(std::optional<double> part, double whole) {
    if (!part || whole <= 0) return std::nullopt;
    return *part / whole;
}

std::optional<double> ttft(const RequestRecord& r) {
    return between(r.sent, r.first_event);
}
std::optional<double> ttft_intended(const RequestRecord& r) {
    return between(r.scheduled, r.first_event);
}
std::optional<double> ttfa(const RequestRecord& r) {
    return between(r.sent, r.first_answer);
}
std::optional<double> e2e(const RequestRecord& r) {
    return between(r.sent, r.last_event);
}
std::optional<double> e2e_intended(const RequestRecord& r) {
    return between(r.scheduled, r.last_event);
}
std::optional<double> send_lag(const RequestRecord& r) {
    return between(r.scheduled, r.sent);
}

std::optional<double> tpot(const RequestRecord& r) {
    const auto decoding =
        r.decoding ? std::optional(seconds(*r.decoding)) : between(r.first_event, r.last_event);
    return ratio_of(decoding, static_cast<double>(r.streamed_tokens - r.first_group_tokens));
}

std::optional<double> norm_latency(const RequestRecord& r) {
    return ratio_of(e2e_intended(r), static_cast<double>(output_tokens_of(r)));
}

std::optional<double> stall(const RequestRecord& r) {
    if (!r.longest_gap) return std::nullopt;
    return seconds(*r.longest_gap);
}

std::optional<double> cache_hit(const RequestRecord& r) {
    if (!r.usage.cached_prompt || !r.usage.prompt) return std::nullopt;
    return ratio_of(static_cast<double>(*r.usage.cached_prompt), static_cast<double>(*r.usage.prompt));
}

std::optional<double> input_tokens(const RequestRecord& r) {
    if (!r.usage.prompt) return std::nullopt;
    return static_cast<double>(*r.usage.prompt);
}

std::optional<double> output_tokens(const RequestRecord& r) {
    const auto tokens = output_tokens_of(r);
    if (tokens <= 0) return std::nullopt;
    return static_cast<double>(tokens);
}

/// One arrival group: the events that one read completed.
struct Group {
    TimePoint at;
    std::uint32_t tokens = 0;
};

/// Calls `visit(group)` for each arrival group in order.
template <typename Visit>
void for_each_group(const std::vector<StreamEvent>& events, Visit visit) {
    for (std::size_t i = 0; i < events.size();) {
        Group group{events[i].time, events[i].tokens};
        for (++i; i < events.size() && events[i].same_read; ++i) group.tokens += events[i].tokens;
        visit(group);
    }
}

void icl_of_choice(const std::vector<StreamEvent>& events, std::vector<PooledValue>& pool) {
    std::optional<TimePoint> previous;
    for_each_group(events, [&](const Group& group) {
        if (previous) pool.push_back({group.at, seconds(group.at - *previous), 1});
        previous = group.at;
    });
}

// A group without tokens (if usage is spread over text) lengthens the gap of the next group; behind the last
// group with tokens, it lengthens the gap of that one. The values thus sum up to the time from the first
// event to the last, and their mean is the time per output token.
void itl_of_choice(const std::vector<StreamEvent>& events, std::vector<PooledValue>& pool) {
    const std::size_t before = pool.size();
    std::optional<TimePoint> previous;
    TimePoint last;
    for_each_group(events, [&](const Group& group) {
        last = group.at;
        if (previous && group.tokens == 0) return;
        if (previous) pool.push_back({group.at, seconds(group.at - *previous) / group.tokens, group.tokens});
        previous = group.at;
    });
    if (pool.size() == before || last == *previous) return;
    PooledValue& end = pool.back();
    end.at = last;
    end.value += seconds(last - *previous) / static_cast<double>(end.weight);
}

/// Pools the values of each choice of the answer.
template <auto kOfChoice>
void by_choice(const RequestRecord& r, std::vector<PooledValue>& pool) {
    if (r.events.empty()) return;
    for_each_choice(r.events, [&](const std::vector<StreamEvent>& events) { kOfChoice(events, pool); });
}

constexpr Metric per_request(std::string_view tag, std::string_view unit, std::string_view title,
                             Better better, std::string_view definition, Facts needs,
                             std::optional<double> (*of_request)(const RequestRecord&)) {
    return {tag, unit, title, better, definition, needs, of_request, nullptr, {}, false};
}

/// Marks a metric whose value is known at the first token.
constexpr Metric early(Metric metric) {
    metric.known_at_first_token = true;
    return metric;
}

/// Marks a time that goes on from the start of a request.
constexpr Metric elapsed(Metric metric) {
    metric.elapsed = true;
    return metric;
}

/// Marks a metric of the decoding between the first token and the last.
constexpr Metric decoding(Metric metric) {
    metric.of_decoding = true;
    return metric;
}

constexpr Metric pooled(std::string_view tag, std::string_view unit, std::string_view title, Better better,
                        std::string_view definition, Facts needs,
                        void (*pool)(const RequestRecord&, std::vector<PooledValue>&)) {
    return {tag, unit, title, better, definition, needs, nullptr, pool};
}

constexpr Metric inverse(std::string_view tag, std::string_view unit, std::string_view title, Better better,
                         std::string_view definition, Facts needs, std::string_view of) {
    return {tag, unit, title, better, definition, needs, nullptr, nullptr, of};
}

constexpr Metric per_job(std::string_view tag, std::string_view title, std::string_view definition) {
    return {.tag = tag, .unit = "s", .title = title, .definition = definition, .of_jobs = true};
}

constexpr std::array kMetrics = {
    elapsed(
        early(per_request("ttft", "s", "Time to first token", Better::lower,
                          "From sending the request to the first event with output: what the server took.",
                          {Fact::sent, Fact::first_event}, ttft))),
    elapsed(
        early(per_request("ttft_intended", "s", "Time to first token, from intended start", Better::lower,
                          "From the scheduled start to the first event with output: what the user waited.",
                          {Fact::first_event}, ttft_intended))),
    elapsed(early(per_request("ttfa", "s", "Time to first answer token", Better::lower,
                              "From sending the request to the first event that is not reasoning.",
                              {Fact::sent, Fact::first_event}, ttfa))),
    decoding(
        pooled("itl", "s", "Inter-token latency", Better::lower,
               "Gaps between arrivals, each spread evenly over the tokens it brought; pooled over tokens.",
               {Fact::first_event, Fact::event_times, Fact::output_tokens}, by_choice<itl_of_choice>)),
    decoding(
        pooled("icl", "s", "Inter-chunk latency", Better::lower,
               "Gaps between arrivals (chunks completed by one read are one arrival); pooled over arrivals.",
               {Fact::first_event, Fact::event_times}, by_choice<icl_of_choice>)),
    decoding(
        per_request("tpot", "s", "Time per output token", Better::lower,
                    "From first to last event, over the output tokens that came after the first arrival.",
                    {Fact::first_event, Fact::output_tokens}, tpot)),
    elapsed(per_request("e2e", "s", "End-to-end latency", Better::lower,
                        "From sending the request to the last event with output.", {Fact::sent}, e2e)),
    elapsed(per_request("e2e_intended", "s", "End-to-end latency, from intended start", Better::lower,
                        "From the scheduled start to the last event with output.", {}, e2e_intended)),
    per_request("norm_latency", "s_per_tok", "Normalized latency", Better::lower,
                "End-to-end latency from the intended start, per output token.", {Fact::output_tokens},
                norm_latency),
    inverse("interactivity", "tok_per_s", "Interactivity", Better::higher,
            "Tokens per second that one user sees, waiting included: the inverse of normalized latency.",
            {Fact::output_tokens}, "norm_latency"),
    decoding(inverse(
        "decode_interactivity", "tok_per_s", "Decode interactivity", Better::higher,
        "Tokens per second that one user sees once the answer has begun: the inverse of time per output "
        "token.",
        {Fact::first_event, Fact::output_tokens}, "tpot")),
    per_request("stall", "s", "Longest stall", Better::lower,
                "The longest gap between two arrivals of one request.",
                {Fact::first_event, Fact::event_times}, stall),
    early(per_request("cache_hit", "ratio", "Prompt cache hit", Better::higher,
                      "Cached prompt tokens over prompt tokens, as the server's usage counts them.",
                      {Fact::input_tokens, Fact::cached_tokens}, cache_hit)),
    early(per_request("send_lag", "s", "Send lag", Better::neither,
                      "From the scheduled start to the sending of the request: the client's own delay.",
                      {Fact::sent}, send_lag)),
    early(per_request("input_tokens", "tok", "Input tokens", Better::neither,
                      "Prompt tokens, as the server's usage counts them.", {Fact::input_tokens},
                      input_tokens)),
    per_request("output_tokens", "tok", "Output tokens", Better::neither,
                "Output tokens as the server's usage counts them, else as streamed; reasoning counts.",
                {Fact::output_tokens}, output_tokens),
    per_job("job_time", "Job time",
            "From when a job's first turn was due to the end of the last turn that somebody waits for."),
    per_job("job_busy", "Job time outside tools",
            "The part of a job's time in which a turn was due or in flight, without tools and pauses."),
};

}  // namespace

std::span<const Metric> metrics() {
    return kMetrics;
}

const Metric* metric_named(std::string_view tag) {
    const auto found = std::ranges::find(kMetrics, tag, &Metric::tag);
    return found == kMetrics.end() ? nullptr : &*found;
}

const Metric* headline_metric(std::string_view tag, bool open_loop) {
    const Metric* intended = open_loop ? metric_named(std::string(tag) + "_intended") : nullptr;
    return intended != nullptr ? intended : metric_named(tag);
}

std::string headline_key(std::string_view tag, bool open_loop) {
    const Metric* const metric = headline_metric(tag, open_loop);
    assert(metric != nullptr);
    return key_of(*metric);
}

std::string key_of(const Metric& metric) {
    std::string key(metric.tag);
    key += '_';
    key += metric.unit;
    return key;
}

}  // namespace paretoken
