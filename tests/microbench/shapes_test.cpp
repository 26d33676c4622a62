#include "microbench/shapes.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace paretoken::microbench {
namespace {

TEST(Shapes, a_layer_of_each_model_has_the_parameters_its_config_gives) {
    const auto parameters = [](const ModelShape& model) {
        std::size_t sum = 0;
        for (const MatrixShape& matrix : model.layer) sum += matrix.rows * matrix.k;
        return sum;
    };
    // hidden² · (1 + q : kv share · 2 + 1) + 3 · hidden · intermediate
    EXPECT_EQ(parameters(model_shape("smollm2-135m")), 576 * 576 * 2 + 2 * 576 * 192 + 3 * 576 * 1536);
    EXPECT_EQ(parameters(model_shape("llama3-8b")), 4096 * 4096 * 2 + 2 * 4096 * 1024 + 3 * 4096 * 14336);
}

TEST(Shapes, every_matrix_fits_the_block_formats_and_heads_divide) {
    for (const ModelShape& model : model_shapes()) {
        for (const MatrixShape& matrix : model.layer) EXPECT_EQ(matrix.k % 32, 0u) << model.name << matrix.op;
        EXPECT_EQ(model.heads.query_heads % model.heads.kv_heads, 0u);
    }
}

TEST(Shapes, an_unknown_preset_names_the_known_ones) {
    try {
        model_shape("gpt-5");
        FAIL();
    } catch (const UsageError& error) {
        EXPECT_NE(std::string(error.what()).find("smollm2-135m, llama3-8b"), std::string::npos);
    }
}

}  // namespace
}  // namespace paretoken::microbench
