#pragma once
// Finds the fields of a line of values by the header, with commas, semicolons or tabs between them.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/files/row_file.h"

namespace paretoken::datasets {

/// Returns the field of `row` in `column`, unquoted. If the header or the row lacks it, place.refuse()
/// (datasets/files/row_file.h) throws a UsageError with the file and the line.
std::string_view csv_field(std::string_view row, std::string_view header, std::string_view column,
                           const RowPlace& place);

/// Returns that field as a text; in a quoted one, doubled quotes are single ones. Throws UsageError, by
/// place.refuse(), if a quoted value has no end.
std::string csv_text(std::string_view row, std::string_view header, std::string_view column,
                     const RowPlace& place);

/// Returns that field as a whole number from `least` to 10^9; an empty field is 0 if `least` is. Throws
/// UsageError, by place.refuse(), if it is none.
std::int64_t csv_tokens(std::string_view row, std::string_view header, std::string_view column,
                        const RowPlace& place, std::int64_t least = 1);

/// Throws UsageError, by place.refuse(), if the row has more fields than the header.
void refuse_more_fields(std::string_view row, std::string_view header, const RowPlace& place);

/// Returns the names in a header, unquoted.
std::vector<std::string_view> csv_columns(std::string_view header);

/// Returns the fields of a row below a header, unquoted; empty ones for those that the row lacks.
std::vector<std::string_view> csv_fields(std::string_view row, std::string_view header);

/// Returns a header of numbers, "1,2,3", for rows without a header, so that columns are found by number.
std::string csv_numbers(std::string_view row);

/// Returns whether a field consists of digits and dots, so that its row holds lengths and is not a header.
bool is_length(std::string_view field);

/// Returns the seconds of a number of seconds, which is returned unchanged, or of milli-, micro- or
/// nanoseconds since 1970, which are larger than any number of seconds.
double seconds_of_number(double time);

/// Returns the seconds of a number of milliseconds, or of seconds, milli-, micro- or nanoseconds since 1970,
/// which are larger than the milliseconds of 11 days.
double seconds_of_milliseconds(double time);

/// Returns the seconds since 1970 of a time such as "2023-11-16 18:15:46.6805900" ("/" for "-", "T" for the
/// blank; "Z", "UTC" or "+01:00" may follow, otherwise it is UTC), or of a number by seconds_of_number();
/// nothing for other texts.
std::optional<double> seconds_of_time(std::string_view text);

}  // namespace paretoken::datasets
