#include "core/validity/judgements.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result/figures.h"
#include "core/result/metrics.h"
#include "core/result/overload.h"
#include "core/text/number_text.h"
#include "core/validity/instrument.h"

namespace paretoken {
namespace {

/// Counts how often the readings reverse after a change by more than `step`.
std::size_t swings_of(const Series& series, double begin_s, double end_s, double step) {
    std::size_t swings = 0;
    int direction = 0;  // +1: the last change was up
    std::optional<double> lowest;
    std::optional<double> highest;
    for (std::size_t i = 0; i < series.values.size(); ++i) {
        if (series.times_s[i] < begin_s || series.times_s[i] >= end_s) continue;
        const double value = series.values[i];
        lowest = std::min(lowest.value_or(value), value);
        highest = std::max(highest.value_or(value), value);
        if (direction <= 0 && value > *lowest + step) {
            swings += direction < 0 ? 1 : 0;
            direction = 1;
            highest = value;
        } else if (direction >= 0 && value < *highest - step) {
            swings += direction > 0 ? 1 : 0;
            direction = -1;
            lowest = value;
        }
    }
    return swings;
}

/// Returns a reason if the KV cache fills and empties again and again: requests are preempted, or cached
/// prefixes are lost.
std::optional<Reason> thrashing_of(const RunResult& run, const ValidityOptions&) {
    constexpr double kStep = .30;
    constexpr std::size_t kMostSwings = 3;
    for (const Series& series : run.series) {
        if (series.source != "server" || series.name != "kv_usage") continue;
        const std::size_t swings = swings_of(series, run.window.begin_s, run.window.end_s, kStep);
        if (swings > kMostSwings)
            return Reason{
                Verdict::warn, "kv_thrash",
                fmt::format("the server's KV usage turned round {} times in the window after a change by "
                            "more than {} (limit {} times)",
                            swings, percent_text(kStep), kMostSwings)};
    }
    return std::nullopt;
}

/// Returns a reason if answers name other models than the requests did, as gateways do that fall back on
/// another model.
std::optional<Reason> other_model_of(const RunResult& run, const ValidityOptions&) {
    std::uint64_t answers = 0;
    std::string names;
    for (const auto& [name, count] : run.counts.other_models) {
        answers += count;
        names += fmt::format("{}'{}'", names.empty() ? "" : ", ", name);
    }
    if (answers == 0) return std::nullopt;
    return Reason{
        Verdict::warn, "other_model",
        fmt::format("{} of {} answers came from another model than was asked for, by their own words: {}",
                    answers, run.counts.ok, names)};
}

std::optional<Reason> divergence_of(const RunResult& run, const ValidityOptions&) {
    if (!run.stop || run.stop->rule != kDiverging) return std::nullopt;
    return Reason{
        Verdict::warn, "diverging",
        fmt::format("the run was ended after {} s and {} requests, because {}; percentiles would "
                    "follow from its length and are left out",
                    number_text(run.stop->at_s), run.counts.requests + run.counts.cancelled, run.stop->text)};
}

/// Returns whether the run is a shard to which no request of the load falls.
bool has_no_part(const RunResult& run, const ValidityOptions& options) {
    return !options.part.empty() && !run.partial && run.counts.requests == 0 && run.counts.cancelled == 0;
}

/// Returns a reason if there is nothing to judge, or if the run was not steady.
std::optional<Reason> substance_of(const RunResult& run, const ValidityOptions& options) {
    if (run.reported && run.counts.failed == 0) return std::nullopt;
    if (has_no_part(run, options)) return std::nullopt;
    if (run.counts.requests == 0)
        return Reason{Verdict::invalid, "no_requests", "no request came to its end"};
    if (run.counts.failed == run.counts.requests)
        return Reason{Verdict::invalid, "all_failed",
                      fmt::format("all {} requests failed", run.counts.failed)};
    if (run.reported) return std::nullopt;
    if (run.window.steady) return std::nullopt;
    Reason reason{Verdict::warn, "no_steady_state", run.window.how};
    constexpr std::string_view kLonger = "(make the run longer)";
    const auto arrivals = run.plan.find("arrivals");
    if (const auto at = reason.text.find(kLonger);
        at != std::string::npos && arrivals != run.plan.end() && arrivals->second.starts_with("trace"))
        reason.text.replace(at, kLonger.size(), "(use a longer trace)");
    return reason;
}

/// Returns a reason if no answer is whole because users hung up on all that did not fail.
std::optional<Reason> hang_ups_of(const RunResult& run, const ValidityOptions&) {
    if (run.counts.ok > 0 || run.counts.abandoned == 0) return std::nullopt;
    return Reason{
        Verdict::warn, "no_whole_answer",
        fmt::format("users hung up on {} of {} requests (--cancel), and no answer came to its end: "
                    "the end-to-end latency and the rate of requests are not known, nor is any other "
                    "time that is longer than the users waited; lower p= or raise after=",
                    run.counts.abandoned, run.counts.requests)};
}

std::optional<Reason> missing_end_of(const RunResult& run, const ValidityOptions& options) {
    if (options.ended) return std::nullopt;
    return Reason{Verdict::invalid, "interrupted",
                  fmt::format("The run has not written its result: it was killed, or is still running. "
                              "These figures are of the {} requests that had reached the disk",
                              run.counts.requests + run.counts.warmup + run.counts.cancelled)};
}

std::optional<Reason> interruption_of(const RunResult& run, const ValidityOptions& options) {
    if (!run.partial || !options.ended) return std::nullopt;
    const bool lacks_quality = run.plan.contains("probe") && !run.quality;
    return Reason{Verdict::warn, "partial",
                  lacks_quality
                      ? "interrupted: this is what had been measured; the questions of --probe were "
                        "not all answered, so that the run has no quality"
                      : "interrupted: this is what had been measured"};
}

/// Returns a reason if the run is a part of a divided load.
std::optional<Reason> part_of(const RunResult& run, const ValidityOptions& options) {
    if (options.part.empty()) return std::nullopt;
    if (has_no_part(run, options))
        return Reason{Verdict::warn, "shard",
                      fmt::format("no request of the load falls to shard {}: it has no part of the load",
                                  options.part)};
    return Reason{Verdict::warn, "shard",
                  fmt::format("these are the requests of shard {} alone, while other processes loaded the "
                              "server too; `paretoken merge` joins the shards",
                              options.part)};
}

/// Returns a reason if the client or the host of one of several processes was the bottleneck. Of several
/// shards with one verdict, it names the one whose client may have been late by most.
std::optional<Reason> shards_of(const RunResult& run, const ValidityOptions& options) {
    const auto worst = std::ranges::max_element(
        run.shards, {}, [](const ShardResult& shard) { return std::pair(shard.verdict, shard.client_part); });
    if (worst == run.shards.end() || worst->verdict == Verdict::valid) return std::nullopt;
    const auto also = std::ranges::count(run.shards, worst->verdict, &ShardResult::verdict);
    return Reason{
        options.accept_host_noise ? Verdict::warn : worst->verdict, "shard_client",
        fmt::format(
            "shard {} on {}: {}{}", worst->number, worst->host, worst->reason,
            also > 1 ? fmt::format("; {} more shard{} like it", also - 1, also > 2 ? "s are" : " is") : "")};
}

/// Returns a reason if another program made the load.
std::optional<Reason> foreign_client_of(const RunResult& run, const ValidityOptions&) {
    if (run.provenance.measured_by.empty()) return std::nullopt;
    return Reason{
        Verdict::warn, "foreign_client",
        fmt::format("{} measured this run. How late it sent requests and read answers is not known, so that "
                    "its delays are part of the times; measure again with `paretoken run` to separate them.",
                    run.provenance.measured_by)};
}

/// Returns a reason if only figures of another program are known.
std::optional<Reason> summary_only_of(const RunResult& run, const ValidityOptions&) {
    if (!run.reported) return std::nullopt;
    return Reason{
        Verdict::warn, "summary_only",
        fmt::format("the file has no single requests, only {} figures as {} defines them{}. They are "
                    "in columns of their own. Not known are: metrics by the definitions of this "
                    "program, their intervals and whether they are certified, other percentiles, "
                    "goodput, stalls, a steady window, and delays of sending.",
                    run.reported->figures.size(), run.reported->by,
                    run.reported->failed ? "" : ", and does not tell how many requests failed")};
}

std::optional<Reason> unanswered_of(const RunResult&, const ValidityOptions& options) {
    if (options.unanswered.empty()) return std::nullopt;
    return Reason{Verdict::warn, "probe_failed", options.unanswered};
}

/// Returns a reason if the prefix cache served a larger share of the prompts than in an earlier run that sent
/// the same prompts to the same server, or if it may have, because the server does not report the share.
std::optional<Reason> warm_cache_of(const RunResult& result, const ValidityOptions& options) {
    constexpr double kRise = .02;
    const std::vector<EarlierRun>& earlier = options.earlier_runs;
    if (earlier.empty() || result.counts.ok == 0) return std::nullopt;
    const auto coldest = std::ranges::min_element(earlier, [](const EarlierRun& a, const EarlierRun& b) {
        return a.cached_share.value_or(0) < b.cached_share.value_or(0);
    });
    const auto share = result.throughput.at(figure::kCachedPromptRatio);
    if (share && *share <= coldest->cached_share.value_or(0) + kRise) return std::nullopt;
    const std::string what =
        share ? fmt::format("its prefix cache served {} of their tokens, and {} in that run",
                            percent_text(*share), percent_text(coldest->cached_share.value_or(0)))
              : "its prefix cache may have served them (it reports no cached tokens)";
    return Reason{
        Verdict::warn, "warm_cache",
        fmt::format("the run in {} had sent the same prompts to this server before, and {}: the two "
                    "cannot be compared; --reset-cache empties the cache before each run, and "
                    "--salt-prompts makes the prompts of a file new to it",
                    coldest->directory, what)};
}

/// Returns a reason if prompts were sent again within the run, and the prefix cache served a noticeable share
/// of them, or may have.
std::optional<Reason> repeated_prompts_of(const RunResult& run, const ValidityOptions&) {
    constexpr double kFew = .05;
    const auto share = run.throughput.at(figure::kCachedPromptRatio);
    const auto again = run.workload.repeated_share;
    if (again.value_or(0) <= kFew || (share && *share <= kFew)) return std::nullopt;
    const std::string_view unit = run.jobs ? "jobs" : run.turns.size() > 1 ? "conversations" : "requests";
    const auto rows = run.workload.repeats_after;
    const auto different = run.workload.different_prompts;
    const std::string why =
        !rows       ? "the files of the classes have fewer of them, hold equal ones, or are the same"
        : different ? fmt::format("the file has {} different ones in {} rows", *different, *rows)
                    : fmt::format("the file has {} of them", *rows);
    const std::string remedy = !rows ? "send fewer"
                                     : fmt::format("send at most {} {}{}", different.value_or(*rows), unit,
                                                   different ? ", without the rows that are alike" : "");
    // A run whose prompts are all made up, from the hash ids of a file, does not accept the option.
    const bool may_be_salted = run.workload.text.empty() || !rows;
    return Reason{
        Verdict::warn, "repeated_prompts",
        fmt::format("{} of the {} {} a prompt that this run had sent before, because {}, and {}: the "
                    "times to first token are those of a warm cache; {}{}",
                    percent_text(*again), unit, unit == "requests" ? "had" : "began with", why,
                    share
                        ? fmt::format("the prefix cache served {} of all prompt tokens", percent_text(*share))
                        : "the prefix cache may have served them (the server reports no cached tokens)",
                    may_be_salted ? "--salt-prompts makes each prompt new, or " : "", remedy)};
}

/// Returns a reason if the text is unlike that in real use, and the server drafts tokens or the model routes
/// to experts.
std::optional<Reason> artificial_text_of(const RunResult& run, const ValidityOptions& options) {
    const bool random = run.workload.text.starts_with("random");
    if (run.client.timing == "virtual" || (!random && !options.ignores_end)) return std::nullopt;
    const auto drafts = [](const std::map<std::string, double>& figures) {
        const auto found = figures.find("draft_tokens");
        return found != figures.end() && found->second > 0;
    };
    const bool speculation = run.server && (drafts(run.server->window) || drafts(run.server->whole_run));
    if (!speculation && !options.routes_to_experts) return std::nullopt;
    const std::string_view what =
        speculation ? "the server uses speculative decoding" : "the model routes tokens to experts";
    const std::string_view why =
        random ? "the prompts are random; --text FILE cuts them from prose"
               : "the answers continue after their end of text; --no-ignore-eos lets them end";
    return Reason{Verdict::warn, "artificial_text",
                  fmt::format("{}, so that its speed depends on the text, but {}", what, why)};
}

std::optional<Reason> impossible_metrics_of(const RunResult& run, const ValidityOptions&) {
    if (!run.server || run.server->impossible.empty()) return std::nullopt;
    return Reason{Verdict::warn, "impossible_metrics",
                  fmt::format("the server's metrics cannot be true, and figures from them are left out: {}",
                              fmt::join(run.server->impossible, "; "))};
}

/// Returns a reason if events are missing although the plan keeps all, and nothing else says that records
/// were lost.
std::optional<Reason> missing_events_of(const RunResult& run, const ValidityOptions& options) {
    const auto kept = run.plan.find("events");
    const bool keeps_all = kept != run.plan.end() && kept->second == "all";
    if (run.counts.without_events == 0 || !keeps_all || !options.lost.empty()) return std::nullopt;
    std::string names;
    for (const Metric& metric : metrics())
        if (metric.pool != nullptr) names += (names.empty() ? "" : ", ") + std::string(metric.tag);
    return Reason{
        Verdict::warn, "events_missing",
        fmt::format(
            "the events of {} requests are missing, because events.bin is not there or is not complete: "
            "the metrics that are computed from events ({}) leave these requests out, and the rates "
            "spread their tokens evenly; put the file back and remove run.json, or measure again",
            run.counts.without_events, names)};
}

std::optional<Reason> losses_of(const RunResult&, const ValidityOptions& options) {
    if (options.lost.empty()) return std::nullopt;
    return Reason{Verdict::invalid, "records_lost", options.lost};
}

/// Returns what is absent besides metrics and figures if a fact is unknown; empty if nothing is.
std::string_view further_absence(Fact fact) {
    switch (fact) {
        case Fact::sent:
            return "the client's own delays";
        case Fact::first_event:
            return "whether answers were streamed, and energy per token";
        case Fact::output_tokens:
        case Fact::input_tokens:
            return "energy per token";
        case Fact::server_counters:
            return "the server's own figures";
        case Fact::event_times:
        case Fact::cached_tokens:
            return "";
    }
    return "";
}

constexpr std::array<ReasonOf, 5> kJudgedFirst = {missing_end_of, divergence_of, substance_of,
                                                  interruption_of, instrument_of};
constexpr std::array<ReasonOf, 14> kJudgedLast = {part_of,
                                                  shards_of,
                                                  foreign_client_of,
                                                  summary_only_of,
                                                  hang_ups_of,
                                                  thrashing_of,
                                                  other_model_of,
                                                  unanswered_of,
                                                  artificial_text_of,
                                                  warm_cache_of,
                                                  repeated_prompts_of,
                                                  impossible_metrics_of,
                                                  missing_events_of,
                                                  losses_of};

}  // namespace

std::span<const ReasonOf> judged_before_checks() {
    return kJudgedFirst;
}

std::span<const ReasonOf> judged_after_checks() {
    return kJudgedLast;
}

Reason reason_of(const FactText& text, Facts needs_of_slos) {
    std::vector<std::string_view> absent;
    for (const Metric& metric : metrics())
        if (metric.needs.overlaps({text.fact})) absent.push_back(metric.tag);
    for (const auto& figure : figures())
        if (figure.needs.overlaps({text.fact}) || (figure.of_slos && needs_of_slos.overlaps({text.fact})))
            absent.push_back(figure.key);
    if (const auto further = further_absence(text.fact); !further.empty()) absent.push_back(further);
    return {Verdict::warn, fmt::format("unknown_{}", text.name),
            fmt::format("{}, so that these are absent: {}", why_unknown({text.fact}, {text.fact}),
                        fmt::join(absent, ", "))};
}

}  // namespace paretoken
