#pragma once
// Fields of a line of comma-separated values, found by the names in the header. Pure.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "datasets/files/row_file.h"

namespace paretoken::datasets {

/// The field of `row` under `column`, without quotes. Throws through `place` when header or row lacks it.
std::string_view csv_field(std::string_view row, std::string_view header, std::string_view column,
                           const RowPlace& place);

/// A whole number from 1 in that field.
std::int64_t csv_tokens(std::string_view row, std::string_view header, std::string_view column,
                        const RowPlace& place);

/// "1,2,3": a header for a row without one, so that columns are found by their numbers.
std::string csv_numbers(std::string_view row);

/// Whether a field is a number; the names in a header are not.
bool is_length(std::string_view field);

/// Seconds of "2023-11-16 18:15:46.6805900", also with 'T', 'Z' or an offset, since 1970 (UTC where no offset
/// is given), or of a number as it is. Nothing when it is neither.
std::optional<double> seconds_of_time(std::string_view text);

}  // namespace paretoken::datasets
