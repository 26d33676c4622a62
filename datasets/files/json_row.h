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

/// Parses a row, which is an object. The result is valid until this thread calls object_of() again. `text`
/// has RowFile::kPadding readable bytes behind it. This function and those below throw UsageError by
/// place.refuse() when the row or the value has another form.
const simdjson::dom::element& object_of(std::string_view text, const RowPlace& place);

/// Returns a whole number from 1; nothing if it is absent or null.
std::optional<std::int64_t> tokens_in(const simdjson::dom::element& object, std::string_view key,
                                      const RowPlace& place);
/// Returns a whole number from 1, which must be there.
std::int64_t needed_tokens_in(const simdjson::dom::element& object, std::string_view key,
                              const RowPlace& place);

/// Returns a number from 0; nothing if it is absent or null.
std::optional<double> number_in(const simdjson::dom::element& object, std::string_view key,
                                const RowPlace& place);

/// Returns a text; empty if it is absent or null.
std::string text_in(const simdjson::dom::element& object, std::string_view key, const RowPlace& place);

}  // namespace paretoken::datasets
