#include "microbench/gpu/gemm/gemm_suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "microbench/gpu/weights/tensor_parallel.h"

namespace paretoken::microbench::gpu {
namespace {

constexpr std::size_t kCeilingSize = 8192;
constexpr GemmForm kUsual[] = {GemmForm::bf16, GemmForm::fp8};

using Sizes = std::vector<std::size_t>;
using Forms = std::span<const GemmForm>;

class Suite {
  public:
    Suite(const GpuSettings& settings, int capability) : settings_(settings), capability_(capability) {}

    void add_ceilings() {
        for (const GemmForm form : settings_.quick ? Forms(kUsual) : Forms(kGemmForms)) {
            if (offer_of(form, capability_) == Offer::none) continue;
            add(fmt::format("ceiling/flops/lib/w:{}", name_of(form)), form,
                {kCeilingSize, kCeilingSize, kCeilingSize});
            rows.back().streams = false;
            if (!has_fast_accumulation(form, capability_)) continue;
            GemmRow fast = rows.back();
            fast.name += "/accum:fast";
            fast.fast_accumulation = true;
            rows.push_back(std::move(fast));
        }
    }
    /// Adds the small shapes of a verify run. The second shape is no multiple of any tile, so that the check
    /// covers padding.
    void add_checks() {
        for (const GemmForm form : kGemmForms) {
            for (const GemmShape& shape : {GemmShape{512, 1024, 64}, GemmShape{144, 288, 80}}) {
                add(fmt::format("gemm_lib/verify/op:{}x{}/w:{}/batch:{}", shape.rows, shape.k, name_of(form),
                                shape.tokens),
                    form, shape);
                rows.back().expected = rows.back().expected && shape.rows == 512;
                if (rows.back().lack) break;
                if (!has_fast_accumulation(form, capability_)) continue;
                GemmRow fast = rows.back();
                fast.name += "/accum:fast";
                fast.fast_accumulation = true;
                rows.push_back(std::move(fast));
            }
        }
    }
    void add_decode(const ModelShape& model) {
        const Sizes batches = settings_.quick  ? Sizes{64}
                              : settings_.full ? Sizes{1, 16, 32, 64, 128, 256, 512}
                                               : Sizes{64, 256};
        for (const MatrixShape& matrix : shares_of(model, 1)) {
            if (settings_.quick && matrix.op != "gate_up") continue;
            for (const GemmForm form : settings_.full ? Forms(kGemmForms) : Forms(kUsual)) {
                if (offer_of(form, capability_) == Offer::none) continue;
                for (const std::size_t batch : batches) {
                    add(fmt::format("gemm_lib/preset:{}/op:{}/w:{}/batch:{}", model.name, matrix.op,
                                    name_of(form), batch),
                        form, {matrix.rows, matrix.k, batch});
                }
            }
        }
    }
    /// Adds the products of a prompt. It leaves out lm_head, which processes one token of a prompt, and the
    /// experts, each of which processes only a part of the tokens.
    void add_prefill(const ModelShape& model) {
        const Sizes all_tokens = settings_.quick ? Sizes{2048} : Sizes{512, 2048, 8192};
        for (const MatrixShape& matrix : model.layer) {
            const bool largest = matrix.op == "gate_up";
            if (matrix.op.starts_with("moe_") || (settings_.quick && !largest)) continue;
            for (const GemmForm form : kGemmForms) {
                const bool usual = std::find(std::begin(kUsual), std::end(kUsual), form) != std::end(kUsual);
                if (!usual && (settings_.quick || (!settings_.full && !largest))) continue;
                const bool exists = offer_of(form, capability_) != Offer::none;
                if (!exists && !largest) continue;
                for (const std::size_t tokens : all_tokens) {
                    if (tokens != 2048 && (!exists || (!usual && !settings_.full))) continue;
                    add(fmt::format("prefill/gemm/engine:lib/preset:{}/op:{}/w:{}/tokens:{}", model.name,
                                    matrix.op, name_of(form), tokens),
                        form, {matrix.rows, matrix.k, tokens});
                }
            }
        }
    }

    std::vector<GemmRow> rows;

  private:
    void add(std::string name, GemmForm form, const GemmShape& shape) {
        if (!fits(form, shape)) return;
        const Offer offer = offer_of(form, capability_);
        GemmRow row{.name = std::move(name), .shape = shape, .form = form};
        row.expected = offer == Offer::documented;
        if (offer == Offer::none) row.lack = lack_of(form, capability_);
        rows.push_back(std::move(row));
    }

    const GpuSettings& settings_;
    int capability_;
};

}  // namespace

std::vector<GemmRow> gemm_suite(const GpuSettings& settings, int capability) {
    Suite suite(settings, capability);
    if (settings.verify_only) {
        suite.add_checks();
        return std::move(suite.rows);
    }
    std::vector<ModelShape> models = settings.models;
    if (models.empty()) models = {model_shape("llama3-8b")};
    if (settings.models.empty() && settings.full) models.push_back(model_shape("llama3-70b"));
    suite.add_ceilings();
    for (const ModelShape& model : models) suite.add_decode(model);
    for (const ModelShape& model : models) suite.add_prefill(model);
    return std::move(suite.rows);
}

}  // namespace paretoken::microbench::gpu
