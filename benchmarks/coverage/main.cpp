// Measures how often the confidence intervals and verdicts of this tool are right: a Markdown table over
// loads in virtual time, for docs/statistics.md.
//     paretoken-coverage [SEEDS] [THREADS] [TRUTH_RUNS] [PART OF A LOAD'S NAME] [FIRST SEED]
#include <fmt/format.h>

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
                const auto summary = summary_of(load, outcome);
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
    std::array<std::array<Cell, 3>, 3> light;  ///< cells by length and percentile
    std::uint64_t cells = 0;                   ///< number of cells with at least half of their intervals
    std::vector<std::string> below;            ///< cells that cover less than 91 %
    std::vector<std::string> passing;          ///< cells with more than 2 % false passes
    /// Number of intervals withheld in cells of light loads whose runs are worth fewer independent samples
    /// than an interval needs, by length and percentile.
    std::array<std::array<std::uint64_t, 3>, 3> impossible = {};
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
    constexpr double kLeast = 0.91;
    constexpr double kMost = 0.02;
    for (const auto& [tag, of_percentiles] : cells) {
        for (std::size_t i = 0; i < of_percentiles.size(); ++i) {
            const Cell& cell = of_percentiles[i];
            const auto name =
                fmt::format("{}, n = {}, {} p{:g}", load.name, kLengths[length], tag, 100 * percentiles()[i]);
            pooled.all += cell;
            if (load.is_light) note_withheld(name, length, i, cell, pooled);
            if (2 * cell.given < cell.runs) continue;
            ++pooled.cells;
            const auto runs = static_cast<double>(cell.runs);
            if (cell.coverage() < kLeast)
                pooled.below.push_back(fmt::format("{}: {:.1f} %", name, percent(cell.coverage())));
            const double false_passes = static_cast<double>(cell.false_passes) / runs;
            if (false_passes > kMost)
                pooled.passing.push_back(fmt::format("{}: {:.1f} %", name, percent(false_passes)));
        }
    }
}

void print_rows(const Load& load, std::uint64_t requests, const Cells& cells) {
    for (std::size_t i = 0; i < percentiles().size(); ++i) {
        fmt::print("| {} | {} | p{:g} |", load.name, requests, 100 * percentiles()[i]);
        double worst_pass = 0;
        double worst_fail = 0;
        for (const auto& tag : headline_tags(load.open())) {
            const Cell& cell = cells.at(tag)[i];
            fmt::print(" {} |", text_of(cell));
            worst_pass =
                std::max(worst_pass, static_cast<double>(cell.false_passes) / static_cast<double>(cell.runs));
            worst_fail =
                std::max(worst_fail, static_cast<double>(cell.false_fails) / static_cast<double>(cell.runs));
        }
        fmt::print(" {:.1f} / {:.1f} |\n", percent(worst_pass), percent(worst_fail));
    }
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
        "- Cells with at least half of their intervals given: {}. Below 91 %: {}. More than 2 % false "
        "passes: "
        "{}.\n",
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
    for (const auto& name : pooled.avoidable) fmt::print("  - withheld though enough: {}\n", name);
}

void measure(const Options& options) {
    fmt::print("| load | n | | TTFT | TPOT | end to end | interactivity | ITL | false passes / fails |\n");
    fmt::print("|---|---|---|---|---|---|---|---|---|\n");
    Pooled pooled;
    std::vector<std::string> rate_rows;
    for (const Load& load : loads()) {
        if (load.name.find(options.name) == std::string::npos) continue;
        const auto truth = truth_of(load, options.truth_runs, kTruthRequests);
        const auto rates = rate_truth_of(load, options.truth_runs, kTruthRequests);
        for (std::size_t length = 0; length < kLengths.size(); ++length) {
            const auto cells = measured(load, truth, rates, kLengths[length], options);
            print_rows(load, kLengths[length], cells.percentiles);
            pool(load, length, cells.percentiles, pooled);
            rate_rows.push_back(fmt::format("| {} | {} | {} | {} |", load.name, kLengths[length],
                                            text_of(cells.rates[0]), text_of(cells.rates[1])));
        }
    }
    print_pooled(pooled);
    fmt::print("\n| load | n | output tokens per second | requests per second |\n|---|---|---|---|\n");
    for (const std::string& row : rate_rows) fmt::print("{}\n", row);
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
