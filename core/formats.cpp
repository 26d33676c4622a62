#include "core/formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/nearest.h"

namespace paretoken {
namespace {

// Sources: GGML's block layouts as of ggml.h, 2025; the OCP microscaling formats (mxfp8, mxfp4); NVIDIA's
// nvfp4; DeepSeek-V3's fp8 with a float per 128 × 128 weights. The engines that read block formats of
// integers multiply them as 8-bit integers.
constexpr std::array kFormats{
    NumberFormat{"f32", 1, 4, 0, Arithmetic::f32},
    NumberFormat{"f16", 1, 2, 1, Arithmetic::f16},
    NumberFormat{"bf16", 1, 2, 30, Arithmetic::bf16},
    NumberFormat{"f64", 1, 8, 28, Arithmetic::f64},
    NumberFormat{"fp8", 1, 1, -1, Arithmetic::fp8},
    NumberFormat{"fp8_blocks", 16384, 16388, -1, Arithmetic::fp8},
    NumberFormat{"mxfp8", 32, 33, -1, Arithmetic::fp8},
    NumberFormat{"int8", 1, 1, 24, Arithmetic::int8},
    NumberFormat{"i16", 1, 2, 25, Arithmetic::f32},
    NumberFormat{"i32", 1, 4, 26, Arithmetic::f32},
    NumberFormat{"i64", 1, 8, 27, Arithmetic::f64},
    NumberFormat{"int4", 2, 1, -1, Arithmetic::int8},
    NumberFormat{"mxfp4", 32, 17, 39, Arithmetic::fp4},
    NumberFormat{"nvfp4", 16, 9, -1, Arithmetic::fp4},
    NumberFormat{"q4_0", 32, 18, 2, Arithmetic::int8},
    NumberFormat{"q4_1", 32, 20, 3, Arithmetic::int8},
    NumberFormat{"q5_0", 32, 22, 6, Arithmetic::int8},
    NumberFormat{"q5_1", 32, 24, 7, Arithmetic::int8},
    NumberFormat{"q8_0", 32, 34, 8, Arithmetic::int8},
    NumberFormat{"q8_1", 32, 36, 9, Arithmetic::int8},
    NumberFormat{"q2_k", 256, 84, 10, Arithmetic::int8},
    NumberFormat{"q3_k", 256, 110, 11, Arithmetic::int8},
    NumberFormat{"q4_k", 256, 144, 12, Arithmetic::int8},
    NumberFormat{"q5_k", 256, 176, 13, Arithmetic::int8},
    NumberFormat{"q6_k", 256, 210, 14, Arithmetic::int8},
    NumberFormat{"q8_k", 256, 292, 15, Arithmetic::int8},
    NumberFormat{"iq2_xxs", 256, 66, 16, Arithmetic::int8},
    NumberFormat{"iq2_xs", 256, 74, 17, Arithmetic::int8},
    NumberFormat{"iq3_xxs", 256, 98, 18, Arithmetic::int8},
    NumberFormat{"iq1_s", 256, 50, 19, Arithmetic::int8},
    NumberFormat{"iq4_nl", 32, 18, 20, Arithmetic::int8},
    NumberFormat{"iq3_s", 256, 110, 21, Arithmetic::int8},
    NumberFormat{"iq2_s", 256, 82, 22, Arithmetic::int8},
    NumberFormat{"iq4_xs", 256, 136, 23, Arithmetic::int8},
    NumberFormat{"iq1_m", 256, 56, 29, Arithmetic::int8},
    NumberFormat{"tq1_0", 256, 54, 34, Arithmetic::int8},
    NumberFormat{"tq2_0", 256, 66, 35, Arithmetic::int8},
};

// fp8_rows has one scale per row and token, which is negligible. Its arithmetic and its bytes are those of
// fp8.
constexpr std::array kAliases{
    FormatAlias{"float32", "f32"},
    FormatAlias{"fp32", "f32"},
    FormatAlias{"float", "f32"},
    FormatAlias{"float16", "f16"},
    FormatAlias{"fp16", "f16"},
    FormatAlias{"half", "f16"},
    FormatAlias{"bfloat16", "bf16"},
    FormatAlias{"float8_e4m3fn", "fp8"},
    FormatAlias{"fp8_e4m3", "fp8"},
    FormatAlias{"fp8_e5m2", "fp8"},
    FormatAlias{"f8_e4m3", "fp8"},
    FormatAlias{"float8_e5m2", "fp8"},
    FormatAlias{"f8", "fp8"},
    FormatAlias{"e4m3", "fp8"},
    FormatAlias{"fp8_rows", "fp8"},
    FormatAlias{"w8a8", "int8"},
    FormatAlias{"w8a16", "int8"},
    FormatAlias{"i8", "int8"},
    FormatAlias{"w4a16", "int4"},
    FormatAlias{"awq", "int4"},
    FormatAlias{"float64", "f64"},
    FormatAlias{"int16", "i16"},
    FormatAlias{"int32", "i32"},
    FormatAlias{"int64", "i64"},
    FormatAlias{"i4", "int4"},
    // Names of llama.cpp's mixtures, by the format of most of their matrices.
    FormatAlias{"q2_k_s", "q2_k"},
    FormatAlias{"q3_k_s", "q3_k"},
    FormatAlias{"q3_k_m", "q3_k"},
    FormatAlias{"q3_k_l", "q3_k"},
    FormatAlias{"q4_k_s", "q4_k"},
    FormatAlias{"q4_k_m", "q4_k"},
    FormatAlias{"q5_k_s", "q5_k"},
    FormatAlias{"q5_k_m", "q5_k"},
    FormatAlias{"u4", "int4"},
    FormatAlias{"fp64", "f64"},
    FormatAlias{"double", "f64"},
    FormatAlias{"fp8_block", "fp8_blocks"},
};

std::string normalised(std::string_view name) {
    std::string text(name);
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return c == '-' ? '_' : static_cast<char>(std::tolower(c)); });
    return text;
}

}  // namespace

std::string_view name_of(Arithmetic arithmetic) {
    switch (arithmetic) {
        case Arithmetic::f64:
            return "f64";
        case Arithmetic::f32:
            return "f32";
        case Arithmetic::f16:
            return "f16";
        case Arithmetic::bf16:
            return "bf16";
        case Arithmetic::fp8:
            return "fp8";
        case Arithmetic::int8:
            return "int8";
        case Arithmetic::fp4:
            return "fp4";
    }
    return "";
}

std::span<const NumberFormat> number_formats() {
    return kFormats;
}

std::span<const FormatAlias> format_aliases() {
    return kAliases;
}

const NumberFormat* find_format(std::string_view name) {
    const std::string wanted = normalised(name);
    const auto alias = std::ranges::find(kAliases, wanted, &FormatAlias::alias);
    const std::string_view canonical = alias == kAliases.end() ? std::string_view(wanted) : alias->name;
    const auto found = std::ranges::find(kFormats, canonical, &NumberFormat::name);
    return found == kFormats.end() ? nullptr : &*found;
}

const NumberFormat* format_of_ggml(int ggml_type) {
    if (ggml_type < 0) return nullptr;
    const auto found = std::ranges::find(kFormats, ggml_type, &NumberFormat::ggml_type);
    return found == kFormats.end() ? nullptr : &*found;
}

const NumberFormat& number_format(std::string_view name) {
    if (const NumberFormat* format = find_format(name)) return *format;
    std::vector<std::string> names;
    std::string ending;  // formats whose names end so: nvfp4, mxfp4 for fp4
    for (const NumberFormat& format : kFormats) {
        names.emplace_back(format.name);
        if (name.size() >= 3 && format.name.ends_with(normalised(name)))
            ending += fmt::format("{}{}", ending.empty() ? "" : " or ", format.name);
    }
    if (!ending.empty())
        throw UsageError(fmt::format("unknown number format \"{}\"; did you mean {}?", name, ending));
    for (const FormatAlias& alias : kAliases) names.emplace_back(alias.alias);
    if (const std::string near = nearest(normalised(name), names); !near.empty())
        throw UsageError(fmt::format("unknown number format \"{}\"; did you mean {}?", name, near));
    std::string known;
    for (const NumberFormat& format : kFormats)
        known += fmt::format("{}{}", known.empty() ? "" : ", ", format.name);
    throw UsageError(fmt::format(
        "unknown number format \"{}\"; known are {}, and other names of these such as awq, w4a16 and q4_k_m",
        name, known));
}

std::string_view format_name(std::string_view name) {
    const NumberFormat* const format = find_format(name);
    return format == nullptr ? name : format->name;
}

}  // namespace paretoken
