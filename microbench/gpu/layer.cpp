#include "microbench/gpu/layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <numeric>

#include "core/random.h"
#include "microbench/collect.h"
#include "microbench/cpu/formats.h"
#include "microbench/gpu/tensor_parallel.h"
#include "microbench/gpu/weights_reference.h"

namespace paretoken::microbench::gpu {
namespace {

std::size_t index_of(LayerMatrix matrix) {
    return static_cast<std::size_t>(matrix);
}
std::size_t index_of(LayerNorm norm) {
    return static_cast<std::size_t>(norm);
}

/// Bytes of one token's keys and values, with their scales.
double token_bytes(const LayerOptions& options) {
    const double scale_bytes = options.attention().pool().page_scales() != 0 ? sizeof(float) : 0;
    return static_cast<double>(options.heads.kv_heads) * 2 *
           (static_cast<double>(options.heads.head_dim) * bytes_of(options.kv) + scale_bytes);
}

double tokens_of(const LayerOptions& options) {
    return std::accumulate(options.lengths.begin(), options.lengths.end(), 0.0);
}

double query_numbers(const LayerOptions& options) {
    return static_cast<double>(options.batch() * options.heads.query_heads * options.heads.head_dim);
}

/// About the root of the mean square of a random weight, as fill.cuh makes them.
double weight_deviation(WeightFormat format) {
    switch (format) {
        case WeightFormat::bf16:
        case WeightFormat::fp16:
            return .33;
        case WeightFormat::fp8:
            return 1.2;
        case WeightFormat::int8:
            return .85;
        default:
            return .05;
    }
}

// ---- stages in fp64

bool is_bf16(KvFormat format) {
    return format == KvFormat::bf16;
}

/// Relative rounding of a 16-bit result, at most.
double rounding_of(bool bf16) {
    return bf16 ? 0x1p-8 : 0x1p-11;
}

std::vector<double> numbers_of(std::span<const std::uint16_t> codes, bool bf16) {
    std::vector<double> numbers;
    for (const std::uint16_t code : codes)
        numbers.push_back(static_cast<double>(bf16 ? float_of_bf16(code) : float_of_f16(code)));
    return numbers;
}
std::vector<float> floats_of(std::span<const std::uint16_t> codes, bool bf16) {
    const auto numbers = numbers_of(codes, bf16);
    return {numbers.begin(), numbers.end()};
}
std::vector<double> doubles_of(std::span<const float> values) {
    return {values.begin(), values.end()};
}

std::vector<double> normed(std::span<const double> residual, std::span<const std::uint16_t> gain) {
    const std::size_t hidden = gain.size();
    std::vector<double> out(residual.size());
    for (std::size_t row = 0; row < residual.size(); row += hidden) {
        double squares = 0;
        for (std::size_t i = 0; i < hidden; ++i) squares += residual[row + i] * residual[row + i];
        const double root = std::sqrt(squares / static_cast<double>(hidden) + double{kLayerEpsilon});
        for (std::size_t i = 0; i < hidden; ++i)
            out[row + i] = residual[row + i] / root * static_cast<double>(float_of_bf16(gain[i]));
    }
    return out;
}

/// What a step makes of q, k and v: [batch][heads][head_dim] each, queries and keys turned.
struct Turned {
    std::vector<double> q, keys, values;
};
Turned turned(const LayerInputs& inputs, std::span<const double> qkv) {
    const HeadShape& heads = inputs.options.heads;
    const std::size_t dim = heads.head_dim;
    const std::size_t all = heads.query_heads + 2 * heads.kv_heads;
    Turned result;
    for (std::size_t request = 0; request < inputs.options.batch(); ++request) {
        for (std::size_t head = 0; head < all; ++head) {
            const auto from = qkv.subspan((request * all + head) * dim, dim);
            std::vector<double>& to = head < heads.query_heads                    ? result.q
                                      : head < heads.query_heads + heads.kv_heads ? result.keys
                                                                                  : result.values;
            for (std::size_t d = 0; d < dim; ++d) {
                if (&to == &result.values) {
                    to.push_back(from[d]);
                    continue;
                }
                const std::size_t pair = d % (dim / 2);
                const double cosine = inputs.turns[request * dim + pair * 2];
                const double sine = inputs.turns[request * dim + pair * 2 + 1];
                to.push_back(d < dim / 2 ? from[d] * cosine - from[d + dim / 2] * sine
                                         : from[d] * cosine + from[pair] * sine);
            }
        }
    }
    return result;
}

/// Numbers of appended tokens, scales applied: [batch][KV heads][head_dim].
struct Appended {
    std::vector<double> keys, values;
};
Appended appended_numbers(const LayerOptions& options, const AppendedTokens& tokens) {
    const std::size_t heads = options.heads.kv_heads;
    const std::size_t dim = options.heads.head_dim;
    const std::size_t width = bytes_of(options.kv);
    Appended result;
    for (std::size_t i = 0; i < options.batch() * 2 * heads * dim; ++i) {
        const std::byte* const at = tokens.bytes.data() + i * width;
        const std::uint16_t code = width == 2 ? load_u16(at) : std::to_integer<std::uint16_t>(*at);
        const std::size_t which = i / (heads * dim) % 2;
        double number = number_of(options.kv, code);
        if (!tokens.scales.empty()) {
            const std::size_t request = i / (2 * heads * dim);
            const std::size_t head = i / dim % heads;
            number *= static_cast<double>(tokens.scales[(request * heads + head) * 2 + which]);
        }
        (which == 0 ? result.keys : result.values).push_back(number);
    }
    return result;
}

double largest(std::span<const double> values) {
    double most = 0;
    for (const double value : values) most = std::max(most, std::abs(value));
    return most;
}

/// As far as a number may lie from what is stored for it: half a step of the format, and what fp32 lost
/// before, where large numbers may have met. `most`: the head's largest number.
double half_step(KvFormat format, double number, double most) {
    const double lost = 1e-5 * std::abs(number) + 1e-6 * most;
    switch (format) {
        case KvFormat::bf16:
            return lost + std::abs(number) * 0x1p-8;
        case KvFormat::fp16:
            return lost + std::max(std::abs(number) * 0x1p-11, 0x1p-25);
        case KvFormat::fp8:
            return lost + std::max(std::abs(number) * 0x1p-4, 0x1p-10);
        default:
            return lost + most / 127 / 2;
    }
}

std::optional<std::string> append_fault(const LayerOptions& options, const char* what,
                                        std::span<const double> stored, std::span<const double> wanted) {
    const std::size_t dim = options.heads.head_dim;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const double most = largest(wanted.subspan(i / dim * dim, dim));
        const double number = options.kv == KvFormat::fp8 ? std::clamp(wanted[i], -448.0, 448.0) : wanted[i];
        if (!(std::abs(stored[i] - number) <= half_step(options.kv, number, most))) {
            return fmt::format("rope: {} {} of request {} is cached as {:.4g} instead of {:.4g}", what,
                               i % (options.heads.kv_heads * dim), i / (options.heads.kv_heads * dim),
                               stored[i], number);
        }
    }
    return std::nullopt;
}

/// The nearest numbers that the cache's format has.
std::vector<double> rounded_to(const LayerOptions& options, std::vector<double> numbers) {
    const std::size_t dim = options.heads.head_dim;
    for (std::size_t head = 0; head < numbers.size(); head += dim) {
        const double scale = largest(std::span(numbers).subspan(head, dim)) / 127;
        for (std::size_t i = head; i < head + dim; ++i) {
            const auto number = static_cast<float>(numbers[i]);
            switch (options.kv) {
                case KvFormat::bf16:
                    numbers[i] = static_cast<double>(float_of_bf16(bf16_of(number)));
                    break;
                case KvFormat::fp16:
                    numbers[i] = static_cast<double>(float_of_f16(f16_of(number)));
                    break;
                case KvFormat::fp8:
                    numbers[i] = value_of_e4m3(e4m3_of(number));
                    break;
                default:
                    numbers[i] = scale > 0 ? std::nearbyint(numbers[i] / scale) * scale : 0;
            }
        }
    }
    return numbers;
}

/// Results of all query heads of one KV head: [group, head_dim]. The last token's key and value are those of
/// `appended`.
std::vector<double> attended(const LayerInputs& inputs, std::span<const double> q, const Appended& appended,
                             std::size_t request, std::size_t kv_head) {
    const AttentionOptions options = inputs.options.attention();
    const std::size_t dim = options.heads.head_dim;
    const std::size_t group = options.heads.group();
    CachedHead cached = cached_head(options, inputs.table, request, kv_head, inputs.kv_seed);
    const auto last = static_cast<std::ptrdiff_t>(cached.keys.size() - dim);
    const auto from = static_cast<std::ptrdiff_t>((request * options.heads.kv_heads + kv_head) * dim);
    const auto count = static_cast<std::ptrdiff_t>(dim);
    std::copy_n(appended.keys.begin() + from, count, cached.keys.begin() + last);
    std::copy_n(appended.values.begin() + from, count, cached.values.begin() + last);
    std::vector<double> out;
    for (std::size_t i = 0; i < group; ++i) {
        const auto head = q.subspan((request * options.heads.query_heads + kv_head * group + i) * dim, dim);
        const auto one =
            attention_reference(head, cached.keys, cached.values, 1 / std::sqrt(static_cast<double>(dim)));
        out.insert(out.end(), one.begin(), one.end());
    }
    return out;
}

std::vector<double> gated(std::span<const double> gate_up, std::size_t width) {
    std::vector<double> out;
    for (std::size_t row = 0; row < gate_up.size(); row += 2 * width) {
        for (std::size_t i = 0; i < width; ++i) {
            const double gate = gate_up[row + i];
            out.push_back(gate / (1 + std::exp(-gate)) * gate_up[row + width + i]);
        }
    }
    return out;
}

std::vector<double> sum_of(std::span<const double> a, std::span<const double> b) {
    std::vector<double> sum(a.begin(), a.end());
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += b[i];
    return sum;
}

/// In fp32, as a kernel does it.
std::vector<float> float_sum(std::span<const float> a, std::span<const float> b) {
    std::vector<float> sum(a.begin(), a.end());
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += b[i];
    return sum;
}

std::optional<std::string> fault_of(std::string_view what, std::span<const float> seen,
                                    std::span<const double> wanted, double bound) {
    const double error = worst_relative_l2(seen, wanted);
    if (error <= bound) return std::nullopt;
    return fmt::format("{}: relative error {:.2g} > {:.1g}", what, error, bound);
}

std::optional<std::string> attention_fault(const LayerInputs& inputs, const LayerSeen& seen,
                                           const Appended& appended) {
    const LayerOptions& options = inputs.options;
    const AttentionOptions attention = options.attention();
    const auto q = numbers_of(seen.q, is_bf16(options.kv));
    const auto out = floats_of(seen.attended, is_bf16(options.weights));
    const double bound = attention_bound(options.kv) + rounding_of(is_bf16(options.weights));
    const std::size_t size = options.heads.group() * options.heads.head_dim;
    for (const auto& [request, head] : pairs_to_check(attention, inputs.kv_seed)) {
        const auto wanted = attended(inputs, q, appended, request, head);
        const std::size_t at = (request * options.heads.kv_heads + head) * size;
        const double error = relative_l2(std::span(out).subspan(at, size), wanted);
        if (!(error <= bound)) {
            return fmt::format("attention: request {}, KV head {}: relative error {:.1e} > {:.0e}", request,
                               head, error, bound);
        }
    }
    return std::nullopt;
}

// ---- suite

struct SuiteRow {
    RowSet from;
    std::string_view preset;  ///< one of the default models
    WeightFormat weights;
    KvFormat kv;
    std::size_t batch;
    std::int32_t context;
    std::size_t tp = 1;
};
constexpr SuiteRow kSuite[] = {
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

/// One GPU's part of a dense layer; nothing for models that these kernels have no layer for.
std::optional<LayerOptions> options_of(const ModelShape& model, const SuiteRow& row) {
    if (model.moe || model.mla) return std::nullopt;
    if (model.heads.head_dim != 64 && model.heads.head_dim != 128) return std::nullopt;
    if (model.heads.query_heads % row.tp != 0) return std::nullopt;
    LayerOptions options{
        .preset = model.name,
        .tp = row.tp,
        .heads = {model.heads.query_heads / row.tp, std::max<std::size_t>(1, model.heads.kv_heads / row.tp),
                  model.heads.head_dim},
        .weights = row.weights,
        .kv = row.kv,
        .lengths = std::vector<std::int32_t>(row.batch, row.context)};
    for (const MatrixShape& matrix : shares_of(model, row.tp)) {
        if (matrix.op == "o") options.hidden = matrix.rows;
        if (matrix.op == "down") options.width = matrix.k;
        if (matrix.op == "up") return std::nullopt;  // not gated
    }
    if (options.hidden == 0 || options.width == 0 || options.hidden > kMostHidden) return std::nullopt;
    for (const LayerMatrix matrix : kLayerMatrices) {
        if (!fits(row.weights, matrix_of(options, matrix).k)) return std::nullopt;
    }
    return options;
}

/// Every format of weights and caches, both head dimensions, every number of columns that a product has, and
/// lengths around the edges of pages and tiles, small and ragged.
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
    };
}

constexpr std::string_view kOpNames[] = {"norm",     "qkv",     "rope", "attention", "o",
                                         "ffn_norm", "gate_up", "silu", "down"};

}  // namespace

AttentionOptions LayerOptions::attention() const {
    return {.preset = preset, .heads = heads, .format = kv, .page = page, .lengths = lengths};
}

std::string_view name_of(LayerOp op) {
    return kOpNames[static_cast<std::size_t>(op)];
}

MatrixShape matrix_of(const LayerOptions& options, LayerMatrix matrix) {
    const std::size_t q = options.heads.query_heads * options.heads.head_dim;
    switch (matrix) {
        case LayerMatrix::qkv:
            return {"qkv", q + 2 * options.heads.kv_heads * options.heads.head_dim, options.hidden};
        case LayerMatrix::o:
            return {"o", options.hidden, q};
        case LayerMatrix::gate_up:
            return {"gate_up", 2 * options.width, options.hidden};
        default:
            return {"down", options.hidden, options.width};
    }
}

std::string name_of(const LayerOptions& options) {
    const auto [least, most] = std::minmax_element(options.lengths.begin(), options.lengths.end());
    return fmt::format("layer/preset:{}{}/w:{}/kv:{}/batch:{}/ctx:{}", options.preset,
                       options.tp == 1 ? "" : fmt::format("/tp:{}", options.tp), name_of(options.weights),
                       name_of(options.kv), options.batch(),
                       *least == *most ? fmt::format("{}", *least) : fmt::format("{}..{}", *least, *most));
}

Work layer_work(const LayerOptions& options) {
    const auto batch = static_cast<double>(options.batch());
    const auto pages = pages_for(options.lengths, static_cast<std::uint32_t>(options.page));
    Work work{.read_bytes = 2 * static_cast<double>(options.hidden) * 2 +
                            (tokens_of(options) - batch) * token_bytes(options) +
                            static_cast<double>(pages * sizeof(std::int32_t)),
              .written_bytes = batch * token_bytes(options),
              .flops = attention_work(options.attention()).flops};
    for (const LayerMatrix matrix : kLayerMatrices) {
        const MatrixShape shape = matrix_of(options, matrix);
        const auto rows = static_cast<double>(shape.rows);
        const auto k = static_cast<double>(shape.k);
        work.read_bytes += format_bytes(options.weights, rows, k);
        work.flops += 2 * rows * k * batch;
    }
    return work;
}

Work op_work(const LayerOptions& options, LayerOp op) {
    const auto batch = static_cast<double>(options.batch());
    const auto hidden = static_cast<double>(options.hidden);
    const auto width = static_cast<double>(options.width);
    const auto product = [&](LayerMatrix matrix) {
        const MatrixShape shape = matrix_of(options, matrix);
        return product_work(options.weights, static_cast<double>(shape.rows), static_cast<double>(shape.k),
                            batch);
    };
    switch (op) {
        case LayerOp::norm:
        case LayerOp::ffn_norm:
            return {.read_bytes = 2 * batch * hidden * 4 + hidden * 2, .written_bytes = batch * hidden * 6};
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
            return {.read_bytes = batch * width * 8, .written_bytes = batch * width * 2};
        default:
            return product(LayerMatrix::down);
    }
}

std::uint16_t gain_code(const LayerOptions& options, std::uint64_t seed, std::uint64_t place) {
    const double usual =
        1.5 / (std::sqrt(static_cast<double>(options.hidden)) * weight_deviation(options.weights));
    const double share = .75 + static_cast<double>(scrambled(seed ^ scrambled(place)) >> 32) * 0x1p-33;
    return bf16_of(static_cast<float>(usual * share));
}

std::array<std::vector<std::uint16_t>, 2> gains_of(const LayerOptions& options, std::uint64_t seed) {
    std::array<std::vector<std::uint16_t>, 2> gains;
    for (const LayerNorm norm : {LayerNorm::attention, LayerNorm::feed_forward}) {
        for (std::size_t i = 0; i < options.hidden; ++i)
            gains[index_of(norm)].push_back(gain_code(options, seed, index_of(norm) * options.hidden + i));
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
    const std::size_t pairs = options.heads.head_dim / 2;
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

NormCall norm_call(const LayerOptions& options) {
    return {.hidden = static_cast<std::int32_t>(options.hidden), .epsilon = kLayerEpsilon};
}

RopeCall rope_call(const LayerOptions& options) {
    return {.strides = options.attention().pool().strides(),
            .batch = static_cast<std::int32_t>(options.batch()),
            .query_heads = static_cast<std::int32_t>(options.heads.query_heads),
            .kv_heads = static_cast<std::int32_t>(options.heads.kv_heads),
            .page_shift = std::countr_zero(static_cast<std::uint32_t>(options.page))};
}

GateCall gate_call(const LayerOptions& options) {
    return {.width = static_cast<std::int32_t>(options.width)};
}

NewTokenPlaces new_token_places(const LayerOptions& options, const PageTable& table) {
    const PoolShape pool = options.attention().pool();
    const PageStrides strides = pool.strides();
    assert(pool.layout == PageLayout::nhd);  // all heads of a token side by side
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

std::vector<float> LayerSeen::output() const {
    return float_sum(residual, down);
}

std::optional<std::string> layer_fault(const LayerInputs& inputs, const LayerSeen& seen,
                                       const ProductOf& product_of) {
    const LayerOptions& options = inputs.options;
    const bool bf16 = is_bf16(options.weights);
    const double rounding = rounding_of(bf16) + 1e-5;
    const auto product_fault = [&](LayerMatrix matrix, std::span<const float> y) {
        const MatrixShape shape = matrix_of(options, matrix);
        return fault_of(shape.op, y, product_of(matrix),
                        product_bound({options.weights, shape.rows, shape.k}));
    };
    const auto norm_fault = [&](LayerOp op, std::span<const float> residual,
                                std::span<const std::uint16_t> out, LayerNorm norm) {
        return fault_of(name_of(op), floats_of(out, bf16),
                        normed(doubles_of(residual), inputs.gains[index_of(norm)]), rounding);
    };
    const std::vector<float> after_norm = float_sum(seen.residual_before, seen.down_before);
    if (auto wrong = norm_fault(LayerOp::norm, after_norm, seen.normed, LayerNorm::attention)) return wrong;
    if (auto wrong = product_fault(LayerMatrix::qkv, seen.qkv)) return wrong;
    const Turned wanted = turned(inputs, doubles_of(seen.qkv));
    if (auto wrong = fault_of(name_of(LayerOp::rope), floats_of(seen.q, is_bf16(options.kv)), wanted.q,
                              rounding_of(is_bf16(options.kv)) + 1e-5))
        return wrong;
    const Appended appended = appended_numbers(options, seen.appended);
    if (auto wrong = append_fault(options, "key", appended.keys, wanted.keys)) return wrong;
    if (auto wrong = append_fault(options, "value", appended.values, wanted.values)) return wrong;
    if (auto wrong = attention_fault(inputs, seen, appended)) return wrong;
    if (auto wrong = product_fault(LayerMatrix::o, seen.o)) return wrong;
    const std::vector<float> after_ffn_norm = float_sum(after_norm, seen.o);
    if (after_ffn_norm != seen.residual) return "the residual is not the sum of what was added to it";
    if (auto wrong = norm_fault(LayerOp::ffn_norm, after_ffn_norm, seen.ffn_normed, LayerNorm::feed_forward))
        return wrong;
    if (auto wrong = product_fault(LayerMatrix::gate_up, seen.gate_up)) return wrong;
    if (auto wrong = fault_of(name_of(LayerOp::silu), floats_of(seen.gated, bf16),
                              gated(doubles_of(seen.gate_up), options.width), rounding))
        return wrong;
    return product_fault(LayerMatrix::down, seen.down);
}

std::vector<double> layer_reference(const LayerInputs& inputs,
                                    const std::array<std::vector<double>, 4>& matrices,
                                    std::span<const float> residual, std::span<const float> down) {
    const LayerOptions& options = inputs.options;
    const auto multiply = [&](LayerMatrix matrix, std::span<const double> x) {
        const MatrixShape shape = matrix_of(options, matrix);
        return product({options.weights, shape.rows, shape.k}, matrices[index_of(matrix)], x);
    };
    const auto begun = sum_of(doubles_of(residual), doubles_of(down));
    const Turned qkv = turned(
        inputs, multiply(LayerMatrix::qkv, normed(begun, inputs.gains[index_of(LayerNorm::attention)])));
    const Appended appended{rounded_to(options, qkv.keys), rounded_to(options, qkv.values)};
    std::vector<double> attention;
    for (std::size_t request = 0; request < options.batch(); ++request) {
        for (std::size_t head = 0; head < options.heads.kv_heads; ++head) {
            const auto of_head = attended(inputs, qkv.q, appended, request, head);
            attention.insert(attention.end(), of_head.begin(), of_head.end());
        }
    }
    const auto added = sum_of(begun, multiply(LayerMatrix::o, attention));
    const auto gate_up =
        multiply(LayerMatrix::gate_up, normed(added, inputs.gains[index_of(LayerNorm::feed_forward)]));
    return sum_of(added, multiply(LayerMatrix::down, gated(gate_up, options.width)));
}

double layer_bound(const LayerOptions& options) {
    const bool bf16 = is_bf16(options.weights) || is_bf16(options.kv);
    // Few elements come to lie on the other side of a step, but each by a whole one.
    const double of_cache = options.kv == KvFormat::fp8 ? 1.5e-2 : options.kv == KvFormat::int8 ? 5e-3 : 0;
    return (bf16 ? 1.5e-2 : 2e-3) + of_cache;
}

std::vector<LayerOptions> layer_suite(RowSet set, std::span<const ModelShape> models) {
    if (set == RowSet::checks) return small_checks();
    std::vector<LayerOptions> suite;
    const auto add = [&](const ModelShape& model, const SuiteRow& row) {
        auto options = options_of(model, row);
        if (!options) return;
        if (std::find(suite.begin(), suite.end(), *options) == suite.end()) suite.push_back(*options);
    };
    for (const SuiteRow& row : kSuite) {
        if (row.from > set) continue;
        if (models.empty()) add(model_shape(row.preset), row);
        for (const ModelShape& model : models) add(model, row);
    }
    return suite;
}

}  // namespace paretoken::microbench::gpu
