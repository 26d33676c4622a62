#include "core/plan/plan_values.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/plan/plan.h"

namespace paretoken {
namespace {

/// Returns the value that is behind texts in which secrets are hidden.
Texts behind(const PlanField& field, const Texts& texts, const LoadPlan& own, std::size_t request_class) {
    if (field.shown == nullptr || request_class >= own.classes.size()) return texts;
    const Texts ours = field.value.get(own, request_class);
    const Texts ours_shown = shown_texts(field, ours);
    if (ours_shown == texts) return ours;
    if (ours_shown == ours) return texts;  // no secret of ours could be meant
    throw UsageError(fmt::format("{}: shard 0 has another value with a secret; give all shards the same",
                                 option_of(field)));
}

}  // namespace

std::vector<PlanTexts> values_of(const LoadPlan& plan) {
    std::vector<PlanTexts> values(plan.classes.size());
    for (const PlanField& field : plan_fields())
        for (std::size_t i = 0; i < (field.of_class ? plan.classes.size() : 1); ++i) {
            Texts texts = shown_texts(field, field.value.get(plan, i));
            if (!texts.empty()) values[i].emplace(field.name, std::move(texts));
        }
    return values;
}

LoadPlan plan_with(const std::vector<PlanTexts>& values, const LoadPlan& own) {
    LoadPlan plan;
    plan.classes.resize(std::max<std::size_t>(values.size(), 1));
    for (const PlanField& field : plan_fields())
        for (std::size_t i = 0; i < values.size(); ++i) {
            const auto found = values[i].find(field.name);
            if (found == values[i].end()) continue;
            const Texts texts = behind(field, found->second, own, i);
            // Several fields may show one value, such as --dataset and --isl, and some refuse it twice.
            if (field.value.get(plan, i) != texts) field.value.set(plan, i, texts);
        }
    return plan;
}

}  // namespace paretoken
