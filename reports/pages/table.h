#pragma once
// Text tables and the way numbers are written: three significant digits, units in titles, never in cells.
// Pure.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paretoken::reports {

/// "0.00123", "12.3", "1,230", "1.23e-05"; ∞ for infinities, – for NaN.
std::string significant(double value, int digits = 3);

/// – when absent.
std::string significant(const std::optional<double>& value, double scale = 1, int digits = 3);

/// 1234567 → "1,234,567"
std::string grouped(std::uint64_t count);

/// Money: three significant digits, never fewer than two decimals below 1000 ("0.412", "3.50", "1,230").
std::string dollars(double value);

/// A unit of time in which `typical_seconds` is a readable number: s, ms or µs.
struct TimeUnit {
    std::string_view name;
    double per_second = 1;
};
TimeUnit time_unit_for(double typical_seconds);

/// One line that a terminal can show whatever a server sent: control characters become spaces, runs of blanks
/// one, and what is beyond `width` columns an ellipsis.
std::string printable(std::string_view text, std::size_t width = 1000);

/// Columns that a UTF-8 text takes (combining and double-width characters count as one).
std::size_t display_width(std::string_view text);

/// The lines of `text` broken at blanks so that none is wider than `width` (longer words stay whole).
std::vector<std::string> wrapped(std::string_view text, std::size_t width);

/// The lines of a sentence that holds text from outside, each indented and ending in a newline, none wider
/// than 80 columns.
std::string paragraph(std::string_view text, std::size_t indent = 0);

enum class Align { left, right };

struct TableColumn {
    std::string title;
    Align align = Align::right;
};

struct Table {
    std::vector<TableColumn> columns;
    std::vector<std::vector<std::string>> rows;  ///< as many cells as columns
};

/// Aligned text, two blanks between columns, each line indented; ends in a newline.
std::string text_of(const Table& table, std::size_t indent = 0);

}  // namespace paretoken::reports
