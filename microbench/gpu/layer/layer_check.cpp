// Compares the results of a layer with references in fp64.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "microbench/collect.h"
#include "microbench/cpu/formats.h"
#include "microbench/gpu/layer/layer.h"
#include "microbench/gpu/layer/layer_buffers.h"
#include "microbench/gpu/weights/weights_reference.h"

namespace paretoken::microbench::gpu {
namespace {

bool is_bf16(KvFormat format) {
    return format == KvFormat::bf16;
}

/// Returns the largest relative rounding error of a 16-bit result.
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

/// The queries, keys and values of a step after the rotary embedding of queries and keys, each
/// [batch][heads][head_dim].
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

/// The values of the appended tokens, multiplied by their scales, each [batch][KV heads][head_dim].
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

/// Returns the largest difference that is allowed between a number and its stored value: half a step of the
/// format, plus the rounding errors of the fp32 arithmetic before, which grow with the largest number of the
/// head, `most`.
double half_step(KvFormat format, double number, double most) {
    const double lost = 1e-5 * std::abs(number) + 1e-6 * most;
    switch (format) {
        case KvFormat::bf16:
            return lost + std::abs(number) * 0x1p-8;
        case KvFormat::fp16:
            return lost + std::max(std::abs(number) * 0x1p-11, 0x1p-25);
        case KvFormat::fp8:
            return lost + std::max(std::abs(number) * 0x1p-4, 0x1p-10);
        case KvFormat::int8:
            return lost + most / 127 / 2;
    }
    return lost;
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

/// Returns the nearest numbers of the cache's format.
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
                case KvFormat::int8:
                    numbers[i] = scale > 0 ? std::nearbyint(numbers[i] / scale) * scale : 0;
            }
        }
    }
    return numbers;
}

/// Returns the results of all query heads of one KV head: [group, head_dim]. The key and the value of the
/// last token are those of `appended`.
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

/// Returns Σ weight · result of the chosen expert: [batch, hidden]. `results` is [places, hidden].
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

/// Returns the sum in fp32, as a kernel computes it.
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

/// Checks the routing of a layer with experts: places, tokens, matrices and weights.
std::optional<std::string> route_fault(const LayerInputs& inputs, const LayerSeen& seen) {
    const LayerOptions& options = inputs.options;
    if (std::any_of(seen.logits.begin(), seen.logits.end(), [](float x) { return std::isnan(x); }))
        return "router: a logit is NaN";
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

/// Checks grouped-query attention: all operations between the first norm and `o`.
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

/// Returns the columns `first` … `end` − 1 of rows of length `stride`.
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

/// Returns the cached rows of a request, the last of which is the new token's.
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

/// Returns the (request, head) pairs that a check of latent attention compares: all heads of a small layer,
/// or the first and the last head of a large one.
std::vector<std::pair<std::size_t, std::size_t>> latent_pairs(const LayerInputs& inputs) {
    constexpr double kFew = 1 << 16;
    const std::size_t heads = inputs.options.heads.query_heads;
    std::vector<std::pair<std::size_t, std::size_t>> pairs;
    const bool few = inputs.options.tokens() * static_cast<double>(heads) <= kFew;
    for (const std::size_t request : requests_to_check(inputs.options.mla(), inputs.kv_seed)) {
        for (std::size_t head = 0; head < heads; head += few || heads == 1 ? 1 : heads - 1)
            pairs.emplace_back(request, head);
    }
    return pairs;
}

/// Checks latent attention: all operations between the first norm and `o`.
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

}  // namespace

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

/// Returns the results of grouped-query attention, [batch, query heads, head_dim], from the result of qkv.
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

/// Returns the results of latent attention, [batch, heads, 128], from the result of the first norm. It is
/// computed without absorption.
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
    // The results are computed for each (token, expert) pair alone, without entries and columns.
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
    if (options.tokens() > static_cast<double>(options.batch()))
        plant("cached keys and values", [](LayerInputs& i) { ++i.kv_seed; });
    if (!options.experts) return planted;
    // In the mask of the first token, one allowed expert is replaced by another one.
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
    // A few elements are rounded to the next step of the cache's format, and each of them then differs by a
    // whole step.
    const double of_cache = options.kv == KvFormat::fp8 ? 1.5e-2 : options.kv == KvFormat::int8 ? 5e-3 : 0;
    return (bf16 ? 1.5e-2 : 2e-3) + of_cache;
}

}  // namespace paretoken::microbench::gpu
