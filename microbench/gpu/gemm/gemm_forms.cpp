#include "microbench/gpu/gemm/gemm_forms.h"

#include <fmt/format.h>

#include <bit>
#include <vector>

#include "microbench/gpu/weights/weights_reference.h"

namespace paretoken::microbench::gpu {
namespace {

/// A form is offered on compute capabilities ≥ `least`; cuBLASLt documents its kernels from `least` to
/// `last_documented`.
struct Support {
    GemmForm form;
    std::string_view name;
    int least;
    int last_documented;
};
constexpr int kAny = 999;
constexpr Support kSupport[] = {
    {GemmForm::bf16, "bf16", 80, kAny},       {GemmForm::fp8, "fp8", 89, kAny},
    {GemmForm::fp8_rows, "fp8_rows", 90, 90}, {GemmForm::fp8_blocks, "fp8_blocks", 90, 90},
    {GemmForm::mxfp8, "mxfp8", 100, 109},     {GemmForm::nvfp4, "nvfp4", 100, 109},
    {GemmForm::int8, "int8", 80, 99},
};

const Support& support_of(GemmForm form) {
    return kSupport[static_cast<std::size_t>(form)];
}

double operand_bytes(GemmForm form, Scaling scaling, std::size_t outer, std::size_t k) {
    const auto scales = static_cast<double>(scale_rows(scaling, outer) * scale_columns(scaling, k));
    return static_cast<double>(outer) * static_cast<double>(k) * bits_of(form) / 8 +
           scales * static_cast<double>(scale_bytes(scaling));
}

}  // namespace

std::string_view name_of(GemmForm form) {
    return support_of(form).name;
}

Offer offer_of(GemmForm form, int capability) {
    const Support& support = support_of(form);
    if (capability < support.least) return Offer::none;
    return capability <= support.last_documented ? Offer::documented : Offer::to_be_asked;
}

std::string lack_of(GemmForm form, int capability) {
    return fmt::format("w:{} needs sm_{}, this GPU has sm_{}", name_of(form), support_of(form).least,
                       capability);
}

bool fits(GemmForm form, const GemmShape& shape) {
    const std::size_t k_step = form == GemmForm::nvfp4 || form == GemmForm::mxfp8 ? 32 : 16;
    const std::size_t token_step = form == GemmForm::bf16 ? 1 : 16;
    return shape.rows % 16 == 0 && shape.k % k_step == 0 && shape.tokens % token_step == 0;
}

std::optional<std::string> fault_of(GemmForm form, std::span<const std::uint32_t> words,
                                    std::span<const double> wanted, double bound) {
    if (form == GemmForm::int8) {
        for (std::size_t row = 0; row < words.size(); ++row) {
            const auto result = static_cast<std::int32_t>(words[row]);
            if (result != wanted[row])
                return fmt::format("row {}: {} instead of {}", row, result, wanted[row]);
        }
        return std::nullopt;
    }
    std::vector<float> results;
    for (const std::uint32_t word : words) {
        results.push_back(std::bit_cast<float>(word << 16));
        results.push_back(std::bit_cast<float>(word & 0xffff0000U));
    }
    const double error = worst_relative_l2(results, wanted);
    if (error <= bound) return std::nullopt;
    return fmt::format("relative error {:.2g} > {:.2g}", error, bound);
}

double weight_bytes(GemmForm form, const GemmShape& shape) {
    return operand_bytes(form, traits_of(form).weights, shape.rows, shape.k);
}

double token_bytes(GemmForm form, const GemmShape& shape) {
    return operand_bytes(form, traits_of(form).tokens, shape.tokens, shape.k);
}

}  // namespace paretoken::microbench::gpu
