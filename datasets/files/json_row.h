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

/// Parses a row, which is an object. It is valid until the thread's next call. `text` has RowFile::kPadding
/// readable bytes behind it. Throws through `place`, as the other functions do.
const simdjson::dom::element& object_of(std::string_view text, const RowPlace& place);

/// Returns a whole number from 1; nothing if it is absent or null.
std::optional<std::int64_t> tokens_in(const simdjson::dom::element& object, std::string_view key,
                                      const RowPlace& place);
std::int64_t needed_tokens_in(const simdjson::dom::element& object, std::string_view key,
                              const RowPlace& place);

/// Returns a number from 0; nothing if it is absent or null.
std::optional<double> number_in(const simdjson::dom::element& object, std::string_view key,
                                const RowPlace& place);

/// Returns a text; empty if it is absent or null.
std::string text_in(const simdjson::dom::element& object, std::string_view key, const RowPlace& place);

}  // namespace paretoken::datasets
