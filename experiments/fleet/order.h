#pragma once
// What shard 0 tells another shard to measure.
#include <string>

#include "core/plan/plan.h"
#include "core/plan/shard.h"

namespace paretoken::experiments {

struct Order {
    LoadPlan plan = {};
    Shard shard = {};  ///< part of the receiving process

    bool operator==(const Order&) const = default;
};

std::string text_of(const Order& order);

/// Reads an order. `own` is the plan of the receiving process, which has the secrets. Throws UsageError.
Order parse_order(const std::string& text, const LoadPlan& own);

}  // namespace paretoken::experiments
