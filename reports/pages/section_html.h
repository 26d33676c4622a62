#pragma once
// Sections of a report as HTML, with every text escaped. report.js draws the charts into their canvas
// elements, which it finds by the ids of the charts.
#include <string>

#include "reports/document/section.h"

namespace paretoken::reports {

/// A <section> element with the title as its heading. With `numbers`, the first table gets the id "numbers",
/// to which the page's link "Skip to every number" leads.
std::string html_of(const Section& section, bool numbers = false);

/// A table with the alignment of its columns; the first column holds the titles of the rows.
std::string html_of(const Table& table);

/// Names and values as a definition list; empty if every value is empty.
std::string html_of(const Facts& facts);

/// A command that is only broken between its words, so that copying it gives the original text.
std::string html_of(const Command& command);

/// The place for the marker of a configuration, which report.js draws.
std::string marker_html(std::size_t series);

}  // namespace paretoken::reports
