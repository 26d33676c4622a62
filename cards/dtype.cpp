#include "cards/dtype.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"

namespace paretoken::cards {
namespace {

// GGML's block layouts as of ggml.h, 2025; fp8, mxfp4 and nvfp4 after the OCP microscaling formats and
// NVIDIA's.
constexpr std::array kDtypes{
    Dtype{"f32", 1, 4, 0},         Dtype{"f16", 1, 2, 1},         Dtype{"bf16", 1, 2, 30},
    Dtype{"f64", 1, 8, 28},        Dtype{"fp8", 1, 1, -1},        Dtype{"int8", 1, 1, 24},
    Dtype{"i16", 1, 2, 25},        Dtype{"i32", 1, 4, 26},        Dtype{"i64", 1, 8, 27},
    Dtype{"int4", 2, 1, -1},       Dtype{"mxfp4", 32, 17, 39},    Dtype{"nvfp4", 16, 9, -1},
    Dtype{"q4_0", 32, 18, 2},      Dtype{"q4_1", 32, 20, 3},      Dtype{"q5_0", 32, 22, 6},
    Dtype{"q5_1", 32, 24, 7},      Dtype{"q8_0", 32, 34, 8},      Dtype{"q8_1", 32, 36, 9},
    Dtype{"q2_k", 256, 84, 10},    Dtype{"q3_k", 256, 110, 11},   Dtype{"q4_k", 256, 144, 12},
    Dtype{"q5_k", 256, 176, 13},   Dtype{"q6_k", 256, 210, 14},   Dtype{"q8_k", 256, 292, 15},
    Dtype{"iq2_xxs", 256, 66, 16}, Dtype{"iq2_xs", 256, 74, 17},  Dtype{"iq3_xxs", 256, 98, 18},
    Dtype{"iq1_s", 256, 50, 19},   Dtype{"iq4_nl", 32, 18, 20},   Dtype{"iq3_s", 256, 110, 21},
    Dtype{"iq2_s", 256, 82, 22},   Dtype{"iq4_xs", 256, 136, 23}, Dtype{"iq1_m", 256, 56, 29},
    Dtype{"tq1_0", 256, 54, 34},   Dtype{"tq2_0", 256, 66, 35},
};

constexpr std::array<std::pair<std::string_view, std::string_view>, 17> kAliases{{
    {"float32", "f32"},
    {"fp32", "f32"},
    {"float16", "f16"},
    {"fp16", "f16"},
    {"half", "f16"},
    {"bfloat16", "bf16"},
    {"float8_e4m3fn", "fp8"},
    {"fp8_e4m3", "fp8"},
    {"fp8_e5m2", "fp8"},
    {"f8_e4m3", "fp8"},
    {"w8a8", "int8"},
    {"w8a16", "int8"},
    {"w4a16", "int4"},
    {"awq", "int4"},
    {"i8", "int8"},
    {"float64", "f64"},
    {"float8_e5m2", "fp8"},
}};

}  // namespace

std::span<const Dtype> dtypes() {
    return kDtypes;
}

const Dtype* dtype_named(std::string_view name) {
    std::string lower(name);
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    for (const auto& [alias, canonical] : kAliases)
        if (lower == alias) lower = canonical;
    for (const Dtype& dtype : kDtypes)
        if (dtype.name == lower) return &dtype;
    return nullptr;
}

const Dtype* dtype_of_ggml(int ggml_type) {
    for (const Dtype& dtype : kDtypes)
        if (ggml_type >= 0 && dtype.ggml_type == ggml_type) return &dtype;
    return nullptr;
}

const Dtype& require_dtype(std::string_view name) {
    if (const Dtype* dtype = dtype_named(name)) return *dtype;
    std::string known;
    for (const Dtype& dtype : kDtypes) known += (known.empty() ? "" : ", ") + std::string(dtype.name);
    throw UsageError(fmt::format("unknown data type \"{}\"; known are {}", name, known));
}

}  // namespace paretoken::cards
