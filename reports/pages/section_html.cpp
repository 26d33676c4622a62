#include "reports/pages/section_html.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/overloaded.h"
#include "reports/pages/html.h"

namespace paretoken::reports {
namespace {

/// Names of CSS classes.
std::string_view class_of(Tone tone) {
    switch (tone) {
        case Tone::plain:
            return "";
        case Tone::good:
            return "valid";
        case Tone::warning:
            return "warn";
        case Tone::bad:
            return "invalid";
    }
    return "";
}

std::string with_breaks(const std::string& cell) {
    std::string html;
    for (std::size_t begin = 0; begin <= cell.size();) {
        const std::size_t end = std::min(cell.find('\n', begin), cell.size());
        html += (begin > 0 ? "<br>" : "") + html_text(std::string_view(cell).substr(begin, end - begin));
        begin = end + 1;
    }
    return html;
}

/// The columns that HTML shows.
std::vector<std::size_t> shown_columns(const Table& table) {
    std::vector<std::size_t> shown;
    for (std::size_t i = 0; i < table.columns.size(); ++i)
        if (!table.columns[i].text_only) shown.push_back(i);
    return shown;
}

std::string row_title(const Table& table, std::size_t row) {
    std::string html = with_breaks(table.rows[row].front());
    if (table.titles.empty()) return html;
    const RowTitle& title = table.titles[row];
    if (title.series) html = marker_html(*title.series) + " " + html;
    if (!title.note.empty()) html += fmt::format(" <small>{}</small>", html_escaped(title.note));
    return html;
}

std::string table_html(const Table& table, std::string_view attributes) {
    const std::vector<std::size_t> columns = shown_columns(table);
    const auto text_class = [&table](std::size_t column) {
        return table.columns[column].align == Align::left ? " class=\"text\"" : "";
    };
    std::string html = fmt::format("<div class=\"scroll\"{}><table{}><thead><tr>", attributes,
                                   table.titles.empty() ? "" : " class=\"choice\"");
    for (const std::size_t i : columns)
        html += fmt::format("<th{} scope=\"col\">{}", text_class(i), html_text(table.columns[i].title));
    html += "</tr></thead>\n<tbody>\n";
    for (std::size_t row = 0; row < table.rows.size(); ++row) {
        html += fmt::format("<tr><th{} scope=\"row\">{}", text_class(0), row_title(table, row));
        for (const std::size_t i : columns)
            if (i > 0) html += fmt::format("<td{}>{}", text_class(i), with_breaks(table.rows[row][i]));
        html += "</tr>\n";
    }
    return html + "</tbody></table></div>\n";
}

std::string folded_html(std::string_view summary, const std::string& html) {
    return fmt::format("<details><summary>{}</summary>\n<div>{}</div></details>\n", html_escaped(summary),
                       html);
}

/// The element that a chart is drawn in, with its legend. `below` is what stands under the chart.
std::string figure_html(std::string_view css_class, const std::string& id, const std::string& title,
                        const std::string& label, const std::string& below) {
    return fmt::format(
        "<figure{}>\n{}<ul class=\"legend\" id=\"{}-legend\"></ul>\n<div class=\"canvas\"><canvas id=\"{}\" "
        "role=\"img\" aria-label=\"{}. The same numbers are in the table below.\"></canvas></div>\n<p "
        "class=\"nothing\" hidden>Nothing was measured.</p>\n{}</figure>\n",
        css_class.empty() ? "" : fmt::format(" class=\"{}\"", css_class),
        title.empty() ? "" : fmt::format("<h3>{}</h3>\n", html_escaped(title)), id, id, html_escaped(label),
        below);
}

std::string chart_html(const Chart& chart) {
    const std::string title = fmt::format("{}, {}", chart.picture.title, chart.picture.y_title);
    std::string below;
    if (const std::string lines = lines_of(chart.picture); !lines.empty() && !chart.drawn_only)
        below += fmt::format("<figcaption>Dashed: {}.</figcaption>\n", html_escaped(lines));
    if (!chart.drawn_only)
        below += folded_html("The same in numbers",
                             table_html(chart.table ? *chart.table : table_of(chart.picture), ""));
    return figure_html("", chart.id, title, title, below);
}

/// The row's interval as a picture of 200 × 20 units, on which the limit stands at 150. A value beyond the
/// scale is an arrow at its end.
std::string interval_svg(const IntervalRow& row) {
    const auto x = [](double value) { return 100 + 50 * std::clamp(value, -2.0, 2.0); };
    const std::string at = row.at > 2    ? "M194 4L199 10L194 16"
                           : row.at < -2 ? "M6 4L1 10L6 16"
                                         : fmt::format("M{:.1f} 4V16", x(row.at));
    return fmt::format(
        "<svg class=\"shift {}\" viewBox=\"0 0 200 20\" preserveAspectRatio=\"none\" "
        "aria-hidden=\"true\"><path class=\"none\" d=\"M100 0V20\"/><path class=\"limit\" d=\"M150 "
        "0V20\"/><path d=\"M{:.1f} 10H{:.1f}\"/><path d=\"{}\"/></svg>",
        class_of(row.tone), x(row.interval.low), x(row.interval.high), at);
}

std::string intervals_html(const IntervalChart& chart) {
    std::string html = fmt::format(
        "<div class=\"part\"><h3>{}</h3>\n<p class=\"lead\">{} The dashed line is the {}; the solid one is "
        "no change.</p>\n<table class=\"intervals\"><tbody>\n",
        html_escaped(chart.title), html_escaped(chart.what), html_escaped(chart.limit));
    for (const IntervalRow& row : chart.rows)
        html += fmt::format("<tr><th class=\"text\" scope=\"row\">{}<td>{}<td>{}</tr>\n",
                            html_escaped(row.name), interval_svg(row), html_escaped(row.text));
    return html + "</tbody></table></div>\n";
}

std::string headlines_html(const Headlines& headlines) {
    std::string items;
    for (const Headline& one : headlines.items)
        items += fmt::format("<div><dt>{}<dd>{} <small>{}</small></div>\n", html_text(one.name),
                             html_text(one.value), html_text(one.note));
    return "<dl class=\"figures\">\n" + items + "</dl>\n";
}

std::string notice_html(const Notice& notice) {
    std::string html = notice.code.empty() && notice.tone == Tone::bad ? "<li class=\"error\">" : "<li>";
    if (!notice.code.empty())
        html += fmt::format("<span class=\"badge {}\">{}</span> ", class_of(notice.tone),
                            html_escaped(notice.code));
    html += html_text(notice.text);
    if (!notice.evidence.empty()) html += fmt::format(" <small>{}</small>", html_escaped(notice.evidence));
    return html + "</li>\n";
}

/// Writes the blocks of one section.
class Writer {
  public:
    Writer(std::string_view section_id, bool numbers) : section_id_(section_id), numbers_(numbers) {}

    /// The blocks below a heading of `depth` (2 for <h2>).
    std::string blocks(const Blocks& blocks, int depth) {
        std::string html;
        for (const Block& block : blocks)
            html += std::visit(
                Overloaded{[](const Paragraph& one) {
                               return fmt::format(
                                   "<p class=\"lead\">{}{}</p>\n",
                                   one.strong.empty() ? "" : fmt::format("<b>{}</b>", html_text(one.strong)),
                                   html_text(one.text));
                           },
                           [](const Notices& one) {
                               std::string items;
                               for (const Notice& notice : one.items) items += notice_html(notice);
                               return "<ul class=\"notices verdicts\">\n" + items + "</ul>\n";
                           },
                           [](const Headlines& one) { return headlines_html(one); },
                           [](const Facts& one) { return html_of(one); },
                           [](const Command& one) { return html_of(one) + "\n"; },
                           [this](const Table& one) { return table_html(one, table_attributes()); },
                           [](const Charts& one) {
                               std::string charts;
                               for (const Chart& chart : one.items) charts += chart_html(chart);
                               return "<div class=\"pair\">\n" + charts + "</div>\n";
                           },
                           [](const BarChart& one) {
                               return figure_html("bars", one.id, one.bars.title, one.bars.what, "") +
                                      table_html(one.table, "");
                           },
                           [](const IntervalChart& one) { return intervals_html(one); },
                           [this, depth](const Part& one) { return part(one, depth + 1); },
                           [this, depth](const Folded& one) {
                               return folded_html(one.summary, this->blocks(one.blocks, depth));
                           },
                           [this, depth](const Menu& one) { return menu(one, depth); }},
                block.content);
        return html;
    }

  private:
    std::string part(const Part& one, int depth, std::string_view attributes = "") {
        std::string heading;
        if (!one.title.empty())
            heading = fmt::format("<h{0}>{1}{2}</h{0}>\n", depth,
                                  one.series ? marker_html(*one.series) + " " : "", html_text(one.title));
        return fmt::format("<div class=\"part{}\"{}>{}{}</div>\n", one.ruled ? " device" : "", attributes,
                           heading, blocks(one.blocks, depth));
    }

    std::string menu(const Menu& one, int depth) {
        std::string html;
        if (one.options.size() > 1) {
            for (std::size_t i = 0; i < one.options.size(); ++i)
                html += fmt::format("<option value=\"{}\"{}>{}</option>\n", i,
                                    i == one.shown ? " selected" : "", html_escaped(one.options[i].title));
            html = fmt::format(
                "<p class=\"chooser\"><label for=\"{0}-menu\">{1}</label> <select id=\"{0}-menu\" "
                "data-menu=\"{0}\">\n{2}</select></p>\n",
                section_id_, html_escaped(one.label), html);
        }
        for (std::size_t i = 0; i < one.options.size(); ++i)
            html += part(one.options[i], depth + 1, fmt::format(" data-option=\"{}-{}\"", section_id_, i));
        return html;
    }

    std::string_view table_attributes() {
        if (!numbers_) return "";
        numbers_ = false;
        return " id=\"numbers\" tabindex=\"-1\"";
    }

    std::string_view section_id_;
    bool numbers_;
};

}  // namespace

std::string marker_html(std::size_t series) {
    return fmt::format("<span class=\"marker\" data-series=\"{}\" aria-hidden=\"true\"></span>", series);
}

std::string html_of(const Facts& facts) {
    std::string rows;
    for (const auto& [name, value] : facts.items)
        if (!value.empty()) rows += fmt::format("<dt>{}<dd>{}\n", html_escaped(name), html_escaped(value));
    return rows.empty() ? "" : fmt::format("<dl class=\"facts\">\n{}</dl>\n", rows);
}

std::string html_of(const Command& command) {
    const std::string_view text = command.text;
    if (text.empty()) return {};
    std::string html;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(' ', begin), text.size());
        html += fmt::format("{}<span>{}</span>", begin > 0 ? " " : "",
                            html_escaped(text.substr(begin, end - begin)));
        begin = end + 1;
    }
    return fmt::format("<pre>{}</pre>", html);
}

std::string html_of(const Table& table) {
    return table_html(table, "");
}

std::string html_of(const Section& section, bool numbers) {
    return fmt::format(
        "<section aria-labelledby=\"{0}-title\">\n<h2 id=\"{0}-title\">{1}</h2>\n{2}</section>\n", section.id,
        html_text(section.title), Writer(section.id, numbers).blocks(section.blocks, 2));
}

}  // namespace paretoken::reports
