#include "microbench/gpu/gemm/gemm_suite.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace paretoken::microbench::gpu {
namespace {

constexpr int kHopper = 90;
constexpr int kBlackwell = 100;

std::set<std::string> names_of(const std::vector<GemmRow>& rows) {
    std::set<std::string> names;
    for (const GemmRow& row : rows) names.insert(row.name);
    return names;
}

std::size_t count_with(const std::vector<GemmRow>& rows, std::string_view part) {
    return static_cast<std::size_t>(std::count_if(rows.begin(), rows.end(), [&](const GemmRow& row) {
        return row.name.find(part) != std::string::npos;
    }));
}

const GemmRow* row_named(const std::vector<GemmRow>& rows, std::string_view name) {
    const auto found =
        std::find_if(rows.begin(), rows.end(), [&](const GemmRow& r) { return r.name == name; });
    return found == rows.end() ? nullptr : &*found;
}

TEST(GemmSuite, names_are_distinct_and_shapes_fit_whatever_was_asked_for) {
    for (const int capability : {80, 89, 90, 100, 120}) {
        for (const GpuSettings& settings :
             {GpuSettings{}, GpuSettings{.quick = true}, GpuSettings{.full = true},
              GpuSettings{.verify_only = true}, GpuSettings{.models = model_shapes()}}) {
            const auto rows = gemm_suite(settings, capability);
            EXPECT_EQ(names_of(rows).size(), rows.size());
            EXPECT_FALSE(rows.empty());
            for (const GemmRow& row : rows) {
                EXPECT_TRUE(fits(row.form, row.shape)) << row.name;
                const std::string axis = "/w:" + std::string(name_of(row.form)) + "/";
                EXPECT_NE((row.name + "/").find(axis), std::string::npos) << row.name;
            }
        }
    }
}

TEST(GemmSuite, a_prompt_is_multiplied_at_three_lengths_in_bf16_and_fp8) {
    const auto rows = gemm_suite({}, kHopper);
    for (const char* const op : {"qkv", "o", "gate_up", "down"}) {
        for (const char* const form : {"bf16", "fp8"}) {
            for (const char* const tokens : {"512", "2048", "8192"}) {
                const std::string name = std::string("prefill/gemm/engine:lib/preset:llama3-8b/op:") + op +
                                         "/w:" + form + "/tokens:" + tokens;
                const GemmRow* const row = row_named(rows, name);
                ASSERT_NE(row, nullptr) << name;
                EXPECT_TRUE(row->expected);
                EXPECT_FALSE(row->lack);
            }
        }
    }
    EXPECT_EQ(row_named(rows, "prefill/gemm/engine:lib/preset:llama3-8b/op:gate_up/w:fp8/tokens:512")->shape,
              (GemmShape{2 * 14336, 4096, 512}));
    EXPECT_EQ(count_with(rows, "prefill/gemm/engine:lib/preset:llama3-8b/op:lm_head"), 0u);
}

TEST(GemmSuite, each_form_that_people_compare_has_a_row_or_one_that_says_why_not) {
    for (const int capability : {80, 89, 90, 100, 120}) {
        const auto rows = gemm_suite({}, capability);
        for (const GemmForm form : kGemmForms) {
            const std::string name = std::string("prefill/gemm/engine:lib/preset:llama3-8b/op:gate_up/w:") +
                                     std::string(name_of(form)) + "/tokens:2048";
            const GemmRow* const row = row_named(rows, name);
            ASSERT_NE(row, nullptr) << name;
            EXPECT_EQ(row->lack.has_value(), offer_of(form, capability) == Offer::none);
            EXPECT_EQ(row->expected, offer_of(form, capability) == Offer::documented);
        }
        const auto lacking = static_cast<std::size_t>(
            std::count_if(rows.begin(), rows.end(), [](const GemmRow& row) { return row.lack.has_value(); }));
        EXPECT_LE(lacking, std::size(kGemmForms))
            << "each form has at most one row that says why it is missing";
    }
    const auto rows = gemm_suite({}, kHopper);
    EXPECT_EQ(
        *row_named(rows, "prefill/gemm/engine:lib/preset:llama3-8b/op:gate_up/w:nvfp4/tokens:2048")->lack,
        "w:nvfp4 needs sm_100, this GPU has sm_90");
}

TEST(GemmSuite, the_ceiling_of_a_form_is_there_wherever_its_rows_are) {
    for (const int capability : {80, 89, 90, 100, 120}) {
        for (const bool full : {false, true}) {
            const auto rows = gemm_suite({.full = full}, capability);
            for (const GemmRow& row : rows) {
                if (row.lack) continue;
                const GemmRow* const ceiling =
                    row_named(rows, "ceiling/flops/lib/w:" + std::string(name_of(row.form)));
                ASSERT_NE(ceiling, nullptr) << row.name;
                EXPECT_FALSE(ceiling->streams);
            }
        }
    }
}

TEST(GemmSuite, fp8_has_a_ceiling_with_fast_accumulation_where_there_is_such_a_thing) {
    const std::string name = "ceiling/flops/lib/w:fp8/accum:fast";
    for (const int capability : {89, 90}) {
        const auto rows = gemm_suite({}, capability);
        const GemmRow* const fast = row_named(rows, name);
        ASSERT_NE(fast, nullptr);
        EXPECT_TRUE(fast->fast_accumulation);
        EXPECT_EQ(fast->shape, row_named(rows, "ceiling/flops/lib/w:fp8")->shape);
        EXPECT_EQ(
            std::count_if(rows.begin(), rows.end(), [](const GemmRow& r) { return r.fast_accumulation; }), 1);
    }
    for (const int capability : {80, 100, 120})
        EXPECT_EQ(row_named(gemm_suite({}, capability), name), nullptr) << capability;
    EXPECT_GT(fast_result_bound(GemmForm::fp8, 8192), result_bound(GemmForm::fp8));
    EXPECT_LT(fast_result_bound(GemmForm::fp8, 8192), .05);
}

TEST(GemmSuite, the_default_is_small_and_full_has_all_of_it) {
    const auto usual = gemm_suite({}, kBlackwell);
    const auto full = names_of(gemm_suite({.full = true}, kBlackwell));
    const auto quick = gemm_suite({.quick = true}, kBlackwell);
    // At about 0.6 s each, these rows take 40 s of the three minutes that all rows may take.
    EXPECT_LE(usual.size(), 60u);
    EXPECT_LE(quick.size(), 6u);
    for (const GemmRow& row : usual) EXPECT_TRUE(full.contains(row.name)) << row.name;
    for (const GemmRow& row : quick) EXPECT_TRUE(names_of(usual).contains(row.name)) << row.name;
    for (const std::string batch : {"1", "32"})
        EXPECT_TRUE(full.contains("gemm_lib/preset:llama3-8b/op:qkv/w:bf16/batch:" + batch))
            << "comparisons with peers need this row";
}

TEST(GemmSuite, every_form_is_verified_at_a_shape_that_fills_no_tile) {
    const auto rows = gemm_suite({.verify_only = true}, kBlackwell);
    for (const GemmForm form : kGemmForms) {
        std::vector<GemmRow> of_form;
        std::copy_if(rows.begin(), rows.end(), std::back_inserter(of_form),
                     [&](const GemmRow& row) { return row.form == form; });
        ASSERT_EQ(of_form.size(), 2u);
        const GemmShape& ragged = of_form.back().shape;
        EXPECT_NE(ragged.rows % 128, 0u);
        EXPECT_NE(ragged.tokens % 128, 0u);
        EXPECT_NE(ragged.k % 128, 0u);
        EXPECT_FALSE(of_form.back().expected);
    }
    // mxfp8 and nvfp4 are missing and have one row each; fp8 also has rows with fast accumulation.
    EXPECT_EQ(gemm_suite({.verify_only = true}, kHopper).size(), 2 * std::size(kGemmForms) - 2 + 2);
}

TEST(GemmSuite, experts_have_no_row_since_each_sees_a_part_of_a_prompt) {
    const auto rows = gemm_suite({.models = {model_shape("gpt-oss-120b")}}, kHopper);
    EXPECT_EQ(count_with(rows, "prefill/gemm/engine:lib/preset:gpt-oss-120b/op:moe_"), 0u);
    EXPECT_GT(count_with(rows, "prefill/gemm/engine:lib/preset:gpt-oss-120b/op:qkv"), 0u);
}

}  // namespace
}  // namespace paretoken::microbench::gpu
