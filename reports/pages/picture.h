#pragma once
// A chart as a page holds it: a place that report.js draws in, its table in words, and the same as Markdown.
// Pure.
#include <string>
#include <string_view>
#include <vector>

#include "reports/micro/micro_picture.h"
#include "reports/pages/table.h"

namespace paretoken::reports {

/// One table in words: what both forms of a page are written from.
struct Sheet {
    std::vector<std::string> head;  ///< the first is the rows' title
    std::vector<std::vector<std::string>> rows;
};

/// A row per x and a column per series.
Sheet sheet_of(const Picture& picture);

/// Three significant digits, with an asterisk where the marker is hollow.
std::string marked(double value, bool valid);

std::string html_of(const Sheet& sheet);
/// With the alignment of its columns; the first is the rows' title.
std::string html_of(const Table& table);

/// Folded away below a summary.
std::string folded_html(std::string_view summary, const std::string& html);

/// A place for a chart and, folded below it, its table. `lines`: what is drawn besides the series, in words.
std::string figure_html(const std::string& id, const std::string& title, const std::string& lines,
                        const Sheet& sheet);

std::string figure_html(const std::string& id, const std::string& title, const std::string& lines,
                        const Table& table);

/// figure_html() of a picture, which report.js finds by `id`.
std::string picture_html(const std::string& id, const Picture& picture);

std::string markdown_of(const Sheet& sheet);
std::string markdown_of(const Table& table);
/// The title in bold and the table.
std::string titled_markdown(const std::string& title, const Sheet& sheet);
std::string picture_markdown(const Picture& picture);

}  // namespace paretoken::reports
