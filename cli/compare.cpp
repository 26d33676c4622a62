// paretoken compare: two or more results of any origin side by side.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cards/price.h"
#include "cli/commands.h"
#include "cli/console/print.h"
#include "cli/interop/foreign_results.h"
#include "core/error.h"
#include "reports/analysis/compare/compare.h"
#include "reports/analysis/model/answer.h"
#include "reports/analysis/model/join.h"
#include "reports/analysis/model/join/served.h"
#include "reports/document/table.h"
#include "reports/files/run_directory.h"

namespace paretoken::cli {
namespace {

struct CompareCommand {
    std::vector<std::string> results;
    std::string gpu;
    std::vector<std::string> prices;
};

using Runs = std::vector<reports::LoadedRun>;

Runs runs_in(const std::string& name, const std::string& directory) {
    Runs runs;
    for (const auto& run : reports::find_run_directories(directory))
        runs.push_back({.directory = reports::shown_name(run), .result = reports::read_whole_run(run)});
    for (const reports::LoadedRun& run : runs)
        if (run.result.provenance.measured_by != runs.front().result.provenance.measured_by)
            throw UsageError(fmt::format(
                "{} has runs of {} and of {}; give the results of each program as a side of their own", name,
                runs.front().result.provenance.program(), run.result.provenance.program()));
    return runs;
}

bool names_no_gpu(const Runs& runs) {
    return std::ranges::any_of(
        runs, [](const reports::LoadedRun& run) { return reports::names_no_gpu(run.result); });
}

/// The points of a result with their costs.
reports::ComparedSide side_of(const std::string& name, Runs runs, const reports::JoinOptions& options) {
    reports::ComparedSide side{.name = name};
    for (reports::Configuration& configuration :
         reports::build_report(std::move(runs), options).configurations)
        for (reports::ReportPoint& point : configuration.points) side.points.push_back(std::move(point));
    return side;
}

/// "1.38 (1.35 to 1.41)", or "1.38 (no interval)"
std::string ratio_text(const reports::SideFigure& figure) {
    if (!figure.ratio) return "";
    if (!figure.ratio_ci95) return fmt::format("{:.3f} (no interval)", *figure.ratio);
    return fmt::format("{:.3f} ({:.3f} to {:.3f})", *figure.ratio, figure.ratio_ci95->low,
                       figure.ratio_ci95->high);
}

bool has_ratio_without_interval(const reports::LoadComparison& load) {
    return std::ranges::any_of(load.figures, [](const reports::FigureRow& row) {
        return std::ranges::any_of(row.sides,
                                   [](const auto& side) { return side && side->ratio && !side->ratio_ci95; });
    });
}

/// The letter that stands for a side in tables.
std::string letter(std::size_t side) {
    return std::string(1, static_cast<char>('A' + side));
}

/// "h100-sxm at $2.95 per hour"; empty without a price.
std::string prices_of(const reports::ComparedSide& side) {
    std::set<std::string> texts;
    for (const reports::ReportPoint& point : side.points)
        if (point.cost) texts.insert(reports::price_text(*point.cost));
    return fmt::format("{}", fmt::join(texts, "; "));
}

reports::Table table_of(const reports::LoadComparison& load, std::size_t sides) {
    reports::Table table;
    table.columns.push_back({load.load, reports::Align::left});
    for (std::size_t i = 0; i < sides; ++i) table.columns.push_back({letter(i), reports::Align::right});
    for (std::size_t i = 1; i < sides; ++i) table.columns.push_back({letter(i) + " ÷ A (95 %)"});
    for (const reports::FigureRow& row : load.figures) {
        std::vector<std::string> cells = {row.title};
        for (const auto& side : row.sides) cells.push_back(side ? reports::significant(side->value, 4) : "–");
        for (std::size_t i = 1; i < sides; ++i)
            cells.push_back(row.sides[i] ? ratio_text(*row.sides[i]) : "");
        table.rows.push_back(std::move(cells));
    }
    return table;
}

void print_comparison(const reports::ResultComparison& comparison,
                      const std::vector<reports::ComparedSide>& sides) {
    for (std::size_t i = 0; i < sides.size(); ++i) {
        const std::string prices = prices_of(sides[i]);
        print("{}  {}{}\n", letter(i), reports::printable(sides[i].name),
              prices.empty() ? "" : fmt::format(", {}", reports::printable(prices)));
    }
    if (!comparison.differences.empty()) print("\nDifferences between the measurements (A | B …):\n");
    for (const std::string& difference : comparison.differences)
        print("{}", reports::paragraph(reports::printable(difference), 2));
    for (const reports::LoadComparison& load : comparison.loads)
        print("\n{}", reports::text_of(table_of(load, sides.size())));
    print("\n");
    if (std::ranges::any_of(comparison.loads, has_ratio_without_interval))
        print("{}", reports::paragraph("A ratio has no interval where a run has no steady window or too few "
                                       "requests for that of the figure, or where another program reported "
                                       "the figure alone; several runs of each side give every ratio one."));
    for (const reports::LoadComparison& load : comparison.loads)
        for (const std::string& sentence : load.sentences)
            print("{}", reports::paragraph(reports::printable(sentence)));
    if (comparison.workloads_differ)
        print("{}",
              reports::paragraph("The workloads differ, so that these ratios do not compare the servers "
                                 "alone."));
    print("{}", reports::paragraph(
                    "Intervals of single runs do not contain the variation between runs; `paretoken gate` "
                    "judges repeated runs."));
}

/// "A: 2.02 req/s; B: 4.04 req/s"
std::string loads_of(const std::vector<reports::ComparedSide>& sides) {
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < sides.size(); ++i) {
        std::vector<std::string> labels;
        for (const reports::ReportPoint& point : sides[i].points)
            if (std::ranges::find(labels, point.load_label) == labels.end())
                labels.push_back(point.load_label);
        texts.push_back(fmt::format("{}: {}", letter(i), fmt::join(labels, ", ")));
    }
    return reports::printable(fmt::format("{}", fmt::join(texts, "; ")));
}

void compare(const CompareCommand& command) {
    if (command.results.size() < 2)
        throw UsageError("compare needs two or more results: paretoken compare A B");
    if (command.results.size() > 26) throw UsageError("compare takes at most 26 results");
    reports::JoinOptions options;
    if (!command.gpu.empty()) options.gpu = command.gpu;
    for (const std::string& price : command.prices) options.prices.push_back(cards::price_card(price));
    if (options.prices.empty()) options.prices = cards::default_price_cards();
    ForeignResults foreign;
    std::vector<Runs> runs;
    for (const std::string& result : command.results)
        runs.push_back(runs_in(result, foreign.directory_of(result)));
    // A side that says what served it may stand beside another that needs --gpu.
    const bool needs_gpu = std::ranges::any_of(runs, names_no_gpu);
    std::vector<reports::ComparedSide> sides;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        reports::JoinOptions own = options;
        if (needs_gpu && !names_no_gpu(runs[i])) own.gpu.reset();
        sides.push_back(side_of(command.results[i], std::move(runs[i]), own));
    }
    const reports::ResultComparison comparison = reports::comparison_of(sides);
    if (comparison.loads.empty())
        throw UsageError(fmt::format(
            "the results have no valid run of a load in common ({}); `paretoken report` shows them "
            "together",
            loads_of(sides)));
    print_comparison(comparison, sides);
}

}  // namespace

void add_compare(CLI::App& app) {
    const auto command = std::make_shared<CompareCommand>();
    CLI::App* sub = app.add_subcommand("compare", "Show two or more results of any origin side by side");
    sub->add_option("results", command->results,
                    "Directories of results, or result files of other load generators; each is compared with "
                    "the first")
        ->required();
    sub->add_option("--gpu", command->gpu,
                    "Hardware that served, for results that do not name their GPU: NAME or NAMExN");
    sub->add_option("--price", command->prices,
                    "Price for the cost per million tokens: dollars per GPU-hour (2.50), or a price card by "
                    "its name or as a file; may be repeated")
        ->allow_extra_args(false);
    sub->callback([command] { compare(*command); });
}

}  // namespace paretoken::cli
