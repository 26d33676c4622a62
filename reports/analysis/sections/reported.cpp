// The section of runs of which only the summary of another program is known. Each program has a table of its
// own, because the same word means different things to them.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "reports/analysis/sections/sections.h"

namespace paretoken::reports {
namespace {

struct ReportedPoint {
    std::size_t configuration = 0;
    const ReportPoint* point = nullptr;
};

/// "ttft p99, ms": the title of a column, and the factor for its values.
std::pair<std::string, double> column_of(const std::string& key) {
    const ReportedKey known = reported_key(key);
    std::string title = known.title;
    if (const std::size_t rate = title.find("_per_s"); rate != title.npos)
        title = title.substr(0, title.find('_'));  // the unit says the rest
    std::ranges::replace(title, '_', ' ');
    const bool is_time = known.unit == "s";
    return {fmt::format("{}, {}", title, is_time ? "ms" : known.unit), is_time ? 1e3 : 1};
}

/// The keys that at least one of the points has, rates first. Only usual statistics are shown; run.json has
/// all.
std::vector<std::string> shown_keys(const std::vector<ReportedPoint>& points) {
    std::vector<std::string> keys;
    const auto add = [&](const std::string& key) {
        if (std::ranges::any_of(points, [&](const ReportedPoint& of) {
                return of.point->result.reported->at(key).has_value();
            }))
            keys.push_back(key);
    };
    for (const char* const rate : {"output_tokens_per_s", "output_tokens_per_s_per_gpu",
                                   "total_tokens_per_s_per_gpu", "requests_per_s"})
        add(rate);
    for (const char* const tag : {"ttft", "itl", "tpot", "ntpot", "e2e"})
        for (const char* const statistic : {"mean", "p50", "p95", "p99"})
            add(fmt::format("{}_{}_s", tag, statistic));
    for (const char* const length : {"isl_mean_tokens", "osl_mean_tokens"}) add(length);
    return keys;
}

std::string count_of(const std::optional<std::uint64_t>& count) {
    return count ? fmt::format("{}", *count) : "–";
}

Table reported_table(const ReportModel& model, const std::vector<ReportedPoint>& points) {
    Table table{
        {{"Configuration", Align::left}, {"Load", Align::left}, {"Requests"}, {"Failed"}, {"$ per M output"}},
        {}};
    const std::vector<std::string> keys = shown_keys(points);
    for (const std::string& key : keys) table.columns.push_back({column_of(key).first});
    for (const auto& [configuration, point] : points) {
        const Reported& reported = *point->result.reported;
        std::vector<std::string> row = {
            model.configurations[configuration].title, point->load_label, count_of(reported.requests),
            count_of(reported.failed),
            point->reported_usd_per_m_output ? dollars(*point->reported_usd_per_m_output) : std::string("–")};
        for (const std::string& key : keys)
            row.push_back(significant(reported.at(key), column_of(key).second));
        table.titles.push_back({configuration, model.configurations[configuration].workload});
        table.rows.push_back(std::move(row));
    }
    return table;
}

}  // namespace

std::vector<Section> reported_sections(const ReportModel& model) {
    std::map<std::string, std::vector<ReportedPoint>> by_program;
    for (std::size_t i = 0; i < model.configurations.size(); ++i)
        for (const ReportPoint& point : model.configurations[i].points)
            if (point.result.reported) by_program[point.result.reported->by].push_back({i, &point});
    if (by_program.empty()) return {};
    Section section{"reported", "As other programs report it"};
    section.blocks.push_back({Paragraph{
        "These files hold only figures that other programs computed, each by its own definitions. The "
        "runs are therefore on no chart beside measured ones, and no figure of them is certified. The "
        "cost divides the price by the rate that the program reported."}});
    for (const auto& [program, points] : by_program)
        section.blocks.push_back({Part{.title = fmt::format("As {} defines it", program),
                                       .blocks = {{reported_table(model, points)}}}});
    return {std::move(section)};
}

}  // namespace paretoken::reports
