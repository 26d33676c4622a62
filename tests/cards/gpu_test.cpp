#include "cards/gpu.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace paretoken::cards {
namespace {

std::string found(const char* text) {
    const auto card = find_gpu(text);
    return card ? card->name : "nothing";
}

TEST(Gpu, IsFoundUnderTheNamesThatToolsGiveIt) {
    EXPECT_EQ(found("h100"), "h100-sxm");
    EXPECT_EQ(found("NVIDIA H100 80GB HBM3"), "h100-sxm");
    EXPECT_EQ(found("NVIDIA H100 PCIe"), "h100-pcie");
    EXPECT_EQ(found("H200"), "h200");
    EXPECT_EQ(found("NVIDIA A100-SXM4-80GB"), "a100-80gb");
    EXPECT_EQ(found("NVIDIA A100-SXM4-40GB"), "a100-40gb");
    EXPECT_EQ(found("Tesla T4"), "t4");
    EXPECT_EQ(found("NVIDIA GeForce RTX 4090"), "rtx-4090");
    EXPECT_EQ(found("rtx4090"), "rtx-4090");
    EXPECT_EQ(found("AMD Instinct MI300X"), "mi300x");
    EXPECT_EQ(found("sim:llama3-8b-h100-bf16"), "h100-sxm");
    EXPECT_EQ(found("NVIDIA L40S"), "l40s");
    EXPECT_EQ(found("NVIDIA A10G"), "a10g");
    EXPECT_EQ(found("sim:llama3-70b/h200x2/fp8"), "h200");
}

TEST(Gpu, ProductNamesOfTheDriverLeadToTheirOwnCard) {
    EXPECT_EQ(found("NVIDIA H100 NVL"), "h100-nvl");
    EXPECT_EQ(found("NVIDIA H100 80GB HBM3"), "h100-sxm");
    EXPECT_EQ(found("NVIDIA GeForce RTX 3090"), "rtx-3090");
    EXPECT_EQ(found("NVIDIA A100 80GB PCIe"), "a100-80gb-pcie");
    EXPECT_EQ(found("NVIDIA A100-PCIE-40GB"), "a100-40gb-pcie");
    EXPECT_EQ(found("NVIDIA A100-SXM4-40GB"), "a100-40gb");
    EXPECT_EQ(found("NVIDIA A100-SXM4-80GB"), "a100-80gb");
    EXPECT_EQ(found("NVIDIA H200"), "h200");
    EXPECT_EQ(found("NVIDIA B200"), "b200");
    EXPECT_EQ(found("NVIDIA L4"), "l4");
    EXPECT_EQ(found("NVIDIA A10"), "a10");
    EXPECT_EQ(found("NVIDIA GeForce RTX 5090"), "rtx-5090");
    EXPECT_EQ(found("NVIDIA GeForce RTX 3080"), "rtx-3080");
    EXPECT_EQ(found("NVIDIA H20"), "h20");
    EXPECT_EQ(found("Tesla V100-SXM2-32GB"), "v100-32gb");
    EXPECT_EQ(found("Tesla V100-SXM2-16GB"), "v100-16gb");
}

TEST(Gpu, EveryCardNamesTheLinkToOtherGpusAndItsSpeed) {
    for (const std::string& name : known_gpus()) {
        const GpuCard card = gpu_card(name);
        EXPECT_FALSE(card.link.empty()) << name;
        ASSERT_TRUE(card.link_bytes_per_s) << name;
        EXPECT_EQ(card.link.starts_with("PCIe"), *card.link_bytes_per_s < 100e9) << name;
    }
    EXPECT_EQ(gpu_card("a100-80gb").link, "NVLink 3");
    EXPECT_EQ(gpu_card("a100-80gb-pcie").link, "PCIe 4.0");
}

TEST(Gpu, AVariantWithoutACardOfItsOwnHasNone) {
    EXPECT_EQ(found("NVIDIA H200 NVL"), "nothing");
    EXPECT_EQ(found("NVIDIA GeForce RTX 3090 Ti"), "nothing");
    EXPECT_EQ(found("NVIDIA GeForce RTX 4090 D"), "nothing");
    EXPECT_EQ(found("NVIDIA GeForce RTX 4090 Laptop GPU"), "nothing");
    EXPECT_EQ(found("NVIDIA H100 80GB HBM3 MIG 1g.10gb"), "nothing");
    EXPECT_EQ(found("NVIDIA A100-SXM-64GB"), "nothing");
    EXPECT_EQ(found("NVIDIA H100 96GB HBM3"), "nothing");
    EXPECT_EQ(found("NVIDIA H800"), "nothing");
}

TEST(Gpu, ADatasheetsBandwidthIsNotRoundedDown) {
    EXPECT_GE(gpu_card("h100-pcie").memory_bytes_per_s, 1593e6 * 2 * 5120 / 8);
    EXPECT_GE(gpu_card("h100-nvl").memory_bytes_per_s, 2619e6 * 2 * 6016 / 8);
    EXPECT_GE(gpu_card("rtx-3090").memory_bytes_per_s, 9751e6 * 2 * 384 / 8);
    EXPECT_GE(gpu_card("a100-80gb").memory_bytes_per_s, 1593e6 * 2 * 5120 / 8);
    EXPECT_GE(gpu_card("a100-40gb").memory_bytes_per_s, 1215e6 * 2 * 5120 / 8);
}

TEST(Gpu, IsNotFoundInTheNamesOfOtherThings) {
    EXPECT_EQ(found("AMD EPYC"), "nothing");
    EXPECT_EQ(found("Intel(R) Xeon(R) Platinum 8480+"), "nothing");
    EXPECT_EQ(found("NVIDIA GH200 480GB"), "nothing");
    EXPECT_EQ(found(""), "nothing");
    EXPECT_EQ(found("sim:ideal"), "nothing");
    EXPECT_EQ(found("sim:llama3-70b/h900x2/fp8"), "nothing");
    EXPECT_EQ(found("h100 and l4"), "nothing");
}

TEST(Gpu, EveryCardIsFoundByItsNameAliasesAndTitle) {
    ASSERT_GE(known_gpus().size(), 12u);
    for (const std::string& name : known_gpus()) {
        const GpuCard card = gpu_card(name);
        EXPECT_EQ(card.name, name);
        EXPECT_EQ(found(card.title.c_str()), name);
        for (const std::string& alias : card.aliases) EXPECT_EQ(found(alias.c_str()), name);
        EXPECT_FALSE(card.source.empty());
        EXPECT_GT(card.memory_bytes_per_s, 1e11);
        EXPECT_LT(card.memory_bytes_per_s, 1e13);
        EXPECT_GE(card.memory_bytes, 1e10);
        EXPECT_GT(card.reported_bytes, .95 * card.memory_bytes) << name;
        EXPECT_LT(card.reported_bytes, 1.0738 * card.memory_bytes) << name;
        EXPECT_TRUE(flops_for_weights(card, "bf16").has_value()) << name;
    }
}

TEST(Gpu, UnknownNamesListTheKnownOnes) {
    try {
        gpu_card("voodoo2");
        ADD_FAILURE() << "accepted";
    } catch (const UsageError& error) {
        EXPECT_NE(std::string(error.what()).find("voodoo2"), std::string::npos);
        EXPECT_NE(std::string(error.what()).find("h200"), std::string::npos);
    }
}

TEST(Gpu, SpecsCarryACount) {
    EXPECT_EQ(parse_gpu_spec("h200x2"), (GpuSpec{"h200", 2}));
    EXPECT_EQ(parse_gpu_spec("h200"), (GpuSpec{"h200", 1}));
    EXPECT_EQ(parse_gpu_spec("h100x8"), (GpuSpec{"h100-sxm", 8}));
    EXPECT_EQ(parse_gpu_spec("mi300x"), (GpuSpec{"mi300x", 1}));
    EXPECT_EQ(parse_gpu_spec("mi300xx4"), (GpuSpec{"mi300x", 4}));
    EXPECT_EQ(parse_gpu_spec(" NVIDIA H100 80GB HBM3 x2 "), (GpuSpec{"h100-sxm", 2}));
    EXPECT_EQ(parse_gpu_spec("mi300x4"), (GpuSpec{"mi300x", 4}));
    EXPECT_EQ(parse_gpu_spec("rtx6090"), (GpuSpec{"rtx6090", 1}));
    EXPECT_EQ(parse_gpu_spec("rtx4090"), (GpuSpec{"rtx-4090", 1}));
    EXPECT_EQ(parse_gpu_spec("something else"), (GpuSpec{"something else", 1}));
    EXPECT_THROW(parse_gpu_spec(""), UsageError);
    EXPECT_THROW(parse_gpu_spec("  "), UsageError);
    EXPECT_THROW(parse_gpu_spec("h200x0"), UsageError);
}

TEST(Gpu, UsesTheFastestArithmeticThatWeightsAllow) {
    const GpuCard h200 = gpu_card("h200");
    EXPECT_EQ(flops_for_weights(h200, "bf16")->per_s, 989.4e12);
    EXPECT_EQ(flops_for_weights(h200, "fp8")->dtype, "fp8");
    EXPECT_EQ(flops_for_weights(h200, "mxfp4")->dtype, "fp8");
    EXPECT_EQ(flops_for_weights(gpu_card("b200"), "mxfp4")->dtype, "fp4");
    EXPECT_EQ(flops_for_weights(gpu_card("a100"), "fp8")->dtype, "bf16");
    EXPECT_EQ(flops_for_weights(gpu_card("t4"), "bf16")->dtype, "f16");
    EXPECT_EQ(flops_for_weights(gpu_card("a100"), "q4_1")->dtype, "int8");
}

TEST(GpuCards, unknown_hardware_is_refused_with_the_names_that_are_similar) {
    for (const char* const known : {"h200x2", "NVIDIA H100 80GB HBM3", "other:mi325x", "AMD EPYC 7B13"})
        EXPECT_NO_THROW(require_known_gpu(known, "AMD EPYC 7B13")) << known;
    const auto refusal = [](const char* text) {
        try {
            require_known_gpu(text, "AMD EPYC 7B13");
        } catch (const UsageError& error) {
            return std::string(error.what());
        }
        return std::string("(accepted)");
    };
    EXPECT_NE(refusal("h2000x8").find("Did you mean"), std::string::npos);
    EXPECT_NE(refusal("h2000x8").find("h200"), std::string::npos);
    EXPECT_NE(refusal("voodoo2").find("There are cards of a10"), std::string::npos);
    EXPECT_EQ(refusal("voodoo2").find("Did you mean"), std::string::npos);
}

}  // namespace
}  // namespace paretoken::cards
