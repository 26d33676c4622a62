#include "core/plan/plan_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <deque>
#include <set>
#include <utility>

#include "core/error.h"
#include "core/plan/plan.h"
#include "core/plan/rows/rows.h"
#include "core/text/content_hash.h"
#include "core/text/secrets.h"

namespace paretoken {
namespace {

/// Returns "isl", or "batch.isl" for a class that has a name.
std::string key_of(const PlanField& field, const LoadPlan& plan, std::size_t request_class) {
    const std::string& name = plan.classes[request_class].name;
    if (!field.of_class || name.empty()) return std::string(field.name);
    return fmt::format("{}.{}", name, field.name);
}

/// Calls visit(field, key, texts) for every value of the plan.
template <class Visit>
void for_each_value(const LoadPlan& plan, Visit visit) {
    for (const PlanField& field : plan_fields()) {
        const std::size_t classes = field.of_class ? plan.classes.size() : 1;
        for (std::size_t c = 0; c < classes; ++c) {
            const Texts texts = field.value.get(plan, c);
            if (!texts.empty()) visit(field, key_of(field, plan, c), texts);
        }
    }
}

}  // namespace

Texts shown_texts(const PlanField& field, Texts texts) {
    if (field.shown == nullptr) return texts;
    for (std::string& text : texts) text = field.shown(text);
    return texts;
}

namespace {

std::string joined(const Texts& texts) {
    return fmt::format("{}", fmt::join(texts, ", "));
}

std::string default_of(const PlanField& field) {
    static const LoadPlan kDefault;
    return joined(field.value.get(kDefault, 0));
}

/// Returns the keys of a field in either echo: its name, alone or after the name of a class.
std::set<std::string> keys_of(const PlanField& field, const PlanEcho& a, const PlanEcho& b) {
    std::set<std::string> keys{std::string(field.name)};
    if (!field.of_class) return keys;
    const std::string ending = fmt::format(".{}", field.name);
    for (const PlanEcho* echo : {&a, &b}) {
        for (const auto& [key, value] : *echo) {
            if (key.ends_with(ending)) keys.insert(key);
        }
    }
    return keys;
}

/// Returns the echo with its secrets, which must never be shown or stored.
PlanEcho unhidden(const LoadPlan& plan) {
    PlanEcho echo;
    for_each_value(plan, [&](const PlanField&, const std::string& key, const Texts& texts) {
        echo[key] = joined(texts);
    });
    return echo;
}

std::string value_in(const PlanEcho& echo, const std::string& key, const PlanField& field) {
    const auto found = echo.find(key);
    return found == echo.end() ? default_of(field) : found->second;
}

std::string variable_of(const PlanField& field, std::string_view part) {
    std::string name = fmt::format("PARETOKEN_{}{}{}", field.name, part.empty() ? "" : "_", part);
    for (char& c : name) {
        const auto byte = static_cast<unsigned char>(c);
        c = std::isalnum(byte) != 0 ? static_cast<char>(std::toupper(byte)) : '_';
    }
    return name;
}

/// All rows, with the names and the heading that they leave out.
struct AllFields {
    std::deque<std::string> names;
    std::vector<PlanField> fields;

    AllFields() {
        add("Target", rows::target_rows());
        add("Pace", rows::pace_rows());
        add("Workload", rows::workload_rows());
        add("Result", rows::result_rows());
    }
    void add(std::string_view group, std::span<const PlanField> rows) {
        for (PlanField field : rows) {
            if (!field.help.empty() && field.group.empty()) field.group = group;
            if (!field.help.empty() && field.flags.empty()) {
                std::string& name = names.emplace_back(fmt::format("--{}", field.name));
                std::ranges::replace(name, '_', '-');
                field.flags = name;
            }
            field.type = field.value.type;
            field.of_class = field.value.of_class;
            fields.push_back(field);
        }
    }
};

}  // namespace

std::string_view name_of(FieldKind kind) {
    switch (kind) {
        case FieldKind::workload:
            return "workload";
        case FieldKind::load:
            return "load";
        case FieldKind::measuring:
            return "measuring";
        case FieldKind::judging:
            return "judging";
        case FieldKind::none:
            return "none";
    }
    return "";
}

std::span<const PlanField> plan_fields() {
    static const AllFields kFields;
    return kFields.fields;
}

const PlanField* plan_field_named(std::string_view name) {
    const auto fields = plan_fields();
    const auto found = std::ranges::find(fields, name, &PlanField::name);
    return found == fields.end() ? nullptr : &*found;
}

std::vector<Synonym> synonyms_of(const PlanField& field) {
    std::vector<Synonym> synonyms;
    for (std::string_view rest = field.synonyms; !rest.empty();) {
        const std::string_view entry = rest.substr(0, rest.find(' '));
        const auto colon = entry.find(':');
        synonyms.push_back({.name = entry.substr(0, colon), .tools = entry.substr(colon + 1)});
        rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
    }
    return synonyms;
}

const PlanField* plan_field_called(std::string_view name) {
    const auto is = [name](std::string_view known) {
        const auto plain = [](std::string_view text) {
            text.remove_prefix(std::min(text.find_first_not_of("!-"), text.size()));
            std::string bare(text);
            std::ranges::replace(bare, '-', '_');
            return bare;
        };
        return plain(known) == plain(name);
    };
    const auto fields = plan_fields();
    const auto found = std::ranges::find_if(fields, [&](const PlanField& field) {
        if (is(field.name)) return true;
        for (std::string_view rest = field.flags; !rest.empty();) {
            const std::string_view flag = rest.substr(0, rest.find(','));
            if (is(flag)) return true;
            rest.remove_prefix(std::min(flag.size() + 1, rest.size()));
        }
        const auto synonyms = synonyms_of(field);
        return std::ranges::any_of(synonyms, [&](const Synonym& synonym) { return is(synonym.name); });
    });
    return found == fields.end() ? nullptr : &*found;
}

std::string option_of(const PlanField& field) {
    const auto begin = field.flags.find("--");
    if (begin == std::string_view::npos) return std::string(field.name);
    return std::string(field.flags.substr(begin, field.flags.find(',', begin) - begin));
}

LoadPlan plan_of(const PlanTexts& texts) {
    for (const auto& [name, values] : texts) {
        const PlanField* field = plan_field_named(name);
        if (field == nullptr || field->flags.empty())
            throw UsageError(fmt::format("'{}' is not an option of a run", name));
    }
    LoadPlan plan;
    for (const PlanField& field : plan_fields()) {
        const auto given = texts.find(field.name);
        if (given == texts.end() || given->second.empty()) continue;
        naming(option_of(field), [&] { field.value.set(plan, 0, given->second); });
    }
    return plan;
}

PlanTexts texts_of(const LoadPlan& plan) {
    PlanTexts texts;
    for_each_value(plan, [&](const PlanField& field, const std::string& key, const Texts& values) {
        if (!field.flags.empty()) texts[key] = shown_texts(field, values);
    });
    return texts;
}

PlanEcho echo_of(const LoadPlan& plan, bool (*wanted)(const PlanField& field)) {
    PlanEcho echo;
    for_each_value(plan, [&](const PlanField& field, const std::string& key, const Texts& texts) {
        if (wanted == nullptr || wanted(field)) echo[key] = joined(shown_texts(field, texts));
    });
    return echo;
}

void restore_secrets(PlanTexts& texts,
                     const std::function<std::optional<std::string>(const std::string&)>& environment) {
    for (auto& [name, values] : texts) {
        const PlanField* field = plan_field_named(name);
        if (field == nullptr || field->shown == nullptr) continue;
        for (std::string& text : values) {
            if (text.find(Secrets::kHidden) == std::string::npos || text != field->shown(text)) continue;
            const std::size_t end = text.find_first_of(":=");
            // for "Name: value" or NAME=value, but not for a URL
            const bool has_name = field->type == FieldType::list && end != std::string::npos &&
                                  !std::string_view(text).substr(end).starts_with("://");
            const std::string part = has_name ? text.substr(0, end) : std::string();
            const std::string variable = variable_of(*field, part);
            const auto secret = environment(variable);
            if (!secret) {
                throw UsageError(fmt::format("{} '{}': no file holds the hidden secret; set {} to it",
                                             option_of(*field), text, variable));
            }
            if (!has_name)
                text = *secret;
            else
                text = part + (text[end] == ':' ? ": " : "=") + *secret;
        }
    }
}

std::optional<PlanDifference> difference(const PlanEcho& before, const PlanEcho& after,
                                         const std::function<bool(const PlanField&)>& compared) {
    for (const PlanField& field : plan_fields()) {
        if (compared && !compared(field)) continue;
        for (const std::string& key : keys_of(field, before, after)) {
            const std::string a = value_in(before, key, field);
            const std::string b = value_in(after, key, field);
            if (a == b) continue;
            std::string name = option_of(field);
            if (key != field.name)
                name += fmt::format(" of class {}", key.substr(0, key.size() - field.name.size() - 1));
            return PlanDifference{&field, std::move(name), a, b};
        }
    }
    return std::nullopt;
}

std::optional<PlanDifference> difference(const LoadPlan& before, const LoadPlan& after,
                                         const std::function<bool(const PlanField&)>& compared) {
    auto found = difference(unhidden(before), unhidden(after), compared);
    if (!found || found->field->shown == nullptr) return found;
    const std::string name(found->field->name);  // no secret field belongs to a class
    found->before = value_in(echo_of(before), name, *found->field);
    found->after = value_in(echo_of(after), name, *found->field);
    return found;
}

std::string workload_fingerprint(const LoadPlan& resolved) {
    std::string text = "paretoken/workload/2\n";
    for_each_value(resolved, [&](const PlanField& field, const std::string& key, const Texts& values) {
        // Defaults are left out, so that a field added later does not change older fingerprints.
        const std::string value = joined(values);
        if (field.kind != FieldKind::workload || value == default_of(field)) return;
        text += fmt::format("{}={}:{}\n", key, value.size(), value);
    });
    return content_hash(text);
}

}  // namespace paretoken
