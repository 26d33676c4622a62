#include "core/result/validity.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "core/result/figures.h"
#include "core/result/metrics.h"
#include "core/text/number_text.h"
#include "core/text/validity_reasons.h"

namespace paretoken {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr std::string_view kDiverging = "diverging";  ///< the stop rule
constexpr double kMaxFailed = -1;                     ///< placeholder for ValidityOptions::max_failed

// Any host has client delays below these floors, and a limit relative to a very fast server would
// only report the host: such figures pass their check.
constexpr double kLagFloor = 200e-6;
constexpr double kDelayFloor = 100e-6;
constexpr double kRefillFloor = 100e-6;
// Shares of very few things have no meaning: fewer than this many requests, or 100 ms windows, pass their
// check.
constexpr double kFewestRequestsShort = 2;
constexpr double kFewestBusyWindows = 3;

using Figure = std::optional<double>;

Figure median_of(const RunResult& run, std::string_view key) {
    const auto* metric = run.metric(key);
    const auto* median = metric != nullptr ? metric->at(0.5) : nullptr;
    return median != nullptr ? median->value : std::nullopt;
}

/// Returns `part` in units of `whole`; 0 below the floor.
Figure relative(Figure part, Figure whole, double floor) {
    if (!part || !whole || *whole <= 0) return std::nullopt;
    return *part < floor ? 0 : *part / *whole;
}

Figure shortfall(Figure ratio) {
    if (!ratio) return std::nullopt;
    return std::max(0.0, 1 - *ratio);
}

/// Returns the relative loop lag of an open loop. In a closed loop no request has a set time, TTFT counts
/// from the sending, and the cost of late refills is the mean of refill_lag (answers that end together are
/// refilled one by one).
Figure loop_lag(const RunResult& run) {
    if (!run.request_rate) return std::nullopt;
    return relative(run.client.loop_lag_p99_s, median_of(run, "ttft_s"), kLagFloor);
}

Figure refill_lag(const RunResult& run) {
    return relative(run.client.refill_lag_mean_s, median_of(run, "e2e_s"), kRefillFloor);
}

Figure connection_wait(const RunResult& run) {
    return relative(run.client.connection_wait_p99_s, median_of(run, "ttft_s"), kLagFloor);
}

/// Returns the relative wait for slots of a load with a cap and a schedule: the server saw another schedule.
Figure slot_wait(const RunResult& run) {
    return relative(run.client.slot_wait_p99_s, median_of(run, "ttft_s"), kLagFloor);
}

/// Returns the delay of events without a stamp, if they are enough to move a percentile. For a run whose
/// events were not kept, the time per output token replaces the gaps.
Figure unstamped_delay(const RunResult& run) {
    constexpr double kFew = 0.01;
    const auto unstamped = shortfall(run.client.kernel_stamp_share);
    if (unstamped && *unstamped < kFew) return 0;
    const auto gap = median_of(run, "itl_s");
    return relative(run.client.unstamped_delay_p99_s, gap ? gap : median_of(run, "tpot_s"), kDelayFloor);
}

Figure rate_shortfall(const RunResult& run) {
    const auto share = shortfall(run.client.achieved_rate_ratio);
    if (share && *share * static_cast<double>(run.counts.in_window) < kFewestRequestsShort) return 0;
    return share;
}

Figure busy_windows(const RunResult& run) {
    constexpr double kWindow = 0.1;  // seconds
    const double windows =
        (run.window.end_s - run.window.begin_s) / kWindow * std::max(1U, run.client.workers);
    const auto share = run.client.cpu_windows_above_85;
    if (share && *share * windows < kFewestBusyWindows) return 0;
    return share;
}

Figure clock_jump(const RunResult& run) {
    return relative(run.client.clock_jump_max_s, median_of(run, "ttft_s"), kLagFloor);
}

/// Returns the server's count of output tokens ÷ the sum over the run's requests; nothing if either is
/// unknown or so small that an unfinished answer would matter.
Figure counted_by_server(const RunResult& run) {
    constexpr double kFewest = 1000;
    if (!run.server) return std::nullopt;
    const auto asked = run.server->asked.find("generation_tokens");
    const auto made = run.server->whole_run.find("generation_tokens");
    if (asked == run.server->asked.end() || made == run.server->whole_run.end() || asked->second < kFewest)
        return std::nullopt;
    return made->second / asked->second;
}

Figure foreign_load(const RunResult& run) {
    const auto counted = counted_by_server(run);
    if (!counted) return std::nullopt;
    return std::max(0.0, *counted - 1);
}

Figure missing_tokens(const RunResult& run) {
    const auto counted = counted_by_server(run);
    if (!counted) return std::nullopt;
    return std::max(0.0, 1 - *counted);
}

Figure failed_scrapes(const RunResult& run) {
    if (!run.server) return std::nullopt;
    const auto failed = static_cast<double>(run.server->failed_scrapes);
    const auto all = failed + static_cast<double>(run.server->scrapes);
    return all > 0 ? Figure(failed / all) : std::nullopt;
}

/// Returns the deviation of the energy by readings of power from the driver's own counter.
Figure energy_deviation(const RunResult& run) {
    if (!run.power || !run.power->energy_j || !run.power->counter_j || *run.power->counter_j <= 0)
        return std::nullopt;
    return std::abs(*run.power->energy_j - *run.power->counter_j) / *run.power->counter_j;
}

Figure error_share(const RunResult& run) {
    if (run.counts.requests == 0) return std::nullopt;
    return static_cast<double>(run.counts.failed) / static_cast<double>(run.counts.requests);
}

/// Returns a part of the successful answers as a share of them.
Figure share_of_ok(const RunResult& run, std::uint64_t part) {
    if (run.counts.ok == 0) return std::nullopt;
    return static_cast<double>(part) / static_cast<double>(run.counts.ok);
}

/// Returns the relative deviation of the server's mean length; 0 if it is at most `tolerance` tokens.
Figure deviation(const std::optional<Asked>& length, double tolerance) {
    if (!length || length->asked <= 0) return std::nullopt;
    const double off = std::abs(length->counted - length->asked);
    return off <= tolerance ? 0 : off / length->asked;
}

/// Returns the deviation for prompts of known length only, because an unknown tokenizer makes other counts.
/// A template adds some tokens.
Figure input_deviation(const RunResult& run) {
    constexpr double kTemplate = 32;
    if (run.workload.length_source == "uncalibrated") return std::nullopt;
    return deviation(run.workload.input_length, kTemplate);
}

/// Returns the deviation of the growth of prompts from turn to turn, of which 2 tokens are rounding.
Figure growth_deviation(const RunResult& run) {
    if (run.workload.length_source == "uncalibrated") return std::nullopt;
    return deviation(run.workload.prompt_growth, 2);
}

Figure output_deviation(const RunResult& run) {
    return deviation(run.workload.output_length, 1);
}

/// Returns the share of prompt tokens that came from a cache beyond those of the chat template, for a run
/// whose prompts share nothing else. Two prompts may begin with the same few tokens by chance.
Figure unexplained_hits(const RunResult& run) {
    constexpr double kByChance = 4;
    const Totals& totals = run.whole_run_totals;
    const double all = totals.fresh_input_tokens + totals.cached_input_tokens;
    if (!run.workload.cached_by_template || totals.known_cached <= 0 || all <= 0) return std::nullopt;
    const double explained = (*run.workload.cached_by_template + kByChance) * totals.known_cached;
    return std::max(0.0, totals.cached_input_tokens - explained) / all;
}

/// A check of a figure against two limits. Both are exclusive: a figure on the limit passes.
struct Check {
    std::string_view name;
    std::string_view what;  ///< the sentence is "WHAT: 3.1 % OF_WHAT"
    std::string_view of_what;
    Figure (*figure)(const RunResult&);
    double warn;
    double invalid;
    bool of_host = false;  ///< whether it is about the client and its host, not about the server
};

constexpr std::array kChecks = {
    Check{"loop_lag", "p99 of the client's own delay before sending", "of the median TTFT", loop_lag, 0.02,
          kNever, true},
    Check{"refill_lag", "mean delay before a free slot is used again, by which throughput may be too low",
          "of the median end-to-end latency", refill_lag, 0.02, kNever, true},
    Check{"achieved_rate", "requests not sent in time for the client's own reasons", "of those that were due",
          rate_shortfall, 0.01, 0.05, true},
    Check{"unstamped_delay", "p99 of the delay in reading events that carry no kernel stamp",
          "of the median inter-token latency", unstamped_delay, 0.02, kNever, true},
    Check{"late_grouping", "events merged because the client read late", "of all events",
          [](const RunResult& run) { return run.client.late_grouped_share; }, 0.02, kNever, true},
    Check{"client_cpu", "stretches of 100 ms in which a worker used more than 85 % of its core", "of all",
          busy_windows, 0.05, kNever, true},
    Check{"hiccups", "time that a waiting thread lost to the host", "of the run",
          [](const RunResult& run) { return run.client.hiccup_share; }, 0.10, kNever, true},
    Check{"clock_jump", "largest jump of the clock behind the kernel's receive stamps", "of the median TTFT",
          clock_jump, 0.01, kNever, true},
    Check{"retransmits", "TCP segments sent again", "of all segments",
          [](const RunResult& run) { return run.client.retransmit_share; }, 0.001, kNever},
    Check{"errors", "failed requests", "of all requests", error_share, 0.01, kMaxFailed},
    Check{"no_stream", "the server did not stream: answers that came in one piece", "of those that came well",
          [](const RunResult& run) { return share_of_ok(run, run.counts.unstreamed); }, 0, 0.05},
    Check{"bunched_stream",
          "tokens came at once; nginx needs proxy_buffering off and tcp_nodelay on, HAProxy option "
          "http-no-delay, a CDN neither compression nor buffering, unless the server itself computes answers "
          "before it sends them; inter-token times and the time per output token have no meaning: answers "
          "whose tokens came together after they had been computed",
          "of those that came well",
          [](const RunResult& run) { return share_of_ok(run, run.counts.bunched); }, 0.05, kNever},
    Check{
        "early_first_event",
        "the first event came long before all others, so that the time to first token may be too short and "
        "the time per output token too long (a part of the template, an echo or a sign of life comes before "
        "the prompt is computed; --keep-answers shows it): answers",
        "of those that came well",
        [](const RunResult& run) { return share_of_ok(run, run.counts.early_first); }, 0.5, kNever},
    Check{
        "starved",
        "requests waited through the whole window while others were served, as with a server that has fewer "
        "threads than connections, or with a replica that hangs; percentiles count them, and requests per "
        "second × mean time is not the number in flight: requests",
        "of those in the window",
        [](const RunResult& run) {
            if (run.counts.starved == 0) return Figure();
            return Figure(static_cast<double>(run.counts.starved) /
                          static_cast<double>(run.counts.starved + run.counts.in_window));
        },
        0, kNever},
    Check{"disputed_counts",
          "no usage came with the stream, or it contradicts the text (it counts no token, more than the text "
          "can hold, the prompt as output, or not the reasoning), so that output tokens are estimated, "
          "without a prompt that is counted or as one per event, although an event may bring several: "
          "answers",
          "of those that came well",
          [](const RunResult& run) { return share_of_ok(run, run.counts.disputed); }, 0, kNever},
    Check{"disputed_cache",
          "the usage counts more cached than prompt tokens, so that these answers are left out of the cached "
          "share and of what caching saves: answers",
          "of those that came well",
          [](const RunResult& run) { return share_of_ok(run, run.counts.disputed_cache); }, 0, kNever},
    Check{"unseen_output",
          "output was generated that the stream did not show under a known name, so that the first token may "
          "be measured late, or the last one early: answers with tokens in unknown fields or usage alone",
          "of those that came well",
          [](const RunResult& run) { return share_of_ok(run, run.counts.unseen_output); }, 0.01, kNever},
    Check{"uncounted_output",
          "more events with text came than the usage counts tokens, so that rates may be too low and times "
          "per token too long (text comes twice, the usage leaves some out, or an event is a part of a "
          "token): answers",
          "of those that came well",
          [](const RunResult& run) { return share_of_ok(run, run.counts.uncounted_output); }, 0.01, kNever},
    Check{
        "no_finish_reason",
        "answers end without a finish_reason, which others have, so that they may have been cut off: answers",
        "of those that came well",
        [](const RunResult& run) { return share_of_ok(run, run.counts.no_finish_reason); }, 0, kNever},
    Check{"foreign_load",
          "output tokens that the server made beyond those of this run: another client was there",
          "of those of this run", foreign_load, 0.02, kNever},
    Check{"token_counts", "output tokens that usage reports and the server's own counter does not include",
          "of all", missing_tokens, 0.01, kNever},
    Check{"cache_contaminated",
          "prompt tokens found in a prefix cache although the prompts share nothing (use another --salt, or "
          "reset the cache)",
          "of all prompt tokens", unexplained_hits, 0.02, kNever},
    Check{"scrape", "readings of the server's metrics that failed", "of all", failed_scrapes, 0, kNever},
    Check{"energy_counter", "energy by readings of power: off from the driver's energy counter by",
          "of the counter's", energy_deviation, 0.05, kNever},
    Check{"input_length", "prompts of another mean length than asked for: off by", "of what was asked for",
          input_deviation, 0.05, 0.50},
    Check{"prompt_growth",
          "prompts grow from turn to turn by another number of tokens than the dataset states, as a chat "
          "template that adds or drops text makes them: off by",
          "of the growth", growth_deviation, 0.05, kNever},
    Check{"output_length", "answers of another mean length than asked for: off by", "of what was asked for",
          output_deviation, 0.05, 0.50},
    Check{"resent",
          "requests that were sent again, because the server closed a kept-alive connection at that moment "
          "(its keep-alive limits are short)",
          "of all requests",
          [](const RunResult& run) {
              // The first one shows the client that this server closes its connections after answers.
              return run.counts.resent <= 1
                         ? Figure()
                         : static_cast<double>(run.counts.resent) / static_cast<double>(run.counts.requests);
          },
          0.01, kNever},
    Check{"in_step",
          "the requests run in step, so that most of them wait for the others' prompts and the time to first "
          "token tells how the load began (lengths that vary and --ramp-up auto avoid it): time "
          "between rounds in which nothing is sent",
          "of what it would be if all were sent at once",
          [](const RunResult& run) { return run.window.in_step; }, 0.5, kNever},
    Check{"connection_wait", "p99 of the wait for a connection", "of the median TTFT", connection_wait, 0.05,
          kNever},
    Check{"slot_wait", "p99 of the wait for the in-flight cap", "of the median TTFT", slot_wait, 0.05,
          kNever},
    Check{"buffered_stream",
          "buffered stream; nginx needs proxy_buffering off, other proxies the like: events that came in one "
          "read with the event before",
          "of all events", [](const RunResult& run) { return run.client.grouped_share; }, 0.50, kNever},
};

/// Returns a reason about the client and its host with the severity that the options give it.
Reason of_host(Reason reason, const ValidityOptions& options) {
    if (reason.severity != Verdict::invalid || !options.accept_host_noise) return reason;
    reason.severity = Verdict::warn;
    reason.text += "; taken as it is (--host-noise accept)";
    return reason;
}

std::optional<Reason> reason_of(const Check& check, const RunResult& run, const ValidityOptions& options) {
    const auto figure = check.figure(run);
    const double invalid = check.invalid == kMaxFailed ? options.max_failed : check.invalid;
    if (!figure || !(*figure > std::min(check.warn, invalid))) return std::nullopt;
    const bool is_invalid = *figure > invalid;
    const bool restarted =
        check.name == "token_counts" && run.server && run.server->note.starts_with(kCountersRestarted);
    const Reason reason{is_invalid ? Verdict::invalid : Verdict::warn, std::string(check.name),
                        fmt::format("{}: {} {} (limit {}){}{}", check.what, percent_text(*figure),
                                    check.of_what, percent_text(is_invalid ? invalid : check.warn),
                                    restarted ? "; " : "", restarted ? run.server->note : "")};
    return check.of_host ? of_host(reason, options) : reason;
}

/// Keeps the larger share.
void keep_larger(InstrumentPart& largest, double part, std::string_view figure, std::string_view direction) {
    if (part <= largest.part) return;
    largest = {part, fmt::format("{} could truly be {} {}", figure, percent_text(part), direction)};
}

/// Adds the share of a figure by which it may be too small.
void keep_larger(InstrumentPart& largest, const RunResult& run, std::string_view key) {
    const auto held = std::ranges::find(run.throughput.values, key, &FigureValue::key);
    if (held == run.throughput.values.end() || !held->instrument) return;
    keep_larger(largest, held->value > 0 ? *held->instrument / held->value : 1, key, "higher");
}

/// Returns whether enough events were read late to judge the gaps between them: more than 2 %, and more than
/// two, of those that share a read, or any without a kernel stamp by more than 2 % of a gap.
bool gaps_are_doubtful(const RunResult& run, const MetricSummary& gaps) {
    constexpr double kFew = 0.02;
    constexpr double kFewestEvents = 3;
    const double late = run.client.late_grouped_share.value_or(0);
    return (late > kFew && late * static_cast<double>(gaps.n) >= kFewestEvents) ||
           unstamped_delay(run).value_or(0) > kFew;
}

/// Returns the largest share of a percentile of the headline times by which it may be too large.
InstrumentPart largest_part_of(const RunResult& run,
                               std::initializer_list<std::pair<double, std::string_view>> percentiles) {
    InstrumentPart largest;
    for (const std::string_view tag : {"ttft", "itl", "tpot", "e2e"}) {
        const MetricSummary* const metric = run.metric(headline_key(tag, run.open_loop()));
        if (metric == nullptr || (tag == "itl" && !gaps_are_doubtful(run, *metric))) continue;
        for (const auto& [p, label] : percentiles) {
            const PercentileValue* const held = metric->at(p);
            if (held == nullptr || !held->value || held->instrument.value_or(0) < kDelayFloor) continue;
            keep_larger(largest, *held->instrument / *held->value,
                        fmt::format("{} of {}", label, metric->key), "lower");
        }
    }
    return largest;
}

/// Returns a reason if the client's own delays may have made a headline figure worse. A p99 or a goodput that
/// they spoil leaves the other figures usable.
std::optional<Reason> instrument_of(const RunResult& run, const ValidityOptions& options) {
    constexpr double kWarn = 0.02;
    constexpr double kInvalid = 0.10;
    InstrumentPart largest = largest_instrument_part(run);
    const bool is_invalid = largest.part > kInvalid;
    double limit = is_invalid ? kInvalid : kWarn;
    if (largest.part <= kWarn) {
        limit = kInvalid;
        largest = largest_part_of(run, {{0.99, "p99"}});
        keep_larger(largest, run, figure::kGoodput);
        if (largest.part <= limit) return std::nullopt;
    }
    return of_host({is_invalid ? Verdict::invalid : Verdict::warn, "instrument",
                    fmt::format("the client may have read or sent late: {} (limit {})", largest.figure,
                                percent_text(limit))},
                   options);
}

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
    if (!run.window.steady) return Reason{Verdict::warn, "no_steady_state", run.window.how};
    return std::nullopt;
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
                              "These figures are of the {} requests that had reached the disk.",
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

/// Returns a reason if the client or the host of one of several processes was the bottleneck.
std::optional<Reason> shards_of(const RunResult& run, const ValidityOptions& options) {
    const auto worst = std::ranges::max_element(run.shards, {}, &ShardResult::verdict);
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
    return Reason{Verdict::invalid, "records_lost", options.lost + "."};
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

/// Returns the reason that names a fact and everything that is absent without it.
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

using ReasonOf = std::optional<Reason> (*)(const RunResult& run, const ValidityOptions& options);

/// The reasons that are not a figure above a limit, in the order in which results hold them: those before and
/// those after the reasons of kChecks.
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

Validity validity_of(const RunResult& result, const ValidityOptions& options) {
    Validity validity;
    const auto add = [&](std::optional<Reason> reason) {
        if (!reason) return;
        assert(is_explained(reason->check));
        validity.verdict = std::max(validity.verdict, reason->severity);
        validity.reasons.push_back(std::move(*reason));
    };
    for (const ReasonOf judge : kJudgedFirst) add(judge(result, options));
    for (const Check& check : kChecks) add(reason_of(check, result, options));
    for (const ReasonOf judge : kJudgedLast) add(judge(result, options));
    for (const FactText& text : kFacts)
        if (!result.reported && options.unknown.overlaps({text.fact}))
            add(reason_of(text, options.needs_of_slos));
    return validity;
}

InstrumentPart largest_instrument_part(const RunResult& run) {
    InstrumentPart largest = largest_part_of(run, {{0.5, "median"}, {0.95, "p95"}});
    keep_larger(largest, run, figure::kOutputTokens);
    keep_larger(largest, run, figure::kRequests);  // the same share, if output tokens are not known
    return largest;
}

bool is_of_host(std::string_view check) {
    return check == "instrument" || check == "shard_client" ||
           std::ranges::any_of(kChecks,
                               [&](const Check& known) { return known.of_host && known.name == check; });
}

std::string gravest_reason(const Validity& validity) {
    for (const Reason& reason : validity.reasons)
        if (reason.severity == validity.verdict) return reason.text;
    return {};
}

bool has_lost_records(const RunResult& result) {
    return std::ranges::find(result.validity.reasons, "records_lost", &Reason::check) !=
           result.validity.reasons.end();
}

bool lacks_requests(const RunResult& result) {
    return result.plan.contains("shard") || has_lost_records(result);
}

bool kept_up(const RunResult& result) {
    return !result.window.overloaded && (!result.stop || result.stop->rule != kDiverging);
}

std::string served_text(const RunResult& result) {
    const auto served = result.throughput.at(figure::kRequests);
    if (!result.request_rate || !served) return {};
    return fmt::format("served {} of {} req/s", number_text(*served), number_text(*result.request_rate));
}

std::string overload_text(const RunResult& result) {
    if (kept_up(result)) return {};
    const std::string served = served_text(result);
    return fmt::format("the server does not keep up with the arrivals{}",
                       served.empty() ? "" : fmt::format(" ({})", served));
}

}  // namespace paretoken
