#include "microbench/cpu/read.h"

#include <gtest/gtest.h>

#include <vector>

#include "microbench/cpu/flops.h"

namespace paretoken::microbench {
namespace {

TEST(Read, every_variant_reads_every_byte) {
    alignas(64) static std::byte memory[8192 + 64];
    for (const Isa isa : available_isas()) {
        for (const ReadVariant& variant : read_variants(isa)) {
            for (const std::size_t size : {1024u, 3072u, 8192u}) {
                ASSERT_EQ(variant.read(memory, size, memory), 0u);
                for (std::size_t i = 0; i < size; i += 7) {
                    memory[i] = std::byte{0x10};
                    ASSERT_NE(variant.read(memory, size, memory), 0u)
                        << variant.name << ' ' << size << ' ' << i;
                    memory[i] = std::byte{0};
                }
                memory[size] = std::byte{1};
                EXPECT_EQ(variant.read(memory, size, memory), 0u) << variant.name << " reads past the end";
                memory[size] = std::byte{0};
            }
        }
    }
}

TEST(Read, the_readable_part_is_aligned_whole_and_inside) {
    alignas(64) static std::byte memory[8192];
    for (const std::size_t offset : {0u, 1u, 18u, 63u, 64u}) {
        const auto part = readable_part(memory + offset, 4000);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(part.data()) % 64, 0u);
        EXPECT_EQ(part.size() % 1024, 0u);
        EXPECT_GE(part.data(), memory + offset);
        EXPECT_LE(part.data() + part.size(), memory + offset + 4000);
    }
    EXPECT_EQ(readable_part(memory + 1, 10).size(), 0u);
}

TEST(Flops, every_supported_variant_runs_and_every_kind_has_one) {
    for (const FlopsKind kind : {FlopsKind::f32_fma, FlopsKind::bf16_dot, FlopsKind::int8_dot}) {
        int supported = 0;
        for (const FlopsVariant& variant : flops_variants()) {
            if (variant.kind != kind || !variant.supported()) continue;
            ++supported;
            variant.burn(10);
            EXPECT_GT(variant.flops_per_repeat, 0);
        }
        EXPECT_GT(supported, 0) << name_of(kind);
    }
}

TEST(Flops, a_kind_whose_tiles_are_driven_is_bounded) {
    for (const FlopsVariant& variant : flops_variants()) {
        if (!variant.name.starts_with("amx") || !variant.supported()) continue;
        EXPECT_EQ(faster_hardware_unused(variant.kind), "") << variant.name;
    }
}

}  // namespace
}  // namespace paretoken::microbench
