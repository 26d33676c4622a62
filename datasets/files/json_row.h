#pragma once
// What the readers of JSON rows have in common.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "datasets/files/row_file.h"

namespace simdjson::dom {
class element;
}

namespace paretoken::datasets {

/// The object that a row is. Valid until the thread's next call. `text` has RowFile::kPadding readable bytes
/// behind it. Throws through `place`, as do the others.
const simdjson::dom::element& object_of(std::string_view text, const RowPlace& place);

/// A whole number from 1; nothing where it is absent or null.
std::optional<std::int64_t> tokens_in(const simdjson::dom::element& object, std::string_view key,
                                      const RowPlace& place);
std::int64_t needed_tokens_in(const simdjson::dom::element& object, std::string_view key,
                              const RowPlace& place);

/// A number from 0; nothing where it is absent or null.
std::optional<double> number_in(const simdjson::dom::element& object, std::string_view key,
                                const RowPlace& place);

/// Empty where it is absent or null.
std::string text_in(const simdjson::dom::element& object, std::string_view key, const RowPlace& place);

}  // namespace paretoken::datasets
