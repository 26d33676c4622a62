#pragma once
// The functions that all readers of JSON rows use.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "datasets/files/row_file.h"

namespace simdjson::dom {
class element;
}

namespace paretoken::datasets {

/// Parses a row that must be a JSON object. The result is valid until this thread calls object_of() again.
/// There must be RowFile::kPadding (datasets/files/row_file.h) readable bytes behind `text`. This function
/// throws UsageError with the file and the line, by place.refuse(), if the row is not a JSON object. The
/// functions below throw it if the value has another type or is out of range.
const simdjson::dom::element& object_of(std::string_view text, const RowPlace& place);

/// Returns the value of `key`, which must be a whole number of at least `least`; nothing if it is absent or
/// null.
std::optional<std::int64_t> tokens_in(const simdjson::dom::element& object, std::string_view key,
                                      const RowPlace& place, std::int64_t least = 1);
/// Returns the value of `key`, which must be present and a whole number of at least 0.
std::int64_t needed_tokens_in(const simdjson::dom::element& object, std::string_view key,
                              const RowPlace& place);

/// Returns the value of `key`, which must be a number of at least 0; nothing if it is absent or null.
std::optional<double> number_in(const simdjson::dom::element& object, std::string_view key,
                                const RowPlace& place);

/// Returns the value of `key`, which must be a string; an empty text if it is absent or null.
std::string text_in(const simdjson::dom::element& object, std::string_view key, const RowPlace& place);

}  // namespace paretoken::datasets
