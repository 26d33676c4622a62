#pragma once
// Measures how often confidence intervals contain the true value. It makes runs of typical loads on the
// simulated server in virtual time (the clock is simulated too, so that nothing waits), and compares their
// percentiles with the true ones, which much longer runs give. benchmarks/coverage uses this header, and a
// test with fewer loads and seeds.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result/metrics.h"
#include "core/result/slo.h"
#include "core/result/summary.h"
#include "core/result/window.h"
#include "core/spec.h"
#include "core/statistics.h"
#include "datasets/catalog.h"
#include "loadgen/progress.h"
#include "loadgen/virtual.h"
#include "simulator/engine/profile.h"
#include "tests/support/arrivals.h"
#include "tests/support/kept_records.h"

namespace paretoken::coverage {

/// A load on the simulated server. Profile, arrivals, isl and osl are texts as on the command line.
struct Load {
    std::string name;
    std::string profile;            ///< profile of the server (simulator/engine/profile.h)
    std::uint64_t concurrency = 0;  ///< 0: open loop
    std::string arrivals = "at_once";
    std::string isl = "lognormal:mean=512;cv=1";
    std::string osl = "lognormal:mean=128;cv=1";  ///< empty: `isl` has pairs of both
    std::string second_isl = {};  ///< lengths of a second class, which has half of the slots and requests
    std::string second_osl = {};
    std::string dataset = {};  ///< dataset in place of random prompts of these lengths
    bool ramps_up = false;     ///< whether the slots open one by one, as those of `paretoken run` do
    bool is_light = true;      ///< whether it is a closed loop, or an open one at up to 60 % of capacity

    bool open() const { return concurrency == 0; }
};

/// Returns the loads. The percentages in the names of open loops are shares of the server's capacity. With
/// max_num_seqs=16 the server completes about 13.3 requests of 512 input and 128 output tokens per second, so
/// that 4 requests per second are 30 %.
inline const std::vector<Load>& loads() {
    static const std::string fp8 = "llama3-8b-h100-fp8";
    static const std::string bf16 = "llama3-8b-h100-bf16?max_num_seqs=16";
    static const std::vector<Load> table = {
        {.name = "closed 1, fixed lengths", .profile = fp8, .concurrency = 1, .isl = "512", .osl = "128"},
        {.name = "closed 1", .profile = fp8, .concurrency = 1},
        {.name = "closed 16", .profile = fp8, .concurrency = 16},
        {.name = "closed 16, fixed lengths", .profile = fp8, .concurrency = 16, .isl = "512", .osl = "128"},
        {.name = "closed 16, hiccups", .profile = fp8 + "?hiccup=5ms-20ms/2s", .concurrency = 16},
        {.name = "closed 4, fixed lengths", .profile = fp8, .concurrency = 4, .isl = "1024", .osl = "128"},
        {.name = "closed 64", .profile = fp8, .concurrency = 64},
        {.name = "closed 64, fixed lengths", .profile = fp8, .concurrency = 64, .isl = "1024", .osl = "128"},
        {.name = "closed 64, two classes",
         .profile = fp8,
         .concurrency = 64,
         .isl = "1024",
         .osl = "128",
         .second_isl = "256",
         .second_osl = "160"},
        {.name = "closed 128, fixed lengths",
         .profile = fp8,
         .concurrency = 128,
         .isl = "1024",
         .osl = "128"},
        {.name = "closed 256", .profile = fp8, .concurrency = 256},
        {.name = "closed 4, one in ten long",
         .profile = fp8,
         .concurrency = 4,
         .isl = "pairs:512/32=.9;8192/512=.1",
         .osl = "",
         .ramps_up = true},
        {.name = "closed 8, one in 33 very long",
         .profile = fp8,
         .concurrency = 8,
         .isl = "pairs:256/16=.97;16384/2048=.03",
         .osl = "",
         .ramps_up = true},
        {.name = "closed 16, shared prefixes",
         .profile = fp8,
         .concurrency = 16,
         .dataset =
             "shared_prefix:groups=8,levels=512,unique=lognormal:mean=256;cv=1,osl=lognormal:mean=128;cv=1"},
        {.name = "open 30 %", .profile = bf16, .arrivals = "poisson:rate=4"},
        {.name = "open 30 %, bursts", .profile = bf16, .arrivals = "gamma:rate=4,burstiness=0.25"},
        {.name = "open 60 %", .profile = bf16, .arrivals = "poisson:rate=8"},
        {.name = "open 60 %, fixed lengths",
         .profile = bf16,
         .arrivals = "poisson:rate=8",
         .isl = "512",
         .osl = "128"},
        {.name = "open 60 %, hiccups", .profile = bf16 + "&hiccup=20ms/2s", .arrivals = "poisson:rate=8"},
        {.name = "open 60 %, bursts", .profile = bf16, .arrivals = "gamma:rate=8,burstiness=0.25"},
        {.name = "open 75 %", .profile = bf16, .arrivals = "poisson:rate=10", .is_light = false},
        {.name = "open 90 %", .profile = bf16, .arrivals = "poisson:rate=12", .is_light = false},
    };
    return table;
}

/// Returns the levels of the percentiles that are judged.
inline constexpr std::size_t kLevels = 4;
inline const std::array<double, kLevels>& percentiles() {
    static constexpr std::array<double, kLevels> kHeld = {0.5, 0.9, 0.95, 0.99};
    return kHeld;
}

/// Returns the tags of the metrics that are judged (core/result/metrics.h). In an open loop the time to first
/// token and the end-to-end latency are counted from the intended start of the request.
inline std::vector<std::string> headline_tags(bool open_loop) {
    if (open_loop) return {"ttft_intended", "tpot", "e2e_intended", "interactivity", "itl"};
    return {"ttft", "tpot", "e2e", "interactivity", "itl"};
}

/// Makes one run of `requests` requests in virtual time. `seed` determines its dataset and its arrivals.
inline testing::KeptOutcome run_of_load(const Load& load, std::uint64_t requests, std::uint64_t seed) {
    const auto random_prompts = [](const std::string& isl, const std::string& osl) {
        if (osl.empty()) return Spec{.name = "synthetic", .fields = {{"isl", isl}}};
        return Spec{.name = "synthetic", .fields = {{"isl", isl}, {"osl", osl}}};
    };
    std::vector<Spec> specs = {load.dataset.empty() ? random_prompts(load.isl, load.osl)
                                                    : parse_spec(load.dataset)};
    if (!load.second_isl.empty()) specs.push_back(random_prompts(load.second_isl, load.second_osl));
    std::vector<std::unique_ptr<datasets::Dataset>> kept;
    loadgen::LoadOptions options;
    options.classes.clear();
    for (const Spec& spec : specs) {
        kept.push_back(datasets::make_dataset({.spec = spec, .seed = seed + kept.size() * 10'000'000}));
        options.classes.push_back(
            {.name = specs.size() > 1 ? std::string(1, static_cast<char>('a' + kept.size() - 1)) : "",
             .arrivals = loadgen::parse_arrivals(load.arrivals),
             .concurrency = load.open() ? std::nullopt : std::optional(load.concurrency / specs.size()),
             .limits = {.requests = requests / specs.size()},
             .seed = seed,
             .dataset = kept.back().get()});
        if (load.ramps_up) options.classes.back().pacing.ramp_up.reset();
    }
    options.worker.id_prefix = "v-";
    loadgen::Progress progress;
    return testing::kept_outcome([&](RecordSink& sink) {
        return loadgen::make_virtual_load(options, {.profile = sim::profile_named(load.profile)}, sink,
                                          progress, {});
    });
}

inline RunSummary summary_of(const Load& load, const testing::KeptOutcome& outcome,
                             const std::vector<Slo>& slos = {}) {
    SummaryOptions options;
    options.slos = slos;
    options.open_loop = load.open();
    options.last_dispatch = outcome.ran_dry;
    if (!load.open()) options.concurrency = load.concurrency;
    return summarize(outcome.records, options);
}

/// The true values at `percentiles()`, by the tag of the metric.
using Truth = std::map<std::string, std::array<double, kLevels>>;

/// Returns the metric's values for these requests in ascending order. A pooled metric (PooledValue) such as
/// "itl" has one value for each token after the first arrival of a request.
inline std::vector<double> settled_values(const Metric& metric,
                                          const std::vector<const RequestRecord*>& settled) {
    std::vector<double> values;
    std::vector<PooledValue> pool;
    for (const auto* record : settled) {
        if (metric.of_request != nullptr) {
            if (const auto value = metric.of_request(*record)) values.push_back(*value);
            continue;
        }
        pool.clear();
        metric.pool(*record, pool);
        for (const auto& item : pool) values.insert(values.end(), item.weight, item.value);
    }
    std::sort(values.begin(), values.end());
    return values;
}

/// Returns the requests of the time in which the load is complete, without its first and last twentieth.
inline std::vector<const RequestRecord*> settled_of(const testing::KeptOutcome& outcome) {
    const TimeSpan run = run_of(outcome.records);
    const TimePoint end = outcome.ran_dry.value_or(run.end);
    const Duration edge = (end - run.begin) / 20;
    std::vector<const RequestRecord*> settled;
    for (const auto& record : outcome.records)
        if (TimeSpan{run.begin + edge, end - edge}.contains(record.scheduled)) settled.push_back(&record);
    return settled;
}

/// Estimates the true values from `runs` long runs of `requests` requests each. The values are the
/// percentiles over the requests of all runs together; for pooled metrics they are the means of the runs'
/// percentiles.
inline Truth truth_of(const Load& load, std::uint64_t runs, std::uint64_t requests) {
    Truth truth;
    std::map<std::string, std::vector<double>> of_requests;
    for (std::uint64_t run = 0; run < runs; ++run) {
        const auto outcome = run_of_load(load, requests, 1'000'000 + run);
        const auto settled = settled_of(outcome);
        for (const auto& tag : headline_tags(load.open())) {
            const auto& metric = *metric_named(tag);
            const auto& base = metric.inverse_of.empty() ? metric : *metric_named(metric.inverse_of);
            const auto values = settled_values(base, settled);
            if (base.pool == nullptr) {
                of_requests[tag].insert(of_requests[tag].end(), values.begin(), values.end());
                continue;
            }
            for (std::size_t i = 0; i < percentiles().size(); ++i)
                truth[tag][i] += percentile(values, percentiles()[i]) / static_cast<double>(runs);
        }
    }
    for (auto& [tag, values] : of_requests) {
        std::sort(values.begin(), values.end());
        const bool inverse = !metric_named(tag)->inverse_of.empty();
        for (std::size_t i = 0; i < percentiles().size(); ++i) {
            const double value = percentile(values, percentiles()[i]);
            truth[tag][i] = inverse ? 1 / value : value;
        }
    }
    return truth;
}

/// Sums over runs with the same load and number of requests, for one percentile of one metric.
struct Cell {
    std::uint64_t runs = 0;
    std::uint64_t given = 0;         ///< runs with an interval
    std::uint64_t covered = 0;       ///< runs with an interval that contains the true value
    std::uint64_t false_passes = 0;  ///< runs that pass an SLO whose limit is the true value
    std::uint64_t false_fails = 0;   ///< runs that fail it
    std::uint64_t met_twice = 0;     ///< runs that meet a limit at twice the true value
    std::uint64_t within_twice = 0;  ///< runs that are only within it
    std::uint64_t steady = 0;        ///< runs with a steady window
    std::uint64_t enough = 0;        ///< of these, runs with many requests, also beyond the percentile
    std::uint64_t given_enough = 0;  ///< of these, runs with an interval
    double widths = 0;               ///< Σ width of the interval ÷ true value
    // Over the runs that have values in their measured window, whether the window is steady or not:
    double measured = 0;       ///< number of these runs
    double shares = 0;         ///< Σ share of the window's values above the true value
    double share_squares = 0;  ///< Σ of the squares of these shares

    Cell& operator+=(const Cell& other) {
        runs += other.runs;
        given += other.given;
        covered += other.covered;
        false_passes += other.false_passes;
        false_fails += other.false_fails;
        met_twice += other.met_twice;
        within_twice += other.within_twice;
        steady += other.steady;
        enough += other.enough;
        given_enough += other.given_enough;
        widths += other.widths;
        measured += other.measured;
        shares += other.shares;
        share_squares += other.share_squares;
        return *this;
    }
    /// Returns the share of intervals that contain the true value; NaN without intervals.
    double coverage() const { return static_cast<double>(covered) / static_cast<double>(given); }
    /// Returns the share of runs without an interval; NaN without runs.
    double withheld() const { return 1 - static_cast<double>(given) / static_cast<double>(runs); }
    /// Returns the share without an interval of the runs that are steady and have enough requests; 0 without
    /// any.
    double withheld_though_enough() const {
        return enough == 0 ? 0 : 1 - static_cast<double>(given_enough) / static_cast<double>(enough);
    }
    /// Returns the mean width of an interval ÷ true value; NaN without intervals.
    double width() const { return widths / static_cast<double>(given); }
    /// Returns the effective sample size of a run. It is the number n of independent values for which the
    /// share p of values above the true value has the variance p (1 − p) ÷ n that is observed between runs.
    /// This estimate from many runs is better than any from a single run. 0 for fewer than two runs or
    /// without variance.
    double worth() const {
        if (measured < 2) return 0;
        const double mean = shares / measured;
        const double variance = (share_squares / measured - mean * mean) * measured / (measured - 1);
        return variance > 0 ? mean * (1 - mean) / variance : 0;
    }
};

/// One cell for each of `percentiles()`, by the tag of the metric.
using Cells = std::map<std::string, std::array<Cell, kLevels>>;

/// Returns the cell of one run, without the share of values above the true value, which add_share() adds.
/// `held` is the run's percentile; null if the run has none.
inline Cell judged(const PercentileValue* held, double truth, bool higher_is_better) {
    Cell cell{.runs = 1};
    if (held == nullptr) return cell;
    if (held->ci95) {
        cell.given = 1;
        cell.covered = held->ci95->low <= truth && truth <= held->ci95->high ? 1 : 0;
        cell.widths = (held->ci95->high - held->ci95->low) / truth;
    }
    const auto shown = shown_on(*held, truth, higher_is_better);
    cell.false_passes = shown == true ? 1 : 0;
    cell.false_fails = shown == false ? 1 : 0;
    const double easy = higher_is_better ? truth / 2 : truth * 2;
    const bool is_within = held->value && (higher_is_better ? *held->value >= easy : *held->value <= easy);
    cell.met_twice = shown_on(*held, easy, higher_is_better) == true ? 1 : 0;
    cell.within_twice = cell.met_twice == 0 && is_within ? 1 : 0;
    return cell;
}

/// Adds the share of one run's `values` that lie above the true value to the cell. `values` are in ascending
/// order. Without values, nothing is added.
inline void add_share(Cell& cell, const std::vector<double>& values, double truth) {
    if (values.empty()) return;
    const auto above = values.end() - std::upper_bound(values.begin(), values.end(), truth);
    const double share = static_cast<double>(above) / static_cast<double>(values.size());
    cell.measured += 1;
    cell.shares += share;
    cell.share_squares += share * share;
}

/// Returns the keys of the rates that are judged (core/result/figures.h).
inline constexpr std::array kRateKeys{figure::kOutputTokens, figure::kRequests, figure::kGoodput,
                                      figure::kGoodputRatio, figure::kCachedPromptRatio};

/// One value for each of `kRateKeys`; a figure that the load does not have is 0.
struct RateTruth {
    std::vector<Slo> slos;  ///< limits of goodput
    std::array<double, kRateKeys.size()> values{};
};
using RateCells = std::array<Cell, kRateKeys.size()>;

/// Estimates the true rates as the means over `runs` runs of `requests` requests each. Good requests are
/// those whose end-to-end time is at most its true p90.
inline RateTruth rate_truth_of(const Load& load, const Truth& times, std::uint64_t runs,
                               std::uint64_t requests) {
    RateTruth truth{{{"e2e", times.at(load.open() ? "e2e_intended" : "e2e")[1]}}};
    for (std::uint64_t run = 0; run < runs; ++run) {
        const auto summary = summary_of(load, run_of_load(load, requests, 2'000'000 + run), truth.slos);
        for (std::size_t i = 0; i < kRateKeys.size(); ++i)
            truth.values[i] += summary.throughput.at(kRateKeys[i]).value_or(0) / static_cast<double>(runs);
    }
    return truth;
}

/// Returns the cells of one run's rates.
inline RateCells rate_cells_of(const RunSummary& summary, const RateTruth& truth) {
    RateCells cells;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const double value = truth.values[i];
        if (value == 0) continue;
        cells[i].runs = 1;
        const auto interval = summary.throughput.interval(kRateKeys[i]);
        if (!interval) continue;
        cells[i].given = 1;
        cells[i].covered = interval->low <= value && value <= interval->high ? 1 : 0;
        cells[i].widths = (interval->high - interval->low) / value;
    }
    return cells;
}

/// Notes whether the run is steady and has enough requests that an interval can be expected: 500, and 16
/// beyond the percentile after the start, which rounds leave out.
inline void add_steadiness(Cell& cell, const RunSummary& summary, double requests, double p) {
    constexpr double kFewest = 500;
    constexpr double kFewestBeyond = 16;
    cell.steady = summary.window_report.steady ? 1 : 0;
    cell.enough = cell.steady == 1 && requests >= kFewest && .9 * requests * (1 - p) >= kFewestBeyond ? 1 : 0;
    cell.given_enough = cell.enough * cell.given;
}

/// Returns the cells of one run.
inline Cells cells_of(const Truth& truth, const testing::KeptOutcome& outcome, const RunSummary& summary) {
    std::vector<const RequestRecord*> in_window;
    for (const auto& record : outcome.records)
        if (summary.window.contains(record.scheduled)) in_window.push_back(&record);
    Cells cells;
    for (const auto& [tag, values] : truth) {
        const auto* metric = metric_named(tag);
        const bool inverse = !metric->inverse_of.empty();
        const auto measured =
            settled_values(inverse ? *metric_named(metric->inverse_of) : *metric, in_window);
        const auto key = key_of(*metric);
        const auto held = std::find_if(summary.metrics.begin(), summary.metrics.end(),
                                       [&](const auto& candidate) { return candidate.key == key; });
        for (std::size_t i = 0; i < percentiles().size(); ++i) {
            const auto* value = held == summary.metrics.end() ? nullptr : held->at(percentiles()[i]);
            Cell& cell = cells[tag][i] = judged(value, values[i], metric->better == Better::higher);
            add_steadiness(cell, summary, static_cast<double>(in_window.size()), percentiles()[i]);
            add_share(cells[tag][i], measured, inverse ? 1 / values[i] : values[i]);
        }
    }
    return cells;
}

/// Makes one run and returns its cells.
inline Cells cells_of(const Load& load, const Truth& truth, std::uint64_t requests, std::uint64_t seed) {
    const auto outcome = run_of_load(load, requests, seed);
    return cells_of(truth, outcome, summary_of(load, outcome));
}

inline void add(Cells& sum, const Cells& cells) {
    for (const auto& [tag, values] : cells)
        for (std::size_t i = 0; i < values.size(); ++i) sum[tag][i] += values[i];
}

}  // namespace paretoken::coverage
