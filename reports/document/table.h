#pragma once
// Text tables and number formats: three significant digits; units are in titles, never in cells.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paretoken::reports {

/// A number with `digits` significant digits: "0.00123", "12.3", "1,230", "1.23e-05"; "0" for 0, ∞ or −∞
/// for infinities, – for NaN.
std::string significant(double value, int digits = 3);

/// A number × `scale` with `digits` significant digits; – when it is absent.
std::string significant(const std::optional<double>& value, double scale = 1, int digits = 3);

/// A count with separators: 1234567 → "1,234,567"
std::string grouped(std::uint64_t count);

/// A mean length in tokens: "1,024", "64", or with three digits if it is short and not whole: "12.5"
std::string tokens_text(double tokens);

/// Money with three significant digits, and at least two decimals below 1000: "0", "0.412", "3.50", "1,230".
std::string dollars(double value);

/// A unit of time in which `typical_seconds` is a readable number: s, ms or µs.
struct TimeUnit {
    std::string_view name;
    double per_second = 1;
};
TimeUnit time_unit_for(double typical_seconds);

/// Any text as one line that is safe for a terminal: blanks and control characters become single spaces,
/// those of direction escapes such as \u202e, and text beyond `width` columns an ellipsis.
std::string printable(std::string_view text, std::size_t width = 1000);

/// The number of columns that a UTF-8 text takes (combining and double-width characters count as one).
std::size_t display_width(std::string_view text);

/// The lines of `text` broken at blanks so that none is wider than `width` (longer words stay whole).
std::vector<std::string> wrapped(std::string_view text, std::size_t width);

/// A text, made safe by printable() with at most 2000 columns, and broken into lines of at most 80 columns
/// that are indented by `indent` and end in a newline.
std::string paragraph(std::string_view text, std::size_t indent = 0);

inline constexpr std::size_t kLabelledTextBegins = 14;  ///< column in which the text behind a label begins

/// A label, and behind it a text that is broken into lines of at most `columns` columns, which all begin in
/// the same one. The text is made safe by printable() with at most 4000 columns.
std::string labelled_text(std::string_view label, std::string_view text, std::size_t columns = 80);

enum class Align { left, right };

struct TableColumn {
    std::string title;
    Align align = Align::right;
    bool text_only = false;  ///< whether only pages that draw no charts show the column
};

/// The additions that HTML and Markdown show at the title of a row (its first cell).
struct RowTitle {
    std::optional<std::size_t> series = {};  ///< configuration whose marker stands before the title
    std::string note = {};                   ///< small text behind the title
};

struct Table {
    std::vector<TableColumn> columns;
    /// Cells of each row, as many as there are columns. A line end separates the lines of a cell.
    std::vector<std::vector<std::string>> rows;
    std::vector<RowTitle> titles = {};  ///< one per row, or empty
};

/// The table as aligned text with two blanks between columns and every line indented; it ends in a newline.
std::string text_of(const Table& table, std::size_t indent = 0);

}  // namespace paretoken::reports
