#pragma once
// The values of other tools that hold several fields: GuideLLM's groups ("kind=constant,rate=5", JSON, and
// "prompt_tokens=256,output_tokens=128"), JSON bodies, lists of numbers.
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace paretoken::cli {

/// The fields of a group, by their names; those of inner objects are joined with points:
/// "extras.body.top_p". A list has commas between its values.
using Group = std::map<std::string, std::string, std::less<>>;

/// Reads "a=1,b.c=2" or a JSON object. Nothing if the text is neither.
std::optional<Group> group_of(std::string_view text);

/// Splits "1,2,4" or "[1, 2, 4]" at its commas, without blanks.
std::vector<std::string> list_of(std::string_view text);

/// Returns a JSON object with the fields of `body` (JSON; may be empty) and this field, whose value is JSON
/// ("0.9", "true") or else text. Throws UsageError if `body` is no JSON object.
std::string with_json_field(const std::string& body, const std::string& name, const std::string& value);

/// Returns the fields of a JSON object with their values as with_json_field() takes them. Throws UsageError.
std::vector<std::pair<std::string, std::string>> fields_of(const std::string& object);

}  // namespace paretoken::cli
