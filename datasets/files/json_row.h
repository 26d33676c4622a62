#pragma once
// The functions that all readers of JSON rows use.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/record/request.h"
#include "datasets/files/row_file.h"

namespace simdjson::dom {
class element;
}

namespace paretoken::datasets {

/// Refuses a row of a table, by place.refuse(), that is not UTF-8.
void require_utf8(std::string_view text, const RowPlace& place);

/// Parses a row, which is valid until this thread's next call and has RowFile::kPadding readable bytes behind
/// it. All readers here throw UsageError by place.refuse() for a value of a wrong type or range.
const simdjson::dom::element& object_of(std::string_view text, const RowPlace& place);
/// Gives back the memory that parsing took in this thread, several times that of the longest row. What
/// object_of() returned is not valid any more.
void release_parser();

/// Returns `key`, a whole number of at least `least`; nothing if it is absent or null.
std::optional<std::int64_t> tokens_in(const simdjson::dom::element& object, std::string_view key,
                                      const RowPlace& place, std::int64_t least = 1);
/// Returns the value of `key`, which must be present and a whole number of at least 0.
std::int64_t needed_tokens_in(const simdjson::dom::element& object, std::string_view key,
                              const RowPlace& place);

/// Returns the value of `key`, which must be a number of at least 0; nothing if it is absent or null.
std::optional<double> number_in(const simdjson::dom::element& object, std::string_view key,
                                const RowPlace& place);

/// Returns the time under `key` in seconds: `seconds_of` for a number of at least 0, and seconds_of_time()
/// (datasets/files/csv_row.h) for a text with a date; nothing if it is absent or null.
std::optional<double> time_in(const simdjson::dom::element& object, std::string_view key,
                              double (*seconds_of)(double), const RowPlace& place);

/// Returns the value of `key`, which must be a string; an empty text if it is absent or null.
std::string text_in(const simdjson::dom::element& object, std::string_view key, const RowPlace& place);

/// Returns the value of `key`, a string or a whole number, as text; an empty text if it is absent or null.
std::string name_in(const simdjson::dom::element& object, std::string_view key, const RowPlace& place);

/// Returns `key`, strings or whole numbers, as texts; an empty list if it is absent or null.
std::vector<std::string> names_in(const simdjson::dom::element& object, std::string_view key,
                                  const RowPlace& place);

/// Returns a message. A list of parts and further fields are kept unchanged.
Message message_in(const simdjson::dom::element& element, const RowPlace& place);

/// Returns the value of `key`, which must be a list of at least one message.
Messages messages_in(const simdjson::dom::element& object, std::string_view key, const RowPlace& place);

/// Returns the text of the value of `key`, which must be an object; an empty text if it is absent or null.
std::string object_in(const simdjson::dom::element& object, std::string_view key, const RowPlace& place);

/// Returns the JSON text of the value of `key`; an empty text if it is absent or null.
std::string json_in(const simdjson::dom::element& object, std::string_view key);

/// Returns the value of `key`, which must be a list of whole numbers of at least 0.
std::vector<std::uint64_t> blocks_in(const simdjson::dom::element& object, std::string_view key,
                                     const RowPlace& place);

/// Adds fields, such as "\"top_p\":0.9", to the text of a JSON object, or of an empty one.
void add_fields(std::string& body, std::string_view fields);

/// Returns the value of `key`, which must be true or false; false if it is absent or null.
bool flag_in(const simdjson::dom::element& object, std::string_view key, const RowPlace& place);

}  // namespace paretoken::datasets
