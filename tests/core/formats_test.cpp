#include "core/formats.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "core/error.h"

namespace paretoken {
namespace {

std::string complaint_about(std::string_view name) {
    try {
        number_format(name);
    } catch (const UsageError& error) {
        return error.what();
    }
    return "accepted";
}

TEST(Formats, every_name_and_every_alias_leads_to_its_row_and_back) {
    std::set<std::string_view> spellings;
    for (const NumberFormat& format : number_formats()) {
        EXPECT_EQ(find_format(format.name), &format);
        EXPECT_EQ(format_name(format.name), format.name);
        EXPECT_TRUE(spellings.insert(format.name).second) << format.name << " is there twice";
    }
    for (const FormatAlias& alias : format_aliases()) {
        ASSERT_NE(find_format(alias.alias), nullptr) << alias.alias;
        EXPECT_EQ(find_format(alias.alias)->name, alias.name);
        EXPECT_EQ(find_format(find_format(alias.alias)->name), find_format(alias.alias));
        EXPECT_TRUE(spellings.insert(alias.alias).second) << alias.alias << " is there twice";
    }
    for (const std::string_view spelling : spellings) {
        std::string other(spelling);
        for (char& c : other)
            c = c == '_' ? '-' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
        EXPECT_EQ(find_format(other), find_format(spelling)) << other;
    }
}

TEST(Formats, every_gguf_type_leads_to_its_row) {
    for (const NumberFormat& format : number_formats()) {
        if (format.ggml_type >= 0) {
            EXPECT_EQ(format_of_ggml(format.ggml_type), &format) << format.name;
        }
    }
    EXPECT_EQ(format_of_ggml(-1), nullptr);
    EXPECT_EQ(format_of_ggml(1000), nullptr);
}

TEST(Formats, sizes_count_the_scales_of_blocks) {
    EXPECT_EQ(bytes_per_value(number_format("q4_1")), 20.0 / 32);
    EXPECT_EQ(bytes_per_value(number_format("q8_0")), 34.0 / 32);
    EXPECT_EQ(bytes_per_value(number_format("int4")), 0.5);
    EXPECT_EQ(8 * bytes_per_value(number_format("mxfp4")), 4.25);
    EXPECT_EQ(8 * bytes_per_value(number_format("nvfp4")), 4.5);
    EXPECT_EQ(8 * bytes_per_value(number_format("q6_k")), 6.5625);
    EXPECT_EQ(8 * bytes_per_value(number_format("fp8_blocks")), 8 + 32.0 / 16384);
}

TEST(Formats, spellings_of_frameworks_and_kernels_are_known) {
    EXPECT_EQ(number_format("BFloat16").name, "bf16");
    EXPECT_EQ(number_format("fp16").name, "f16");
    EXPECT_EQ(number_format("w4a16").name, "int4");
    EXPECT_EQ(number_format("FP8-E4M3").name, "fp8");
    EXPECT_EQ(find_format("q9"), nullptr);
    EXPECT_EQ(format_name("q9"), "q9");
}

TEST(Formats, an_unknown_format_is_refused_in_one_line_with_the_nearest_known) {
    EXPECT_EQ(complaint_about("q4_2"), "unknown number format \"q4_2\"; did you mean q4_0?");
    EXPECT_EQ(complaint_about("bfloat61"), "unknown number format \"bfloat61\"; did you mean bfloat16?");
    const std::string all = complaint_about("quaternion");
    EXPECT_NE(all.find("bf16"), std::string::npos);
    EXPECT_NE(all.find("mxfp4"), std::string::npos);
    EXPECT_NE(all.find("awq"), std::string::npos);
    EXPECT_EQ(all.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace paretoken
