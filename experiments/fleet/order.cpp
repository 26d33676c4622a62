#include "experiments/fleet/order.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "core/error.h"
#include "core/plan/plan_values.h"

namespace paretoken::experiments {

std::string text_of(const Order& order) {
    return nlohmann::json{{"plan", values_of(order.plan)},
                          {"shard", fmt::format("{}/{}", order.shard.number, order.shard.count)}}
        .dump();
}

Order parse_order(const std::string& text, const LoadPlan& own) {
    try {
        const auto json = nlohmann::json::parse(text);
        Order order{.plan = plan_with(json.at("plan").get<std::vector<PlanTexts>>(), own),
                    .shard = parse_shard(json.at("shard").get<std::string>())};
        order.plan.fleet = own.fleet;
        order.plan.out = own.out;
        return order;
    } catch (const nlohmann::json::exception& error) {
        throw UsageError(fmt::format("shard 0 sent an order that cannot be read: {}", error.what()));
    }
}

}  // namespace paretoken::experiments
