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

/// Bytes of one token's keys and values, with their scales.
double token_bytes(const LayerOptions& options) {
    if (options.latent) return kMlaRow * 2;
    const double scale_bytes = options.attention().pool().page_scales() != 0 ? sizeof(float) : 0;
    return static_cast<double>(options.heads.kv_heads) * 2 *
           (static_cast<double>(options.heads.head_dim) * bytes_of(options.kv) + scale_bytes);
}

double tokens_of(const LayerOptions& options) {
    return std::accumulate(options.lengths.begin(), options.lengths.end(), 0.0);
}

double query_numbers(const LayerOptions& options) {
    if (options.latent) return static_cast<double>(options.mla().queries());
    return static_cast<double>(options.batch() * options.heads.query_heads * options.heads.head_dim);
}

/// Who may choose which expert, and which matrices the touched ones are.
double routing_bytes(const LayerOptions& options) {
    const auto words =
        static_cast<std::size_t>(mask_words(static_cast<std::int32_t>(options.experts->count)));
    return static_cast<double>((options.batch() * words + 2 * options.load().entries) * 4);
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

/// Σ weight · result of the chosen expert, [batch, hidden]. `results` [places, hidden].
std::vector<double> mixed(const LayerOptions& options, std::span<const double> weights,
                          std::span<const std::int32_t> places, std::span<const double> results) {
    std::vector<double> out(options.batch() * options.hidden);
    for (std::size_t pair = 0; pair < places.size(); ++pair) {
        double* const to = out.data() + pair / options.experts->active * options.hidden;
        const auto from = results.subspan(static_cast<std::size_t>(places[pair]) * options.hidden);
        for (std::size_t i = 0; i < options.hidden; ++i) to[i] += weights[pair] * from[i];
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

template <class Value>
std::optional<std::string> difference(LayerOp op, std::string_view what, const std::vector<Value>& seen,
                                      const std::vector<Value>& wanted) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (seen[i] != wanted[i]) {
            return fmt::format("{}: {} {} is {} instead of {}", name_of(op), what, i, seen[i], wanted[i]);
        }
    }
    return std::nullopt;
}

/// Of a layer with experts: who goes where, and with which weight.
std::optional<std::string> route_fault(const LayerInputs& inputs, const LayerSeen& seen) {
    const LayerOptions& options = inputs.options;
    if (std::any_of(seen.logits.begin(), seen.logits.end(), [](float x) { return std::isnan(x); }))
        return "router: a logit is no number";
    const Routing wanted = routing_of(*options.experts, options.load(), inputs.draw.masks,
                                      doubles_of(seen.logits), double{route_call(options).scale});
    const LayerOp op = LayerOp::route;
    if (auto wrong = difference(op, "the place of pair", seen.route_places, wanted.places)) return wrong;
    if (auto wrong = difference(op, "the token of place", seen.route_tokens, wanted.tokens)) return wrong;
    std::vector<std::int32_t> entries;
    for (std::size_t which = 0; which < 2; ++which) {
        for (const std::int32_t expert : wanted.touched)
            entries.push_back(
                inputs.stored[which * options.experts->count + static_cast<std::size_t>(expert)]);
    }
    if (auto wrong = difference(op, "the matrix of entry", seen.route_entries, entries)) return wrong;
    for (std::size_t i = 0; i < wanted.weights.size(); ++i) {
        const auto weight = static_cast<double>(seen.route_weights[i]);
        if (!(std::abs(weight - wanted.weights[i]) <= 1e-5 * wanted.weights[i] + 1e-7))
            return fmt::format("{}: the weight of pair {} is {:.6g} instead of {:.6g}", name_of(op), i,
                               weight, wanted.weights[i]);
    }
    return std::nullopt;
}

std::vector<std::uint16_t> gathered(const LayerSeen& seen, std::size_t hidden) {
    std::vector<std::uint16_t> rows(seen.route_tokens.size() * hidden);
    for (std::size_t place = 0; place < seen.route_tokens.size(); ++place) {
        if (seen.route_tokens[place] == kNoToken) continue;
        const auto token = static_cast<std::ptrdiff_t>(seen.route_tokens[place]);
        std::copy_n(seen.ffn_normed.begin() + token * static_cast<std::ptrdiff_t>(hidden), hidden,
                    rows.begin() + static_cast<std::ptrdiff_t>(place * hidden));
    }
    return rows;
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

using ProductFault = std::function<std::optional<std::string>(LayerMatrix, std::span<const float>)>;

/// Of attention with keys and values of their own: everything between the first norm and what `o` multiplies.
std::optional<std::string> headed_fault(const LayerInputs& inputs, const LayerSeen& seen,
                                        const ProductFault& product_fault) {
    const LayerOptions& options = inputs.options;
    if (auto wrong = product_fault(LayerMatrix::qkv, seen.qkv)) return wrong;
    const Turned wanted = turned(inputs, doubles_of(seen.qkv));
    if (auto wrong = fault_of(name_of(LayerOp::rope), floats_of(seen.q, is_bf16(options.kv)), wanted.q,
                              rounding_of(is_bf16(options.kv)) + 1e-5))
        return wrong;
    const Appended appended = appended_numbers(options, seen.appended);
    if (auto wrong = append_fault(options, "key", appended.keys, wanted.keys)) return wrong;
    if (auto wrong = append_fault(options, "value", appended.values, wanted.values)) return wrong;
    return attention_fault(inputs, seen, appended);
}

/// Numbers `first` … `end` of each row of `stride`.
template <class Value>
std::vector<Value> columns_of(std::span<const Value> rows, std::size_t stride, std::size_t first,
                              std::size_t end) {
    std::vector<Value> result;
    for (std::size_t at = 0; at < rows.size(); at += stride) {
        const auto row = rows.subspan(at + first, end - first);
        result.insert(result.end(), row.begin(), row.end());
    }
    return result;
}

/// A request's cached rows with the new token's as the last.
std::vector<double> latent_rows(const LayerInputs& inputs, std::span<const double> appended,
                                std::size_t request) {
    constexpr auto kRow = static_cast<std::size_t>(kMlaRow);
    std::vector<double> rows = cached_rows(inputs.options.mla(), inputs.table, request, inputs.kv_seed);
    const auto from = appended.subspan(request * kRow, kRow);
    std::copy(from.begin(), from.end(), rows.end() - static_cast<std::ptrdiff_t>(kRow));
    return rows;
}

std::vector<double> appended_rows(const AppendedTokens& tokens) {
    std::vector<double> rows;
    for (std::size_t at = 0; at < tokens.bytes.size(); at += 2)
        rows.push_back(static_cast<double>(float_of_bf16(load_u16(tokens.bytes.data() + at))));
    return rows;
}

/// (request, head) pairs of a latent cache that a check compares: all while they are few.
std::vector<std::pair<std::size_t, std::size_t>> latent_pairs(const LayerInputs& inputs) {
    constexpr double kFew = 1 << 16;
    const std::size_t heads = inputs.options.heads.query_heads;
    std::vector<std::pair<std::size_t, std::size_t>> pairs;
    const bool few = tokens_of(inputs.options) * static_cast<double>(heads) <= kFew;
    for (const std::size_t request : requests_to_check(inputs.options.mla(), inputs.kv_seed)) {
        for (std::size_t head = 0; head < heads; head += few || heads == 1 ? 1 : heads - 1)
            pairs.emplace_back(request, head);
    }
    return pairs;
}

/// Of latent attention: everything between the first norm and what `o` multiplies.
std::optional<std::string> latent_fault(const LayerInputs& inputs, const LayerSeen& seen,
                                        const ProductFault& product_fault, double rounding) {
    constexpr auto kRow = static_cast<std::size_t>(kMlaRow);
    constexpr auto kValue = static_cast<std::size_t>(kMlaValue);
    const LayerOptions& options = inputs.options;
    const bool bf16 = is_bf16(options.weights);
    const double of_bf16 = rounding_of(true) + 1e-5;
    const std::size_t heads = options.heads.query_heads;
    if (auto wrong = product_fault(LayerMatrix::q_a, seen.q_a)) return wrong;
    if (auto wrong =
            fault_of(name_of(LayerOp::q_norm), floats_of(seen.q_normed, bf16),
                     normed(doubles_of(seen.q_a), inputs.gains[index_of(LayerNorm::query)]), rounding))
        return wrong;
    if (auto wrong = product_fault(LayerMatrix::q_b, seen.q_b)) return wrong;
    if (auto wrong = product_fault(LayerMatrix::kv_a, seen.kv_a)) return wrong;
    const LatentTurned wanted =
        latent_turned(doubles_of(seen.q_b), doubles_of(seen.kv_a), inputs.turns,
                      inputs.gains[index_of(LayerNorm::latent)], double{kLayerEpsilon});
    const auto rope = name_of(LayerOp::latent_rope);
    if (auto wrong = fault_of(rope, floats_of(seen.nope, bf16), wanted.nope, rounding)) return wrong;
    const std::vector<float> q = floats_of(seen.q, true);
    if (auto wrong = fault_of(rope, columns_of(std::span(q), kRow, kValue, kRow), wanted.turned, of_bf16))
        return wrong;
    const std::vector<double> appended = appended_rows(seen.appended);
    const std::vector<float> appended_floats(appended.begin(), appended.end());
    if (auto wrong = fault_of("rope: latent rows", appended_floats, wanted.rows, of_bf16)) return wrong;
    if (auto wrong = product_fault(LayerMatrix::absorb, seen.absorbed)) return wrong;
    if (auto wrong = fault_of(name_of(LayerOp::narrow_q), columns_of(std::span(q), kRow, 0, kValue),
                              transposed(doubles_of(seen.absorbed), heads, options.batch()), of_bf16))
        return wrong;
    const std::vector<double> queries = doubles_of(q);
    for (const auto& [request, head] : latent_pairs(inputs)) {
        const std::size_t at = request * heads + head;
        const auto attended = latent_attended(std::span(queries).subspan(at * kRow, kRow),
                                              latent_rows(inputs, appended, request));
        const double error = relative_l2(std::span(seen.latent).subspan(at * kValue, kValue), attended);
        if (!(error <= attention_bound(KvFormat::bf16))) {
            return fmt::format("attention: request {}, head {}: relative error {:.1e} > {:.0e}", request,
                               head, error, attention_bound(KvFormat::bf16));
        }
    }
    if (auto wrong = fault_of(name_of(LayerOp::narrow_latent), floats_of(seen.of_heads, bf16),
                              transposed(doubles_of(seen.latent), options.batch(), heads), rounding))
        return wrong;
    if (auto wrong = product_fault(LayerMatrix::expand, seen.expanded)) return wrong;
    return fault_of(name_of(LayerOp::narrow_values), floats_of(seen.attended, bf16),
                    transposed(doubles_of(seen.expanded), heads, options.batch()), rounding);
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

/// Weight kernels by a list of experts have columns for so many tokens of one.
constexpr std::size_t kMostColumns = 8;
bool has_expert_kernel(WeightFormat format) {
    return format != WeightFormat::fp16 && format != WeightFormat::int8;
}

/// Whether the experts' kernels hold what a step asks of them.
bool fits(const LayerOptions& options) {
    const LayerExperts& experts = *options.experts;
    return experts.width != 0 && experts.active <= static_cast<std::size_t>(kMostActive) &&
           experts.count <= static_cast<std::size_t>(kMostExperts) && experts.active <= experts.count &&
           has_expert_kernel(options.weights) && options.load().columns <= kMostColumns;
}

/// Whether a latent cache is as the kernels have it, and its heads' lists hold the batch.
bool fits(const cards::LatentAttention& mla, const SuiteRow& row) {
    return mla.kv_rank == static_cast<std::size_t>(kMlaValue) &&
           mla.rope_dim == static_cast<std::size_t>(kMlaRope) &&
           mla.qk_head_dim == static_cast<std::size_t>(kMlaQuery) &&
           mla.v_head_dim == static_cast<std::size_t>(kMlaHeadOut) && mla.q_rank != 0 &&
           row.kv == KvFormat::bf16 && row.batch <= kMostColumns && has_expert_kernel(row.weights);
}

/// One GPU's part of a layer; nothing for models that these kernels have no layer for.
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
        if (matrix.op == "up" || matrix.op == "moe_up") return std::nullopt;  // not gated
    }
    if (options.hidden == 0 || options.hidden > kMostHidden) return std::nullopt;
    if (options.experts ? !fits(options) : options.width == 0) return std::nullopt;
    for (const LayerMatrix matrix : matrices_of(options)) {
        if (!fits(format_of(options, matrix), matrix_of(options, matrix).k)) return std::nullopt;
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
        default:
            return options.weights;
    }
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

std::size_t width_of(const LayerOptions& options, LayerNorm norm) {
    switch (norm) {
        case LayerNorm::query:
            return options.latent ? options.latent->q_rank : 0;
        case LayerNorm::latent:
            return options.latent ? static_cast<std::size_t>(kMlaValue) : 0;
        default:
            return options.hidden;
    }
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
        default:
            return {"moe_down", options.hidden, options.experts->width, options.experts->active};
    }
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
        .read_bytes = gains * 2 + (tokens_of(options) - batch) * token_bytes(options) +
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
        default:
            return {.read_bytes = pairs * (hidden * 4 + 8) + (options.width != 0 ? batch * hidden * 4 : 0),
                    .written_bytes = batch * hidden * 4};
    }
}

std::uint16_t gain_code(const LayerOptions& options, LayerNorm norm, std::uint64_t seed,
                        std::uint64_t place) {
    const double share = .75 + static_cast<double>(scrambled(seed ^ scrambled(place)) >> 32) * 0x1p-33;
    const WeightFormat multiplied =
        norm == LayerNorm::feed_forward ? options.weights : format_of(options, LayerMatrix::o);
    const double usual =
        1.5 / (std::sqrt(static_cast<double>(width_of(options, norm))) * weight_deviation(multiplied));
    switch (norm) {
        case LayerNorm::latent:  // as large as what is cached
            return bf16_of(static_cast<float>(.3 * share));
        case LayerNorm::query:  // absorption makes them larger
            return bf16_of(static_cast<float>(.05 * usual * share));
        default:
            return bf16_of(static_cast<float>(usual * share));
    }
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

/// Logits of random weights are scaled to about 1, as gains have products of the others' format come out.
RouteCall route_call(const LayerOptions& options) {
    const LayerExperts& experts = *options.experts;
    const ExpertLoad load = options.load();
    return {.tokens = static_cast<std::int32_t>(options.batch()),
            .experts = static_cast<std::int32_t>(experts.count),
            .active = static_cast<std::int32_t>(experts.active),
            .entries = static_cast<std::int32_t>(load.entries),
            .columns = static_cast<std::int32_t>(load.columns),
            .scale = static_cast<float>(weight_deviation(options.weights) /
                                        weight_deviation(format_of(options, LayerMatrix::router)))};
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
    switch (op) {
        case LayerOp::narrow_q:
            return {.outer = heads,
                    .inner = batch,
                    .size = kMlaValue,
                    .to_outer = kMlaRow,
                    .to_inner = heads * kMlaRow};
        case LayerOp::narrow_latent:
            return {.outer = batch,
                    .inner = heads,
                    .size = kMlaValue,
                    .to_outer = kMlaValue,
                    .to_inner = batch * kMlaValue};
        default:
            return {.outer = heads,
                    .inner = batch,
                    .size = kMlaHeadOut,
                    .to_outer = kMlaHeadOut,
                    .to_inner = heads * kMlaHeadOut};
    }
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
                        product_bound({format_of(options, matrix), shape.rows, shape.k}));
    };
    const auto norm_fault = [&](LayerOp op, std::span<const float> residual,
                                std::span<const std::uint16_t> out, LayerNorm norm) {
        return fault_of(name_of(op), floats_of(out, bf16),
                        normed(doubles_of(residual), inputs.gains[index_of(norm)]), rounding);
    };
    const std::vector<float> after_norm = float_sum(seen.residual_before, seen.down_before);
    if (auto wrong = norm_fault(LayerOp::norm, after_norm, seen.normed, LayerNorm::attention)) return wrong;
    if (auto wrong = options.latent ? latent_fault(inputs, seen, product_fault, rounding)
                                    : headed_fault(inputs, seen, product_fault))
        return wrong;
    if (auto wrong = product_fault(LayerMatrix::o, seen.o)) return wrong;
    const std::vector<float> after_ffn_norm = float_sum(after_norm, seen.o);
    if (after_ffn_norm != seen.residual) return "the residual is not the sum of what was added to it";
    if (auto wrong = norm_fault(LayerOp::ffn_norm, after_ffn_norm, seen.ffn_normed, LayerNorm::feed_forward))
        return wrong;
    const auto gate_fault = [&](LayerOp op, std::span<const float> gate_up,
                                std::span<const std::uint16_t> out, std::size_t width) {
        return fault_of(name_of(op), floats_of(out, bf16), gated(doubles_of(gate_up), width), rounding);
    };
    if (options.width != 0) {
        if (auto wrong = product_fault(LayerMatrix::gate_up, seen.gate_up)) return wrong;
        if (auto wrong = gate_fault(LayerOp::silu, seen.gate_up, seen.gated, options.width)) return wrong;
        if (auto wrong = product_fault(LayerMatrix::down, options.experts ? seen.shared_down : seen.down))
            return wrong;
    }
    if (!options.experts) return std::nullopt;
    if (auto wrong = product_fault(LayerMatrix::router, seen.logits)) return wrong;
    if (auto wrong = route_fault(inputs, seen)) return wrong;
    if (auto wrong = difference(LayerOp::gather, "element", seen.gathered, gathered(seen, options.hidden)))
        return wrong;
    if (auto wrong = product_fault(LayerMatrix::expert_gate_up, seen.expert_gate_up)) return wrong;
    if (auto wrong =
            gate_fault(LayerOp::expert_silu, seen.expert_gate_up, seen.expert_gated, options.experts->width))
        return wrong;
    if (auto wrong = product_fault(LayerMatrix::expert_down, seen.expert_down)) return wrong;
    auto sum =
        mixed(options, doubles_of(seen.route_weights), seen.route_places, doubles_of(seen.expert_down));
    if (options.width != 0) sum = sum_of(sum, doubles_of(seen.shared_down));
    return fault_of(name_of(LayerOp::mix), seen.down, sum, 1e-5);
}

namespace {

/// [batch, query heads, head_dim] from what qkv gave.
std::vector<double> headed_reference(const LayerInputs& inputs, std::span<const double> product_of_qkv) {
    const LayerOptions& options = inputs.options;
    const Turned qkv = turned(inputs, product_of_qkv);
    const Appended appended{rounded_to(options, qkv.keys), rounded_to(options, qkv.values)};
    std::vector<double> attention;
    for (std::size_t request = 0; request < options.batch(); ++request) {
        for (std::size_t head = 0; head < options.heads.kv_heads; ++head) {
            const auto of_head = attended(inputs, qkv.q, appended, request, head);
            attention.insert(attention.end(), of_head.begin(), of_head.end());
        }
    }
    return attention;
}

/// [batch, heads, 128] from what the first norm gave, without absorption.
std::vector<double> latent_reference(const LayerInputs& inputs, const LayerMatrices& matrices,
                                     std::span<const double> x) {
    constexpr auto kRope = static_cast<std::size_t>(kMlaRope);
    constexpr auto kNope = static_cast<std::size_t>(kMlaNope);
    const LayerOptions& options = inputs.options;
    const std::size_t heads = options.heads.query_heads;
    const auto multiply = [&](LayerMatrix matrix, std::span<const double> by) {
        const MatrixShape shape = matrix_of(options, matrix);
        return product({format_of(options, matrix), shape.rows, shape.k}, matrices[index_of(matrix)], by);
    };
    const auto of_head = [&](LayerMatrix matrix, std::size_t head) {
        const std::size_t size = matrix_of(options, matrix).rows * matrix_of(options, matrix).k;
        return std::span(matrices[index_of(matrix)]).subspan(head * size, size);
    };
    const auto q = multiply(LayerMatrix::q_b,
                            normed(multiply(LayerMatrix::q_a, x), inputs.gains[index_of(LayerNorm::query)]));
    LatentTurned turned = latent_turned(q, multiply(LayerMatrix::kv_a, x), inputs.turns,
                                        inputs.gains[index_of(LayerNorm::latent)], double{kLayerEpsilon});
    for (double& number : turned.rows)
        number = static_cast<double>(float_of_bf16(bf16_of(static_cast<float>(number))));
    std::vector<double> out;
    for (std::size_t request = 0; request < options.batch(); ++request) {
        const auto rows = latent_rows(inputs, turned.rows, request);
        for (std::size_t head = 0; head < heads; ++head) {
            const auto one = expanded_attended(
                std::span(turned.nope).subspan((head * options.batch() + request) * kNope, kNope),
                std::span(turned.turned).subspan((request * heads + head) * kRope, kRope), rows,
                of_head(LayerMatrix::absorb, head), of_head(LayerMatrix::expand, head));
            out.insert(out.end(), one.begin(), one.end());
        }
    }
    return out;
}

}  // namespace

std::vector<double> layer_reference(const LayerInputs& inputs, const LayerMatrices& matrices,
                                    std::span<const float> residual, std::span<const float> down) {
    const LayerOptions& options = inputs.options;
    const auto multiply = [&](LayerMatrix matrix, std::span<const double> x) {
        const MatrixShape shape = matrix_of(options, matrix);
        return product({format_of(options, matrix), shape.rows, shape.k}, matrices[index_of(matrix)], x);
    };
    const auto begun = sum_of(doubles_of(residual), doubles_of(down));
    const auto attention_x = normed(begun, inputs.gains[index_of(LayerNorm::attention)]);
    const auto attention = options.latent ? latent_reference(inputs, matrices, attention_x)
                                          : headed_reference(inputs, multiply(LayerMatrix::qkv, attention_x));
    const auto added = sum_of(begun, multiply(LayerMatrix::o, attention));
    const auto ffn_normed = normed(added, inputs.gains[index_of(LayerNorm::feed_forward)]);
    std::vector<double> result = added;
    if (options.width != 0) {
        const auto gate_up = multiply(LayerMatrix::gate_up, ffn_normed);
        result = sum_of(result, multiply(LayerMatrix::down, gated(gate_up, options.width)));
    }
    if (!options.experts) return result;
    const Routing routing =
        routing_of(*options.experts, options.load(), inputs.draw.masks,
                   multiply(LayerMatrix::router, ffn_normed), double{route_call(options).scale});
    // Pair by pair: nothing of entries and columns.
    const auto of_expert = [&](LayerMatrix matrix, std::int32_t expert, std::span<const double> x) {
        const auto& drawn = inputs.draw.touched;
        const auto index =
            static_cast<std::size_t>(std::lower_bound(drawn.begin(), drawn.end(), expert) - drawn.begin());
        const MatrixShape shape = matrix_of(options, matrix);
        const std::size_t size = shape.rows * shape.k;
        return product({format_of(options, matrix), shape.rows, shape.k},
                       std::span(matrices[index_of(matrix)]).subspan(index * size, size), x);
    };
    for (std::size_t pair = 0; pair < routing.experts.size(); ++pair) {
        const std::size_t row = pair / options.experts->active * options.hidden;
        const std::int32_t expert = routing.experts[pair];
        const auto gate_up = of_expert(LayerMatrix::expert_gate_up, expert,
                                       std::span(ffn_normed).subspan(row, options.hidden));
        const auto y = of_expert(LayerMatrix::expert_down, expert, gated(gate_up, options.experts->width));
        for (std::size_t i = 0; i < options.hidden; ++i) result[row + i] += routing.weights[pair] * y[i];
    }
    return result;
}

std::vector<PlantedFault> planted_faults(const LayerInputs& inputs) {
    const LayerOptions& options = inputs.options;
    std::vector<PlantedFault> planted;
    const auto plant = [&](std::string_view operand, const auto& change) {
        planted.push_back({std::string(operand), inputs});
        change(planted.back().inputs);
    };
    plant("gains of norm", [](LayerInputs& i) { i.gains[0].front() ^= 0x8000; });
    plant("gains of ffn_norm", [](LayerInputs& i) { i.gains[1].back() ^= 0x8000; });
    if (options.latent) {
        plant("gains of q_norm",
              [](LayerInputs& i) { i.gains[index_of(LayerNorm::query)].front() ^= 0x8000; });
        plant("gains of the latent rows",
              [](LayerInputs& i) { i.gains[index_of(LayerNorm::latent)].back() ^= 0x8000; });
    }
    plant("turns", [](LayerInputs& i) { i.turns.front() -= 1; });
    if (tokens_of(options) > static_cast<double>(options.batch()))
        plant("cached keys and values", [](LayerInputs& i) { ++i.kv_seed; });
    if (!options.experts) return planted;
    // The first token may choose one expert instead of another.
    const auto allows = [&](std::size_t expert) {
        return (inputs.draw.masks[expert / 32] >> expert % 32 & 1) != 0;
    };
    std::size_t allowed = 0;
    std::size_t other = 0;
    while (!allows(allowed)) ++allowed;
    while (other < options.experts->count && allows(other)) ++other;
    if (other < options.experts->count) {
        plant("masks of experts", [&](LayerInputs& i) {
            i.draw.masks[allowed / 32] ^= 1U << allowed % 32;
            i.draw.masks[other / 32] ^= 1U << other % 32;
        });
    }
    const auto touched = static_cast<std::size_t>(inputs.draw.touched.back());
    plant("places of gate_up's matrices", [&](LayerInputs& i) { ++i.stored[touched]; });
    plant("places of down's matrices", [&](LayerInputs& i) { ++i.stored[options.experts->count + touched]; });
    return planted;
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
