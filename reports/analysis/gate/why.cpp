#include "reports/analysis/gate/why.h"
#include "reports/analysis/gate/words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "core/text/number_text.h"

namespace paretoken::reports {
namespace {

const GateRow* row_named(std::span<const GateRow> rows, std::string_view name) {
    const auto found = std::ranges::find(rows, name, &GateRow::metric);
    return found == rows.end() ? nullptr : &*found;
}

/// Whether a row failed, or is undecided and its whole 95 % interval is beyond the limit. A gate ends as soon
/// as one metric fails, so that others may be undecided which are clearly worse.
bool is_worse(const GateRow& row) {
    return row.verdict == GateVerdict::fail ||
           (row.verdict == GateVerdict::inconclusive && row.ci95 && row.ci95->low > row.limit);
}

/// Whether a row passed, or is undecided and its whole 95 % interval is within the limit.
bool is_not_worse(const GateRow& row) {
    return row.verdict == GateVerdict::pass ||
           (row.verdict == GateVerdict::inconclusive && row.ci95 && row.ci95->high < row.limit);
}

bool worse(std::span<const GateRow> rows, std::string_view name) {
    const GateRow* const row = row_named(rows, name);
    return row != nullptr && is_worse(*row);
}

/// What the gate found about several metrics of one kind.
enum class Found : std::uint8_t {
    worse,      ///< at least one of them is worse (is_worse())
    not_worse,  ///< none of them is worse (is_not_worse())
    undecided,  ///< none is worse, and at least one is undecided
    not_judged  ///< the policy has none of them, or none was measured
};

Found found_of(std::span<const GateRow> rows, std::initializer_list<std::string_view> names) {
    Found found = Found::not_judged;
    for (const std::string_view name : names) {
        const GateRow* const row = row_named(rows, name);
        if (row == nullptr) continue;
        // A percentile without a value lies among failures, which say nothing about the speed.
        if (is_worse(*row) && row->shift) return Found::worse;
        if (!is_not_worse(*row))
            found = Found::undecided;
        else if (found == Found::not_judged)
            found = Found::not_worse;
    }
    return found;
}

Found ttft_of(std::span<const GateRow> rows) {
    return found_of(rows, {"ttft_p50", "ttft_p95"});
}

Found itl_of(std::span<const GateRow> rows) {
    return found_of(rows, {"itl_p50", "tpot_p95", "itl_p95"});
}

/// Returns the end of the sentence "TTFT is worse and ITL …".
std::string_view predicate(Found found) {
    constexpr std::array<std::string_view, 4> kPredicates{"is worse", "is not", "is undecided",
                                                          "is not judged"};
    return kPredicates[static_cast<std::size_t>(found)];
}

/// Returns whether a metric is better by more than its limit, and chance does not explain it.
bool improved(std::span<const GateRow> rows, std::string_view name) {
    const GateRow* const row = row_named(rows, name);
    return row != nullptr && row->shift && row->ci95 && *row->shift < -row->limit && row->ci95->high < 0;
}

std::optional<double> mean_figure(const std::vector<GateRun>& runs, std::string_view key) {
    double sum = 0;
    std::size_t n = 0;
    for (const GateRun& run : runs)
        if (const auto value = run.result.throughput.at(key)) {
            sum += *value;
            ++n;
        }
    if (n == 0) return std::nullopt;
    return sum / static_cast<double>(n);
}

/// Returns a text such as "the prefix cache held 80 % of the prompt tokens in the baseline and 0 % in the
/// candidate, so that prefill takes longer"; empty if the share did not shrink.
std::string lost_hits(const GateInput& input) {
    constexpr double kWorthNaming = 0.05;
    const auto before = mean_figure(input.baseline, figure::kCachedPromptRatio);
    const auto after = mean_figure(input.candidate, figure::kCachedPromptRatio);
    if (!before || *before < kWorthNaming || after.value_or(0) > *before - kWorthNaming) return "";
    const std::string held =
        fmt::format("the prefix cache held {:.0f} % of the prompt tokens in the baseline", *before * 100);
    if (!after) return held + ", and the candidate reports no cached tokens, so that prefill may take longer";
    return fmt::format("{} and {:.0f} % in the candidate, so that prefill takes longer", held, *after * 100);
}

// ---- what the servers say of themselves

struct ServerQuantity {
    std::string_view key;  ///< key in ServerFigures
    std::string_view title;
    double scale = 1;
    double least = 0;  ///< smallest difference that is named, in the quantity's unit
};

constexpr std::array kServerQuantities{
    ServerQuantity{"waiting", "requests waiting", 1, .5},
    ServerQuantity{"queue_mean_s", "mean ms in the queue", 1e3, .005},
    ServerQuantity{"running", "requests running", 1, .5},
    ServerQuantity{"preemptions", "preemptions", 1, 1},
    ServerQuantity{"kv_usage", "% of the KV cache in use", 100, .05},
    ServerQuantity{"prefix_hit_ratio", "% of prefix-cache hits", 100, .05},
};

std::optional<double> mean_of_server(const std::vector<GateRun>& runs, std::string_view key) {
    double sum = 0;
    for (const GateRun& run : runs) {
        if (!run.result.server) return std::nullopt;
        const auto found = run.result.server->window.find(std::string(key));
        if (found == run.result.server->window.end()) return std::nullopt;
        sum += found->second;
    }
    if (runs.empty()) return std::nullopt;
    return sum / static_cast<double>(runs.size());
}

/// Returns the mean time in the servers' queues, in seconds: as the servers report it, or the mean number of
/// waiting requests ÷ the rate of requests (Little's law).
std::optional<double> mean_queue_s(const std::vector<GateRun>& runs) {
    if (const auto told = mean_of_server(runs, "queue_mean_s")) return told;
    const auto waiting = mean_of_server(runs, "waiting");
    const auto rate = mean_figure(runs, figure::kRequests);
    if (!waiting || !rate || !(*rate > 0)) return std::nullopt;
    return *waiting / *rate;
}

std::optional<double> mean_ttft_s(const std::vector<GateRun>& runs) {
    double sum = 0;
    for (const GateRun& run : runs) {
        const MetricSummary* const ttft = run.result.metric("ttft_s");
        if (ttft == nullptr || !ttft->mean) return std::nullopt;
        sum += *ttft->mean;
    }
    if (runs.empty()) return std::nullopt;
    return sum / static_cast<double>(runs.size());
}

/// Returns a text such as "requests wait 820 ms in the queue on average, and 3 ms in the baseline"; empty if
/// less than half of the growth of TTFT is time in the queue, or if this is not known.
std::string longer_queue(const GateInput& input) {
    constexpr double kMostOfIt = .5;
    const auto before = mean_queue_s(input.baseline);
    const auto after = mean_queue_s(input.candidate);
    const auto ttft_before = mean_ttft_s(input.baseline);
    const auto ttft_after = mean_ttft_s(input.candidate);
    if (!before || !after || !ttft_before || !ttft_after || *ttft_after <= *ttft_before) return "";
    if (*after - *before < kMostOfIt * (*ttft_after - *ttft_before)) return "";
    return fmt::format("requests wait {} ms in the queue on average, and {} ms in the baseline",
                       number_text(*after * 1e3), number_text(*before * 1e3));
}

/// Returns a sentence such as " The servers' own metrics: requests waiting 0.1 before, 6.3 now."; empty if
/// the servers report nothing or no large difference.
std::string servers_say(const GateInput& input) {
    constexpr double kShare = 0.2;
    std::string text;
    for (const ServerQuantity& quantity : kServerQuantities) {
        const auto before = mean_of_server(input.baseline, quantity.key);
        const auto after = mean_of_server(input.candidate, quantity.key);
        if (!before || !after) continue;
        const double difference = std::abs(*after - *before);
        if (difference < quantity.least || difference < kShare * std::max(*before, *after)) continue;
        text += fmt::format("{}{} {:.3g} before, {:.3g} now", text.empty() ? "" : "; ", quantity.title,
                            *before * quantity.scale, *after * quantity.scale);
    }
    return text.empty() ? "" : fmt::format(" The servers' own metrics: {}.", text);
}

/// Returns the cause that a worse metric points to if the other metric is known not to be worse. If that is
/// unknown, the text says what follows in each case.
std::string reason_of_one(std::string_view metric, std::string_view other, Found other_is,
                          std::string_view cause, std::string_view cause_of_both) {
    if (other_is == Found::not_worse)
        return fmt::format("{} is worse and {} is not: the cause is {}", metric, other, cause);
    return fmt::format("{} is worse and {} {}: if only {} is worse, the cause is {} If {} is worse too, {}",
                       metric, other, predicate(other_is), metric, cause, other, cause_of_both);
}

std::string latency_reason(std::span<const GateRow> rows, const GateInput& input) {
    constexpr std::string_view kWholeServer =
        "the whole server is slower. Compare its load, its clocks (power and heat) and what else runs there.";
    const Found ttft = ttft_of(rows);
    const Found itl = itl_of(rows);
    const std::string hits = lost_hits(input);
    const std::string queue = longer_queue(input);
    if (ttft == Found::worse && itl != Found::worse && !queue.empty())
        return fmt::format(
            "TTFT is worse and ITL {}: {}{}{}. Compare the load, the number of slots and the batch size.",
            predicate(itl), queue, hits.empty() ? "" : "; ", hits);
    if (ttft == Found::worse && !hits.empty())
        return itl == Found::worse ? fmt::format("TTFT and ITL are worse: {}.", hits)
                                   : fmt::format("TTFT is worse and ITL {}: {}.", predicate(itl), hits);
    if (ttft == Found::worse && itl == Found::worse)
        return fmt::format("TTFT and ITL are both worse: {}", kWholeServer);
    if (ttft == Found::worse && itl == Found::not_worse && improved(rows, "itl_p50"))
        return "TTFT is worse and ITL is better: requests wait longer in a queue before they are served, and "
               "fewer are served at once. Compare the number of slots and the batch size.";
    if (ttft == Found::worse)
        return reason_of_one("TTFT", "ITL", itl,
                             "the prefill, the queue before it, or a lower rate of prefix-cache hits. "
                             "Compare chunked prefill, the number of slots, and the size of the cache.",
                             kWholeServer);
    if (itl == Found::worse && ttft == Found::not_worse && improved(rows, "ttft_p50"))
        return "ITL is worse and TTFT is better: more requests are served at once, and each decode step "
               "serves a larger batch. Compare the number of slots and the batch size. If this is intended, "
               "give ITL a larger tolerance in the policy.";
    if (itl == Found::worse)
        return reason_of_one("ITL", "TTFT", ttft,
                             "the decode step, a larger batch, or preemption. Compare the formats of weights "
                             "and KV cache, the kernels, the batch size, and the size of the KV cache.",
                             kWholeServer);
    return "";
}

/// Returns the end of a sentence "Throughput is worse, but …" where neither TTFT nor ITL failed.
std::string latency_predicates(std::span<const GateRow> rows) {
    const Found ttft = ttft_of(rows);
    const Found itl = itl_of(rows);
    if (ttft == Found::not_worse && itl == Found::not_worse) return "neither TTFT nor ITL is";
    return fmt::format("TTFT {} and ITL {}", predicate(ttft), predicate(itl));
}

std::string other_reason(std::span<const GateRow> rows, const GateInput& input) {
    if (worse(rows, "failures"))
        return "More requests fail than before: run.json has the outcomes, and the server's log has the "
               "reasons.";
    if (worse(rows, "quality") || worse(rows, "repeated_answers") || worse(rows, "empty_answers"))
        return "The answers are worse, whatever their speed: compare the formats of weights and KV cache, "
               "the kernels, the chat template and the sampling. probe.jsonl and answers.jsonl in the runs "
               "have the texts.";
    if (worse(rows, "output_length") || worse(rows, "finish_reasons"))
        return "Answers end at different places: the chat template, the end-of-text token, or the model is "
               "not the same.";
    if (worse(rows, "stall_p95")) {
        const std::string hits = lost_hits(input);
        return fmt::format("The longest gaps between tokens are worse, but {}: {}.", latency_predicates(rows),
                           !hits.empty() ? hits
                                         : "the server pauses, for example because of preemption or because "
                                           "it computes other prompts between decode steps");
    }
    if (worse(rows, "output_tokens_per_s"))
        return fmt::format(
            "Throughput is worse, but {}: requests may start later. Compare the delays before sending and "
            "the waits for connections (client in run.json) and the time from one request to the next.",
            latency_predicates(rows));
    return "";
}

std::string change_text(const GateRow& row) {
    if (row.points)
        return fmt::format("from {:.3g} % to {:.3g} %", row.baseline.value_or(0) * 100,
                           row.candidate.value_or(0) * 100);
    if (!row.shift) return row.reason;
    const Better better = quantity_named(row.metric).better;
    const bool either = better == Better::neither;
    const double percent = percent_of(*row.shift, better);
    std::string text = fmt::format("{} % {}", number_text(either ? std::abs(percent) : percent),
                                   !either ? "worse" : (percent < 0 ? "lower" : "higher"));
    if (row.ci95)
        text += fmt::format(" (95 % interval of the change: {:.3g} to {:.3g} %; tolerance: {:.3g} %)",
                            percent_of(row.ci95->low, better), percent_of(row.ci95->high, better),
                            row.tolerance * 100);
    return text;
}

std::string failed_headline(const GateReport& report) {
    std::string text = "FAIL:";
    std::size_t failed = 0;
    const GateRow* first = nullptr;  // a policy begins with what matters most
    const GateRow* worst = nullptr;
    for (const GateRow& row : report.rows) {
        if (row.verdict != GateVerdict::fail) continue;
        ++failed;
        if (first == nullptr) first = &row;
        if (worst == nullptr || row.shift.value_or(1e9) > worst->shift.value_or(1e9)) worst = &row;
    }
    if (worst == nullptr) return "FAIL";
    if (const GateRow* const failures = row_named(report.rows, "failures");
        failures != nullptr && failures->verdict == GateVerdict::fail && !worst->shift)
        first = worst = failures;  // the percentile lies among them
    text += fmt::format(" {}: {}", first->title, change_text(*first));
    if (failed > 1)
        text += fmt::format("; {} more {} failed", failed - 1, failed == 2 ? "metric has" : "metrics have");
    if (worst != first) text += fmt::format(", and {} most: {}", worst->title, shift_text(*worst));
    return text + ". Do not roll out the candidate; find the cause first.";
}

std::string undecided_headline(const GateReport& report) {
    std::uint64_t pairs = 0;
    std::vector<std::string> unnumbered;  // undecided metrics without a number of pairs
    std::size_t undecided = 0;
    const GateRow* widest = nullptr;
    for (const GateRow& row : report.rows) {
        if (row.verdict != GateVerdict::inconclusive) continue;
        ++undecided;
        if (row.pairs_to_decide)
            pairs = std::max(pairs, *row.pairs_to_decide);
        else
            unnumbered.push_back(row.title);
        if (widest == nullptr || row.detectable.value_or(0) > widest->detectable.value_or(0)) widest = &row;
    }
    if (widest == nullptr) return "INCONCLUSIVE: nothing could be compared.";
    if (only_limits_are_undecided(report))
        return fmt::format(
            "INCONCLUSIVE: {}: {}. Each run must certify it, and more pairs do not help: make the runs "
            "longer (--num-prompts or --duration).",
            widest->title, widest->reason);
    if (undecided == 1 && widest->metric == "quality")
        return fmt::format(
            "INCONCLUSIVE: {} fell {}, which {} questions cannot distinguish from chance: ask more of them "
            "(--probe).",
            widest->title, change_text(*widest), widest->samples);
    std::string text = fmt::format("INCONCLUSIVE: {} of {} metrics {} undecided.", undecided,
                                   report.rows.size(), undecided == 1 ? "is" : "are");
    text += widest->detectable
                ? fmt::format(" The least certain one is {}: {}.", widest->title,
                              detectable_text(*widest->detectable, quantity_named(widest->metric).better))
                : fmt::format(" The first of them is {}.", widest->title);
    const bool stored = report.design == GateDesign::stored;
    const std::string_view counted = stored ? "runs of the candidate" : "pairs";
    if (unnumbered.empty())
        return text + fmt::format(" About {} {} would decide (--max-pairs {}).", pairs, counted, pairs);
    constexpr std::size_t kMostNamed = 3;
    const std::size_t without = unnumbered.size();
    unnumbered.resize(std::min(without, kMostNamed));
    std::string names = fmt::format("{}", fmt::join(unnumbered, ", "));
    if (without > kMostNamed) names += fmt::format(" and {} more", without - kMostNamed);
    const std::string_view these = without == 1 ? "this metric" : "these metrics";
    text += stored ? fmt::format(
                         " More runs of the candidate do not decide {}: the stored runs are too few. "
                         "Store more, measure both sides in pairs, or give {} a larger tolerance.",
                         names, these)
                   : fmt::format(
                         " The number of pairs that would decide is unknown or above 1000 for {}: "
                         "measure more or longer runs, or give {} a larger tolerance.",
                         names, these);
    if (pairs > 0)
        text += fmt::format(" About {} {} would decide the other undecided {}.", pairs, counted,
                            undecided - without == 1 ? "metric" : "metrics");
    return text;
}

/// Returns the row whose shift is the largest part of what is tolerated; null if no row has a shift.
const GateRow* nearest_to_tolerance(std::span<const GateRow> rows) {
    const GateRow* nearest = nullptr;
    for (const GateRow& row : rows) {
        if (is_limit(row) || !row.shift || !(row.limit > 0) || !std::isfinite(row.limit)) continue;
        if (nearest == nullptr || *row.shift / row.limit > *nearest->shift / nearest->limit) nearest = &row;
    }
    return nearest;
}

}  // namespace

std::string why_of(std::span<const GateRow> rows, const GateInput& input) {
    const auto failed = [](const GateRow& row) { return row.verdict == GateVerdict::fail; };
    if (std::ranges::none_of(rows, failed)) return "";
    std::string latency = latency_reason(rows, input);
    if (!latency.empty()) latency += servers_say(input);
    const bool answers =
        worse(rows, "quality") || worse(rows, "repeated_answers") || worse(rows, "empty_answers");
    if (worse(rows, "failures") || answers || latency.empty()) {
        const std::string other = other_reason(rows, input);
        return latency.empty() || other.empty() ? other + latency : other + " " + latency;
    }
    return latency;
}

// If the verdict is fail, the line names the worst metric and its change. If it is inconclusive, it names the
// undecided metric with the largest detectable shift, gives the number of undecided metrics unless only
// limits or only the quality are undecided, and names metrics of which the number of pairs that would decide
// is unknown. If it is pass, it gives the number of metrics that became better by more than their limits, if
// there are any, and the metric that is the nearest to its tolerance.
std::string headline_of(const GateReport& report) {
    switch (report.verdict) {
        case GateVerdict::fail:
            return failed_headline(report);
        case GateVerdict::inconclusive:
            return undecided_headline(report);
        case GateVerdict::pass:
            break;
    }
    const auto better = std::ranges::count_if(report.rows, [](const GateRow& row) {
        return row.ci95 && row.ci95->high < 0 && row.shift && *row.shift < -row.limit;
    });
    std::string text =
        fmt::format("PASS: none of {} metrics is worse than its tolerance allows", report.rows.size());
    if (better > 0) text += fmt::format(", and {} {} better", better, better == 1 ? "is" : "are");
    if (const GateRow* const nearest = nearest_to_tolerance(report.rows))
        text += fmt::format(". The nearest to its tolerance is {}: {}, tolerated are {}", nearest->title,
                            shift_text(*nearest),
                            nearest->points ? tolerance_text(*nearest)
                                            : fmt::format("{:.3g} %", percent_of(*nearest, nearest->limit)));
    return text + ". Roll out.";
}

}  // namespace paretoken::reports
