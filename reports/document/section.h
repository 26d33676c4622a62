#pragma once
// A section of a page as a value: blocks under a title. reports/analysis/sections computes it; reports/pages
// writes it as HTML and as Markdown, and escapes its texts, which are plain.
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "reports/document/picture.h"
#include "reports/document/table.h"

namespace paretoken::reports {

struct Block;
using Blocks = std::vector<Block>;

struct Paragraph {
    std::string text;
    std::string strong = {};  ///< words in bold before the text
};

enum class Tone { plain, good, warning, bad };

/// A remark that stands apart from the text, such as an error or a verdict.
struct Notice {
    std::string text;
    std::string code = {};      ///< short name in front: "works"
    Tone tone = Tone::plain;    ///< colour of the code; without a code, `bad` marks the whole remark
    std::string evidence = {};  ///< figures that the remark rests on
};

struct Notices {
    std::vector<Notice> items;
};

/// A figure in large type. Only HTML shows headlines, so other blocks must contain the same figures.
struct Headline {
    std::string name;
    std::string value;
    std::string note;
};

struct Headlines {
    std::vector<Headline> items;
};

/// Names and values. Facts with an empty value are left out.
struct Facts {
    std::vector<std::pair<std::string, std::string>> items;
};

struct Command {
    std::string text;
};

struct Chart {
    std::string id;  ///< unique on the page: "device-0-weights"
    Picture picture;
    std::optional<Table> table = {};  ///< table that is shown with the chart instead of the picture's points
    bool drawn_only = false;  ///< whether the chart stands without a table, since another block has its
                              ///< figures; Markdown, which cannot draw, leaves it out
    double log_from = 40;     ///< ratio of the largest to the smallest y from which the y axis is logarithmic
};

/// Charts side by side, two in a row.
struct Charts {
    std::vector<Chart> items;
};

/// A picture of bars on a page, with the table of its figures.
struct BarChart {
    std::string id;  ///< unique on the page: "gap-0"
    Bars bars;
    Table table;
};

struct IntervalRow {
    std::string name;
    std::string text;  ///< value in words: "+3.2 %"
    double at = 0;     ///< value in units of the limit
    Interval interval = {};
    Tone tone = Tone::plain;
};

/// Values with their intervals, one below the other, on a common scale from −2 to 2 on which the limit is 1.
/// What is beyond the scale is drawn at its end.
struct IntervalChart {
    std::string title;
    std::string what;   ///< chart in words
    std::string limit;  ///< name of the limit
    std::vector<IntervalRow> rows = {};
};

struct Part {
    std::string title;
    std::optional<std::size_t> series = {};  ///< configuration whose marker stands before the title
    bool ruled = false;                      ///< whether a line separates the part from the text before it
    Blocks blocks;
};

/// Blocks that HTML shows after a click on the summary. Markdown folds them too.
struct Folded {
    std::string summary;
    Blocks blocks;
};

/// Alternatives of which a menu shows one at a time. Markdown shows them only if there is exactly one.
struct Menu {
    std::string label;  ///< "Run"
    std::vector<Part> options = {};
    std::size_t shown = 0;  ///< index of the option that is shown first
};

struct Block {
    std::variant<Paragraph, Notices, Headlines, Facts, Command, Table, Charts, BarChart, IntervalChart, Part,
                 Folded, Menu>
        content;
};

struct Section {
    std::string id;  ///< unique on the page: "what-if"
    std::string title;
    Blocks blocks = {};
};

/// Every chart of the sections, in the order of the page. The pointers are valid as long as the sections.
std::vector<const Chart*> charts_of(const std::vector<Section>& sections);
std::vector<const BarChart*> bar_charts_of(const std::vector<Section>& sections);

}  // namespace paretoken::reports
