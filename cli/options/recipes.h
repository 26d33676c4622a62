#pragma once
// Recipes are named sets of options: `run --recipe rag`. Lengths vary, so that closed loops run less in step.
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/plan/plan_fields.h"

namespace paretoken::cli {

struct Recipe {
    std::string_view name;
    std::string_view title;  ///< the kind of load
    std::string_view look;   ///< one sentence on the figures of the result to look at
    std::vector<std::pair<std::string_view, std::string_view>>
        options;  ///< field name → value; a list repeats the name for each item
    /// The files that it is for, in words; empty if it generates its requests.
    std::string_view file = {};
};
std::span<const Recipe> recipes();

/// Returns the recipe of that name. Throws UsageError naming all known ones and a similar one.
const Recipe& recipe_named(std::string_view name);

PlanTexts texts_of(const Recipe& recipe);

}  // namespace paretoken::cli
