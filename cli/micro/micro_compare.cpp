// paretoken micro compare: two micro.json files, row by row.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "cards/card_file.h"
#include "cli/commands.h"
#include "cli/console/print.h"
#include "cli/micro/micro_page.h"
#include "cli/options/invocation.h"
#include "core/error.h"
#include "reports/analysis/micro/llama_bench.h"
#include "reports/analysis/micro/micro_compare.h"

namespace paretoken::cli {
namespace {

struct CompareOptions {
    std::string before;
    std::string after;
    double least_effect_percent = reports::kLeastEffect * 100;
    bool json = false;
    bool fail_on_slower = false;
    std::string page;  // empty: no page
};

nlohmann::ordered_json json_of(const reports::Speed& speed) {
    return {{"median", speed.median}, {"low", speed.interval.low}, {"high", speed.interval.high}};
}

const char* unit_of(reports::SpeedUnit unit) {
    switch (unit) {
        case reports::SpeedUnit::bytes_per_s:
            return "bytes/s";
        case reports::SpeedUnit::flops_per_s:
            return "FLOP/s";
        case reports::SpeedUnit::operations_per_s:
            return "operations/s";
    }
    return "";
}

nlohmann::ordered_json json_of(const reports::RowComparison& row) {
    nlohmann::ordered_json json{
        {"name", row.name}, {"verdict", name_of(row.verdict)}, {"unit", unit_of(row.unit)}};
    if (row.before) json["first"] = json_of(*row.before);
    if (row.after) json["second"] = json_of(*row.after);
    if (const auto effect = row.effect()) json["effect"] = *effect;
    if (!row.note.empty()) json["note"] = row.note;
    return json;
}

std::string json_text(const reports::MicroComparison& comparison, const CompareOptions& options) {
    nlohmann::ordered_json json{{"schema", "paretoken/micro_comparison/1"},
                                {"first", options.before},
                                {"second", options.after},
                                {"least_effect", comparison.least_effect},
                                {"differences", comparison.differences}};
    for (const auto verdict : {reports::MicroVerdict::faster, reports::MicroVerdict::slower,
                               reports::MicroVerdict::same, reports::MicroVerdict::ambiguous})
        json["counts"][std::string(name_of(verdict))] = comparison.count(verdict);
    json["rows"] = nlohmann::ordered_json::array();
    for (const auto& row : comparison.rows) json["rows"].push_back(json_of(row));
    json["only_in_first"] = comparison.only_before;
    json["only_in_second"] = comparison.only_after;
    return json.dump(2) + "\n";
}

void compare(const CompareOptions& options) {
    const auto read = [](const std::string& path) {
        const std::string text = cards::read_card_file(path);
        return reports::is_llama_bench_result(text) ? reports::llama_bench_rows(text, path)
                                                    : reports::parse_micro_file(text, path);
    };
    if (!options.page.empty()) expect_page_name("--report", options.page);
    const reports::MicroFile before = read(options.before);
    const reports::MicroFile after = read(options.after);
    const auto comparison = reports::comparison_of(before, after, options.least_effect_percent / 100);
    print("{}", options.json ? json_text(comparison, options) : text_of(comparison));
    if (comparison.rows.empty())
        throw UsageError(
            fmt::format("micro compare: {} and {} have no row in common; measure both with the same options",
                        options.before, options.after));
    if (!options.page.empty()) write_comparison_page(options.page, before, after);
    const std::size_t slower = comparison.count(reports::MicroVerdict::slower);
    if (options.fail_on_slower && slower > 0)
        throw Error(ExitCode::gate_failed,
                    fmt::format("micro compare: {} of {} rows are slower", slower, comparison.rows.size()));
}

}  // namespace

void add_micro_compare(CLI::App& micro) {
    auto options = std::make_shared<CompareOptions>();
    CLI::App* command =
        micro.add_subcommand("compare", "Compare two results: faster, slower, same or ambiguous, row by row");
    command
        ->add_option("FIRST", options->before, "The micro.json of the baseline, or a result of llama-bench")
        ->required();
    command
        ->add_option("SECOND", options->after, "The micro.json, or the result of llama-bench, that is judged")
        ->required();
    command
        ->add_option("--least-effect", options->least_effect_percent,
                     "Differences of a row up to this many percent count as no change")
        ->capture_default_str()
        ->check(AmountWithin{.least = 0, .most = 1000});
    command->add_flag("--json", options->json, "Print JSON on standard output");
    command->add_option(
        "--report", options->page,
        "Also write both results side by side as a page with charts (.html) or as tables (.md)");
    command->add_flag("--fail-on-slower", options->fail_on_slower,
                      "End with exit code 1 when any row is slower");
    command->callback([options] { compare(*options); });
}

}  // namespace paretoken::cli
