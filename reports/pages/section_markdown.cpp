#include "reports/pages/section_markdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/overloaded.h"
#include "reports/pages/markdown.h"

namespace paretoken::reports {
namespace {

constexpr std::size_t kCommandWidth = 4000;

/// The lines of a cell as one line, because a cell of Markdown has no line ends.
std::string cell_text(const std::string& cell) {
    std::string text;
    for (const char c : cell) text += c == '\n' ? std::string("; ") : std::string(1, c);
    return markdown_escaped(text);
}

std::string title_text(const Table& table, std::size_t row) {
    std::string title = cell_text(table.rows[row].front());
    if (table.titles.empty() || table.titles[row].note.empty()) return title;
    return title + ", " + markdown_escaped(table.titles[row].note);
}

std::string titled(const std::string& title, const Table& table) {
    return fmt::format("**{}**\n\n{}", markdown_escaped(title), markdown_of(table));
}

std::string chart_text(const Chart& chart) {
    if (chart.drawn_only) return "";
    std::string title = fmt::format("{}, {}", chart.picture.title, chart.picture.y_title);
    if (const std::string lines = lines_of(chart.picture); !lines.empty())
        title += fmt::format(" ({})", lines);
    return titled(title, chart.table ? *chart.table : table_of(chart.picture));
}

std::string notice_text(const Notice& notice) {
    return fmt::format(
        "- {}{}{}\n", notice.code.empty() ? "" : fmt::format("**{}**: ", markdown_escaped(notice.code)),
        markdown_escaped(notice.text),
        notice.evidence.empty() ? "" : fmt::format(" ({})", markdown_escaped(notice.evidence)));
}

/// The row's interval drawn as text: "|" is no change, "!" the limit, "o" the value.
std::string drawn(const IntervalRow& row) {
    constexpr double kHalf = 20;  // columns from no change to the end of the scale
    const auto column = [](double value) {
        return static_cast<std::size_t>(std::lround(kHalf * (1 + std::clamp(value, -2.0, 2.0) / 2)));
    };
    std::string line(column(2) + 1, ' ');
    for (std::size_t i = column(row.interval.low); i <= column(row.interval.high); ++i) line[i] = '-';
    line[column(0)] = '|';
    line[column(1)] = '!';
    line[column(row.at)] = 'o';
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
}

std::string intervals_text(const IntervalChart& chart) {
    constexpr std::size_t kNameWidth = 34;
    std::string lines;
    for (const IntervalRow& row : chart.rows)
        lines += fmt::format("{:<{}} {}\n", printable(row.name, kNameWidth), kNameWidth, drawn(row));
    return fmt::format("{} (`|` no change, `!` the {}, `o` the value)\n\n```\n{}```\n\n",
                       markdown_escaped(chart.what), markdown_escaped(chart.limit), lines);
}

std::string heading(int depth, const std::string& title) {
    return title.empty() ? ""
                         : fmt::format("{} {}\n\n", std::string(static_cast<std::size_t>(depth), '#'),
                                       markdown_escaped(title));
}

/// The blocks below a heading of the level `depth`.
std::string blocks_text(const Blocks& blocks, int depth) {
    std::string text;
    for (const Block& block : blocks)
        text += std::visit(
            Overloaded{[](const Paragraph& one) {
                           return fmt::format(
                               "{}{}\n\n",
                               one.strong.empty() ? "" : fmt::format("**{}**", markdown_escaped(one.strong)),
                               markdown_escaped(one.text));
                       },
                       [](const Notices& one) {
                           std::string items;
                           for (const Notice& notice : one.items) items += notice_text(notice);
                           return items + "\n";
                       },
                       [](const Headlines&) { return std::string(); },
                       [](const Facts& one) {
                           std::string items;
                           for (const auto& [name, value] : one.items)
                               if (!value.empty())
                                   items += fmt::format("- {}: {}\n", markdown_escaped(name),
                                                        markdown_escaped(value));
                           return items + (items.empty() ? "" : "\n");
                       },
                       [](const Command& one) {
                           return fmt::format("    {}\n\n", printable(one.text, kCommandWidth));
                       },
                       [](const Table& one) { return markdown_of(one); },
                       [](const Charts& one) {
                           std::string charts;
                           for (const Chart& chart : one.items) charts += chart_text(chart);
                           return charts;
                       },
                       [](const BarChart& one) {
                           return one.bars.title.empty() ? markdown_of(one.table)
                                                         : titled(one.bars.title, one.table);
                       },
                       [](const IntervalChart& one) { return intervals_text(one); },
                       [depth](const Part& one) {
                           return heading(depth + 1, one.title) + blocks_text(one.blocks, depth + 1);
                       },
                       [depth](const Folded& one) {
                           return fmt::format("<details><summary>{}</summary>\n\n{}</details>\n\n",
                                              markdown_escaped(one.summary), blocks_text(one.blocks, depth));
                       },
                       [depth](const Menu& one) {
                           return one.options.size() == 1 ? blocks_text(one.options.front().blocks, depth)
                                                          : std::string();
                       }},
            block.content);
    return text;
}

}  // namespace

std::string markdown_of(const Table& table) {
    std::string text = "|";
    for (const TableColumn& column : table.columns)
        text += fmt::format(" {} |", markdown_escaped(column.title));
    text += "\n|";
    for (const TableColumn& column : table.columns) text += column.align == Align::left ? ":--|" : "--:|";
    for (std::size_t row = 0; row < table.rows.size(); ++row) {
        text += fmt::format("\n| {} |", title_text(table, row));
        for (std::size_t i = 1; i < table.rows[row].size(); ++i)
            text += fmt::format(" {} |", cell_text(table.rows[row][i]));
    }
    return text + "\n\n";
}

std::string markdown_of(const Section& section, int depth) {
    const auto is_paragraph = [](const Block& block) {
        return std::holds_alternative<Paragraph>(block.content);
    };
    const auto content = std::ranges::find_if_not(section.blocks, is_paragraph);
    if (blocks_text({content, section.blocks.end()}, depth).empty()) return "";
    return heading(depth, section.title) + blocks_text(section.blocks, depth);
}

}  // namespace paretoken::reports
