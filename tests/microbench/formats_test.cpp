// Compares the names that kernels write into rows, CPU and GPU, with the one table of number formats.
#include "core/formats.h"

#include <gtest/gtest.h>

#include <string>

#include "microbench/cpu/attention/attention.h"
#include "microbench/cpu/formats.h"
#include "microbench/gpu/attention/paged.h"
#include "microbench/gpu/formats/dtypes.h"
#include "microbench/gpu/gemm/gemm_forms.h"

namespace paretoken::microbench {
namespace {

TEST(RowFormats, cpu_kernels_stream_the_bytes_that_the_table_counts) {
    for (const WeightType type : kWeightTypes) {
        const NumberFormat* format = find_format(name_of(type));
        ASSERT_NE(format, nullptr) << name_of(type);
        EXPECT_EQ(format->name, name_of(type));
        EXPECT_EQ(static_cast<double>(block_bytes(type)) / static_cast<double>(block_values(type)),
                  bytes_per_value(*format))
            << name_of(type);
    }
    for (const KvType type : kKvTypes) {
        const NumberFormat* format = find_format(name_of(type));
        ASSERT_NE(format, nullptr) << name_of(type);
        EXPECT_EQ(static_cast<double>(KvShape{.type = type}.value_bytes()), bytes_per_value(*format));
    }
}

TEST(RowFormats, every_name_of_a_gpu_kernel_is_a_spelling_of_the_table) {
    for (const gpu::WeightFormat type : gpu::kWeightFormats) {
        const NumberFormat* format = find_format(name_of(type));
        ASSERT_NE(format, nullptr) << name_of(type);
        EXPECT_EQ(static_cast<int>(8 * bytes_per_value(*format)), bits_of(type)) << name_of(type);
    }
    for (const gpu::KvFormat type :
         {gpu::KvFormat::bf16, gpu::KvFormat::fp16, gpu::KvFormat::fp8, gpu::KvFormat::int8}) {
        const NumberFormat* format = find_format(name_of(type));
        ASSERT_NE(format, nullptr) << name_of(type);
        EXPECT_EQ(bytes_per_value(*format), bytes_of(type)) << name_of(type);
    }
    for (const gpu::GemmForm form : gpu::kGemmForms) {
        const NumberFormat* format = find_format(name_of(form));
        ASSERT_NE(format, nullptr) << name_of(form);
        EXPECT_EQ(static_cast<int>(8 * bytes_per_value(*format)), bits_of(form)) << name_of(form);
    }
    EXPECT_EQ(format_name(name_of(gpu::WeightFormat::fp16)), "f16");
    EXPECT_EQ(format_name(name_of(gpu::KvFormat::fp16)), "f16");
}

}  // namespace
}  // namespace paretoken::microbench
