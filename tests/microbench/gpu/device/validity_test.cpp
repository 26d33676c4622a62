#include "microbench/gpu/device/validity.h"

#include <gtest/gtest.h>

#include <functional>

#include "microbench/gpu/device/nvml.h"
#include "tests/support/paths.h"

namespace paretoken::microbench::gpu {
namespace {

GpuRowFacts good_row() {
    return {.verified = true,
            .ring_bytes = 1ULL << 30,
            .l2_bytes = 60ULL << 20,
            .cv = .004,
            .of_ceiling = .95,
            .of_asymptote = .93,
            .ceiling_drift = .004,
            .conditions = {.memory_clock_mhz = 3201,
                           .max_memory_clock_mhz = 3201,
                           .sm_clock_mhz = 1980,
                           .thermal_violation_ns = 0,
                           .hardware_violation_ns = 0,
                           .power_violation_ns = 0,
                           .slowdown_reasons = 0,
                           .other_processes = 0,
                           .mig = false}};
}

TEST(GpuValidity, a_good_row_is_valid_and_says_nothing) {
    EXPECT_EQ(judgement_of(good_row()), Judgement{});
}

TEST(GpuValidity, a_ceiling_is_no_ceiling_to_other_ceilings) {
    GpuRowFacts facts = good_row();
    facts.is_ceiling = true;
    facts.of_asymptote = 1.05;  // for example a kernel that only writes
    EXPECT_TRUE(judgement_of(facts).valid());
}

struct Spoiled {
    const char* word;
    std::function<void(GpuRowFacts&)> spoil;
};

TEST(GpuValidity, each_rule_alone_makes_a_row_invalid_and_says_why) {
    const Spoiled rules[] = {
        {"verified", [](auto& f) { f.verified = false; }},
        {"memory clock 2619 of 3201", [](auto& f) { f.conditions.memory_clock_mhz = 2619; }},
        {"temperature", [](auto& f) { f.conditions.thermal_violation_ns = 1; }},
        {"temperature", [](auto& f) { f.conditions.slowdown_reasons = 0x20; }},
        {"temperature", [](auto& f) { f.conditions.slowdown_reasons = 0x40; }},
        {"hardware", [](auto& f) { f.conditions.hardware_violation_ns = 1; }},
        {"hardware", [](auto& f) { f.conditions.slowdown_reasons = 0x8; }},
        {"hardware", [](auto& f) { f.conditions.slowdown_reasons = 0x80; }},
        {"unsteady", [](auto& f) { f.cv = .031; }},
        {"ring", [](auto& f) { f.ring_bytes = 4 * f.l2_bytes - 1; }},
        {"103 % of the read ceiling", [](auto& f) { f.of_asymptote = 1.03; }},
        {"process", [](auto& f) { f.conditions.other_processes = 1; }},
        {"MIG", [](auto& f) { f.conditions.mig = true; }},
    };
    for (const Spoiled& rule : rules) {
        GpuRowFacts facts = good_row();
        rule.spoil(facts);
        const Judgement judgement = judgement_of(facts);
        ASSERT_EQ(judgement.invalid_because.size(), 1u) << rule.word;
        EXPECT_NE(judgement.invalid_because.front().find(rule.word), std::string::npos) << judgement.label();
    }
}

TEST(GpuValidity, what_is_only_worth_saying_leaves_a_row_valid) {
    const Spoiled notes[] = {
        {"drifted", [](auto& f) { f.ceiling_drift = .05; }},
        {"power", [](auto& f) { f.conditions.power_violation_ns = 5; }},
        {"of its size", [](auto& f) { f.of_ceiling = 1.05; }},
        {"NVML", [](auto& f) { f.conditions = {}; }},
    };
    for (const Spoiled& note : notes) {
        GpuRowFacts facts = good_row();
        note.spoil(facts);
        const Judgement judgement = judgement_of(facts);
        EXPECT_TRUE(judgement.valid());
        ASSERT_EQ(judgement.notes.size(), 1u) << note.word;
        EXPECT_NE(judgement.notes.front().find(note.word), std::string::npos);
    }
}

TEST(GpuValidity, limits_themselves_are_still_valid_and_rows_without_a_ring_need_none) {
    GpuRowFacts facts = good_row();
    facts.cv = kMaxGpuVariation;
    facts.ring_bytes = 4 * facts.l2_bytes;
    facts.of_asymptote = kMaxOfCeiling;
    EXPECT_TRUE(judgement_of(facts).valid());
    facts.streams = false;
    facts.ring_bytes = 0;
    EXPECT_TRUE(judgement_of(facts).valid());
    facts.conditions.slowdown_reasons = 0x1 | 0x4;  // NVML's bits for an idle GPU and for the power limit
    EXPECT_TRUE(judgement_of(facts).valid());
}

TEST(Nvml, without_its_library_every_answer_is_missing) {
    const Nvml nvml("0000:00:00.0", "libno-such-nvml.so");
    EXPECT_EQ(nvml.conditions(), GpuConditions{});
    EXPECT_FALSE(nvml.driver_version());
}

TEST(Nvml, a_library_without_its_functions_is_as_good_as_none) {
    const Nvml nvml("0000:00:00.0", "libm.so.6");
    EXPECT_EQ(nvml.conditions(), GpuConditions{});
}

TEST(Nvml, answers_for_the_gpu_with_the_bus_id) {
    const std::string library = paths::binary_dir() + "/fake_nvml.so";
    const Nvml nvml("0000:65:00.0", library);
    EXPECT_EQ(nvml.driver_version(), "580.82.07");
    EXPECT_EQ(nvml.pcie_link(), (PcieLink{5, 16}));
    EXPECT_EQ(nvml.conditions(), (GpuConditions{.memory_clock_mhz = 2619,
                                                .max_memory_clock_mhz = 3201,
                                                .sm_clock_mhz = 1755,
                                                .thermal_violation_ns = {},
                                                .hardware_violation_ns = {},
                                                .power_violation_ns = 1200,
                                                .slowdown_reasons = 0,
                                                .other_processes = 0,
                                                .mig = false}));
    const Nvml absent("0000:17:00.0", library);
    EXPECT_EQ(absent.conditions(), GpuConditions{});
    EXPECT_FALSE(absent.pcie_link());
}

TEST(Nvml, violation_times_of_a_row_are_what_was_added_during_it) {
    const GpuConditions before{
        .thermal_violation_ns = 100, .hardware_violation_ns = 5, .power_violation_ns = 7};
    const GpuConditions after{.memory_clock_mhz = 3201,
                              .thermal_violation_ns = 130,
                              .hardware_violation_ns = 5,
                              .slowdown_reasons = 4};
    const GpuConditions between = during(before, after);
    EXPECT_EQ(between.memory_clock_mhz, 3201u);
    EXPECT_EQ(between.thermal_violation_ns, 30u);
    EXPECT_EQ(between.hardware_violation_ns, 0u);
    EXPECT_FALSE(between.power_violation_ns);
    EXPECT_EQ(between.slowdown_reasons, 4u);
}

}  // namespace
}  // namespace paretoken::microbench::gpu
