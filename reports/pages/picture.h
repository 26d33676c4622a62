#pragma once
// A chart on a page: the HTML element in which report.js, the page's script, draws it, the table of its
// numbers, and the same table as Markdown. Pure.
#include <string>
#include <string_view>
#include <vector>

#include "reports/document/table.h"
#include "reports/micro/micro_picture.h"

namespace paretoken::reports {

/// A table of texts, from which both HTML and Markdown are written.
struct Sheet {
    std::vector<std::string> head;  ///< column titles; the first is the title of the rows
    std::vector<std::vector<std::string>> rows;
};

/// The table of a picture, with one row per x and one column per series.
Sheet sheet_of(const Picture& picture);

/// The value with three significant digits, and with an asterisk if it is not valid (its marker is hollow).
std::string marked(double value, bool valid);

std::string html_of(const Sheet& sheet);
/// A table with the alignment of its columns; the first column holds the titles of the rows.
std::string html_of(const Table& table);

/// HTML in a <details> element, which shows it after a click on the summary. Neither text is escaped.
std::string folded_html(std::string_view summary, const std::string& html);

/// The element for a chart and, folded below it, its table. `lines` describes in words the lines that are
/// drawn besides the series.
std::string figure_html(const std::string& id, const std::string& title, const std::string& lines,
                        const Sheet& sheet);

std::string figure_html(const std::string& id, const std::string& title, const std::string& lines,
                        const Table& table);

/// The figure_html() of a picture; report.js finds it by `id`.
std::string picture_html(const std::string& id, const Picture& picture);

std::string markdown_of(const Sheet& sheet);
std::string markdown_of(const Table& table);
/// The title in bold, followed by the table.
std::string titled_markdown(const std::string& title, const Sheet& sheet);
std::string picture_markdown(const Picture& picture);

}  // namespace paretoken::reports
