// Measures how often the confidence intervals and verdicts of this tool are right: a Markdown table over
// loads in virtual time, for docs/statistics.md.
//     paretoken-coverage [SEEDS] [THREADS] [TRUTH_RUNS] [PART OF A LOAD'S NAME] [FIRST SEED]
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "core/evidence/evidence.h"
#include "tests/support/coverage.h"

namespace paretoken::coverage {
namespace {

constexpr std::array<std::uint64_t, 3> kLengths = {300, 1000, 3000};
constexpr std::uint64_t kTruthRequests = 20'000;
/// The lengths of runs of closed loops in rounds, and the part of the seeds that measures each.
constexpr std::array<std::pair<std::uint64_t, std::uint64_t>, 4> kRounds = {
    {{20, 1}, {60, 1}, {120, 2}, {600, 4}}};
/// From how many rounds on a limit at twice a percentile is to be shown as met, and the smallest share of
/// runs.
constexpr std::array<std::uint64_t, kLevels> kRoundsToMeet = {20, 60, 120, 600};
constexpr double kLeastMet = 0.9;
constexpr double kLeastPerCell = 0.9;   // coverage of a cell
constexpr double kLeastPerLoad = 0.95;  // coverage of a load's intervals together
constexpr double kMostFalsePasses = 0.03;
constexpr double kMostWithheld = 0.15;  // of p50 to p95 of steady runs with enough requests
constexpr double kLeastOfRates = 0.91;  // coverage of a load's rates from 60 rounds on

struct Options {
    std::uint64_t seeds = 200;
    std::uint64_t threads = 2;
    std::uint64_t truth_runs = 12;
    std::string name;
    std::uint64_t first_seed = 0;
};

/// The cells of a load's runs of one length.
struct Measured {
    Cells percentiles;
    RateCells rates;
};

Measured measured(const Load& load, const Truth& truth, const RateTruth& rates, std::uint64_t requests,
                  const Options& options) {
    Measured sum;
    std::mutex guard;
    std::atomic<std::uint64_t> next{0};
    std::vector<std::jthread> threads;
    for (std::uint64_t i = 0; i < options.threads; ++i) {
        threads.emplace_back([&] {
            for (std::uint64_t seed = next++; seed < options.seeds; seed = next++) {
                const auto outcome = run_of_load(load, requests, options.first_seed + seed);
                const auto summary = summary_of(load, outcome, rates.slos);
                const auto cells = cells_of(truth, outcome, summary);
                const auto of_rates = rate_cells_of(summary, rates);
                const std::lock_guard lock(guard);
                add(sum.percentiles, cells);
                for (std::size_t k = 0; k < of_rates.size(); ++k) sum.rates[k] += of_rates[k];
            }
        });
    }
    threads.clear();
    return sum;
}

double percent(double share) {
    return 100 * share;
}

std::string text_of(const Cell& cell) {
    if (cell.given == 0) return "– · 100";
    return fmt::format("{:.1f} · {:.0f} · {:.2g}", percent(cell.coverage()), percent(cell.withheld()),
                       percent(cell.width()));
}

/// The values for the text below the table.
struct Pooled {
    Cell all;
    std::array<std::array<Cell, kLevels>, 3> light;  ///< cells by length and percentile
    std::array<Cell, kLevels> steady;                ///< cells by percentile
    std::uint64_t cells = 0;         ///< number of cells with at least half of their intervals
    std::vector<std::string> below;  ///< cells and loads that cover less than kLeastPerCell and kLeastPerLoad
    std::vector<std::string> passing;      ///< cells with more than kMostFalsePasses
    std::vector<std::string> withholding;  ///< cells up to p95 that withhold more than kMostWithheld
    /// Number of intervals withheld in cells of light loads whose runs are worth fewer independent samples
    /// than an interval needs, by length and percentile.
    std::array<std::array<std::uint64_t, kLevels>, 3> impossible = {};
    std::vector<std::string> avoidable;  ///< other cells of light, longer loads that withhold more than 10 %
};

/// Notes what a cell of a light load withholds, and whether its runs are worth an interval.
void note_withheld(const std::string& name, std::size_t length, std::size_t i, const Cell& cell,
                   Pooled& pooled) {
    constexpr double kMost = 0.1;
    const double needed = samples_for_interval(percentiles()[i]);
    pooled.light[length][i] += cell;
    if (cell.worth() < needed)
        pooled.impossible[length][i] += cell.runs - cell.given;
    else if (length > 0 && cell.withheld() > kMost)
        pooled.avoidable.push_back(
            fmt::format("{}: {:.0f} % withheld, a run is worth {:.0f} samples of {:.0f} needed", name,
                        percent(cell.withheld()), cell.worth(), needed));
}

void pool(const Load& load, std::size_t length, const Cells& cells, Pooled& pooled) {
    for (const auto& [tag, of_percentiles] : cells) {
        for (std::size_t i = 0; i < of_percentiles.size(); ++i) {
            const Cell& cell = of_percentiles[i];
            const auto name =
                fmt::format("{}, n = {}, {} p{:g}", load.name, kLengths[length], tag, 100 * percentiles()[i]);
            pooled.all += cell;
            pooled.steady[i] += cell;
            if (2 * cell.enough >= cell.runs && cell.withheld_though_enough() > kMostWithheld &&
                percentiles()[i] <= 0.95)
                pooled.withholding.push_back(
                    fmt::format("{}: {:.0f} %", name, percent(cell.withheld_though_enough())));
            if (load.is_light) note_withheld(name, length, i, cell, pooled);
            if (2 * cell.given < cell.runs) continue;
            ++pooled.cells;
            const auto runs = static_cast<double>(cell.runs);
            if (cell.coverage() < kLeastPerCell)
                pooled.below.push_back(fmt::format("{}: {:.1f} %", name, percent(cell.coverage())));
            const double false_passes = static_cast<double>(cell.false_passes) / runs;
            if (false_passes > kMostFalsePasses)
                pooled.passing.push_back(fmt::format("{}: {:.1f} %", name, percent(false_passes)));
        }
    }
}

/// Prints the row of a load's runs of one length, with the metrics taken together.
void print_row(const Load& load, std::uint64_t requests, const Cells& cells) {
    fmt::print("| {} | {} |", load.name, requests);
    double worst_pass = 0;
    double worst_fail = 0;
    for (std::size_t i = 0; i < kLevels; ++i) {
        Cell all;
        double lowest = 1;
        for (const auto& [tag, of_percentiles] : cells) {
            const Cell& cell = of_percentiles[i];
            const auto runs = static_cast<double>(cell.runs);
            all += cell;
            if (2 * cell.given >= cell.runs) lowest = std::min(lowest, cell.coverage());
            worst_pass = std::max(worst_pass, static_cast<double>(cell.false_passes) / runs);
            worst_fail = std::max(worst_fail, static_cast<double>(cell.false_fails) / runs);
        }
        fmt::print(" {}{} |", text_of(all), lowest < 1 ? fmt::format(" · {:.1f}", percent(lowest)) : "");
    }
    fmt::print(" {:.1f} / {:.1f} |\n", percent(worst_pass), percent(worst_fail));
    std::fflush(stdout);
}

void print_pooled(const Pooled& pooled) {
    const auto runs = static_cast<double>(pooled.all.runs);
    fmt::print(
        "\n- Pooled: {:.1f} % of the {} intervals given hold the true value; {:.2f} % of verdicts are false "
        "passes, {:.2f} % false fails.\n",
        percent(pooled.all.coverage()), pooled.all.given,
        percent(static_cast<double>(pooled.all.false_passes) / runs),
        percent(static_cast<double>(pooled.all.false_fails) / runs));
    fmt::print(
        "- Cells with at least half of their intervals given: {}. Cells that cover less than 90 %, and loads "
        "less than 95 %: {}. More than 3 % false passes: {}.\n",
        pooled.cells, pooled.below.size(), pooled.passing.size());
    for (const auto& name : pooled.below) fmt::print("  - covers too little: {}\n", name);
    for (const auto& name : pooled.passing) fmt::print("  - passes falsely: {}\n", name);
    fmt::print("- Withheld as insufficient in closed loops and at up to 60 % of capacity:");
    for (std::size_t length = 0; length < kLengths.size(); ++length) {
        fmt::print(" n = {}:", kLengths[length]);
        for (std::size_t i = 0; i < percentiles().size(); ++i)
            fmt::print(" p{:g} {:.0f} %{}", 100 * percentiles()[i],
                       percent(pooled.light[length][i].withheld()), i + 1 < percentiles().size() ? "," : "");
        fmt::print("{}", length + 1 < kLengths.size() ? ";" : ".\n");
    }
    fmt::print("- Of these, withheld where runs are worth fewer samples than an interval needs:");
    for (std::size_t length = 0; length < kLengths.size(); ++length) {
        fmt::print(" n = {}:", kLengths[length]);
        for (std::size_t i = 0; i < percentiles().size(); ++i) {
            const Cell& light = pooled.light[length][i];
            fmt::print(" p{:g} {} of {}{}", 100 * percentiles()[i], pooled.impossible[length][i],
                       light.runs - light.given, i + 1 < percentiles().size() ? "," : "");
        }
        fmt::print("{}", length + 1 < kLengths.size() ? ";" : ".\n");
    }
    fmt::print("- Withheld in steady runs with at least 500 requests and 16 beyond the percentile:");
    for (std::size_t i = 0; i < percentiles().size(); ++i)
        fmt::print(" p{:g} {:.0f} %{}", 100 * percentiles()[i],
                   percent(pooled.steady[i].withheld_though_enough()),
                   i + 1 < percentiles().size() ? "," : ".\n");
    for (const auto& name : pooled.withholding) fmt::print("  - withheld in steady runs: {}\n", name);
    for (const auto& name : pooled.avoidable) fmt::print("  - withheld though enough: {}\n", name);
}

std::string texts_of(const RateCells& rates) {
    std::string texts;
    for (const Cell& cell : rates) texts += cell.runs == 0 ? " |" : fmt::format(" {} |", text_of(cell));
    return texts;
}

/// Prints rows that begin with the columns of `heading` and end with those of the rates.
void print_table(std::string_view heading, const std::vector<std::string>& rows) {
    std::string rule;
    for (const char c : heading) rule += c == '|' ? "|---" : "";
    fmt::print("\n{} {} |\n{}", heading, fmt::join(kRateKeys, " | "), rule.substr(0, rule.size() - 3));
    for (std::size_t i = 0; i < kRateKeys.size(); ++i) fmt::print("---|");
    fmt::print("\n");
    for (const std::string& row : rows) fmt::print("{}\n", row);
}

/// Measures the runs of a closed loop by their number of rounds, in steady runs: which share of them shows
/// that a limit at twice the true percentile is met, for the metric with the fewest, and which is at least
/// within.
void measure_rounds(const Load& load, Truth truth, const RateTruth& rates, const Options& options,
                    std::vector<std::string>& rows) {
    constexpr std::uint64_t kMostRequests = 20'000;  // per run
    constexpr std::uint64_t kFewestPerRound = 4;     // as samples_of() in core/result/rounds.h
    truth.erase("itl");                              // no limit can be set on it
    for (const auto& [rounds, part] : kRounds) {
        // A tenth of the rounds is left out at the start, and some after the steady window.
        const std::uint64_t requests = std::max(load.concurrency, kFewestPerRound) * (rounds * 5 / 4 + 4);
        if (requests > kMostRequests) break;
        Options own = options;
        own.seeds = std::max<std::uint64_t>(1, options.seeds / part);
        const auto cells = measured(load, truth, rates, requests, own);
        std::string texts;
        for (std::size_t i = 0; i < kLevels; ++i) {
            double met = 1;
            double within = 1;
            for (const auto& [tag, of_percentiles] : cells.percentiles) {
                const Cell& cell = of_percentiles[i];
                const auto steady = static_cast<double>(cell.steady);
                met = std::min(met, static_cast<double>(cell.met_twice) / steady);
                within = std::min(within, static_cast<double>(cell.met_twice + cell.within_twice) / steady);
            }
            texts += fmt::format("{}p{:g} {:.0f}, {:.0f}{}", i > 0 ? " · " : "", 100 * percentiles()[i],
                                 percent(met), percent(within),
                                 rounds >= kRoundsToMeet[i] && met < kLeastMet ? " (missed)" : "");
        }
        for (std::size_t i = 0; i < kRateKeys.size(); ++i)
            if (cells.rates[i].given > 0 && rounds > kRounds[0].first &&
                cells.rates[i].coverage() < kLeastOfRates)
                texts += fmt::format(" ({} missed)", kRateKeys[i]);
        const Cell& any = cells.percentiles.begin()->second[0];
        rows.push_back(fmt::format("| {} | {} ({} of {} runs steady) | {} |", load.name, rounds, any.steady,
                                   any.runs, texts) +
                       texts_of(cells.rates));
        fmt::print(stderr, "{}\n", rows.back());
    }
}

void measure(const Options& options) {
    fmt::print("| load | n | p50 | p90 | p95 | p99 | false passes / fails |\n");
    fmt::print("|---|---|---|---|---|---|---|\n");
    Pooled pooled;
    std::vector<std::string> rate_rows;
    std::vector<std::string> round_rows;
    for (const Load& load : loads()) {
        if (load.name.find(options.name) == std::string::npos) continue;
        const auto truth = truth_of(load, options.truth_runs, kTruthRequests);
        const auto rates = rate_truth_of(load, truth, options.truth_runs, kTruthRequests);
        Cell of_load;
        for (std::size_t length = 0; length < kLengths.size(); ++length) {
            const auto cells = measured(load, truth, rates, kLengths[length], options);
            print_row(load, kLengths[length], cells.percentiles);
            pool(load, length, cells.percentiles, pooled);
            for (const auto& [tag, of_percentiles] : cells.percentiles)
                for (const Cell& cell : of_percentiles) of_load += cell;
            rate_rows.push_back(fmt::format("| {} | {} |", load.name, kLengths[length]) +
                                texts_of(cells.rates));
        }
        if (of_load.given > 0 && of_load.coverage() < kLeastPerLoad)
            pooled.below.push_back(fmt::format("{}: {:.1f} %", load.name, percent(of_load.coverage())));
        if (!load.open()) measure_rounds(load, truth, rates, options, round_rows);
    }
    print_pooled(pooled);
    print_table("| load | n |", rate_rows);
    print_table("| load | rounds | limit at twice the percentile: met, met or within |", round_rows);
}

}  // namespace
}  // namespace paretoken::coverage

int main(int argc, char** argv) {
    paretoken::coverage::Options options;
    if (argc > 1) options.seeds = std::strtoull(argv[1], nullptr, 10);
    if (argc > 2) options.threads = std::strtoull(argv[2], nullptr, 10);
    if (argc > 3) options.truth_runs = std::strtoull(argv[3], nullptr, 10);
    if (argc > 4) options.name = argv[4];
    if (argc > 5) options.first_seed = std::strtoull(argv[5], nullptr, 10);
    if (options.seeds == 0 || options.threads == 0 || options.truth_runs == 0) {
        fmt::print(stderr,
                   "usage: paretoken-coverage [SEEDS] [THREADS] [TRUTH_RUNS] [PART OF A LOAD'S NAME] "
                   "[FIRST SEED]\n");
        return 2;
    }
    paretoken::coverage::measure(options);
}
