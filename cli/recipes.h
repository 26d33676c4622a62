#pragma once
// Loads that are asked for by name: `run --recipe rag`. A recipe is nothing but options, which --print-config
// shows; a new one is a row of the table.
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/plan/plan_fields.h"

namespace paretoken::cli {

struct Recipe {
    std::string_view name;
    std::string_view title;  ///< what kind of load it is
    std::string_view look;   ///< one sentence: what to look at in the result
    std::vector<std::pair<std::string_view, std::string_view>>
        options;  ///< field name → value; a list has one of each
};
std::span<const Recipe> recipes();

/// Throws UsageError naming the nearest known one.
const Recipe& recipe_named(std::string_view name);

PlanTexts texts_of(const Recipe& recipe);

}  // namespace paretoken::cli
