// The layers that are timed, and the small layers that are verified.
#include <algorithm>

#include "microbench/gpu/layer/layer.h"
#include "microbench/gpu/weights/tensor_parallel.h"

namespace paretoken::microbench::gpu {
namespace {

struct SuiteRow {
    RowSet from;
    std::string_view preset;  ///< one of the default models
    WeightFormat weights;
    KvFormat kv;
    std::size_t batch;
    std::int32_t context;
    std::size_t tp = 1;
    std::optional<WeightFormat> attention_weights = {};
};
constexpr SuiteRow kDenseSuite[] = {
    {RowSet::quick, "llama3-8b", WeightFormat::bf16, KvFormat::bf16, 1, 4096},
    {RowSet::quick, "llama3-8b", WeightFormat::fp8, KvFormat::fp8, 32, 4096},
    {RowSet::standard, "llama3-8b", WeightFormat::bf16, KvFormat::bf16, 8, 4096},
    {RowSet::standard, "llama3-8b", WeightFormat::bf16, KvFormat::bf16, 32, 4096},
    {RowSet::standard, "llama3-8b", WeightFormat::int4, KvFormat::bf16, 1, 4096},
    {RowSet::standard, "llama3-70b", WeightFormat::fp8, KvFormat::fp8, 1, 4096},
    {RowSet::standard, "llama3-70b", WeightFormat::fp8, KvFormat::fp8, 32, 4096},
    {RowSet::full, "llama3-8b", WeightFormat::fp8, KvFormat::fp8, 1, 4096},
    {RowSet::full, "llama3-8b", WeightFormat::int8, KvFormat::int8, 8, 4096},
    {RowSet::full, "llama3-8b", WeightFormat::mxfp4, KvFormat::fp8, 8, 4096},
    {RowSet::full, "llama3-8b", WeightFormat::int4, KvFormat::bf16, 8, 32768},
    {RowSet::full, "llama3-70b", WeightFormat::bf16, KvFormat::bf16, 8, 4096},
    {RowSet::full, "llama3-70b", WeightFormat::int4, KvFormat::fp8, 32, 8192},
    {RowSet::full, "llama3-70b", WeightFormat::fp8, KvFormat::fp8, 32, 4096, 2},
    {RowSet::full, "llama3-70b", WeightFormat::fp8, KvFormat::fp8, 32, 4096, 8},
};

constexpr SuiteRow kRoutedSuite[] = {
    {RowSet::quick, "qwen3-30b-a3b", WeightFormat::bf16, KvFormat::bf16, 8, 4096},
    {RowSet::standard, "gpt-oss-120b", WeightFormat::mxfp4, KvFormat::bf16, 8, 4096, 1, WeightFormat::fp16},
    {RowSet::full, "qwen3-30b-a3b", WeightFormat::bf16, KvFormat::bf16, 1, 4096},
    {RowSet::full, "qwen3-30b-a3b", WeightFormat::bf16, KvFormat::bf16, 32, 4096},
    {RowSet::full, "qwen3-30b-a3b", WeightFormat::fp8, KvFormat::fp8, 1, 4096},
    {RowSet::full, "qwen3-30b-a3b", WeightFormat::fp8, KvFormat::fp8, 32, 4096},
    {RowSet::full, "gpt-oss-120b", WeightFormat::mxfp4, KvFormat::bf16, 1, 4096, 1, WeightFormat::fp16},
    {RowSet::full, "gpt-oss-120b", WeightFormat::mxfp4, KvFormat::bf16, 32, 4096, 1, WeightFormat::fp16},
    {RowSet::full, "deepseek-v3", WeightFormat::fp8, KvFormat::bf16, 1, 4096},
    {RowSet::full, "deepseek-v3", WeightFormat::fp8, KvFormat::bf16, 8, 4096},
    {RowSet::full, "deepseek-v3", WeightFormat::fp8, KvFormat::bf16, 8, 32768, 8},
};

/// The largest number of tokens per expert of the weight kernels for lists of experts.
constexpr std::size_t kMostColumns = 8;
bool has_expert_kernel(WeightFormat format) {
    return format != WeightFormat::fp16 && format != WeightFormat::int8;
}

/// Returns whether the kernels support the experts of a layer.
bool fits(const LayerOptions& options) {
    const LayerExperts& experts = *options.experts;
    return experts.width != 0 && experts.active <= static_cast<std::size_t>(kMostActive) &&
           experts.count <= static_cast<std::size_t>(kMostExperts) && experts.active <= experts.count &&
           has_expert_kernel(options.weights) && options.load().columns <= kMostColumns;
}

/// Returns whether the kernels support the sizes of latent attention, and the batch in the lists of heads.
bool fits(const cards::LatentAttention& mla, const SuiteRow& row) {
    return mla.kv_rank == static_cast<std::size_t>(kMlaValue) &&
           mla.rope_dim == static_cast<std::size_t>(kMlaRope) &&
           mla.qk_head_dim == static_cast<std::size_t>(kMlaQuery) &&
           mla.v_head_dim == static_cast<std::size_t>(kMlaHeadOut) && mla.q_rank != 0 &&
           row.kv == KvFormat::bf16 && row.batch <= kMostColumns &&
           has_expert_kernel(row.attention_weights.value_or(row.weights));
}

/// Returns the options of one GPU's part of a layer, or nothing if the kernels do not support the model's
/// layers.
std::optional<LayerOptions> options_of(const ModelShape& model, const SuiteRow& row) {
    if (model.mla ? !fits(*model.mla, row) : model.heads.head_dim != 64 && model.heads.head_dim != 128)
        return std::nullopt;
    if (model.heads.query_heads % row.tp != 0) return std::nullopt;
    LayerOptions options{
        .preset = model.name,
        .tp = row.tp,
        .heads = {model.heads.query_heads / row.tp, std::max<std::size_t>(1, model.heads.kv_heads / row.tp),
                  model.heads.head_dim},
        .weights = row.weights,
        .attention_weights = row.attention_weights,
        .kv = row.kv,
        .lengths = std::vector<std::int32_t>(row.batch, row.context)};
    if (model.mla) {
        options.latent = LayerLatent{model.mla->q_rank};
        options.page = 64;
    }
    if (model.moe) options.experts = {model.moe->experts, model.moe->active, 0};
    for (const MatrixShape& matrix : shares_of(model, row.tp)) {
        if (matrix.op == "o") options.hidden = matrix.rows;
        if (matrix.op == "down") options.width = matrix.k;
        if (matrix.op == "moe_down") options.experts->width = matrix.k;
        if (matrix.op == "up" || matrix.op == "moe_up") return std::nullopt;  // the activation is not gated
    }
    if (options.hidden == 0 || options.hidden > kMostHidden) return std::nullopt;
    if (options.experts ? !fits(options) : options.width == 0) return std::nullopt;
    for (const LayerMatrix matrix : matrices_of(options)) {
        if (!fits(format_of(options, matrix), matrix_of(options, matrix).k)) return std::nullopt;
    }
    return options;
}

/// Returns small layers that cover every format of weights and caches, both head dimensions, every number of
/// columns of the weight kernels, and lengths around the edges of pages and tiles. Many sizes are not
/// multiples of the sizes of tiles.
std::vector<LayerOptions> small_checks() {
    return {
        {.preset = "tiny1",
         .hidden = 256,
         .width = 384,
         .heads = {4, 2, 64},
         .weights = WeightFormat::bf16,
         .kv = KvFormat::bf16,
         .lengths = {1, 16, 17, 63, 300}},
        {.preset = "tiny2",
         .hidden = 320,
         .width = 576,
         .heads = {8, 1, 128},
         .weights = WeightFormat::fp8,
         .kv = KvFormat::fp8,
         .page = 32,
         .lengths = {32, 33, 130, 1, 64, 65, 15, 16, 17, 600}},
        {.preset = "tiny3",
         .hidden = 128,
         .width = 704,
         .heads = {2, 2, 64},
         .weights = WeightFormat::fp16,
         .kv = KvFormat::fp16,
         .lengths = {1}},
        {.preset = "tiny4",
         .hidden = 192,
         .width = 256,
         .heads = {6, 2, 128},
         .weights = WeightFormat::int8,
         .kv = KvFormat::int8,
         .page = 64,
         .lengths = {63, 64, 65, 1, 200, 128, 129, 16, 15}},
        {.preset = "tiny5",
         .hidden = 256,
         .width = 384,
         .heads = {4, 4, 64},
         .weights = WeightFormat::int4,
         .kv = KvFormat::bf16,
         .lengths = std::vector<std::int32_t>(19, 40)},
        {.preset = "tiny6",
         .hidden = 384,
         .width = 320,
         .heads = {32, 2, 64},
         .weights = WeightFormat::mxfp4,
         .kv = KvFormat::int8,
         .lengths = {100, 20}},
        {.preset = "tiny7",
         .hidden = 2112,
         .width = 1024,
         .heads = {4, 2, 128},
         .weights = WeightFormat::bf16,
         .kv = KvFormat::fp8,
         .lengths = std::vector<std::int32_t>(32, 77)},
        {.preset = "tiny_routed1",
         .hidden = 128,
         .experts = LayerExperts{16, 3, 64},
         .heads = {4, 2, 64},
         .weights = WeightFormat::bf16,
         .kv = KvFormat::bf16,
         .lengths = {40, 3, 17, 1, 9}},
        {.preset = "tiny_routed2",
         .hidden = 192,
         .width = 128,  // shared experts
         .experts = LayerExperts{40, 8, 128},
         .heads = {4, 1, 64},
         .weights = WeightFormat::fp8,
         .kv = KvFormat::fp8,
         .lengths = {33}},
        {.preset = "tiny_routed3",
         .hidden = 192,
         .experts = LayerExperts{9, 2, 64},
         .heads = {2, 2, 64},
         .weights = WeightFormat::mxfp4,
         .attention_weights = WeightFormat::fp16,
         .kv = KvFormat::bf16,
         .lengths = std::vector<std::int32_t>(31, 20)},
        {.preset = "tiny_routed4",
         .hidden = 128,
         .width = 256,
         .experts = LayerExperts{300, 6, 128},
         .heads = {2, 1, 128},
         .weights = WeightFormat::int4,
         .kv = KvFormat::int8,
         .lengths = {12, 70}},
        {.preset = "tiny_latent1",
         .hidden = 128,
         .width = 128,
         .experts = LayerExperts{8, 2, 64},
         .heads = {2, 1, 192},
         .latent = LayerLatent{64},
         .weights = WeightFormat::fp8,
         .kv = KvFormat::bf16,
         .lengths = {33, 1, 16}},
        {.preset = "tiny_latent2",
         .hidden = 192,
         .width = 64,
         .heads = {3, 1, 192},
         .latent = LayerLatent{128},
         .weights = WeightFormat::bf16,
         .kv = KvFormat::bf16,
         .page = 64,
         .lengths = {129}},
    };
}

}  // namespace

std::vector<LayerOptions> layer_suite(RowSet set, std::span<const ModelShape> models) {
    if (set == RowSet::checks) return small_checks();
    std::vector<LayerOptions> suite;
    const auto add = [&](const ModelShape& model, const SuiteRow& row) {
        auto options = options_of(model, row);
        if (!options) return;
        if (std::find(suite.begin(), suite.end(), *options) == suite.end()) suite.push_back(*options);
    };
    const auto add_rows = [&](std::span<const SuiteRow> rows, bool routed) {
        for (const SuiteRow& row : rows) {
            if (row.from > set) continue;
            if (models.empty()) add(model_shape(row.preset), row);
            for (const ModelShape& model : models) {
                if (model.moe.has_value() == routed) add(model, row);
            }
        }
    };
    add_rows(kDenseSuite, false);
    add_rows(kRoutedSuite, true);
    return suite;
}

}  // namespace paretoken::microbench::gpu
