#include "core/validity/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/result/figures.h"
#include "core/result/metrics.h"
#include "core/text/number_text.h"

namespace paretoken {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kMaxFailed = -1;  ///< placeholder for ValidityOptions::max_failed

// Any host has client delays below these floors, and a limit relative to a very fast server would
// only report the host: such figures pass their check.
constexpr double kLagFloor = 200e-6;
constexpr double kRefillFloor = 100e-6;
// Shares of very few things have no meaning: fewer than this many requests, or 100 ms windows, pass their
// check.
constexpr double kFewestRequestsShort = 2;
constexpr double kFewestBusyWindows = 3;

Share median_of(const RunResult& run, std::string_view key) {
    const auto* metric = run.metric(key);
    const auto* median = metric != nullptr ? metric->at(0.5) : nullptr;
    return median != nullptr ? median->value : std::nullopt;
}

/// Returns `part` in units of `whole`; 0 below the floor.
Share relative(Share part, Share whole, double floor) {
    if (!part || !whole || *whole <= 0) return std::nullopt;
    return *part < floor ? 0 : *part / *whole;
}

Share shortfall(Share ratio) {
    if (!ratio) return std::nullopt;
    return std::max(0.0, 1 - *ratio);
}

/// Returns the relative loop lag of an open loop. In a closed loop no request has a set time, TTFT counts
/// from the sending, and the cost of late refills is the mean of refill_lag (answers that end together are
/// refilled one by one).
Share loop_lag(const RunResult& run) {
    if (!run.request_rate) return std::nullopt;
    return relative(run.client.loop_lag_p99_s, median_of(run, "ttft_s"), kLagFloor);
}

Share refill_lag(const RunResult& run) {
    return relative(run.client.refill_lag_mean_s, median_of(run, "e2e_s"), kRefillFloor);
}

Share connection_wait(const RunResult& run) {
    return relative(run.client.connection_wait_p99_s, median_of(run, "ttft_s"), kLagFloor);
}

/// Returns the relative wait for slots of a load with a cap and a schedule: the server saw another schedule.
Share slot_wait(const RunResult& run) {
    return relative(run.client.slot_wait_p99_s, median_of(run, "ttft_s"), kLagFloor);
}

Share rate_shortfall(const RunResult& run) {
    const auto share = shortfall(run.client.achieved_rate_ratio);
    if (share && *share * static_cast<double>(run.counts.in_window) < kFewestRequestsShort) return 0;
    return share;
}

Share busy_windows(const RunResult& run) {
    constexpr double kWindow = 0.1;  // seconds
    const double windows =
        (run.window.end_s - run.window.begin_s) / kWindow * std::max(1U, run.client.workers);
    const auto share = run.client.cpu_windows_above_85;
    if (share && *share * windows < kFewestBusyWindows) return 0;
    return share;
}

Share clock_jump(const RunResult& run) {
    return relative(run.client.clock_jump_max_s, median_of(run, "ttft_s"), kLagFloor);
}

/// Returns the server's count of output tokens ÷ the sum over the run's requests; nothing if one is unknown,
/// or both are so small that an unfinished answer would matter.
Share counted_by_server(const RunResult& run) {
    constexpr double kFewest = 1000;
    if (!run.server) return std::nullopt;
    const auto asked = run.server->asked.find("generation_tokens");
    const auto made = run.server->whole_run.find("generation_tokens");
    if (asked == run.server->asked.end() || made == run.server->whole_run.end() || !(asked->second > 0) ||
        std::max(asked->second, made->second) < kFewest)
        return std::nullopt;
    return made->second / asked->second;
}

Share foreign_load(const RunResult& run) {
    const auto counted = counted_by_server(run);
    if (!counted) return std::nullopt;
    return std::max(0.0, *counted - 1);
}

Share missing_tokens(const RunResult& run) {
    const auto counted = counted_by_server(run);
    if (!counted) return std::nullopt;
    return std::max(0.0, 1 - *counted);
}

Share failed_scrapes(const RunResult& run) {
    if (!run.server) return std::nullopt;
    const auto failed = static_cast<double>(run.server->failed_scrapes);
    const auto all = failed + static_cast<double>(run.server->scrapes);
    return all > 0 ? Share(failed / all) : std::nullopt;
}

/// Returns the deviation of the energy by readings of power from the driver's own counter.
Share energy_deviation(const RunResult& run) {
    if (!run.power || !run.power->energy_j || !run.power->counter_j || *run.power->counter_j <= 0)
        return std::nullopt;
    return std::abs(*run.power->energy_j - *run.power->counter_j) / *run.power->counter_j;
}

Share error_share(const RunResult& run) {
    if (run.counts.requests == 0) return std::nullopt;
    return static_cast<double>(run.counts.failed) / static_cast<double>(run.counts.requests);
}

/// Returns a part of the successful answers as a share of them.
Share share_of_ok(const RunResult& run, std::uint64_t part) {
    if (run.counts.ok == 0) return std::nullopt;
    return static_cast<double>(part) / static_cast<double>(run.counts.ok);
}

/// Returns the relative deviation of the server's mean length; 0 if it is at most `tolerance` tokens.
/// A single answer among several says nothing about the way to the server.
Share bunched_share(const RunResult& run) {
    if (run.counts.bunched == 1 && run.counts.ok > 1) return std::nullopt;
    return share_of_ok(run, run.counts.bunched);
}

Share deviation(const std::optional<Asked>& length, double tolerance) {
    if (!length || length->asked <= 0) return std::nullopt;
    const double off = std::abs(length->counted - length->asked);
    return off <= tolerance ? 0 : off / length->asked;
}

/// Returns the deviation for prompts of known length only, because an unknown tokenizer makes other counts.
/// A template adds some tokens.
Share input_deviation(const RunResult& run) {
    constexpr double kTemplate = 32;
    if (run.workload.length_source == "uncalibrated") return std::nullopt;
    return deviation(run.workload.input_length, kTemplate);
}

/// Returns the deviation of the growth of prompts from turn to turn, of which 2 tokens are rounding.
Share growth_deviation(const RunResult& run) {
    if (run.workload.length_source == "uncalibrated") return std::nullopt;
    return deviation(run.workload.prompt_growth, 2);
}

Share output_deviation(const RunResult& run) {
    return deviation(run.workload.output_length, 1);
}

/// Returns the share of prompt tokens that came from a cache beyond those of the chat template, for a run
/// whose prompts share nothing else. Two prompts may begin with the same few tokens by chance.
Share unexplained_hits(const RunResult& run) {
    constexpr double kByChance = 4;
    const Totals& totals = run.whole_run_totals;
    const double all = totals.fresh_input_tokens + totals.cached_input_tokens;
    if (!run.workload.cached_by_template || totals.known_cached <= 0 || all <= 0) return std::nullopt;
    const double explained = (*run.workload.cached_by_template + kByChance) * totals.known_cached;
    return std::max(0.0, totals.cached_input_tokens - explained) / all;
}

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
    Check{
        "bunched_stream",
        "tokens came at once, because the server or its host was held up, because it computes answers before "
        "it sends them, or because something in between collects them (nginx needs proxy_buffering off and "
        "tcp_nodelay on, HAProxy option http-no-delay, a CDN neither compression nor buffering); inter-token "
        "times and the time per output token have no meaning: answers whose tokens came together after they "
        "had been computed",
        "of those that came well", bunched_share, 0.05, kNever},
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
            if (run.counts.starved == 0) return Share();
            return Share(static_cast<double>(run.counts.starved) /
                         static_cast<double>(run.counts.starved + run.counts.in_window));
        },
        0, kNever},
    Check{"disputed_counts",
          "no usage came with the stream, or it contradicts the text (it counts no token, more than the text "
          "can hold, the prompt as output, or not the reasoning), so that output tokens are estimated: "
          "without a prompt that is counted, by the limit that ended the answer, or as one per event, "
          "although an event may bring several: answers",
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
                         ? Share()
                         : static_cast<double>(run.counts.resent) / static_cast<double>(run.counts.requests);
          },
          0.01, kNever},
    Check{"in_step",
          "the requests run in step, so that most of them wait for the others' prompts and the time to first "
          "token tells how the load began (lengths that vary, as with --range-ratio 0.1, avoid it; --ramp-up "
          "auto only delays it): time between rounds in which nothing is sent",
          "of what it would be if all were sent at once",
          [](const RunResult& run) { return run.window.in_step; }, 0.15, kNever},
    Check{"connection_wait", "p99 of the wait for a connection", "of the median TTFT", connection_wait, 0.05,
          kNever},
    Check{"slot_wait", "p99 of the wait for the in-flight cap", "of the median TTFT from sending on",
          slot_wait, 0.05, kNever},
    Check{"buffered_stream",
          "buffered stream; nginx needs proxy_buffering off, other proxies the like: events that came in one "
          "read with the event before",
          "of all events", [](const RunResult& run) { return run.client.grouped_share; }, 0.50, kNever},
};

}  // namespace

std::span<const Check> checks() {
    return kChecks;
}

Share unstamped_delay(const RunResult& run) {
    constexpr double kFew = 0.01;
    const auto unstamped = shortfall(run.client.kernel_stamp_share);
    if (unstamped && *unstamped < kFew) return 0;
    const auto gap = median_of(run, "itl_s");
    return relative(run.client.unstamped_delay_p99_s, gap ? gap : median_of(run, "tpot_s"), kDelayFloor);
}

Reason of_host(Reason reason, const ValidityOptions& options) {
    if (reason.severity != Verdict::invalid || !options.accept_host_noise) return reason;
    reason.severity = Verdict::warn;
    reason.text += "; taken as it is (--host-noise accept)";
    return reason;
}

namespace {

/// "3.1 % of the median TTFT", "54 times the median TTFT"
std::string amount_of(const Check& check, double figure) {
    constexpr double kManyTimes = 10;
    constexpr std::string_view kOf = "of ";
    if (figure < kManyTimes || !check.of_what.starts_with(kOf))
        return fmt::format("{} {}", percent_text(figure), check.of_what);
    return fmt::format("{:.0f} times {}", figure, check.of_what.substr(kOf.size()));
}

}  // namespace

std::optional<Reason> reason_of(const Check& check, const RunResult& run, const ValidityOptions& options) {
    const auto figure = check.figure(run);
    const double invalid = check.invalid == kMaxFailed ? options.max_failed : check.invalid;
    if (!figure || !(*figure > std::min(check.warn, invalid))) return std::nullopt;
    const bool is_invalid = *figure > invalid;
    const bool restarted =
        check.name == "token_counts" && run.server && run.server->note.starts_with(kCountersRestarted);
    const Reason reason{is_invalid ? Verdict::invalid : Verdict::warn, std::string(check.name),
                        fmt::format("{}: {} (limit {}){}{}", check.what, amount_of(check, *figure),
                                    percent_text(is_invalid ? invalid : check.warn), restarted ? "; " : "",
                                    restarted ? run.server->note : "")};
    return check.of_host ? of_host(reason, options) : reason;
}

}  // namespace paretoken
