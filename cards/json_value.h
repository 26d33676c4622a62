#pragma once
// JSON as a plain value, and a cursor over it that knows its position: every error names the file, the key
// and what was expected. In this folder only json_value.cpp uses a JSON library.
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace paretoken::cards {

/// A JSON value. Null is std::monostate, and every number is a double.
struct JsonValue {
    using Array = std::vector<JsonValue>;
    using Object = std::map<std::string, JsonValue>;
    std::variant<std::monostate, bool, double, std::string, Array, Object> value;

    bool operator==(const JsonValue&) const = default;
};

/// Parses `text`. Throws a UsageError with `where` when it is nested deeper than 64 levels, and also with the
/// line when it is not one JSON value.
JsonValue parse_json_value(std::string_view text, const std::string& where);

/// A position in a JsonValue, which must outlive the cursor. `where` names the file in errors. Functions that
/// read a value call complain() if that value has another type or is out of range.
class JsonCursor {
  public:
    JsonCursor(const JsonValue& value, std::string where) : value_(&value), where_(std::move(where)) {}

    bool is_object() const;
    bool is_array() const;
    bool is_string() const;
    bool is_number() const;
    bool is_null() const;

    /// The value under a key of an object; nothing when the key is absent or null.
    std::optional<JsonCursor> find(const std::string& key) const;
    JsonCursor at(const std::string& key, std::string_view expected) const;  ///< throws when absent or null
    std::vector<std::pair<std::string, JsonCursor>> members() const;
    std::vector<JsonCursor> elements() const;
    void expect_only(std::initializer_list<std::string_view> keys) const;  ///< throws on any other key

    std::string string() const;
    bool boolean() const;
    double number() const;
    double positive() const;
    double not_negative() const;
    std::uint64_t count() const;  ///< a whole number from 0 to 2^53

    /// Throws a UsageError: "prices.json: gpus.h200.on_demand: expected a positive number, got \"cheap\"".
    [[noreturn]] void complain(std::string_view expected) const;

  private:
    JsonCursor(const JsonValue& value, std::string where, std::string path)
        : value_(&value), where_(std::move(where)), path_(std::move(path)) {}
    JsonCursor child(const JsonValue& value, const std::string& step) const;

    const JsonValue* value_;
    std::string where_;
    std::string path_;
};

}  // namespace paretoken::cards
