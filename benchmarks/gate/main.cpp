// Measures how often a gate's verdict is wrong: Markdown tables over simulated gates, for docs/gate.md.
//     paretoken-gate-errors [GATES] [THREADS]             noise that is drawn
//     paretoken-gate-errors unpaired [GATES] [THREADS]    the same against a stored baseline
//     paretoken-gate-errors virtual [GATES] [THREADS]     runs of the simulated server in virtual time
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/evidence/sequential.h"
#include "core/plan/plan_fields.h"
#include "core/random.h"
#include "core/record/event_source.h"
#include "core/record/record_sink.h"
#include "core/run/result_of.h"
#include "experiments/gate.h"
#include "experiments/server/load.h"
#include "experiments/server/resolve.h"
#include "experiments/server/target.h"
#include "experiments/watcher.h"
#include "loadgen/progress.h"
#include "loadgen/run.h"
#include "reports/analysis/gate/decision/decision.h"
#include "reports/analysis/gate/decision/history.h"

namespace paretoken::gate_errors {
namespace {

constexpr std::size_t kPairs = 16;

// ---- noise of pairs

enum class Noise { normal, t3, ar1, drift, correlated };
constexpr std::array kNoises{
    std::pair{Noise::normal, "normal"}, std::pair{Noise::t3, "Student's t, 3 degrees"},
    std::pair{Noise::ar1, "AR(1), .6"}, std::pair{Noise::drift, "normal, drift of 5 % an hour"},
    std::pair{Noise::correlated, "normal, 12 metrics correlated .7"}};

/// One metric: its tolerance, the standard deviation of a pair's log ratio, and its true shift.
struct Metric {
    double limit = 0;
    double deviation = 0;
    double shift = 0;
};

/// Returns the default policy's metrics with usual noise, and `more` extra ones (for 12 in all).
std::vector<Metric> usual_metrics(std::size_t more = 0) {
    const double two = std::log(1.02);
    const double five = std::log(1.05);
    const double ten = std::log(1.1);
    std::vector<Metric> metrics{{two, .01}, {five, .02}, {five, .015}, {five, .015}, {ten, .06},
                                {ten, .03}, {ten, .06},  {five, .02},  {ten, .03}};
    for (std::size_t i = 0; i < more; ++i) metrics.push_back({ten, .04});
    return metrics;
}

using Series = std::array<double, kPairs>;

/// Draws unit noise of every metric over the pairs of one gate.
std::vector<Series> drawn(Noise noise, std::size_t metrics, Random& random) {
    std::vector<Series> series(metrics);
    std::vector<double> before(metrics, 0);
    for (std::size_t pair = 0; pair < kPairs; ++pair) {
        const double common = random.normal();
        for (std::size_t m = 0; m < metrics; ++m) {
            double z = random.normal();
            if (noise == Noise::t3) {  // scaled to a variance of 1
                double chi2 = 0;
                for (int i = 0; i < 3; ++i) chi2 += std::pow(random.normal(), 2);
                z /= std::sqrt(chi2 / 3) * std::sqrt(3.0);
            }
            if (noise == Noise::ar1) z = before[m] = pair == 0 ? z : .6 * before[m] + .8 * z;
            if (noise == Noise::correlated) z = std::sqrt(.7) * common + std::sqrt(.3) * z;
            series[m][pair] = z;
        }
    }
    return series;
}

/// Returns the drift that remains after the order of pairs (ABBA), for a machine that slows by 5 % an hour
/// and runs of two minutes.
double drift_of(Noise noise, std::size_t pair) {
    if (noise != Noise::drift) return 0;
    const double step = std::log(1.05) * 2.0 / 60;
    return experiments::candidate_is_first(pair) ? -step : step;
}

std::vector<Series> pairs_of(Noise noise, const std::vector<Metric>& metrics, std::uint64_t seed) {
    Random random(derived_seed(seed, "gate"));
    std::vector<Series> series = drawn(noise, metrics.size(), random);
    for (std::size_t m = 0; m < metrics.size(); ++m)
        for (std::size_t pair = 0; pair < kPairs; ++pair)
            series[m][pair] =
                metrics[m].shift + metrics[m].deviation * series[m][pair] + drift_of(noise, pair);
    return series;
}

// ---- one gate

struct Outcome {
    bool failed = false;
    bool passed = false;
    std::size_t pairs = kPairs;
    bool first_failed = false;  ///< whether metric 0 failed
    bool first_passed = false;
};

Outcome gated(const std::vector<Series>& series, const std::vector<Metric>& metrics,
              const std::vector<Look>& looks) {
    Outcome outcome;
    std::vector<bool> passed(metrics.size(), false);
    for (const Look& look : looks) {
        std::vector<double> p;
        bool open = false;
        for (std::size_t m = 0; m < metrics.size(); ++m) {
            const Shift shift = paired_shift(std::span(series[m]).first(look.pairs));
            p.push_back(p_above(shift, metrics[m].limit));
            if (p_below(shift, metrics[m].limit) <= look.beta) passed[m] = true;
            open = open || !passed[m];
        }
        const auto rejected = rejected_by_holm(p, look.alpha);
        for (const bool one : rejected) outcome.failed = outcome.failed || one;
        outcome.first_failed = rejected[0];
        if (outcome.failed || !open) {
            outcome.pairs = look.pairs;
            break;
        }
    }
    outcome.first_passed = passed[0];
    outcome.passed = !outcome.failed && std::find(passed.begin(), passed.end(), false) == passed.end();
    return outcome;
}

/// Tests after every pair from the third on, each time with the whole error.
bool failed_by_peeking(const Series& series, double limit) {
    for (std::size_t pairs = 3; pairs <= kPairs; ++pairs)
        if (p_above(paired_shift(std::span(series).first(pairs)), limit) <= .01) return true;
    return false;
}

// ---- many gates

struct Shares {
    std::atomic<std::uint64_t> failed{0};
    std::atomic<std::uint64_t> passed{0};
    std::atomic<std::uint64_t> failed_by_6{0};
    std::atomic<std::uint64_t> pairs{0};
    std::atomic<std::uint64_t> first_failed{0};
    std::atomic<std::uint64_t> first_passed{0};
    std::atomic<std::uint64_t> peeked{0};
    std::atomic<std::uint64_t> held{0};
};

struct Options {
    std::uint64_t gates = 10'000;
    std::uint64_t threads = 2;
};

void in_parallel(const Options& options, const std::function<void(std::uint64_t)>& one) {
    std::atomic<std::uint64_t> next{0};
    std::vector<std::jthread> threads;
    for (std::uint64_t i = 0; i < options.threads; ++i)
        threads.emplace_back([&] {
            for (std::uint64_t gate = next++; gate < options.gates; gate = next++) one(gate);
        });
}

void count(Noise noise, const std::vector<Metric>& metrics, const Options& options, Shares& shares) {
    const auto looks = planned_looks(kPairs, .01, .05);
    in_parallel(options, [&](std::uint64_t gate) {
        const auto series = pairs_of(noise, metrics, gate);
        const Outcome outcome = gated(series, metrics, looks);
        shares.failed += outcome.failed ? 1 : 0;
        shares.passed += outcome.passed ? 1 : 0;
        shares.failed_by_6 += outcome.failed && outcome.pairs <= 6 ? 1 : 0;
        shares.pairs += outcome.pairs;
        shares.first_failed += outcome.first_failed ? 1 : 0;
        shares.first_passed += outcome.first_passed ? 1 : 0;
        shares.peeked += failed_by_peeking(series[0], metrics[0].limit) ? 1 : 0;
        const Interval interval = interval_of(paired_shift(series[0]));
        shares.held += interval.low <= metrics[0].shift && metrics[0].shift <= interval.high ? 1 : 0;
    });
}

std::string percent(std::uint64_t count, const Options& options) {
    return fmt::format("{:.2f}", 100 * static_cast<double>(count) / static_cast<double>(options.gates));
}

void print_drawn(const Options& options) {
    fmt::print(
        "| noise | A/A fails | A/A passes | pairs | 95 % interval holds | throughput −5 % fails | ttft p95 "
        "+20 % "
        "fails | ttft × 2 fails by 6 pairs | at the tolerance: fails | passes | fails by peeking |\n"
        "|:--|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n");
    for (const auto& [drawn, name] : kNoises) {
        const Noise noise = drawn;
        const std::size_t more = noise == Noise::correlated ? 3 : 0;
        Shares equal;
        count(noise, usual_metrics(more), options, equal);
        const auto shifted = [&](std::size_t metric, double shift, double deviation, Shares& shares) {
            auto metrics = usual_metrics(more);
            metrics[metric].shift = shift;
            metrics[metric].deviation = deviation;
            count(noise, metrics, options, shares);
        };
        Shares throughput;
        shifted(0, -std::log(.95), .01, throughput);
        Shares tail;
        shifted(4, std::log(1.2), .06, tail);
        Shares doubled;
        shifted(1, std::log(2.0), .06, doubled);
        Shares at_tolerance;
        shifted(0, std::log(1.02), .01, at_tolerance);
        // A single metric does not share the error with others: this is the most that one metric may fail.
        Shares alone;
        count(noise, {{std::log(1.02), .01, std::log(1.02)}}, options, alone);
        fmt::print("| {} | {} | {} | {:.1f} | {} | {} | {} | {} | {} | {} | {} |\n", name,
                   percent(equal.failed, options), percent(equal.passed, options),
                   static_cast<double>(equal.pairs) / static_cast<double>(options.gates),
                   percent(equal.held, options), percent(throughput.failed, options),
                   percent(tail.failed, options), percent(doubled.failed_by_6, options),
                   percent(alone.first_failed, options), percent(at_tolerance.first_passed, options),
                   percent(alone.peeked, options));
        std::fflush(stdout);
    }
}

// ---- a stored baseline

/// The runs of a stored baseline, which are divided evenly among days (or hosts). The runs of a day have
/// seeds from 0 on, which the candidate repeats in turn, or does not.
struct Store {
    std::size_t runs = 5;
    std::size_t days = 1;
    double day = 0;       ///< standard deviation of the effect of a day, which all metrics share
    double requests = 0;  ///< standard deviation of the effect of a seed's requests, which all metrics share
    bool repeats = true;
};

/// The names under which usual_metrics() are judged.
constexpr std::array kNames{"output_tokens_per_s", "ttft_p50", "itl_p50", "e2e_p50", "ttft_p95", "tpot_p95",
                            "stall_p95",           "tpot_p50", "e2e_p95"};

reports::GatePolicy policy_of(const std::vector<Metric>& metrics) {
    reports::GatePolicy policy = reports::default_policy();
    policy.metrics.clear();
    for (std::size_t m = 0; m < metrics.size(); ++m)
        policy.metrics.push_back({.name = kNames[m], .tolerance = std::expm1(metrics[m].limit)});
    return policy;
}

/// A run of a day and seed by which all metrics differ by `level`; its own noise is that of a pair ÷ √2.
reports::GateRun stored_run(const std::vector<Metric>& metrics, bool is_candidate, const std::string& day,
                            std::uint64_t seed, double level, Random& random) {
    reports::GateRun run;
    run.result.provenance.started_at = day + "T09:00:00Z";
    run.result.workload.seed = seed;
    for (std::size_t m = 0; m < metrics.size(); ++m) {
        const double worse = level + (is_candidate ? metrics[m].shift : 0) +
                             metrics[m].deviation / std::sqrt(2.0) * random.normal();
        const reports::GateQuantity quantity = reports::quantity_named(kNames[m]);
        if (quantity.kind == reports::GateKind::figure) {
            run.result.throughput.set(quantity.key, std::exp(-worse));
            continue;
        }
        auto& summaries = run.result.metrics;
        const std::string key = quantity.key + "_s";
        if (run.result.metric(key) == nullptr) {
            MetricSummary& added = summaries.emplace_back();
            added.key = key;
            added.n = 400;
        }
        const auto summary = std::find_if(summaries.begin(), summaries.end(),
                                          [&](const MetricSummary& of) { return of.key == key; });
        summary->percentiles.push_back({.p = quantity.p, .value = std::exp(worse)});
    }
    return run;
}

/// The runs of one gate with a stored baseline; a day of the candidate's runs is in no session of it.
reports::GateInput stored_input(const Store& store, const std::vector<Metric>& metrics, std::uint64_t gate) {
    Random random(derived_seed(gate, "store"));
    reports::GateInput input{
        .baseline = {}, .candidate = {}, .design = reports::GateDesign::stored, .looks = {}};
    std::vector<double> levels(store.days);
    for (double& level : levels) level = store.day * random.normal();
    const double today = store.day * random.normal();
    const auto work_of = [&](std::size_t seed) {
        return store.requests * Random(derived_seed(gate, "requests", seed)).normal();
    };
    for (std::size_t run = 0; run < store.runs; ++run) {
        const std::size_t day = run % store.days;
        const std::size_t seed = run / store.days;
        input.baseline.push_back(stored_run(metrics, false, fmt::format("2026-11-{:02}", day + 1), seed,
                                            levels[day] + work_of(seed), random));
    }
    for (std::size_t run = 0; run < kPairs; ++run) {
        const std::size_t seed = store.repeats ? run % (store.runs / store.days) : store.runs + run;
        input.candidate.push_back(
            stored_run(metrics, true, "2026-12-01", seed, today + work_of(seed), random));
    }
    return input;
}

reports::GateReport gated_by_store(const Store& store, const std::vector<Metric>& metrics, std::uint64_t seed,
                                   bool last_look_only = false) {
    const reports::GatePolicy policy = policy_of(metrics);
    reports::GateInput input = stored_input(store, metrics, seed);
    input.looks = reports::looks_of(policy);
    if (last_look_only) input.looks.erase(input.looks.begin(), input.looks.end() - 1);
    return reports::decided_with_history(policy, std::move(input), {}, {});
}

std::string text_of(const Store& store) {
    const std::string days = store.days == 1            ? "one day"
                             : store.days == store.runs ? "one each day"
                                                        : fmt::format("{} days", store.days);
    return fmt::format("{} runs, {}{}", store.runs, days, store.repeats ? "" : ", other requests");
}

std::string effect_text(double effect) {
    return effect > 0 ? fmt::format("{:.0f} %", 100 * effect) : "none";
}

void print_store(const Store& store, const Options& options) {
    std::atomic<std::uint64_t> failed{0};
    std::atomic<std::uint64_t> passed{0};
    std::atomic<std::uint64_t> measured{0};
    std::atomic<std::uint64_t> found{0};
    std::vector<double> shown(options.gates);
    in_parallel(options, [&](std::uint64_t gate) {
        const auto equal = gated_by_store(store, usual_metrics(), gate);
        failed += equal.verdict == reports::GateVerdict::fail ? 1 : 0;
        passed += equal.verdict == reports::GateVerdict::pass ? 1 : 0;
        measured += equal.pairs;
        shown[gate] = gated_by_store(store, usual_metrics(), gate, true).rows[0].detectable.value_or(0);
        auto metrics = usual_metrics();
        metrics[0].shift = -std::log(.92);
        const auto worse = gated_by_store(store, metrics, gate);
        found += worse.verdict == reports::GateVerdict::fail ? 1 : 0;
    });
    const auto middle = shown.begin() + static_cast<std::ptrdiff_t>(shown.size() / 2);
    std::nth_element(shown.begin(), middle, shown.end());
    fmt::print("| {} | {} | {} | {} | {} | {:.1f} | {} | {:.1f} % |\n", text_of(store),
               effect_text(store.day), effect_text(store.requests), percent(failed, options),
               percent(passed, options), static_cast<double>(measured) / static_cast<double>(options.gates),
               percent(found, options), reports::percent_of(*middle, Better::lower));
    std::fflush(stdout);
}

void print_unpaired(const Options& options) {
    fmt::print(
        "| baseline | effect of a day and host | effect of the requests | A/A fails | A/A passes | runs | "
        "throughput −8 % fails | throughput: shift found with 80 % power "
        "|\n|:--|--:|--:|--:|--:|--:|--:|--:|\n");
    for (const double effect : {0.0, .02, .04})
        for (const std::size_t runs : {3U, 5U, 10U})
            for (const std::size_t days : {std::size_t{1}, runs})
                print_store({.runs = runs, .days = days, .day = effect}, options);
    for (const double effect : {0.0, .02})
        for (const Store& store : {Store{.runs = 5, .days = 1}, Store{.runs = 20, .days = 4}})
            for (const bool repeats : {false, true})
                print_store({.runs = store.runs,
                             .days = store.days,
                             .day = effect,
                             .requests = .1,
                             .repeats = repeats},
                            options);
}

// ---- virtual runs

/// How the candidate of a virtual gate differs from the baseline.
struct Change {
    std::string_view name;
    double weight_speed = 1;         ///< factor of the speed of reading the weights
    std::string_view profile = {};   ///< text added to the candidate's profile
    std::string_view dataset = {};   ///< dataset of both sides; empty: synthetic
    std::string_view expected = {};  ///< text that the reason must contain
};
constexpr std::array kChanges{
    Change{.name = "equal"},
    Change{
        .name = "weights read 12 % slower", .weight_speed = .88, .expected = "ITL is worse and TTFT is not"},
    Change{.name = "prefix cache switched off, prompts that share 1,500 tokens",
           .profile = "&prefix_cache=0",
           .dataset = "shared_prefix:groups=4,levels=1500,unique=500",
           .expected = "prefill"}};

/// Makes a run of a server whose speeds all differ by the factor `speed`, and which has random pauses.
reports::GateRun virtual_run(const PlanTexts& texts, const Change& change, double speed, std::uint64_t seed) {
    PlanTexts of_run = texts;
    of_run["seed"] = {fmt::format("{}", seed)};
    const std::string url = fmt::format(
        "sim:llama3-8b-h100-bf16?hiccup=5ms-20ms/2s&step_s={}&linear_s_per_token={}&weight_bytes_per_s={}"
        "&kv_bytes_per_s={}{}",
        1e-3 / speed, 21.8e-6 / speed, 2.31e12 * speed * change.weight_speed, 2.9e12 * speed, change.profile);
    of_run["url"] = {url};
    const LoadPlan asked = experiments::with_dataset(plan_of(of_run));
    experiments::Watcher watcher;
    const auto target = experiments::open_target(asked, {}, watcher, {});
    const auto load = target->load_for(asked);
    struct Kept : RecordSink {
        void record(RequestRecord&& record) override { records.push_back(std::move(record)); }
        std::vector<RequestRecord> records;
    } kept;
    loadgen::Progress progress;
    Recorded recorded{.begun = {.shape = loadgen::shape_of(load.options)}};
    recorded.observed = target->make(load, kept, progress, {});
    recorded.events = std::make_shared<KeptEvents>(kept.records);
    reports::GateRun run;
    run.result = result_of(recorded, {});
    return run;
}

reports::GateReport virtual_gate(const PlanTexts& texts, const Change& change, std::uint64_t gate) {
    const reports::GatePolicy policy = reports::default_policy();
    reports::GateInput input{.baseline = {}, .candidate = {}, .looks = reports::looks_of(policy)};
    Random random(derived_seed(gate, "speed"));
    reports::GateReport report;
    for (std::uint64_t pair = 0; pair < policy.max_pairs; ++pair) {
        const std::uint64_t seed = gate * 1000 + pair;
        input.baseline.push_back(virtual_run(texts, kChanges[0], std::exp(.01 * random.normal()), seed));
        input.candidate.push_back(virtual_run(texts, change, std::exp(.01 * random.normal()), seed + 500));
        report = reports::decided(policy, input);
        if (report.pairs == pair + 1 && report.verdict != reports::GateVerdict::inconclusive) break;
    }
    return report;
}

void print_virtual(const Options& options) {
    const PlanTexts synthetic{{"virtual", {"true"}},
                              {"isl", {"2048"}},
                              {"osl", {"64"}},
                              {"concurrency", {"8"}},
                              {"num_prompts", {"64"}}};
    fmt::print("| candidate | pass | fail | inconclusive | mean pairs | why |\n|:--|--:|--:|--:|--:|:--|\n");
    for (const Change& change : kChanges) {
        std::array<std::atomic<std::uint64_t>, 3> verdicts{};
        std::atomic<std::uint64_t> pairs{0};
        std::atomic<std::uint64_t> named{0};
        PlanTexts texts = synthetic;
        if (!change.dataset.empty()) {
            texts.erase("isl");
            texts["dataset"] = {std::string(change.dataset)};
        }
        in_parallel(options, [&](std::uint64_t gate) {
            const auto report = virtual_gate(texts, change, gate);
            ++verdicts[static_cast<std::size_t>(report.verdict)];
            pairs += report.pairs;
            if (report.why.find(change.expected) != std::string::npos) ++named;
        });
        fmt::print("| {} | {} | {} | {} | {:.1f} | {} |\n", change.name, verdicts[0].load(),
                   verdicts[1].load(), verdicts[2].load(),
                   static_cast<double>(pairs) / static_cast<double>(options.gates),
                   change.expected.empty() ? "" : fmt::format("\"{}\" in {}", change.expected, named.load()));
        std::fflush(stdout);
    }
}

}  // namespace
}  // namespace paretoken::gate_errors

int main(int argc, char** argv) {
    using namespace paretoken::gate_errors;
    const std::string kind = argc > 1 ? argv[1] : "";
    const bool in_virtual_time = kind == "virtual";
    const bool unpaired = kind == "unpaired";
    const int first = in_virtual_time || unpaired ? 2 : 1;
    Options options{.gates = in_virtual_time ? 200U : unpaired ? 1000U : 10'000U};
    if (argc > first) options.gates = std::strtoull(argv[first], nullptr, 10);
    if (argc > first + 1) options.threads = std::strtoull(argv[first + 1], nullptr, 10);
    if (options.gates == 0 || options.threads == 0) {
        fmt::print(stderr, "usage: paretoken-gate-errors [unpaired|virtual] [GATES] [THREADS]\n");
        return 2;
    }
    if (in_virtual_time)
        print_virtual(options);
    else if (unpaired)
        print_unpaired(options);
    else
        print_drawn(options);
}
