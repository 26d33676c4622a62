#include "core/plan/plan_classes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/plan/plan.h"
#include "core/spec.h"

namespace paretoken {
namespace {

/// Returns the field of an option that a class may give, by its key in the spec.
const PlanField* class_field_named(std::string_view key) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kShort = {
        {{"rate", "request_rate"}, {"path", "dataset_path"}, {"ratio", "range_ratio"}}};
    for (const auto& [name, field] : kShort)
        if (key == name) key = field;
    const PlanField* const field = plan_field_named(key);
    return field != nullptr && field->of_class && !field->flags.empty() ? field : nullptr;
}

constexpr std::string_view kClassSeparators = "within a value, ';' stands for ',' and ';;' for ';'";

/// Returns a class's value, in which ';' means ',', and between SLOs a blank, and ';;' means ';'. Lengths
/// keep it, as in any Spec.
std::string class_value(const PlanField& field, const std::string& text) {
    if (field.name == "isl" || field.name == "osl") return text;
    std::string value;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool is_double = text.compare(i, 2, ";;") == 0;
        value += text[i] != ';' || is_double ? text[i] : field.words ? ' ' : ',';
        i += is_double ? 1 : 0;
    }
    return value;
}

/// Returns the values that one class gives, by field. Throws UsageError.
std::map<const PlanField*, std::string> class_values(const std::string& text) {
    std::map<const PlanField*, std::string> values;
    const auto [name, rest] = class_name_and_fields(text);
    for (std::size_t begin = 0; begin < rest.size();) {
        const std::size_t end = std::min(rest.find(',', begin), rest.size());
        const std::string part = rest.substr(begin, end - begin);
        begin = end + 1;
        const auto equals = part.find('=');
        const std::string key = part.substr(0, equals);
        const PlanField* const field = class_field_named(key);
        if (field == nullptr || equals == std::string::npos) {
            std::vector<std::string_view> known;
            for (const PlanField& other : plan_fields())
                if (other.of_class && !other.flags.empty()) known.push_back(other.name);
            throw UsageError(
                fmt::format("--class {}: '{}' is not KEY=VALUE of a class; keys are rate, path, {}; {}", name,
                            part, fmt::join(known, ", "), kClassSeparators));
        }
        if (!values.emplace(field, class_value(*field, part.substr(equals + 1))).second)
            throw UsageError(fmt::format("--class {}: {} is given twice", name, key));
    }
    return values;
}

/// Clears the common values that a class's own values exclude.
void clear_what_is_replaced(RequestClass& of, const std::map<const PlanField*, std::string>& values) {
    const auto gives = [&](std::string_view name) { return values.contains(plan_field_named(name)); };
    if (gives("arrivals") || gives("request_rate") || gives("concurrency")) {
        of.arrivals.reset();
        of.request_rate.reset();
        of.concurrency.reset();
    }
    if (!gives("dataset")) return;
    of.dataset_path.clear();
    of.dataset_content.clear();
    const auto answers = of.dataset.fields.extract("osl");
    of.dataset = {};
    if (answers) of.dataset.fields.emplace("osl", answers.mapped());
}

void set_class(LoadPlan& plan, std::size_t number, const std::string& spec) {
    RequestClass& of = plan.classes[number];
    of.name = class_name_and_fields(spec).first;
    const auto values = class_values(spec);
    clear_what_is_replaced(of, values);
    for (const PlanField& field : plan_fields()) {
        const auto given = values.find(&field);
        if (given == values.end()) continue;
        try {
            if (field.name == "dataset") {
                Spec dataset = parse_spec(given->second);
                for (const auto& [key, value] : of.dataset.fields) dataset.fields.emplace(key, value);
                of.dataset = std::move(dataset);
                continue;
            }
            if (field.value.clear != nullptr) field.value.clear(plan, number);
            field.value.set(plan, number, {given->second});
        } catch (const UsageError& error) {
            const bool has_separator = spec.find(';') != std::string::npos;
            throw UsageError(fmt::format("--class {}: {} {}{}{}", of.name, field.name, error.what(),
                                         has_separator ? "; " : "", has_separator ? kClassSeparators : ""));
        }
    }
}

}  // namespace

std::pair<std::string, std::string> class_name_and_fields(const std::string& spec) {
    const auto colon = spec.find(':');
    const std::string name = spec.substr(0, colon);
    if (!is_plain_name(name) || colon == std::string::npos)
        throw UsageError(
            fmt::format("'{}': expected NAME:KEY=VALUE,…; a name has letters, digits, - and _", spec));
    return {name, spec.substr(colon + 1)};
}

LoadPlan with_classes(LoadPlan asked) {
    if (asked.class_specs.empty() || !asked.classes.front().name.empty()) return asked;
    asked.classes.resize(asked.class_specs.size(), asked.classes.front());
    for (std::size_t i = 0; i < asked.class_specs.size(); ++i) set_class(asked, i, asked.class_specs[i]);
    return asked;
}

std::vector<Cap> caps_of(const RequestClass& of) {
    std::vector<Cap> caps;
    if (of.concurrency) caps.push_back({*of.concurrency, "--concurrency"});
    if (of.max_in_flight) caps.push_back({*of.max_in_flight, "--max-in-flight"});
    if (of.prefill_concurrency) caps.push_back({*of.prefill_concurrency, "--prefill-concurrency"});
    return caps;
}

bool every_class_gives(const LoadPlan& asked, const PlanField& field) {
    return !asked.class_specs.empty() && std::ranges::all_of(asked.class_specs, [&](const std::string& spec) {
        return class_values(spec).contains(&field);
    });
}

}  // namespace paretoken
