#include "reports/files/interop/manifests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paretoken::reports {
namespace {

using testing::HasSubstr;

/// A plan of servers that carry 10 requests per second, for 60.
DeploymentPlan plan_of_servers(std::uint64_t replicas) {
    PlannedCell cell{.gpu = "h100-sxm", .weights = "bf16", .kv = "bf16"};
    cell.sequences_p99 = 1;
    cell.speed = PlannedSpeed{.load = 10, .requests_per_s = 10, .e2e_mean_s = 2};
    cell.fleet = PlannedFleet{.replicas = replicas, .gpus = replicas};
    DeploymentPlan plan{.model = "m", .engine = "vllm", .lengths = {.output_mean = 100}};
    plan.demand.requests_per_s = 60;
    plan.cells = {cell};
    plan.best = 0;
    return plan;
}

std::uint64_t number_after(const std::string& text, const std::string& key) {
    return std::stoull(text.substr(text.find(key) + key.size()));
}

TEST(Manifests, TheAutoscalerHasTheBoundsOfThePlansAndNeverMoreAtLeastThanAtMost) {
    for (const std::uint64_t replicas : {1U, 7U, 12U}) {
        DeploymentPlan plan = plan_of_servers(replicas);
        const std::string always = kubernetes_manifests(plan);
        EXPECT_EQ(number_after(always, "minReplicas: "), 1U);
        EXPECT_EQ(number_after(always, "maxReplicas: "), replicas);
        plan.staircase = Staircase{.servers = {9, 9, 9}};
        plan.autoscaled = ScaledServers{.rule = {.least = 3, .most = 40}};
        const std::string by_hour = kubernetes_manifests(plan);
        EXPECT_EQ(number_after(by_hour, "minReplicas: "), 3U);
        EXPECT_EQ(number_after(by_hour, "maxReplicas: "), 40U);
    }
}

TEST(Manifests, ATargetBelowOneRequestIsInThousandths) {
    DeploymentPlan plan = plan_of_servers(6);
    EXPECT_THAT(kubernetes_manifests(plan), HasSubstr("averageValue: \"20\""));
    plan.cells.front().speed->e2e_mean_s = .03;
    EXPECT_THAT(kubernetes_manifests(plan), HasSubstr("averageValue: \"300m\""));
}

}  // namespace
}  // namespace paretoken::reports
