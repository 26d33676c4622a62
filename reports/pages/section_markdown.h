#pragma once
// Sections of a report as Markdown: a chart is the table of its figures. Every text is escaped.
#include <string>

#include "reports/document/section.h"

namespace paretoken::reports {

/// The section under a heading of the level `depth`, from 1 to 4. It ends in an empty line. Empty if Markdown
/// shows nothing but the paragraphs at the beginning of the section.
std::string markdown_of(const Section& section, int depth);

/// A table with the alignment of its columns. It ends in an empty line.
std::string markdown_of(const Table& table);

}  // namespace paretoken::reports
