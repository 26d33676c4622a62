#include "experiments/sweep/cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/error.h"
#include "experiments/server/command_line.h"
#include "experiments/server/resolve.h"

namespace paretoken::experiments {
namespace {

const std::string kDataset = "dataset";

std::string with_underscores(std::string_view name) {
    while (name.starts_with('-')) name.remove_prefix(1);
    std::string text(name);
    std::ranges::replace(text, '-', '_');
    return text;
}

bool shapes_the_load(const PlanField& field) {
    return field.kind == FieldKind::workload || field.kind == FieldKind::load ||
           field.kind == FieldKind::measuring;
}

/// Returns the name of the field or of the placeholder.
std::string name_to_vary(std::string_view name, const std::set<std::string>& placeholders) {
    const std::string wanted = with_underscores(name);
    const PlanField* const found = plan_field_called(wanted);
    const bool is_option = found != nullptr && !found->flags.empty();
    if (placeholders.contains(wanted)) {
        if (is_option)
            throw UsageError(fmt::format(
                "'{}' is both {} and a placeholder of --server-cmd; give the placeholder another name", name,
                option_of(*found)));
        return wanted;
    }
    if (!is_option)
        throw UsageError(fmt::format(
            "'{0}' is not an option of `paretoken run` (its --help lists them), and --server-cmd has "
            "no {{{0}}}",
            name));
    if (found->name == "dataset_path")
        throw UsageError(
            "--dataset-path cannot be varied; vary the dataset, which can name its file: "
            "dataset=custom:path=a.jsonl,custom:path=b.jsonl");
    if (!shapes_the_load(*found))
        throw UsageError(fmt::format("{} does not shape the load and cannot be varied", option_of(*found)));
    if (found->shown != nullptr)
        throw UsageError(fmt::format("{} may hold secrets and cannot be varied", option_of(*found)));
    return std::string(found->name);
}

/// Gives a cell's dataset the lengths that have options of their own, unless it has them already.
void keep_lengths(Spec& dataset, const Spec& before) {
    for (const char* const field : {"isl", "osl", "ratio"})
        if (const auto given = before.fields.find(field); given != before.fields.end())
            dataset.fields.insert(*given);
}

/// Refuses a number of cells whose runs nobody can wait for.
void require_few_cells(double number, const std::string& where) {
    if (number <= static_cast<double>(kMostCells)) return;
    throw UsageError(
        fmt::format("{}: {:.0f} cells, and a sweep has at most {}; give fewer values, or several "
                    "sweeps with an --out each",
                    where, number, kMostCells));
}

}  // namespace

Variation parse_variation(std::string_view text, const std::set<std::string>& placeholders) {
    const auto equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0 || equals + 1 == text.size())
        throw UsageError(fmt::format("'{}': expected NAME=VALUE,VALUE, e.g. isl=512,2048", text));
    Variation variation{name_to_vary(text.substr(0, equals), placeholders), {}};
    std::string_view values = text.substr(equals + 1);
    while (true) {
        const auto comma = values.find(',');
        const std::string_view value = values.substr(0, comma);
        if (value.empty()) throw UsageError(fmt::format("'{}': a value is empty", text));
        if (std::ranges::find(variation.values, value) == variation.values.end())
            variation.values.emplace_back(value);
        if (comma == std::string_view::npos) return variation;
        values.remove_prefix(comma + 1);
    }
}

std::vector<Cell> product_of(const std::vector<Variation>& variations) {
    double number = 1;
    for (const Variation& variation : variations) number *= static_cast<double>(variation.values.size());
    require_few_cells(number, "--grid");
    std::vector<Cell> cells{Cell{}};
    for (const Variation& variation : variations) {
        std::vector<Cell> more;
        for (const Cell& cell : cells) {
            if (cell.contains(variation.field))
                throw UsageError(fmt::format("{} is varied twice", variation.field));
            for (const std::string& value : variation.values) {
                more.push_back(cell);
                more.back().emplace(variation.field, value);
            }
        }
        cells = std::move(more);
    }
    return cells;
}

std::vector<Cell> resolved_cells(const std::vector<Cell>& cells, const std::string& where,
                                 const std::set<std::string>& placeholders) {
    require_few_cells(static_cast<double>(cells.size()), where);
    std::vector<Cell> resolved;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        Cell own;
        for (const auto& [name, value] : cells[i]) {
            const auto known = naming(fmt::format("{}, cell {}:", where, i + 1),
                                      [&] { return name_to_vary(name, placeholders); });
            own[known] = value;
        }
        if (std::ranges::find(resolved, own) != resolved.end())
            throw UsageError(fmt::format("{}, cell {}: the same as an earlier one", where, i + 1));
        resolved.push_back(std::move(own));
    }
    if (resolved.empty()) throw UsageError(fmt::format("{} holds no cell", where));
    return resolved;
}

void require_values(const ServerLaunch& server, const std::vector<Cell>& cells,
                    const std::set<std::string>& others) {
    std::set<std::string> names = placeholders_of(server);
    for (const std::string& name : others) names.erase(name);
    for (const std::string& name : names)
        for (const Cell& cell : cells) {
            if (cell.contains(name)) continue;
            const std::string where = cell.empty() ? "" : fmt::format(" in the cell {}", text_of(cell));
            throw UsageError(
                fmt::format("the placeholder {{{0}}} of the server's command, environment, ready URL or "
                            "after-run command has no value{1}; add `sweep --grid {0}=VALUE,VALUE`",
                            name, where));
        }
}

std::pair<std::string, std::string> parse_link(std::string_view text,
                                               const std::set<std::string>& placeholders) {
    const auto equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0 || equals + 1 == text.size())
        throw UsageError(
            fmt::format("'{}': expected PLACEHOLDER=OPTION, e.g. max_num_seqs=concurrency", text));
    const std::string name(text.substr(0, equals));
    if (!placeholders.contains(name))
        throw UsageError(fmt::format("'{}': --server-cmd has no {{{}}}", text, name));
    return {name, name_to_vary(text.substr(equals + 1), {})};
}

LoadPlan with_links(LoadPlan asked) {
    const PlanEcho echo = echo_of(asked);
    Cell values;
    for (const std::string& name : placeholders_of(asked.server))
        if (const auto value = echo.find(name); value != echo.end()) values.insert(*value);
    asked.server = with_values(std::move(asked.server), values);
    return asked;
}

LoadPlan with_common_dataset(LoadPlan asked, const std::vector<Cell>& cells) {
    const bool has_classes = !asked.class_specs.empty();
    const bool must_begin_as_given = std::ranges::any_of(
        cells, [&](const Cell& cell) { return cell.contains(kDataset) || (has_classes && !cell.empty()); });
    return must_begin_as_given ? asked : with_dataset(std::move(asked));
}

LoadPlan in_cell(LoadPlan asked, const Cell& cell) {
    for (const auto& [name, value] : cell) {
        const PlanField* const known = plan_field_named(name);
        if (known == nullptr || known->flags.empty()) continue;  // this is a placeholder
        const PlanField& field = *known;
        const std::size_t classes = field.of_class ? asked.classes.size() : 1;
        naming(option_of(field), [&] {
            for (std::size_t i = 0; i < classes; ++i) {
                const Spec before = asked.classes[i].dataset;
                if (field.value.clear != nullptr) field.value.clear(asked, i);
                field.value.set(asked, i, {value});
                if (field.name == kDataset) keep_lengths(asked.classes[i].dataset, before);
            }
        });
    }
    asked.server = with_values(std::move(asked.server), cell);
    return with_dataset(std::move(asked));
}

std::string text_of(const Cell& cell) {
    std::string text;
    for (const auto& [name, value] : cell)
        text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, value);
    return text;
}

std::string directory_name_of(const Cell& cell) {
    constexpr std::size_t kLongest = 80;
    std::string name = text_of(cell).substr(0, kLongest);
    std::ranges::replace_if(
        name,
        [](char c) {
            return std::isalnum(static_cast<unsigned char>(c)) == 0 &&
                   std::string_view("=.,_-").find(c) == std::string_view::npos;
        },
        '_');
    return name;
}

}  // namespace paretoken::experiments
