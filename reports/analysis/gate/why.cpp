#include "reports/analysis/gate/why.h"
#include "core/stable_sort.h"
#include "reports/analysis/gate/words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/result/overload.h"
#include "core/text/number_text.h"
#include "reports/analysis/sweep/sweep.h"

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
bool is_within_limit(const GateRow& row) {
    return row.verdict == GateVerdict::pass ||
           (row.verdict == GateVerdict::inconclusive && row.ci95 && row.ci95->high < row.limit);
}

/// Whether a row that is within its limit is nevertheless worse: its whole 95 % interval lies above a tenth
/// of the limit.
bool is_slightly_worse(const GateRow& row) {
    constexpr double kWorthNaming = .1;
    return row.ci95 && row.ci95->low > kWorthNaming * row.limit;
}

bool worse(std::span<const GateRow> rows, std::string_view name) {
    const GateRow* const row = row_named(rows, name);
    return row != nullptr && is_worse(*row);
}

/// Whether a row has no value, or not in every run, because its percentile falls among failed requests. It
/// then says nothing about the speed.
bool lies_among_failures(const GateRow& row) {
    return !row.points && !row.shift && !is_limit(row) && row.verdict != GateVerdict::pass;
}

/// The row of failed requests, if more requests fail than before and a row fails because of that.
const GateRow* failures_that_fail(std::span<const GateRow> rows) {
    const GateRow* const failures = row_named(rows, "failures");
    if (failures == nullptr || failures->shift.value_or(0) <= 0) return nullptr;
    const bool others = std::ranges::any_of(rows, [](const GateRow& row) {
        return row.verdict == GateVerdict::fail && lies_among_failures(row);
    });
    return is_worse(*failures) || others ? failures : nullptr;
}

/// The failures of the candidate's runs by their outcomes, with an example of each.
std::string failures_of(const std::vector<GateRun>& runs) {
    Counts all;
    for (const GateRun& run : runs) {
        for (const auto& [outcome, count] : run.result.counts.by_outcome) all.by_outcome[outcome] += count;
        all.example_errors.insert(run.result.counts.example_errors.begin(),
                                  run.result.counts.example_errors.end());
    }
    return failures_text(all);
}

/// What the gate found about several metrics of one kind.
enum class Found : std::uint8_t {
    worse,      ///< at least one of them is worse than its limit (is_worse())
    slightly,   ///< all are within their limits, and at least one is slightly worse
    not_worse,  ///< all are within their limits, and none is slightly worse
    undecided,  ///< none is worse than its limit, and at least one is undecided
    not_judged  ///< the policy has none of them, or none was measured
};

Found found_of(std::span<const GateRow> rows, std::span<const std::string_view> names) {
    Found found = Found::not_judged;
    for (const std::string_view name : names) {
        const GateRow* const row = row_named(rows, name);
        if (row == nullptr) continue;
        // A percentile without a value lies among failures, which say nothing about the speed.
        if (is_worse(*row) && row->shift) return Found::worse;
        if (!is_within_limit(*row))
            found = Found::undecided;
        else if (is_slightly_worse(*row) && found != Found::undecided)
            found = Found::slightly;
        else if (found == Found::not_judged)
            found = Found::not_worse;
    }
    return found;
}

constexpr std::array<std::string_view, 2> kTtft{"ttft_p50", "ttft_p95"};
constexpr std::array<std::string_view, 3> kItl{"itl_p50", "tpot_p95", "itl_p95"};

Found ttft_of(std::span<const GateRow> rows) {
    return found_of(rows, kTtft);
}

Found itl_of(std::span<const GateRow> rows) {
    return found_of(rows, kItl);
}

/// Returns the first of the metrics that is worse: "TPOT p95", or "ITL" for the median. `kind` if none is.
std::string name_of_worse(std::span<const GateRow> rows, std::span<const std::string_view> names,
                          std::string_view kind) {
    for (const std::string_view name : names) {
        const GateRow* const row = row_named(rows, name);
        if (row == nullptr || !is_worse(*row) || !row->shift) continue;
        const std::size_t end = name.find('_');
        std::string text(name.substr(0, end));
        std::ranges::transform(text, text.begin(), [](char c) { return static_cast<char>(c - 'a' + 'A'); });
        return name.ends_with("_p50") ? text : fmt::format("{} {}", text, name.substr(end + 1));
    }
    return std::string(kind);
}

/// Returns the end of the sentence "TTFT is worse and ITL …".
std::string_view predicate(Found found) {
    constexpr std::array<std::string_view, 5> kPredicates{"is worse", "is not beyond its tolerance", "is not",
                                                          "is undecided", "is not judged"};
    return kPredicates[static_cast<std::size_t>(found)];
}

/// Returns whether a metric is better by more than its limit, and chance does not explain it.
bool is_improved(const GateRow& row) {
    return row.verdict != GateVerdict::fail && row.shift && row.ci95 && *row.shift < -row.limit &&
           row.ci95->high < 0 && quantity_named(row.metric).better != Better::neither;
}

bool improved(std::span<const GateRow> rows, std::string_view name) {
    const GateRow* const row = row_named(rows, name);
    return row != nullptr && is_improved(*row);
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

/// Returns a text such as "Neither side keeps up with 27 req/s (13.9 served in the baseline, 7.7 in the
/// candidate): only their capacity can be compared. Lower the rate to judge latency."; empty if both keep up.
std::string overload_of(const GateInput& input) {
    const bool before = keeps_up(input.baseline);
    const bool after = keeps_up(input.candidate);
    if (before && after) return "";
    const RunResult& first = input.baseline.front().result;
    const std::string rate =
        first.request_rate ? number_text(*first.request_rate) + " req/s" : "the arrivals";
    return fmt::format(
        "{} with {} ({} served in the baseline, {} in the candidate): {}. Lower the rate to judge latency.",
        before  ? "The baseline keeps up and the candidate does not keep up"
        : after ? "The candidate keeps up and the baseline does not keep up"
                : "Neither side keeps up",
        rate, number_text(mean_figure(input.baseline, figure::kRequests).value_or(0)),
        number_text(mean_figure(input.candidate, figure::kRequests).value_or(0)),
        before || after ? "latency depends on the length of the runs on one side"
                        : "only their capacity can be compared");
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

std::optional<double> mean_metric(const std::vector<GateRun>& runs, std::string_view key) {
    double sum = 0;
    for (const GateRun& run : runs) {
        const MetricSummary* const metric = run.result.metric(key);
        if (metric == nullptr || !metric->mean) return std::nullopt;
        sum += *metric->mean;
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
    const auto ttft_before = mean_metric(input.baseline, "ttft_s");
    const auto ttft_after = mean_metric(input.candidate, "ttft_s");
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

constexpr std::string_view kCauseOfTtft =
    "the prefill, the queue before it, or a lower rate of prefix-cache hits. Compare chunked prefill, the "
    "number of slots, and the size of the cache.";
constexpr std::string_view kCauseOfItl =
    "the decode step, a larger batch, or preemption. Compare the formats of weights and KV cache, the "
    "kernels, the batch size, and the size of the KV cache.";
constexpr std::string_view kCauseOfBoth =
    "the whole server is slower. Compare its load, its clocks (power and heat) and what else runs there.";

/// Returns the cause that a worse metric points to if the other metric is known not to be worse. If that is
/// unknown, the text says what follows in each case.
std::string reason_of_one(std::string_view metric, std::string_view other, Found other_is,
                          std::string_view cause, std::string_view cause_of_both) {
    if (other_is == Found::not_worse || other_is == Found::slightly)
        return fmt::format("{} is worse and {} {}: the cause is {}", metric, other, predicate(other_is),
                           cause);
    return fmt::format("{} is worse and {} {}: if only {} is worse, the cause is {} If {} is worse too, {}",
                       metric, other, predicate(other_is), metric, cause, other, cause_of_both);
}

/// Returns the end of a sentence "Throughput is worse, but …" where neither TTFT nor ITL failed.
std::string latency_predicates(std::span<const GateRow> rows) {
    const Found ttft = ttft_of(rows);
    const Found itl = itl_of(rows);
    const auto is_within = [](Found found) { return found == Found::not_worse || found == Found::slightly; };
    if (ttft == Found::not_worse && itl == Found::not_worse) return "neither TTFT nor ITL is";
    if (is_within(ttft) && is_within(itl)) return "neither TTFT nor ITL is beyond its tolerance";
    return fmt::format("TTFT {} and ITL {}", predicate(ttft), predicate(itl));
}

/// Returns the cause of longer gaps between tokens, beside `what_is_not` worse; empty if they are not worse.
std::string stall_reason(std::span<const GateRow> rows, const GateInput& input,
                         std::string_view what_is_not) {
    const GateRow* const stall = row_named(rows, "stall_p95");
    if (stall == nullptr || !is_worse(*stall) || lies_among_failures(*stall)) return "";
    const std::string hits = lost_hits(input);
    return fmt::format("The longest gaps between tokens are worse, but {}: {}.", what_is_not,
                       !hits.empty() ? hits
                                     : "the server pauses, for example because of preemption or because it "
                                       "computes other prompts between decode steps");
}

std::string latency_reason(std::span<const GateRow> rows, const GateInput& input) {
    const GateRow* const median = row_named(rows, "itl_p50");
    if (median != nullptr && is_within_limit(*median) && itl_of(rows) == Found::worse)
        if (std::string pauses = stall_reason(rows, input, "the median inter-token latency is not");
            !pauses.empty())
            return pauses;
    const Found ttft = ttft_of(rows);
    const Found itl = itl_of(rows);
    const std::string ttft_name = name_of_worse(rows, kTtft, "TTFT");
    const std::string itl_name = name_of_worse(rows, kItl, "ITL");
    const std::string hits = lost_hits(input);
    const std::string queue = longer_queue(input);
    if (ttft == Found::worse && itl != Found::worse && !queue.empty())
        return fmt::format(
            "{} is worse and ITL {}: {}{}{}. Compare the load, the number of slots and the batch size.",
            ttft_name, predicate(itl), queue, hits.empty() ? "" : "; ", hits);
    if (ttft == Found::worse && !hits.empty())
        return itl == Found::worse
                   ? fmt::format("{} and {} are worse: {}.", ttft_name, itl_name, hits)
                   : fmt::format("{} is worse and ITL {}: {}.", ttft_name, predicate(itl), hits);
    if (ttft == Found::worse && itl == Found::worse)
        return fmt::format("{} and {} are both worse: {}", ttft_name, itl_name, kCauseOfBoth);
    if (ttft == Found::worse && itl == Found::not_worse && improved(rows, "itl_p50"))
        return ttft_name +
               " is worse and ITL is better: requests wait longer in a queue before they are served, and "
               "fewer are served at once. Compare the number of slots and the batch size.";
    if (ttft == Found::worse) return reason_of_one(ttft_name, "ITL", itl, kCauseOfTtft, kCauseOfBoth);
    if (itl == Found::worse && ttft == Found::not_worse && improved(rows, "ttft_p50"))
        return fmt::format(
            "{0} is worse and TTFT is better: more requests are served at once, and each decode step serves "
            "a larger batch. Compare the number of slots and the batch size. If this is intended, give {0} a "
            "larger tolerance in the policy.",
            itl_name);
    if (itl == Found::worse) return reason_of_one(itl_name, "TTFT", ttft, kCauseOfItl, kCauseOfBoth);
    return "";
}

/// The mean time of a request in seconds: TTFT and the time of its output tokens, of which there are
/// `tokens`.
struct RequestTime {
    double ttft_s = 0;
    double decode_s = 0;

    double sum() const { return ttft_s + decode_s; }
};

std::optional<RequestTime> request_time(const std::vector<GateRun>& runs, double tokens) {
    const auto ttft = mean_metric(runs, "ttft_s");
    const auto per_token = mean_metric(runs, "tpot_s");
    if (!ttft || !per_token || !(*ttft + *per_token > 0)) return std::nullopt;
    return RequestTime{*ttft, *per_token * std::max(0.0, tokens - 1)};
}

/// Returns a text such as "ITL is 3 % worse on average, which its tolerance allows, and this explains why
/// throughput is 2.9 % worse: the cause is …", if TTFT and ITL explain at least half of what throughput or
/// E2E lost. Empty otherwise, and for the throughput of an open loop, which is that of its arrivals.
std::string explained_reason(std::span<const GateRow> rows, const GateInput& input) {
    constexpr double kMostOfIt = .5;
    constexpr double kPart = .25;
    const bool is_throughput = worse(rows, "output_tokens_per_s");
    const GateRow* const lost = row_named(rows, is_throughput ? "output_tokens_per_s" : "e2e_p50");
    const auto tokens = mean_metric(input.baseline, "output_tokens_tok");
    if (lost == nullptr || !is_worse(*lost) || !lost->shift || !tokens) return "";
    if (is_throughput && input.baseline.front().result.open_loop()) return "";
    const auto before = request_time(input.baseline, *tokens);
    const auto after = request_time(input.candidate, *tokens);
    if (!before || !after || std::log(after->sum() / before->sum()) < kMostOfIt * *lost->shift) return "";
    std::string what;
    bool allowed = true;
    std::string_view cause;
    const auto add = [&](std::string_view name, double then, double now, Found found, std::string_view of) {
        if (now - then < kPart * (after->sum() - before->sum())) return;
        cause = what.empty() ? of : kCauseOfBoth;
        what += fmt::format("{}{} is {} % worse", what.empty() ? "" : " and ", name,
                            number_text(100 * (now / then - 1)));
        allowed = allowed && (found == Found::slightly || found == Found::not_worse);
    };
    add("TTFT", before->ttft_s, after->ttft_s, ttft_of(rows), kCauseOfTtft);
    add("ITL", before->decode_s, after->decode_s, itl_of(rows), kCauseOfItl);
    return fmt::format("{} on average{}, and this explains why {} is {}: {}{}", what,
                       allowed ? ", which the tolerance allows" : "", is_throughput ? "throughput" : "E2E",
                       amount_text(*lost, *lost->shift), cause == kCauseOfBoth ? "" : "the cause is ", cause);
}

std::string other_reason(std::span<const GateRow> rows, const GateInput& input) {
    if (failures_that_fail(rows) != nullptr) {
        const std::string failures = failures_of(input.candidate);  // a summary tells only their number
        return fmt::format("More requests fail than before{}. The server's log may have the reasons.",
                           failures.empty() ? "" : fmt::format(" ({})", failures));
    }
    if (worse(rows, "quality") || worse(rows, "repeated_answers") || worse(rows, "empty_answers"))
        return "The answers are worse, whatever their speed: compare the formats of weights and KV cache, "
               "the kernels, the chat template and the sampling. probe.jsonl and answers.jsonl in the runs "
               "have the texts.";
    if (worse(rows, "output_length") || worse(rows, "finish_reasons"))
        return "Answers end at different places: the chat template, the end-of-text token, or the model is "
               "not the same.";
    if (std::string pauses = stall_reason(rows, input, latency_predicates(rows)); !pauses.empty())
        return pauses;
    if (std::string explained = explained_reason(rows, input); !explained.empty()) return explained;
    if (worse(rows, "output_tokens_per_s"))
        return fmt::format(
            "Throughput is worse, but {}: requests may start later. Compare the delays before sending and "
            "the waits for connections (client in run.json) and the time from one request to the next.",
            latency_predicates(rows));
    return "";
}

/// Returns " Better: Output tokens (50 % higher), Time to first token, p50 (99 % lower)."; empty if nothing
/// is better by more than its tolerance.
std::string better_text(std::span<const GateRow> rows) {
    constexpr std::size_t kMostNamed = 3;
    std::string text;
    std::size_t n = 0;
    for (const GateRow& row : rows) {
        if (!is_improved(row) || n++ >= kMostNamed) continue;
        text += fmt::format("{}{} ({})", text.empty() ? " Better: " : ", ", row.title,
                            amount_text(row, *row.shift));
    }
    if (n > kMostNamed) text += fmt::format(" and {} more", n - kMostNamed);
    return text.empty() ? "" : text + ".";
}

/// Returns whether the baseline is beyond a limit on the candidate, too.
bool baseline_misses(const GateRow& limit) {
    if (!limit.baseline) return false;
    return limit.metric.find('<') != std::string::npos ? *limit.baseline > limit.limit
                                                       : *limit.baseline < limit.limit;
}

/// Returns the advice behind a fail.
std::string_view advice_on(std::span<const GateRow> rows) {
    if (std::ranges::all_of(rows, [](const GateRow& row) {
            return row.verdict != GateVerdict::fail || (is_limit(row) && baseline_misses(row));
        }))
        return "The limit asks for more than the baseline reaches: change the load, the servers or the "
               "limit.";
    return "Do not roll out the candidate; find the cause first.";
}

std::string failed_headline(const GateReport& report) {
    std::size_t failed = 0;
    const GateRow* first = nullptr;  // a policy begins with what matters most
    const GateRow* worst = nullptr;  // of the others, beside its tolerance
    std::size_t among_failures = 0;
    for (const GateRow& row : report.rows) {
        if (row.verdict != GateVerdict::fail) continue;
        ++failed;
        if (first == nullptr)
            first = &row;
        else if (row.shift && row.limit > 0 &&
                 (worst == nullptr || *row.shift / row.limit > *worst->shift / worst->limit))
            worst = &row;
        among_failures += lies_among_failures(row) ? 1 : 0;
    }
    if (first == nullptr) return "FAIL";
    const GateRow* const failures = among_failures > 0 ? failures_that_fail(report.rows) : nullptr;
    if (failures != nullptr) {
        first = failures;  // which explain the percentiles
        worst = nullptr;
    }
    std::string text = fmt::format("FAIL: {}: {}", first->title, change_text(*first));
    if (failures != nullptr)
        text += fmt::format(" ({}); the percentiles of {} other {} fall among the failed requests",
                            failures->reason, among_failures, among_failures == 1 ? "metric" : "metrics");
    else if (failed > 1)
        text += fmt::format("; {} other {} failed too", failed - 1, failed == 2 ? "metric" : "metrics");
    if (worst != nullptr)
        text += fmt::format("{} {}: {}", failed == 2 ? ":" : "; the worst of them is", worst->title,
                            amount_text(*worst, *worst->shift));
    return fmt::format("{}.{} {}", text, better_text(report.rows), advice_on(report.rows));
}

/// Returns by how much a metric is worse at least, or differs at least if neither direction is better.
double least_change(const GateRow& row) {
    if (quantity_named(row.metric).better != Better::neither) return row.ci95->low;
    return std::max(row.ci95->low, -row.ci95->high);
}

/// Returns what the data of a report with undecided metrics shows: the metrics that are probably worse, the
/// one of which the most is known to be worse in comparison with its tolerance first; or, if there is none,
/// the metric that could be the worst.
std::string shown_text(const GateReport& report) {
    constexpr std::size_t kMostNamed = 3;
    constexpr double kProbably = 0.05;  // probability of as many failures by chance
    std::vector<const GateRow*> worse;
    std::vector<const GateRow*> probably;  // shares, which have no interval
    const GateRow* widest = nullptr;
    std::size_t undecided = 0;
    for (const GateRow& row : report.rows) {
        if (row.verdict != GateVerdict::inconclusive) continue;
        ++undecided;
        if (is_limit(row) || !row.shift) continue;
        if (row.points && *row.shift > row.limit && row.p_fail < kProbably) probably.push_back(&row);
        if (!row.ci95) continue;
        if (least_change(row) > 0) worse.push_back(&row);
        if (!row.keeps_open()) continue;
        if (widest == nullptr || row.ci95->high / row.limit > widest->ci95->high / widest->limit)
            widest = &row;
    }
    sort_stably(worse, std::greater{}, [](const GateRow* row) { return least_change(*row) / row->limit; });
    worse.insert(worse.begin(), probably.begin(), probably.end());
    const std::string counted = fmt::format("{} of {} metrics {} undecided", undecided, report.rows.size(),
                                            undecided == 1 ? "is" : "are");
    if (worse.empty() && widest != nullptr)
        return fmt::format("{}, and none is clearly worse. The least certain one is {}: {}.", counted,
                           widest->title, change_text(*widest));
    if (worse.empty()) {
        const auto share = std::ranges::find_if(report.rows, [](const GateRow& row) {
            return row.keeps_open() && row.points && !row.reason.empty();
        });
        if (share == report.rows.end()) return counted + ".";
        return fmt::format("{}. {}: {}.", counted, share->title, share->reason);
    }
    std::string text = fmt::format("{}: probably {}{}.", worse.front()->title,
                                   worse.front()->points ? "worse, " : "", change_text(*worse.front()));
    if (worse.front()->points) text.insert(text.size() - 1, fmt::format(" ({})", worse.front()->reason));
    for (std::size_t i = 1; i < std::min(worse.size(), kMostNamed); ++i)
        text += fmt::format("{}{} ({})", i == 1 ? " Probably worse, too: " : ", ", worse[i]->title,
                            amount_text(*worse[i], *worse[i]->shift));
    if (worse.size() > kMostNamed) text += fmt::format(" and {} more", worse.size() - kMostNamed);
    if (worse.size() > 1) text += ".";
    return fmt::format("{} {}.", text, counted);
}

/// Returns the number of runs that a side lacks until two sets can be compared.
std::size_t missing_runs(const GateReport& report, bool of_candidate) {
    constexpr std::ptrdiff_t kFewest = 3;
    const auto runs = std::ranges::count(report.runs, of_candidate, &GateRunNote::of_candidate);
    return static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, kFewest - runs));
}

/// Whether the report judges figures of other programs' summaries, which have no requests.
bool is_of_summaries(const GateReport& report) {
    return std::ranges::any_of(report.rows,
                               [](const GateRow& row) { return row.metric.starts_with("reported/"); });
}

/// Returns how many stored runs would decide the metrics that no number of runs of the candidate decides, and
/// the command that adds those of this gate.
std::string stored_text(const GateReport& report) {
    constexpr std::uint64_t kKept = 20;  // by `baseline update`
    const bool is_probably_worse = std::ranges::any_of(report.rows, [](const GateRow& row) {
        return row.verdict == GateVerdict::inconclusive && row.ci95 && least_change(row) > 0;
    });
    const auto command = [&](const std::string& more) {
        return fmt::format("`paretoken baseline update NAME {}{}` adds {}",
                           is_probably_worse ? "RUN…" : "DIR --accept-inconclusive", more,
                           is_probably_worse ? "runs of the baseline's build" : "those of this gate in DIR");
    };
    std::uint64_t needed = 0;
    for (const GateRow& row : report.rows) {
        if (!row.keeps_open() || is_limit(row) || row.points || row.pairs_to_decide) continue;
        if (!row.stored_to_decide)
            return fmt::format("Add many runs ({}), or store longer ones under another name", command(""));
        needed = std::max(needed, *row.stored_to_decide);
    }
    if (needed == 0) return fmt::format("Add runs ({})", command(""));
    // The number decides if the further runs differ as little as those so far, which is a half of the cases.
    const auto stored =
        static_cast<std::uint64_t>(std::ranges::count(report.runs, false, &GateRunNote::of_candidate));
    needed += (needed - std::min(needed, stored) + 1) / 2;
    return fmt::format("About {} stored runs of this length would: add runs ({})", needed,
                       command(needed > kKept ? fmt::format(" --keep {}", needed) : ""));
}

/// Returns which data would decide the undecided metrics.
std::string missing_text(const GateReport& report) {
    const bool summaries = is_of_summaries(report);
    if (report.design == GateDesign::within_runs && summaries)
        return "A summary has no requests: files with details, or three runs of each side, would decide.";
    if (report.design == GateDesign::within_runs)
        return "Longer runs (--num-prompts), or three runs of each side, would decide.";
    if (report.design == GateDesign::two_sets) {
        const std::size_t before = missing_runs(report, false);
        const std::size_t after = missing_runs(report, true);
        if (before + after > 0)
            return fmt::format("3 runs of each side are needed: measure {}{}{}{}.",
                               before > 0 ? fmt::format("{} more of the baseline", before) : "",
                               before > 0 && after > 0 ? " and " : "",
                               after > 0 ? fmt::format("{} more of the candidate", after) : "",
                               before != 2 || after != 2 ? ""
                               : summaries               ? ", or give files with details and --within-run"
                                                         : ", or compare single runs with --within-run");
    }
    std::uint64_t pairs = 0;
    std::vector<std::string> unnumbered;  // undecided metrics without a number of pairs
    bool may_be_tolerated = false;        // whether one of them is a speed
    std::size_t numbered = 0;
    std::size_t among_failures = 0;
    const GateRow* const failures = row_named(report.rows, "failures");
    const bool fails_more = failures != nullptr && failures->shift.value_or(0) > 0;
    for (const GateRow& row : report.rows) {
        if (!row.keeps_open() || is_limit(row)) continue;
        if (fails_more && lies_among_failures(row)) {
            ++among_failures;
            continue;
        }
        if (!row.pairs_to_decide) {
            unnumbered.push_back(row.title);
            may_be_tolerated |= !row.points;
            continue;
        }
        ++numbered;
        pairs = std::max(pairs, *row.pairs_to_decide);
    }
    const bool stored = report.design == GateDesign::stored;
    const std::string_view counted = stored ? "runs of the candidate" : "pairs";
    std::string text;
    if (among_failures > 0)
        text = fmt::format(
            "The percentiles of {} {} fall among the failed requests of a run: find out why requests fail.{}",
            among_failures, among_failures == 1 ? "metric" : "metrics",
            numbered > 0 || !unnumbered.empty() ? " " : "");
    if (unnumbered.empty() && numbered == 0) return text;
    const std::uint64_t allowed = report.looks.empty() ? 0 : report.looks.back().pairs;
    if (unnumbered.empty())
        return fmt::format("{}About {} {} would decide{}{}.", text, pairs, counted,
                           among_failures == 0 ? "" : " the others",
                           pairs > allowed ? fmt::format(" (--max-pairs {})", pairs) : "");
    constexpr std::size_t kMostNamed = 3;
    const std::size_t without = unnumbered.size();
    unnumbered.resize(std::min(without, kMostNamed));
    std::string names = fmt::format("{}", fmt::join(unnumbered, "; "));
    if (without > kMostNamed) names += fmt::format(" and {} more", without - kMostNamed);
    const std::string tolerance =
        may_be_tolerated
            ? fmt::format(", or give {} a larger tolerance in a policy (--print-policy writes one)",
                          without == 1 ? "this metric" : "these metrics")
            : "";
    const bool is_early = report.pairs < kFewestForSpread && report.pairs < allowed;
    text += stored && is_early
                ? fmt::format("It is not known yet whether more runs of the candidate decide {}.", names)
            : stored ? fmt::format(
                           "More runs of the candidate do not decide {}: the stored runs are too "
                           "few. {}{} measure both sides in pairs{}.",
                           names, stored_text(report), may_be_tolerated ? "," : ", or", tolerance)
                     : fmt::format(
                           "The number of pairs that would decide is unknown or above 1000 for "
                           "{}: measure more or longer runs{}.",
                           names, tolerance);
    if (numbered > 0)
        text += fmt::format(" About {} {} would decide the other undecided {}.", pairs, counted,
                            numbered == 1 ? "metric" : "metrics");
    return text;
}

std::string undecided_headline(const GateReport& report) {
    const auto undecided = std::ranges::count_if(report.rows, &GateRow::keeps_open);
    const auto first = std::ranges::find_if(report.rows, &GateRow::keeps_open);
    if (report.rows.empty()) return "INCONCLUSIVE: nothing could be compared.";
    if (undecided == 0 && std::ranges::count(report.rows, GateVerdict::pass, &GateRow::verdict) == 0)
        return fmt::format("INCONCLUSIVE: none of {} metric{} is decided.", report.rows.size(),
                           report.rows.size() == 1 ? "" : "s");
    if (undecided == 0)
        return fmt::format(
            "INCONCLUSIVE: none of {} metrics is worse than its tolerance allows, but the candidate does not "
            "keep up with the arrivals, so that its latency cannot be judged. Lower the rate.",
            report.rows.size());
    if (metrics_are_decided(report))
        return fmt::format(
            "INCONCLUSIVE: {}: {}. Each run must certify the limit, and more pairs do not help.",
            first->title, first->reason);
    if (const std::string few = too_few_text(report); !few.empty())
        return fmt::format("INCONCLUSIVE: {}.", few);
    if (undecided == 1 && first->metric == "quality")
        return fmt::format(
            "INCONCLUSIVE: {} fell {}, which {} questions cannot distinguish from chance: ask more of them "
            "(--probe).",
            first->title, change_text(*first), first->samples);
    return fmt::format("INCONCLUSIVE: {}{} {}", shown_text(report), better_text(report.rows),
                       missing_text(report));
}

/// Returns the first undecided row; null if there is none.
const GateRow* open_in(std::span<const GateRow> rows) {
    const auto found = std::ranges::find(rows, GateVerdict::inconclusive, &GateRow::verdict);
    return found == rows.end() ? nullptr : &*found;
}

/// Returns " Longest stall, p95 is undecided, which the policy allows: 13.7 % worse (…)."; empty if no row of
/// a gate that passes is undecided.
std::string undecided_text(std::span<const GateRow> rows) {
    const GateRow* const open = open_in(rows);
    if (open == nullptr) return "";
    const auto others = std::ranges::count(rows, GateVerdict::inconclusive, &GateRow::verdict) - 1;
    return fmt::format(" {} is undecided, which the policy allows: {}.{}", open->title, change_text(*open),
                       others == 0 ? "" : fmt::format(" So are {} more.", others));
}

/// Returns the row whose shift is the largest part of what is tolerated; null if no row has a shift.
const GateRow* nearest_to_tolerance(std::span<const GateRow> rows) {
    const GateRow* nearest = nullptr;
    for (const GateRow& row : rows) {
        if (row.verdict != GateVerdict::pass || is_limit(row) || !row.shift || !(row.limit > 0) ||
            !std::isfinite(row.limit))
            continue;
        if (nearest == nullptr || *row.shift / row.limit > *nearest->shift / nearest->limit) nearest = &row;
    }
    return nearest;
}

}  // namespace

bool keeps_up(const std::vector<GateRun>& runs) {
    const auto kept = std::ranges::count_if(runs, [](const GateRun& run) { return kept_up(run.result); });
    return 2 * static_cast<std::size_t>(kept) >= runs.size();
}

std::string why_of(std::span<const GateRow> rows, const GateInput& input) {
    const auto failed = [](const GateRow& row) { return row.verdict == GateVerdict::fail; };
    std::string overload = overload_of(input);
    if (std::ranges::none_of(rows, failed)) return overload;
    const bool answers =
        worse(rows, "quality") || worse(rows, "repeated_answers") || worse(rows, "empty_answers");
    const bool more_failures = failures_that_fail(rows) != nullptr;
    if (!overload.empty() && !more_failures && !answers)
        return fmt::format(
            "{}{}{}", overload,
            worse(rows, "output_tokens_per_s")
                ? " The candidate's capacity is lower: compare the number of slots, the batch size and the "
                  "time of a step."
                : "",
            servers_say(input));
    std::string latency = latency_reason(rows, input);
    if (!latency.empty()) latency += servers_say(input);
    if (more_failures || answers || latency.empty()) {
        const std::string other = other_reason(rows, input);
        return latency.empty() || other.empty() ? other + latency : other + " " + latency;
    }
    return latency;
}

std::string too_few_text(const GateReport& report, std::string_view within) {
    const bool is_measured = report.design == GateDesign::pairs || report.design == GateDesign::stored;
    const std::uint64_t runs = runs_of_candidate(report);
    if (!is_measured || report.pairs > 0 || report.looks.empty() || runs == 0) return "";
    const std::string_view unit = report.design == GateDesign::pairs ? "pair" : "run";
    return fmt::format("only {} {}{}{} measured{}, and at least {} are needed", runs, unit,
                       runs == 1 ? "" : "s",
                       report.design == GateDesign::pairs ? (runs == 1 ? " was" : " were")
                       : runs == 1                        ? " of the candidate was"
                                                          : " of the candidate were",
                       within, report.looks.front().pairs);
}

std::string progress_of(const GateReport& report) {
    const bool is_open =
        std::ranges::any_of(report.rows, &GateRow::keeps_open) && !metrics_are_decided(report);
    return is_open && report.pairs > 0 ? shown_text(report) : headline_of(report);
}

std::string headline_of(const GateReport& report) {
    switch (report.verdict) {
        case GateVerdict::fail:
            return failed_headline(report);
        case GateVerdict::inconclusive:
            return undecided_headline(report);
        case GateVerdict::pass:
            break;
    }
    std::string text = fmt::format("PASS: none of {} metrics is {}worse than its tolerance allows.{}{}",
                                   report.rows.size(), open_in(report.rows) == nullptr ? "" : "shown to be ",
                                   better_text(report.rows), undecided_text(report.rows));
    if (const GateRow* const nearest = nearest_to_tolerance(report.rows);
        nearest != nullptr && *nearest->shift > 0)
        text += fmt::format(" The closest to its tolerance is {}: {} ({} is tolerated).", nearest->title,
                            amount_text(*nearest, *nearest->shift),
                            nearest->points ? tolerance_text(*nearest)
                                            : fmt::format("{:.3g} %", percent_of(*nearest, nearest->limit)));
    if (is_of_summaries(report) && row_named(report.rows, "failures") == nullptr)
        return text + " Roll out if no more requests failed than before, which these metrics do not tell.";
    return text + " Roll out.";
}

}  // namespace paretoken::reports
