#include "simulator/engine/communication.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace paretoken::sim {
namespace {

const cards::ModelCard kDense = cards::model_card("llama-3.1-70b");
const cards::ModelCard kExperts = cards::model_card("qwen3-30b-a3b");

LinkTimes link_of(const char* gpu, LinkKind kind) {
    return times_of(kind, cards::gpu_card(gpu));
}

double step_s(const Communication& of, double tokens) {
    return of.step_s + of.token_s * tokens;
}

TEST(Communication, OneRankExchangesNothing) {
    const LinkTimes link = link_of("h100-sxm", LinkKind::nvlink);
    for (const Parallelism parallel : {Parallelism::tensor, Parallelism::dep, Parallelism::layers})
        EXPECT_EQ(communication_of(kExperts, parallel, 1, link), Communication{});
}

TEST(Communication, ASumOverTwoRanksTakesALatencyAndItsBytes) {
    const LinkTimes link{.latency_s = 1e-5, .bytes_per_s = 1e9};
    const Communication two = communication_of(kDense, Parallelism::tensor, 2, link);
    EXPECT_DOUBLE_EQ(two.step_s, 2 * 80 * 1e-5);
    EXPECT_DOUBLE_EQ(two.token_s, 2 * 80 * 8192 * 2.0 / 1e9) << "16 bits, once in each direction";
}

TEST(Communication, MoreRanksWaitLongerAndSendMore) {
    const LinkTimes link{.latency_s = 1e-5, .bytes_per_s = 1e9};
    for (std::uint32_t ranks = 2; ranks < 64; ranks *= 2) {
        const Communication few = communication_of(kDense, Parallelism::tensor, ranks, link);
        const Communication many = communication_of(kDense, Parallelism::tensor, 2 * ranks, link);
        EXPECT_GT(many.step_s, few.step_s);
        EXPECT_GT(many.token_s, few.token_s);
        EXPECT_LT(many.token_s, 2 * few.token_s) << "a ring sends at most twice the bytes";
    }
}

TEST(Communication, SwitchesThatAddNeedFewerBytesThanARing) {
    const LinkTimes ring{.latency_s = 1e-5, .bytes_per_s = 1e9};
    const LinkTimes adding{.latency_s = 1e-5, .bytes_per_s = 1e9, .adds = true};
    for (const std::uint32_t ranks : {4U, 8U})
        EXPECT_LT(communication_of(kDense, Parallelism::tensor, ranks, adding).token_s,
                  communication_of(kDense, Parallelism::tensor, ranks, ring).token_s);
    EXPECT_EQ(communication_of(kDense, Parallelism::tensor, 2, adding),
              communication_of(kDense, Parallelism::tensor, 2, ring));
    EXPECT_TRUE(link_of("h200", LinkKind::nvlink).adds);
    EXPECT_FALSE(link_of("a100-80gb", LinkKind::nvlink).adds);
}

TEST(Communication, WithRequestsOfTheirOwnRanksSendTokensToExpertsAlone) {
    const LinkTimes link{.latency_s = 1e-5, .bytes_per_s = 1e9};
    EXPECT_EQ(communication_of(kDense, Parallelism::dep, 8, link), Communication{});
    const Communication two = communication_of(kExperts, Parallelism::dep, 2, link);
    const double reached = 2 * (1 - 1.0 / 256);  // of two ranks, by 8 experts
    EXPECT_DOUBLE_EQ(two.step_s, 48 * 2 * 1e-5);
    EXPECT_NEAR(two.token_s, 48 * 2048 * 4.0 * reached / 2 / (2 * 1e9), 1e-15)
        << "half of them are remote, and both ranks send at once";
}

TEST(Communication, RanksWithLayersHandOverOneAfterTheOther) {
    const LinkTimes link{.latency_s = 1e-5, .bytes_per_s = 1e9};
    const Communication four = communication_of(kDense, Parallelism::layers, 4, link);
    EXPECT_DOUBLE_EQ(four.step_s, 3 * 1e-5);
    EXPECT_DOUBLE_EQ(four.token_s, 3 * 8192 * 2.0 / 1e9);
}

TEST(Communication, TheLinksAreOrderedBySpeedAtEverySize) {
    const char* const gpu = "a100-80gb-pcie";
    const LinkTimes nvlink = link_of("a100-80gb", LinkKind::nvlink);
    for (const double tokens : {1.0, 50.0, 200.0, 8192.0}) {
        double before = step_s(communication_of(kDense, Parallelism::tensor, 2, nvlink), tokens);
        for (const LinkKind kind : {LinkKind::pcie, LinkKind::host, LinkKind::ethernet}) {
            const double now =
                step_s(communication_of(kDense, Parallelism::tensor, 2, link_of(gpu, kind)), tokens);
            EXPECT_GT(now, 1.3 * before) << static_cast<int>(kind) << " at " << tokens;
            before = now;
        }
    }
}

TEST(Communication, SixteenRanksAddWithinTheirServersAndThenAmongThem) {
    const cards::GpuCard gpu = cards::gpu_card("h100-sxm");
    const auto sums_of = [&](std::uint32_t ranks, const LinkTimes& link) {
        return communication_of(kDense, Parallelism::tensor, ranks, link);
    };
    const Communication inside = sums_of(8, times_of(LinkKind::nvlink, gpu));
    const Communication both = sums_of(16, times_among(LinkKind::infiniband, gpu, 16));
    const Communication flat = sums_of(16, times_of(LinkKind::infiniband, gpu));
    EXPECT_GT(both.step_s, inside.step_s);
    EXPECT_GT(both.token_s, inside.token_s);
    EXPECT_LT(both.token_s, flat.token_s / 4) << "each rank sends an eighth of the bytes to the other server";
    const Communication experts =
        communication_of(kExperts, Parallelism::dep, 16, times_among(LinkKind::infiniband, gpu, 16));
    EXPECT_LT(experts.token_s,
              communication_of(kExperts, Parallelism::dep, 16, times_of(LinkKind::infiniband, gpu)).token_s);
    EXPECT_FALSE(times_among(LinkKind::infiniband, gpu, 2).between) << "two GPUs that are each alone";
}

TEST(Communication, TheUsualLinkIsThatOfTheCard) {
    EXPECT_EQ(usual_link(cards::gpu_card("h100-sxm"), 8), LinkKind::nvlink);
    EXPECT_EQ(usual_link(cards::gpu_card("h100-pcie"), 2), LinkKind::host);
    EXPECT_EQ(usual_link(cards::gpu_card("mi300x"), 8), LinkKind::nvlink);
    EXPECT_EQ(usual_link(cards::gpu_card("rtx-3090"), 16), LinkKind::host);
    EXPECT_EQ(usual_link(cards::gpu_card("h100-sxm"), 16), LinkKind::infiniband)
        << "a server has 8 of these GPUs";
}

TEST(Communication, WrongNamesAreRefusedWithTheKnownOnes) {
    for (const auto& refused : {+[] { link_named("token-ring"); }, +[] { parallelism_named("none"); }}) {
        try {
            refused();
            FAIL();
        } catch (const UsageError& error) {
            EXPECT_NE(std::string(error.what()).find("expected"), std::string::npos);
        }
    }
    EXPECT_EQ(link_named("pcie"), LinkKind::pcie);
    EXPECT_EQ(parallelism_named("dep"), Parallelism::dep);
}

}  // namespace
}  // namespace paretoken::sim
