#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "reports/analysis/model/choice.h"
#include "reports/analysis/sections/sections.h"

namespace paretoken::reports {
namespace {

/// The margins to each limit, a cheaper run that was measured within them and one that misses one, or the
/// reason why there is no choice.
std::string remark_of(const Choice& choice) {
    std::string remark =
        choice.why_not.empty() ? fmt::format("{}", fmt::join(choice.margins, "\n")) : choice.why_not;
    const std::string worse =
        choice.worse_than.empty() ? "" : "answers certainly worse than those of " + choice.worse_than;
    for (const std::string& other : {worse, choice.within, choice.missed})
        if (!other.empty()) remark += (remark.empty() ? "" : "\n") + other;
    return remark;
}

/// The share of right answers with its interval: "60.0 % (56.9–63.0)".
std::string quality_cell(const Configuration& configuration) {
    const auto& quality = configuration.quality;
    if (!quality) return "–";
    return fmt::format("{} % ({}–{})", significant(quality->score * 100),
                       significant(quality->ci95.low * 100), significant(quality->ci95.high * 100));
}

/// The table has a column of costs if `priced`.
Table choice_table(const ReportModel& model, bool priced) {
    Table table{{{"Configuration", Align::left},
                 {"$ per M output"},
                 {"Load", Align::left},
                 {"tok/s"},
                 {"tok/s per user"},
                 {model.choice.slos.empty() ? "Why not" : "Margin, or why not", Align::left}},
                {}};
    for (const Choice& one : model.choice.ranked) {
        const Configuration& configuration = model.configurations[one.configuration];
        table.titles.push_back({one.configuration, configuration.workload});
        table.rows.push_back({configuration.title,
                              one.usd_per_m_output ? "$" + dollars(*one.usd_per_m_output) : "–",
                              one.load_label, significant(one.output_tokens_per_s),
                              significant(one.interactivity), remark_of(one)});
    }
    const auto has_quality = [&](const Choice& one) {
        return model.configurations[one.configuration].quality.has_value();
    };
    if (std::ranges::any_of(model.choice.ranked, has_quality)) {
        table.columns.insert(table.columns.end() - 1, {"Right answers (95 % interval)"});
        for (std::size_t i = 0; i < table.rows.size(); ++i)
            table.rows[i].insert(table.rows[i].end() - 1,
                                 quality_cell(model.configurations[model.choice.ranked[i].configuration]));
    }
    const auto has_remark = [](const auto& row) { return !row.back().empty(); };
    if (std::ranges::none_of(table.rows, has_remark)) {
        table.columns.pop_back();
        for (auto& row : table.rows) row.pop_back();
    }
    if (priced) return table;
    table.columns.erase(table.columns.begin() + 1);
    for (auto& row : table.rows) row.erase(row.begin() + 1);
    return table;
}

bool has_price(const Configuration& configuration) {
    return std::ranges::any_of(configuration.points,
                               [](const ReportPoint& point) { return point.cost.has_value(); });
}

/// The sentences before the table.
std::string introduction(const ReportModel& model, bool priced) {
    const ChoiceTable& choice = model.choice;
    const char* const best = priced ? "cheapest" : "fastest";
    std::string text =
        choice.slos.empty()
            ? fmt::format("No limit was given (--slo): these are the {} runs of each configuration.", best)
            : fmt::format(
                  "The limits are {}{}. Of each configuration, the table has the {} run that proves them at "
                  "99 % confidence, or else the {} whose measured values keep them with too few requests to "
                  "prove it. A run whose server did not keep up with the arrivals misses every limit.",
                  fmt::join(choice.slos, " and "),
                  choice.slos_from.empty() ? "" : fmt::format(", the limits of {}", choice.slos_from), best,
                  best);
    text +=
        fmt::format(" Of runs {}, it is the one that is fastest for a user.",
                    priced ? "that cost at most 3 % more than the cheapest" : "within 3 % of the fastest");
    if (!priced)
        text += " No price is known, so the fastest is the one with the most output tokens per second.";
    if (choices_differ(model, &Configuration::workload))
        text += fmt::format(" The workloads differ: compare the {} only between rows with the same workload.",
                            priced ? "costs" : "speeds");
    if (choices_differ(model, &Configuration::served))
        text += fmt::format(" The models differ: compare the {} only between models that answer well enough.",
                            priced ? "costs" : "speeds");
    return text;
}

}  // namespace

std::vector<Section> choice_sections(const ReportModel& model) {
    const ChoiceTable& choice = model.choice;
    if (choice.ranked.empty() || (choice.slos.empty() && choice.ranked.size() < 2)) return {};
    const bool limited = !choice.slos.empty();
    const bool priced = std::ranges::any_of(model.configurations, has_price) ||
                        std::ranges::any_of(choice.ranked, [](const Choice& one) {
                            return one.usd_per_m_output.has_value();
                        });
    const std::string best = priced ? "cheapest" : "fastest";
    Section section{
        "choice", fmt::format("{}{}", priced ? "Cheapest" : "Fastest", limited ? " within your limits" : "")};
    section.blocks.push_back({Paragraph{introduction(model, priced)}});
    section.blocks.push_back({choice_table(model, priced)});
    if (const Choice& first = choice.ranked.front(); !first.command.empty())
        section.blocks.push_back({Folded{
            fmt::format("Measure the {} again", best),
            {{Paragraph{fmt::format("The {0} of several runs may be {0} by chance, so measure it again. {1}",
                                    best, first.command_note)}},
             {Command{first.command}}}}});
    return {std::move(section)};
}

}  // namespace paretoken::reports
