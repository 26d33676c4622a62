#include "microbench/gpu/layer/layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <numeric>

#include "core/random.h"
#include "microbench/cpu/formats.h"
#include "microbench/gpu/weights/weights_reference.h"

namespace paretoken::microbench::gpu {
namespace {

/// Returns the number of bytes of one token's keys and values, with their scales.
double token_bytes(const LayerOptions& options) {
    if (options.latent) return kMlaRow * 2;
    const double scale_bytes = options.attention().pool().page_scales() != 0 ? sizeof(float) : 0;
    return static_cast<double>(options.heads.kv_heads) * 2 *
           (static_cast<double>(options.heads.head_dim) * bytes_of(options.kv) + scale_bytes);
}

double query_numbers(const LayerOptions& options) {
    if (options.latent) return static_cast<double>(options.mla().queries());
    return static_cast<double>(options.batch() * options.heads.query_heads * options.heads.head_dim);
}

/// Returns the number of bytes of the masks of the experts and of the indices of the touched experts'
/// matrices.
double routing_bytes(const LayerOptions& options) {
    const auto words =
        static_cast<std::size_t>(mask_words(static_cast<std::int32_t>(options.experts->count)));
    return static_cast<double>((options.batch() * words + 2 * options.load().entries) * 4);
}

bool has(const LayerOptions& options, LayerMatrix matrix) {
    const std::vector<LayerMatrix> all = matrices_of(options);
    return std::find(all.begin(), all.end(), matrix) != all.end();
}

constexpr std::string_view kOpNames[] = {
    "norm",      "qkv",       "rope",          "q_a",         "q_norm",
    "q_b",       "kv_a",      "rope",          "absorb",      "narrow_q",
    "attention", "attention", "narrow_latent", "expand",      "narrow_values",
    "o",         "ffn_norm",  "gate_up",       "silu",        "down",
    "router",    "route",     "gather",        "moe_gate_up", "moe_silu",
    "moe_down",  "mix"};

}  // namespace

AttentionOptions LayerOptions::attention() const {
    return {.preset = preset, .heads = heads, .format = kv, .page = page, .lengths = lengths};
}

MlaOptions LayerOptions::mla() const {
    return {.preset = preset,
            .heads = static_cast<std::int32_t>(heads.query_heads),
            .page = page,
            .lengths = lengths};
}

double LayerOptions::tokens() const {
    return std::accumulate(lengths.begin(), lengths.end(), 0.0);
}

ExpertLoad LayerOptions::load() const {
    return expert_load(experts->count, experts->active, batch());
}

std::string_view name_of(LayerOp op) {
    return kOpNames[static_cast<std::size_t>(op)];
}

std::vector<LayerOp> ops_of(const LayerOptions& options) {
    std::vector<LayerOp> ops{LayerOp::norm};
    if (options.latent) {
        ops.insert(ops.end(),
                   {LayerOp::q_a, LayerOp::q_norm, LayerOp::q_b, LayerOp::kv_a, LayerOp::latent_rope,
                    LayerOp::absorb, LayerOp::narrow_q, LayerOp::latent_attention, LayerOp::narrow_latent,
                    LayerOp::expand, LayerOp::narrow_values});
    } else {
        ops.insert(ops.end(), {LayerOp::qkv, LayerOp::rope, LayerOp::attention});
    }
    ops.insert(ops.end(), {LayerOp::o, LayerOp::ffn_norm});
    if (options.width != 0) ops.insert(ops.end(), {LayerOp::gate_up, LayerOp::silu, LayerOp::down});
    if (options.experts) {
        ops.insert(ops.end(), {LayerOp::router, LayerOp::route, LayerOp::gather, LayerOp::expert_gate_up,
                               LayerOp::expert_silu, LayerOp::expert_down, LayerOp::mix});
    }
    return ops;
}

std::vector<LayerMatrix> matrices_of(const LayerOptions& options) {
    std::vector<LayerMatrix> matrices{LayerMatrix::o};
    if (options.latent) {
        matrices.insert(matrices.end(), {LayerMatrix::q_a, LayerMatrix::q_b, LayerMatrix::kv_a,
                                         LayerMatrix::absorb, LayerMatrix::expand});
    } else {
        matrices.push_back(LayerMatrix::qkv);
    }
    if (options.width != 0) matrices.insert(matrices.end(), {LayerMatrix::gate_up, LayerMatrix::down});
    if (options.experts) {
        matrices.insert(matrices.end(),
                        {LayerMatrix::router, LayerMatrix::expert_gate_up, LayerMatrix::expert_down});
    }
    return matrices;
}

WeightFormat format_of(const LayerOptions& options, LayerMatrix matrix) {
    switch (matrix) {
        case LayerMatrix::qkv:
        case LayerMatrix::o:
        case LayerMatrix::q_a:
        case LayerMatrix::q_b:
        case LayerMatrix::kv_a:
        case LayerMatrix::absorb:
        case LayerMatrix::expand:
            return options.attention_weights.value_or(options.weights);
        case LayerMatrix::router:
            return is_bf16(options.weights) ? WeightFormat::bf16 : WeightFormat::fp16;
        case LayerMatrix::gate_up:
        case LayerMatrix::down:
        case LayerMatrix::expert_gate_up:
        case LayerMatrix::expert_down:
            break;
    }
    return options.weights;
}

bool is_listed(LayerMatrix matrix) {
    return matrix == LayerMatrix::expert_gate_up || matrix == LayerMatrix::expert_down ||
           matrix == LayerMatrix::absorb || matrix == LayerMatrix::expand;
}

ExpertLoad launched(const LayerOptions& options, LayerMatrix matrix) {
    if (!is_listed(matrix)) return {1, options.batch()};
    const bool of_heads = matrix == LayerMatrix::absorb || matrix == LayerMatrix::expand;
    return of_heads ? ExpertLoad{options.heads.query_heads, options.batch()} : options.load();
}

std::size_t inputs_of(const LayerOptions& options, LayerMatrix matrix) {
    return has(options, matrix) ? launched(options, matrix).places() * matrix_of(options, matrix).k : 0;
}

std::size_t outputs_of(const LayerOptions& options, LayerMatrix matrix) {
    return has(options, matrix) ? launched(options, matrix).places() * matrix_of(options, matrix).rows : 0;
}

std::size_t width_of(const LayerOptions& options, LayerNorm norm) {
    switch (norm) {
        case LayerNorm::query:
            return options.latent ? options.latent->q_rank : 0;
        case LayerNorm::latent:
            return options.latent ? static_cast<std::size_t>(kMlaValue) : 0;
        case LayerNorm::attention:
        case LayerNorm::feed_forward:
            break;
    }
    return options.hidden;
}

MatrixShape matrix_of(const LayerOptions& options, LayerMatrix matrix) {
    const std::size_t heads = options.heads.query_heads;
    const std::size_t q = heads * options.heads.head_dim;
    constexpr auto kValue = static_cast<std::size_t>(kMlaValue);
    constexpr auto kOut = static_cast<std::size_t>(kMlaHeadOut);
    switch (matrix) {
        case LayerMatrix::qkv:
            return {"qkv", q + 2 * options.heads.kv_heads * options.heads.head_dim, options.hidden};
        case LayerMatrix::o:
            return {"o", options.hidden, options.latent ? heads * kOut : q};
        case LayerMatrix::q_a:
            return {"q_a", options.latent->q_rank, options.hidden};
        case LayerMatrix::q_b:
            return {"q_b", heads * static_cast<std::size_t>(kMlaQuery), options.latent->q_rank};
        case LayerMatrix::kv_a:
            return {"kv_a", static_cast<std::size_t>(kMlaRow), options.hidden};
        case LayerMatrix::absorb:
            return {"absorb", kValue, static_cast<std::size_t>(kMlaNope), heads};
        case LayerMatrix::expand:
            return {"expand", kOut, kValue, heads};
        case LayerMatrix::gate_up:
            return {"gate_up", 2 * options.width, options.hidden};
        case LayerMatrix::down:
            return {"down", options.hidden, options.width};
        case LayerMatrix::router:
            return {"router", options.experts->count, options.hidden};
        case LayerMatrix::expert_gate_up:
            return {"moe_gate_up", 2 * options.experts->width, options.hidden, options.experts->active};
        case LayerMatrix::expert_down:
            return {"moe_down", options.hidden, options.experts->width, options.experts->active};
    }
    return {};
}

std::string name_of(const LayerOptions& options) {
    const auto [least, most] = std::minmax_element(options.lengths.begin(), options.lengths.end());
    const WeightFormat attention_weights = format_of(options, LayerMatrix::o);
    return fmt::format(
        "layer/preset:{}{}/w:{}{}/kv:{}/batch:{}/ctx:{}{}", options.preset,
        options.tp == 1 ? "" : fmt::format("/tp:{}", options.tp), name_of(options.weights),
        attention_weights == options.weights ? "" : fmt::format("/attn_w:{}", name_of(attention_weights)),
        name_of(options.kv), options.batch(),
        *least == *most ? fmt::format("{}", *least) : fmt::format("{}..{}", *least, *most),
        options.experts ? fmt::format("/experts:{}", options.load().entries) : "");
}

Work layer_work(const LayerOptions& options) {
    const auto batch = static_cast<double>(options.batch());
    const auto pages = pages_for(options.lengths, static_cast<std::uint32_t>(options.page));
    double gains = 0;
    for (std::size_t norm = 0; norm < kLayerNorms; ++norm)
        gains += static_cast<double>(width_of(options, static_cast<LayerNorm>(norm)));
    Work work{
        .read_bytes = gains * 2 + (options.tokens() - batch) * token_bytes(options) +
                      static_cast<double>(pages * sizeof(std::int32_t)),
        .written_bytes = batch * token_bytes(options),
        .flops = options.latent ? mla_work(options.mla()).flops : attention_work(options.attention()).flops};
    for (const LayerMatrix matrix : matrices_of(options)) {
        const MatrixShape shape = matrix_of(options, matrix);
        const auto rows = static_cast<double>(shape.rows);
        const auto k = static_cast<double>(shape.k);
        work.read_bytes += static_cast<double>(launched(options, matrix).entries) *
                           format_bytes(format_of(options, matrix), rows, k);
        work.flops += 2 * rows * k * batch * static_cast<double>(shape.count);
    }
    if (options.experts) work.read_bytes += routing_bytes(options);
    return work;
}

Work op_work(const LayerOptions& options, LayerOp op) {
    const auto batch = static_cast<double>(options.batch());
    const auto hidden = static_cast<double>(options.hidden);
    const auto product = [&](LayerMatrix matrix) {
        const MatrixShape shape = matrix_of(options, matrix);
        const ExpertLoad launch = launched(options, matrix);
        const auto rows = static_cast<double>(shape.rows);
        const auto k = static_cast<double>(shape.k);
        const Work one =
            product_work(format_of(options, matrix), rows, k, static_cast<double>(launch.columns));
        const auto entries = static_cast<double>(launch.entries);
        return Work{entries * one.read_bytes, entries * one.written_bytes,
                    2 * rows * k * batch * static_cast<double>(shape.count)};
    };
    const auto heads = static_cast<double>(options.heads.query_heads);
    const auto experts = static_cast<double>(options.experts ? options.experts->count : 0);
    const double pairs = batch * static_cast<double>(options.experts ? options.experts->active : 0);
    const auto places = static_cast<double>(options.experts ? options.load().places() : 0);
    const auto gate = [](double rows, std::size_t of_width) {
        return Work{.read_bytes = rows * static_cast<double>(of_width) * 8,
                    .written_bytes = rows * static_cast<double>(of_width) * 2};
    };
    switch (op) {
        case LayerOp::norm:
        case LayerOp::ffn_norm:
            return {.read_bytes = 2 * batch * hidden * 4 + hidden * 2, .written_bytes = batch * hidden * 6};
        case LayerOp::q_norm: {
            const auto rank = static_cast<double>(options.latent->q_rank);
            return {.read_bytes = batch * rank * 4 + rank * 2, .written_bytes = batch * rank * 2};
        }
        case LayerOp::q_a:
            return product(LayerMatrix::q_a);
        case LayerOp::q_b:
            return product(LayerMatrix::q_b);
        case LayerOp::kv_a:
            return product(LayerMatrix::kv_a);
        case LayerOp::latent_rope:
            return {.read_bytes = batch * (heads * kMlaQuery + kMlaRow + kMlaRope) * 4 + kMlaValue * 2,
                    .written_bytes = batch * (heads * kMlaQuery + kMlaRow) * 2};
        case LayerOp::absorb:
            return product(LayerMatrix::absorb);
        case LayerOp::latent_attention:
            return mla_work(options.mla());
        case LayerOp::expand:
            return product(LayerMatrix::expand);
        case LayerOp::narrow_q:
        case LayerOp::narrow_latent:
        case LayerOp::narrow_values: {
            const NarrowCall call = narrow_call(options, op);
            const double numbers = static_cast<double>(call.outer) * call.inner * call.size;
            return {.read_bytes = numbers * 4, .written_bytes = numbers * 2};
        }
        case LayerOp::qkv:
            return product(LayerMatrix::qkv);
        case LayerOp::rope: {
            const auto qkv = static_cast<double>(matrix_of(options, LayerMatrix::qkv).rows);
            return {.read_bytes = batch * (qkv + static_cast<double>(options.heads.head_dim)) * 4,
                    .written_bytes = query_numbers(options) * 2 + batch * token_bytes(options)};
        }
        case LayerOp::attention: {
            Work work = attention_work(options.attention());
            work.written_bytes = query_numbers(options) * 2;
            return work;
        }
        case LayerOp::o:
            return product(LayerMatrix::o);
        case LayerOp::gate_up:
            return product(LayerMatrix::gate_up);
        case LayerOp::silu:
            return gate(batch, options.width);
        case LayerOp::down:
            return product(LayerMatrix::down);
        case LayerOp::router:
            return product(LayerMatrix::router);
        case LayerOp::route:
            return {.read_bytes = batch * experts * 4 + routing_bytes(options),
                    .written_bytes =
                        pairs * 8 + places * 4 + static_cast<double>(options.load().entries) * 2 * 4};
        case LayerOp::gather:
            return {.read_bytes = batch * hidden * 2 + places * 4, .written_bytes = places * hidden * 2};
        case LayerOp::expert_gate_up:
            return product(LayerMatrix::expert_gate_up);
        case LayerOp::expert_silu:
            return gate(places, options.experts->width);
        case LayerOp::expert_down:
            return product(LayerMatrix::expert_down);
        case LayerOp::mix:
            return {.read_bytes = pairs * (hidden * 4 + 8) + (options.width != 0 ? batch * hidden * 4 : 0),
                    .written_bytes = batch * hidden * 4};
    }
    return {};
}

std::uint16_t gain_code(const LayerOptions& options, LayerNorm norm, std::uint64_t seed,
                        std::uint64_t place) {
    const double share = .75 + static_cast<double>(scrambled(seed ^ scrambled(place)) >> 32) * 0x1p-33;
    const WeightFormat multiplied =
        norm == LayerNorm::feed_forward ? options.weights : format_of(options, LayerMatrix::o);
    const double usual =
        1.5 / (std::sqrt(static_cast<double>(width_of(options, norm))) * traits_of(multiplied).deviation);
    switch (norm) {
        case LayerNorm::latent:  // the results are as large as the numbers in the cache
            return bf16_of(static_cast<float>(.3 * share));
        case LayerNorm::query:  // smaller, because absorption makes the results larger
            return bf16_of(static_cast<float>(.05 * usual * share));
        case LayerNorm::attention:
        case LayerNorm::feed_forward:
            break;
    }
    return bf16_of(static_cast<float>(usual * share));
}

LayerGains gains_of(const LayerOptions& options, std::uint64_t seed) {
    LayerGains gains;
    std::uint64_t place = 0;
    for (std::size_t norm = 0; norm < kLayerNorms; ++norm) {
        const auto which = static_cast<LayerNorm>(norm);
        for (std::size_t i = 0; i < width_of(options, which); ++i)
            gains[norm].push_back(gain_code(options, which, seed, place++));
    }
    return gains;
}

float residual_number(std::uint64_t seed, std::uint64_t place) {
    return random_number(derived_seed(seed, "residual"), place);
}

float down_number(std::uint64_t seed, std::uint64_t place) {
    return random_number(derived_seed(seed, "down"), place);
}

std::vector<float> turns_of(const LayerOptions& options) {
    const std::size_t pairs =
        (options.latent ? static_cast<std::size_t>(kMlaRope) : options.heads.head_dim) / 2;
    std::vector<float> turns;
    for (const std::int32_t length : options.lengths) {
        for (std::size_t pair = 0; pair < pairs; ++pair) {
            const double angle =
                (length - 1) / std::pow(kRopeBase, static_cast<double>(pair) / static_cast<double>(pairs));
            turns.push_back(static_cast<float>(std::cos(angle)));
            turns.push_back(static_cast<float>(std::sin(angle)));
        }
    }
    return turns;
}

NormCall norm_call(const LayerOptions& options, LayerNorm norm) {
    return {.hidden = static_cast<std::int32_t>(width_of(options, norm)), .epsilon = kLayerEpsilon};
}

RopeCall rope_call(const LayerOptions& options) {
    return {.strides = options.attention().pool().strides(),
            .batch = static_cast<std::int32_t>(options.batch()),
            .query_heads = static_cast<std::int32_t>(options.heads.query_heads),
            .kv_heads = static_cast<std::int32_t>(options.heads.kv_heads),
            .page_shift = std::countr_zero(static_cast<std::uint32_t>(options.page))};
}

GateCall gate_call(const LayerOptions& options, LayerMatrix matrix) {
    return {.width = static_cast<std::int32_t>(matrix_of(options, matrix).rows / 2)};
}

/// The scale brings the logits of random weights to about 1. It is needed because the gains are chosen for
/// products with the format `weights`, which may differ from the format of the router.
RouteCall route_call(const LayerOptions& options) {
    const LayerExperts& experts = *options.experts;
    const ExpertLoad load = options.load();
    return {.tokens = static_cast<std::int32_t>(options.batch()),
            .experts = static_cast<std::int32_t>(experts.count),
            .active = static_cast<std::int32_t>(experts.active),
            .entries = static_cast<std::int32_t>(load.entries),
            .columns = static_cast<std::int32_t>(load.columns),
            .scale = static_cast<float>(traits_of(options.weights).deviation /
                                        traits_of(format_of(options, LayerMatrix::router)).deviation)};
}

MixCall mix_call(const LayerOptions& options) {
    return {.hidden = static_cast<std::int32_t>(options.hidden),
            .active = static_cast<std::int32_t>(options.experts->active)};
}

LatentCall latent_call(const LayerOptions& options) {
    return {.batch = static_cast<std::int32_t>(options.batch()),
            .heads = static_cast<std::int32_t>(options.heads.query_heads),
            .page_shift = std::countr_zero(static_cast<std::uint32_t>(options.page)),
            .epsilon = kLayerEpsilon};
}

NarrowCall narrow_call(const LayerOptions& options, LayerOp op) {
    const auto batch = static_cast<std::int32_t>(options.batch());
    const auto heads = static_cast<std::int32_t>(options.heads.query_heads);
    if (op == LayerOp::narrow_q)
        return {.outer = heads,
                .inner = batch,
                .size = kMlaValue,
                .to_outer = kMlaRow,
                .to_inner = heads * kMlaRow};
    if (op == LayerOp::narrow_latent)
        return {.outer = batch,
                .inner = heads,
                .size = kMlaValue,
                .to_outer = kMlaValue,
                .to_inner = batch * kMlaValue};
    assert(op == LayerOp::narrow_values);
    return {.outer = heads,
            .inner = batch,
            .size = kMlaHeadOut,
            .to_outer = kMlaHeadOut,
            .to_inner = heads * kMlaHeadOut};
}

bool narrows_to_bf16(const LayerOptions& options, LayerOp op) {
    return op == LayerOp::narrow_q || is_bf16(options.weights);
}

NewTokenPlaces new_token_places(const LayerOptions& options, const PageTable& table) {
    if (options.latent) {
        NewTokenPlaces places{.row_bytes = kMlaRow * 2};
        for (std::size_t request = 0; request < options.batch(); ++request) {
            const std::int32_t token = options.lengths[request] - 1;
            const std::int32_t page =
                table.pages[static_cast<std::size_t>(table.first[request] + token / options.page)];
            const auto row = static_cast<std::uint64_t>(page) * static_cast<std::uint64_t>(options.page) +
                             static_cast<std::uint64_t>(token % options.page);
            places.rows.push_back(row * places.row_bytes);
        }
        return places;
    }
    const PoolShape pool = options.attention().pool();
    const PageStrides strides = pool.strides();
    assert(pool.layout == PageLayout::nhd);  // all heads of a token are contiguous
    NewTokenPlaces places{.row_bytes = strides.token};
    for (std::size_t request = 0; request < options.batch(); ++request) {
        const std::int32_t token = options.lengths[request] - 1;
        const auto page = static_cast<std::uint64_t>(
            table.pages[static_cast<std::size_t>(table.first[request] + token / options.page)]);
        const auto slot = static_cast<std::uint32_t>(token % options.page);
        for (std::uint32_t which = 0; which < 2; ++which)
            places.rows.push_back(page * strides.page + which * strides.value + slot * strides.token);
        if (pool.page_scales() == 0) continue;
        for (std::uint32_t head = 0; head < pool.kv_heads; ++head) {
            for (std::uint32_t which = 0; which < 2; ++which)
                places.scales.push_back(scale_place(pool.kv_heads, pool.page, page, head, which, slot));
        }
    }
    return places;
}

}  // namespace paretoken::microbench::gpu
