#include "reports/files/plan_file.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "core/error.h"
#include "core/text/json_nesting.h"

namespace paretoken::reports {
namespace {

using Json = nlohmann::ordered_json;

/// The JSON value of a text: a boolean for a flag, a number if the text is a number ("inf" and "1..64" are
/// not), or else a string.
Json value_of(FieldType type, const std::string& text) {
    if (type == FieldType::flag) return text == "true";
    if (type == FieldType::count || type == FieldType::number) {
        Json number = Json::parse(text, nullptr, false);
        if (number.is_number()) return number;
    }
    return text;
}

Json value_of(const PlanField& field, const Texts& texts) {
    if (field.type != FieldType::list) return value_of(field.type, texts.front());
    return texts;
}

/// The text of a JSON value; nothing for values that no option takes: objects, and lists inside lists.
std::optional<std::string> text_of(const Json& value) {
    if (value.is_string()) return value.get<std::string>();
    if (value.is_number() || value.is_boolean()) return value.dump();
    return std::nullopt;
}

Texts texts_of(const Json& value, const std::string& where, const std::string& key) {
    Texts texts;
    const Json values = value.is_array() ? value : Json::array({value});
    for (const Json& one : values) {
        const auto text = text_of(one);
        if (!text)
            throw UsageError(fmt::format("{}: \"{}\" is {}; expected text, a number, true or false", where,
                                         key, one.dump()));
        texts.push_back(*text);
    }
    return texts;
}

}  // namespace

std::string plan_json(const PlanTexts& texts) {
    Json object{{"schema", kPlanSchema}};
    for (const PlanField& field : plan_fields()) {
        const auto given = texts.find(field.name);
        if (given != texts.end() && !given->second.empty())
            object[std::string(field.name)] = value_of(field, given->second);
    }
    for (const auto& [name, given] : texts)
        if (plan_field_named(name) == nullptr && !given.empty()) object[name] = given.front();
    return object.dump(2);
}

PlanTexts parse_plan_json(std::string_view text, const std::string& where,
                          const std::set<std::string_view>& further) {
    if (nests_deeper_than(kDeepestJson, text))
        throw UsageError(
            fmt::format("{}: nested deeper than {} levels; expected a file as --print-config writes it",
                        where, kDeepestJson));
    std::set<std::string> keys;
    const auto refuse_twice = [&](int depth, Json::parse_event_t event, Json& key) {
        if (depth == 1 && event == Json::parse_event_t::key && !keys.insert(key.get<std::string>()).second)
            throw UsageError(fmt::format("{}: \"{}\" is in it twice; leave one of them out", where,
                                         key.get<std::string>()));
        return true;
    };
    const Json object = Json::parse(text, refuse_twice, false);
    if (!object.is_object())
        throw UsageError(
            fmt::format("{}: not JSON, or not an object; expected a file as --print-config writes it "
                        "(paretoken translate reads the files of guidellm, aiperf and inference-perf)",
                        where));
    PlanTexts texts;
    for (const auto& [key, value] : object.items()) {
        if (key == "schema") {
            if (value != Json(kPlanSchema))
                throw UsageError(
                    fmt::format("{}: its schema is {}, and this version of paretoken reads \"{}\"; "
                                "--print-config writes such a file",
                                where, value.dump(), kPlanSchema));
            continue;
        }
        if (further.contains(key)) {
            if (!value.is_null()) texts[key] = texts_of(value, where, key);
            continue;
        }
        const PlanField* field = plan_field_called(key);
        if (field == nullptr || field->flags.empty()) {
            throw UsageError(fmt::format(
                "{}: \"{}\" is not an option of a run; --print-config shows their names", where, key));
        }
        if (value.is_null()) continue;
        if (!texts.emplace(field->name, texts_of(value, where, key)).second)
            throw UsageError(
                fmt::format("{}: \"{}\" sets {}, which the file sets already; give one of the two", where,
                            key, option_of(*field)));
    }
    return texts;
}

std::vector<std::map<std::string, std::string>> parse_cells_json(std::string_view text,
                                                                 const std::string& where) {
    const Json list = Json::parse(text, nullptr, false);
    if (!list.is_array() || list.empty())
        throw UsageError(fmt::format(
            "{}: not JSON, or not a list of objects; expected e.g. [{{\"isl\": 512, \"osl\": 128}}, "
            "{{\"isl\": 2048}}]",
            where));
    std::vector<std::map<std::string, std::string>> cells;
    for (const Json& object : list) {
        if (!object.is_object() || object.empty())
            throw UsageError(fmt::format("{}, cell {}: expected an object with options and their values",
                                         where, cells.size() + 1));
        auto& cell = cells.emplace_back();
        for (const auto& [key, value] : object.items()) {
            const auto own = text_of(value);
            if (!own)
                throw UsageError(
                    fmt::format("{}, cell {}: \"{}\" is {}; expected text, a number, true or false", where,
                                cells.size(), key, value.dump()));
            cell[key] = *own;
        }
    }
    return cells;
}

std::string echo_json(const PlanEcho& echo) {
    Json object = Json::object();
    for (const auto& [key, text] : echo) {
        const PlanField* field = plan_field_named(key.substr(key.rfind('.') + 1));
        object[key] = field == nullptr ? Json(text) : value_of(field->type, text);
    }
    return object.dump();
}

}  // namespace paretoken::reports
