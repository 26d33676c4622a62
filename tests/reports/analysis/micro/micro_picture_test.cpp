#include "reports/analysis/micro/micro_picture.h"

#include <gtest/gtest.h>

#include <cmath>

#include "reports/analysis/micro/micro_results.h"
#include "reports/analysis/micro/micro_rows.h"

namespace paretoken::reports {
namespace {

MicroRow gpu_row(const std::string& name, double bytes_per_s, double median_s = 1e-3) {
    MicroRow row{.name = name, .device = "gpu0"};
    row.median_s = median_s;
    row.bytes_per_s = bytes_per_s;
    return row;
}

MicroRow flops_row(const std::string& name, double flops_per_s) {
    MicroRow row{.name = name, .device = "gpu0"};
    row.median_s = 1e-3;
    row.flops_per_s = flops_per_s;
    return row;
}

const std::string kGpu = "/backend:gpu/mode:ring";

MicroResults h200() {
    MicroResults micro;
    micro.device = {.id = "gpu0",
                    .backend = MicroBackend::gpu,
                    .name = "NVIDIA H200",
                    .card = "h200",
                    .driver = "580.82"};
    micro.date = "2026-11-21T09:40:00Z";
    micro.read_bytes_per_s = MeasuredFigure{4.4e12, "ceiling/read"};
    micro.library_flops_per_s = {{"bf16", {790e12, "ceiling/flops/lib/w:bf16"}}};
    MicroRow invalid = gpu_row("weights/preset:llama3-8b/op:qkv/w:bf16/batch:32" + kGpu, 3e12);
    invalid.valid = false;
    invalid.label = "not verified";
    MicroRow layer = gpu_row("layer/preset:llama3-8b/w:bf16/kv:bf16/batch:1/ctx:4096" + kGpu, 3e12, 1e-4);
    layer.part_s = {{"attention", 2e-5}, {"norm", 1e-6}, {"down", 3e-5}, {"qkv", 1e-5}, {"new_op", 1e-6}};
    layer.gap_s = 5e-6;
    micro.rows = {
        gpu_row("ceiling/read/mib:1024/access:staged" + kGpu, 4.4e12),
        gpu_row("weights/preset:llama3-8b/op:qkv/w:bf16/batch:1" + kGpu, 4e12, 1e-3),
        gpu_row("weights/preset:llama3-8b/op:o/w:bf16/batch:1" + kGpu, 2e12, 3e-3),
        gpu_row("weights/preset:llama3-70b/op:o/w:bf16/batch:1" + kGpu, 1e12),
        gpu_row("weights/preset:llama3-8b/op:qkv/w:fp16/batch:1" + kGpu, 3.9e12),
        invalid,
        gpu_row("attention/preset:llama3-8b/kv:bf16/batch:32/ctx:4096/page:16/layout:nhd/order:random" + kGpu,
                3.5e12),
        gpu_row("attention/preset:llama3-8b/kv:bf16/batch:32/ctx:4096/page:16/layout:nhd/order:random/"
                "window:128" +
                    kGpu,
                9e12),
        gpu_row("mla/preset:deepseek-v3-tp8/kv:bf16/batch:64/ctx:8192/page:64/order:random" + kGpu, 3.1e12),
        flops_row("prefill/gemm/engine:lib/preset:llama3-8b/op:gate_up/w:bf16/tokens:2048" + kGpu, 600e12),
        layer};
    return micro;
}

const Picture& picture(const DevicePicture& device, const std::string& id) {
    for (const Picture& one : device.pictures)
        if (one.id == id) return one;
    throw std::out_of_range(id);
}

TEST(MicroPicture, DrawsTheBestKernelOfEachFormatSummedOverALayersMatrices) {
    const DevicePicture device = picture_of(h200());
    EXPECT_EQ(device.title, "NVIDIA H200 (gpu0)");
    const Picture& weights = picture(device, "weights");
    ASSERT_EQ(weights.series.size(), 2u);
    EXPECT_EQ(weights.series[0].name, "bf16");
    EXPECT_EQ(weights.series[1].name, "f16");
    ASSERT_EQ(weights.series[0].points.size(), 2u);
    const PicturePoint& point = weights.series[0].points[0];
    EXPECT_EQ(point.x, 1);
    EXPECT_NEAR(point.y, (4e12 * 1e-3 + 2e12 * 3e-3) / 4e-3 / 1e9, 1e-6);
    EXPECT_EQ(point.row, "weights/preset:llama3-8b/op:*/w:bf16/batch:1/backend:gpu/mode:ring");
    ASSERT_EQ(weights.lines.size(), 1u);
    EXPECT_EQ(weights.lines[0].y, 4400);
}

TEST(MicroPicture, KeepsARowThatIsNotValidAndMarksIt) {
    const DevicePicture device = picture_of(h200());
    const PicturePoint& point = picture(device, "weights").series[0].points[1];
    EXPECT_FALSE(point.valid);
    EXPECT_EQ(point.note, "not verified");
    MicroResults both = h200();
    both.rows.push_back(gpu_row("weights/preset:llama3-70b/op:qkv/w:bf16/batch:32" + kGpu, 1e12));
    EXPECT_TRUE(picture(picture_of(both), "weights").series[0].points[1].valid) << "a valid row comes first";
}

TEST(MicroPicture, LeavesVariantsOfAttentionOutAndNamesBatchesAndLatentCaches) {
    const DevicePicture device = picture_of(h200());
    const Picture& attention = picture(device, "attention");
    ASSERT_EQ(attention.series.size(), 2u);
    EXPECT_EQ(attention.series[0].name, "bf16, batch 32");
    ASSERT_EQ(attention.series[0].points.size(), 1u);
    EXPECT_EQ(attention.series[0].points[0].y, 3500);
    EXPECT_EQ(attention.series[1].name, "latent bf16, batch 64");
}

TEST(MicroPicture, NamesSeriesInTheOrderOfTheirNumbers) {
    MicroResults results;
    for (const int batch : {1, 2, 16, 128})
        results.rows.push_back(gpu_row(
            "attention/preset:llama3-8b/kv:bf16/batch:" + std::to_string(batch) + "/ctx:4096" + kGpu, 1e12));
    const DevicePicture device = picture_of(results);
    const Picture& attention = picture(device, "attention");
    std::vector<std::string> names;
    for (const PictureSeries& series : attention.series) names.push_back(series.name);
    EXPECT_EQ(names, (std::vector<std::string>{"bf16, batch 1", "bf16, batch 2", "bf16, batch 16",
                                               "bf16, batch 128"}));
}

TEST(MicroPicture, StacksALayersOperationsInTheirOrderWithWhatIsBetweenThem) {
    const DevicePicture device = picture_of(h200());
    ASSERT_EQ(device.layers.size(), 1u);
    EXPECT_EQ(device.layers[0].name, "llama3-8b bf16, KV bf16, batch 1, 4096 tokens");
    std::vector<std::string> order;
    for (const LayerOperation& operation : device.layers[0].operations) order.push_back(operation.name);
    EXPECT_EQ(order, (std::vector<std::string>{"norm", "qkv", "attention", "down", "new_op", "gaps"}));
}

TEST(MicroPicture, OfACpuDrawsTheArithmeticOfItsBatches) {
    MicroResults micro;
    micro.device = {.id = "cpu", .name = "AMD EPYC", .cores = 2};
    micro.flops_per_s = {{"bf16_dot", {1e12, "x"}}};
    MicroRow one = gpu_row("weights/w:bf16/layout:packed/batch:4/backend:cpu/threads:2", 40e9);
    one.flops_per_s = 160e9;
    micro.rows = {one};
    const DevicePicture device = picture_of(micro);
    EXPECT_EQ(device.title, "AMD EPYC (2 cores)");
    EXPECT_EQ(picture(device, "prefill").x_title, "Batch");
    EXPECT_EQ(picture(device, "prefill").y_title, "GFLOP/s");
    EXPECT_NEAR(picture(device, "prefill").series[0].points[0].y, 160, 1e-9);
    EXPECT_EQ(picture(device, "prefill").lines[0].y, 1000);
    EXPECT_EQ(device.pictures.size(), 2u) << "no attention was measured";
}

TEST(MicroPicture, HasThePointsAndTheCeilingsOfAnArithmeticChartInOneUnit) {
    MicroResults gpu = h200();
    gpu.flops_per_s = {{"f32_fma", {60e12, "x"}}};
    gpu.instruction_flops_per_s = {{"bf16", {650e12, "x"}}};
    const DevicePicture device = picture_of(gpu);
    const Picture& prefill = picture(device, "prefill");
    EXPECT_EQ(prefill.y_title, "TFLOP/s");
    EXPECT_NEAR(prefill.series[0].points[0].y, 600, 1e-9);
    ASSERT_EQ(prefill.lines.size(), 3u);
    EXPECT_EQ(prefill.lines[0].y, 60);
    EXPECT_EQ(prefill.lines[1].y, 790);
    EXPECT_EQ(prefill.lines[2].y, 650);

    MicroResults cpu;
    cpu.device = {.id = "cpu", .name = "AMD EPYC", .cores = 2};
    cpu.library_flops_per_s = {{"bf16", {2e12, "x"}}};
    MicroRow row = gpu_row("weights/w:bf16/layout:packed/batch:4/backend:cpu/threads:2", 40e9);
    row.flops_per_s = 160e9;
    cpu.rows = {row};
    const DevicePicture of_cpu = picture_of(cpu);
    EXPECT_EQ(picture(of_cpu, "prefill").y_title, "GFLOP/s");
    EXPECT_EQ(picture(of_cpu, "prefill").lines[0].y, 2000);
}

TEST(MicroPicture, ListsCeilingsInWords) {
    const DevicePicture device = picture_of(h200());
    ASSERT_EQ(device.ceilings.size(), 1u);
    EXPECT_EQ(device.ceilings[0].name, "read, staged, 1024 MiB");
    EXPECT_EQ(device.ceilings[0].value, 4400);
    EXPECT_EQ(device.ceilings[0].unit, "GB/s");
    MicroResults twice = h200();  // probes before and after a sweep
    twice.rows.push_back(gpu_row("ceiling/read/mib:1024/access:staged" + kGpu, 4.5e12));
    ASSERT_EQ(picture_of(twice).ceilings.size(), 1u);
    EXPECT_EQ(picture_of(twice).ceilings[0].value, 4500);
}

TEST(MicroPicture, DrawsTwoResultsBesideEachOther) {
    MicroResults second = h200();
    second.device.name = "NVIDIA H100 NVL";
    second.read_bytes_per_s->value = 3.6e12;
    const DevicePicture both = picture_of_both(h200(), second);
    EXPECT_EQ(both.title, "NVIDIA H200 (gpu0), first, beside NVIDIA H100 NVL (gpu0), second");
    const Picture& weights = picture(both, "weights");
    ASSERT_EQ(weights.series.size(), 4u);
    EXPECT_EQ(weights.series[0].name, "bf16, first");
    EXPECT_EQ(weights.series[1].name, "bf16, second");
    ASSERT_EQ(weights.lines.size(), 2u);
    EXPECT_EQ(weights.lines[1].name, "read ceiling, second");
    EXPECT_EQ(both.layers.size(), 2u);
}

}  // namespace
}  // namespace paretoken::reports
