#include "reports/analysis/sweep/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <utility>

#include "core/record/record.h"
#include "core/result/metrics.h"
#include "core/result/slo.h"
#include "core/run/begun.h"
#include "core/stable_sort.h"
#include "core/statistics.h"
#include "core/text/number_text.h"
#include "core/validity/validity.h"
#include "reports/document/table.h"

namespace paretoken::reports {
namespace {

constexpr std::array<std::string_view, 4> kStateNames{"pending", "running", "done", "failed"};

RepeatSpread spread_of(const std::vector<double>& values) {
    const Moments moments = moments_of(values);
    RepeatSpread spread{moments.mean, moments.standard_deviation, {}};
    if (moments.n < 2) return spread;
    const auto n = static_cast<double>(moments.n);
    const double half = student_t(0.95, n - 1) * moments.standard_deviation / std::sqrt(n);
    spread.ci95 = Interval{moments.mean - half, moments.mean + half};
    return spread;
}

std::optional<double> acceptance_in(const RunResult& result) {
    if (!result.server) return std::nullopt;
    // A window that is shorter than the time between two readings has no ratio of its own; then the whole
    // run's is used.
    for (const auto* of : {&result.server->window, &result.server->whole_run})
        if (const auto found = of->find("acceptance_ratio"); found != of->end()) return found->second;
    return std::nullopt;
}

/// Returns whether two points measured the same load in the same cell.
bool is_repeat(const SweepPoint& a, const SweepPoint& b) {
    return a.cell == b.cell && a.load == b.load && a.load_label == b.load_label;
}

/// Returns the sum of the caps of those classes that are closed loops; 0 if there are none.
std::uint64_t closed_loops_of(const RunResult& result) {
    std::uint64_t sum = 0;
    for (const auto& [name, scope] : result.classes) {
        const auto arrivals = result.plan.find(name + ".arrivals");
        const auto cap = result.plan.find(name + ".concurrency");
        if (arrivals == result.plan.end() || cap == result.plan.end() || arrivals->second != "at_once")
            continue;
        std::uint64_t own = 0;  // stays 0 for what is no number, as in a file that was changed
        std::from_chars(cap->second.data(), cap->second.data() + cap->second.size(), own);
        sum += own;
    }
    return sum;
}

constexpr std::string_view kRequestsBegin = "req";

/// Returns what an arrival of an open loop begins: a job of agents, a conversation, or a single request or
/// the next turn of a user (the arrivals `users`).
std::string_view begun_by_arrivals(const RunResult& result) {
    const auto arrivals = result.plan.find("arrivals");
    if (arrivals != result.plan.end() && arrivals->second.starts_with("users")) return kRequestsBegin;
    if (result.jobs) return "jobs";
    return result.turns.empty() ? kRequestsBegin : "conv";
}

/// Returns how many jobs, conversations or single requests the arrivals began.
std::uint64_t count_of_arrivals(const RunResult& result) {
    if (result.jobs) return result.jobs->ok + result.jobs->failed + result.jobs->unfinished;
    return result.turns.empty() ? result.counts.requests : result.turns.front().counts.requests;
}

/// Returns the rate of a trace. A trace whose times are all the same has none, and its number of rows is in
/// the place of one.
std::string trace_text(const RunResult& result) {
    std::string_view unit = begun_by_arrivals(result);
    const std::uint64_t count = count_of_arrivals(result);
    if (count == 1) return fmt::format("1 {}", unit == "jobs" ? "job" : unit);
    if (*result.request_rate == static_cast<double>(count)) return "all at once";
    return fmt::format("{} {}/s", significant(*result.request_rate), unit);
}

/// The rate as it was given, or with three digits if it has more than five characters.
std::string rate_text(double rate) {
    constexpr std::size_t kMostCharacters = 5;
    const std::string text = fmt::format("{:g}", rate);
    return text.size() > kMostCharacters ? number_text(rate) : text;
}

/// Returns whether another program measured the run, and its file names neither a cap nor a rate.
bool load_is_unknown(const Provenance& provenance, const PlanEcho& plan) {
    return !provenance.measured_by.empty() && !plan.contains("concurrency") &&
           !plan.contains("request_rate") && !plan.contains("arrivals");
}

std::string label_of(std::optional<std::uint64_t> concurrency, std::optional<double> request_rate,
                     std::uint64_t closed, std::string_view unit) {
    if (request_rate) {
        return fmt::format("{}{} {}/s", closed > 0 ? fmt::format("c={} + ", closed) : "",
                           rate_text(*request_rate), unit);
    }
    if (concurrency) return fmt::format("c={}", *concurrency);
    return "all at once";
}

}  // namespace

std::string_view name_of(PointState state) {
    return kStateNames[static_cast<std::size_t>(state)];
}

std::optional<PointState> point_state_named(std::string_view name) {
    for (std::size_t i = 0; i < kStateNames.size(); ++i)
        if (kStateNames[i] == name) return static_cast<PointState>(i);
    return std::nullopt;
}

std::string server_of(const SweepPoint& point) {
    const auto found = point.cell.find(std::string(kServerOfCell));
    return found == point.cell.end() ? "" : found->second;
}

std::map<std::string, std::string> without_server(std::map<std::string, std::string> cell) {
    cell.erase(std::string(kServerOfCell));
    return cell;
}

std::string load_label_of(const RunResult& result) {
    if (load_is_unknown(result.provenance, result.plan)) return "load unknown";
    const auto arrivals = result.plan.find("arrivals");
    if (result.request_rate && arrivals != result.plan.end() && arrivals->second.starts_with("trace"))
        return fmt::format("trace, {}", trace_text(result));
    return label_of(result.concurrency, result.request_rate, closed_loops_of(result),
                    begun_by_arrivals(result));
}

std::string load_label_of(const Begun& begun) {
    if (load_is_unknown(begun.provenance, begun.plan)) return "load unknown";
    return label_of(begun.shape.concurrency, begun.shape.request_rate, 0, kRequestsBegin);
}

double load_of(const RunResult& result) {
    if (result.request_rate) return *result.request_rate;
    return static_cast<double>(result.concurrency.value_or(0));
}

std::string failures_text(const Counts& counts) {
    constexpr std::size_t kMostExample = 100;
    std::vector<std::pair<std::string, std::uint64_t>> classes;
    for (const auto& [name, count] : counts.by_outcome) {
        const std::optional<Outcome> outcome = outcome_named(name);
        if (count > 0 && (!outcome || is_failure(*outcome))) classes.emplace_back(name, count);
    }
    sort_stably(classes, std::greater{}, &std::pair<std::string, std::uint64_t>::second);
    std::string text;
    for (const auto& [name, count] : classes) {
        text += fmt::format("{}{} {}", text.empty() ? "" : "; ", grouped(count), printable(name));
        const auto example = counts.example_errors.find(name);
        if (example != counts.example_errors.end() && !example->second.empty())
            text += fmt::format(", e.g. {}", printable(example->second, kMostExample));
    }
    return text;
}

SweepPoint sweep_point_of(const RunResult& result, const SweepPoint& planned) {
    std::map<std::string, LimitedPercentile> limits;
    for (const SloResult& slo : result.slo) limits[slo.key] = {slo.value, slo.limit};
    return {.directory = planned.directory,
            .load_label = load_label_of(result),
            .load = planned.load,
            .cell = planned.cell,
            .repeat = planned.repeat,
            .state = PointState::done,
            .requests_per_s = result.throughput.at(figure::kRequests),
            .output_tokens_per_s = result.throughput.at(figure::kOutputTokens),
            .interactivity_tok_per_s = result.percentile("interactivity_tok_per_s", .9),
            .goodput_per_s = result.throughput.at(figure::kGoodput),
            .goodput_ratio = result.throughput.at(figure::kGoodputRatio),
            .ttft_p50_s = result.percentile(headline_key("ttft", result.open_loop()), .5),
            .ttft_p99_s = result.percentile(headline_key("ttft", result.open_loop()), .99),
            .tpot_p50_s = result.percentile("tpot_s", .5),
            .itl_p50_s = result.percentile("itl_s", .5),
            .itl_p99_s = result.percentile("itl_s", .99),
            .acceptance = acceptance_in(result),
            .cached_share = result.throughput.at(figure::kCachedPromptRatio),
            .requests = result.counts.requests,
            .failed = result.counts.failed,
            .failures = failures_text(result.counts),
            .verdict = result.validity.verdict,
            .slo = result.slo.empty() ? std::nullopt : std::optional(verdict_on_all(result.slo)),
            .limits = std::move(limits),
            .note = gravest_reason(result.validity)};
}

std::vector<SweepRepeats> repeats_of(const std::vector<SweepPoint>& points) {
    struct Column {
        const char* key;
        std::optional<double> SweepPoint::*value;
    };
    constexpr Column kColumns[] = {{"requests_per_s", &SweepPoint::requests_per_s},
                                   {"output_tokens_per_s", &SweepPoint::output_tokens_per_s},
                                   {"interactivity_tok_per_s", &SweepPoint::interactivity_tok_per_s},
                                   {"goodput_per_s", &SweepPoint::goodput_per_s},
                                   {"goodput_ratio", &SweepPoint::goodput_ratio},
                                   {"ttft_p50_s", &SweepPoint::ttft_p50_s},
                                   {"ttft_p99_s", &SweepPoint::ttft_p99_s},
                                   {"tpot_p50_s", &SweepPoint::tpot_p50_s},
                                   {"itl_p50_s", &SweepPoint::itl_p50_s},
                                   {"itl_p99_s", &SweepPoint::itl_p99_s}};
    std::vector<SweepRepeats> all;
    for (const SweepPoint& first : points) {
        const bool is_first = std::none_of(
            points.data(), &first, [&](const SweepPoint& earlier) { return is_repeat(earlier, first); });
        if (!is_first) continue;
        SweepRepeats repeats{.load_label = first.load_label, .load = first.load, .cell = first.cell};
        std::map<std::string, std::vector<double>> values;
        for (const SweepPoint& point : points) {
            if (!is_repeat(point, first) || point.state != PointState::done ||
                point.verdict == Verdict::invalid)
                continue;
            ++repeats.runs;
            for (const auto& [key, value] : kColumns)
                if (const auto& own = point.*value) values[key].push_back(*own);
        }
        if (repeats.runs < 2) continue;
        for (const auto& [key, of_runs] : values) repeats.figures[key] = spread_of(of_runs);
        all.push_back(std::move(repeats));
    }
    return all;
}

}  // namespace paretoken::reports
