#include "microbench/gpu/attention/attention_prefill.h"

#include <fmt/format.h>

#include <cmath>

#include "core/random.h"

namespace paretoken::microbench::gpu {
namespace {

constexpr std::size_t kCheckedResults = 4096;
constexpr std::size_t kSampledResults = 64;

std::vector<double> numbers_of(const PrefillOptions& options, PrefillOperand operand, std::uint64_t seed,
                               std::size_t at) {
    std::vector<double> numbers;
    for (std::size_t d = 0; d < options.heads.head_dim; ++d) {
        numbers.push_back(number_of(options.format, prefill_code(options, operand, seed, at + d)));
    }
    return numbers;
}

}  // namespace

std::string name_of(const PrefillOptions& options) {
    return fmt::format("prefill/attention/engine:mma_sync/preset:{}/kv:{}/batch:{}/tokens:{}", options.preset,
                       name_of(options.format), options.batch, options.tokens);
}

Work prefill_work(const PrefillOptions& options) {
    const auto tokens = static_cast<double>(options.tokens);
    return {.read_bytes = static_cast<double>(options.queries() + 2 * options.keys()) * 2,
            .written_bytes = static_cast<double>(options.queries()) * 4,
            .flops = 4 * options.batch * tokens * (tokens + 1) / 2 *
                     static_cast<double>(options.heads.query_heads * options.heads.head_dim)};
}

PrefillCall prefill_call(const PrefillOptions& options) {
    PrefillCall call;
    call.batch = options.batch;
    call.tokens = options.tokens;
    call.query_heads = static_cast<std::int32_t>(options.heads.query_heads);
    call.kv_heads = static_cast<std::int32_t>(options.heads.kv_heads);
    call.score_scale = kLog2E / std::sqrt(static_cast<float>(options.heads.head_dim));
    return call;
}

std::uint64_t prefill_seed(PrefillOperand operand, std::uint64_t seed) {
    return derived_seed(seed, "prefill", static_cast<std::uint64_t>(operand));
}

std::uint16_t prefill_code(const PrefillOptions& options, PrefillOperand operand, std::uint64_t seed,
                           std::uint64_t place) {
    return random_code(options.format, prefill_seed(operand, seed), place);
}

std::vector<double> prefill_reference(const PrefillOptions& options, std::int32_t request, std::int32_t query,
                                      std::int32_t head, std::uint64_t seed) {
    const std::size_t dim = options.heads.head_dim;
    const std::size_t kv_head = static_cast<std::size_t>(head) / options.heads.group();
    std::vector<double> keys;
    std::vector<double> values;
    for (std::int32_t token = 0; token <= query; ++token) {
        const std::size_t row = static_cast<std::size_t>(request) * static_cast<std::size_t>(options.tokens) +
                                static_cast<std::size_t>(token);
        const std::size_t at = (row * options.heads.kv_heads + kv_head) * dim;
        const auto k = numbers_of(options, PrefillOperand::k, seed, at);
        const auto v = numbers_of(options, PrefillOperand::v, seed, at);
        keys.insert(keys.end(), k.begin(), k.end());
        values.insert(values.end(), v.begin(), v.end());
    }
    const auto q =
        numbers_of(options, PrefillOperand::q, seed, result_place(options, {request, query, head}));
    return attention_reference(q, keys, values, 1 / std::sqrt(static_cast<double>(dim)));
}

std::size_t result_place(const PrefillOptions& options, const PrefillPlace& place) {
    const std::size_t row =
        static_cast<std::size_t>(place.request) * static_cast<std::size_t>(options.tokens) +
        static_cast<std::size_t>(place.query);
    return (row * options.heads.query_heads + static_cast<std::size_t>(place.head)) * options.heads.head_dim;
}

std::vector<PrefillPlace> places_to_check(const PrefillOptions& options, std::uint64_t seed) {
    const std::size_t heads = options.heads.query_heads;
    const std::size_t count = options.rows() * heads;
    const auto place_of = [&](std::size_t index) {
        const auto tokens = static_cast<std::size_t>(options.tokens);
        return PrefillPlace{static_cast<std::int32_t>(index / heads / tokens),
                            static_cast<std::int32_t>(index / heads % tokens),
                            static_cast<std::int32_t>(index % heads)};
    };
    std::vector<PrefillPlace> places;
    if (count <= kCheckedResults) {
        for (std::size_t i = 0; i < count; ++i) places.push_back(place_of(i));
        return places;
    }
    Random random(derived_seed(seed, "checked queries"));
    places = {place_of(0), place_of(count - 1)};
    while (places.size() < kSampledResults) places.push_back(place_of(random.below(count)));
    return places;
}

std::vector<PrefillOptions> prefill_suite(RowSet set) {
    constexpr HeadShape kLlama8b{32, 8, 128};
    if (set == RowSet::checks) {
        return {{"edges", {4, 2, 128}, KvFormat::bf16, 2, 130},
                {"edges", {2, 1, 64}, KvFormat::fp16, 1, 63},
                {"one", {2, 2, 64}, KvFormat::bf16, 3, 1}};
    }
    std::vector<PrefillOptions> suite = {{"llama3-8b", kLlama8b, KvFormat::bf16, 1, 8192}};
    if (set == RowSet::quick) return suite;
    suite.push_back({"llama3-8b", kLlama8b, KvFormat::bf16, 4, 2048});
    suite.push_back({"gpt-oss-120b", {64, 8, 64}, KvFormat::bf16, 1, 8192});
    if (set == RowSet::standard) return suite;
    suite.push_back({"llama3-8b", kLlama8b, KvFormat::fp16, 1, 8192});
    suite.push_back({"llama3-70b", {64, 8, 128}, KvFormat::bf16, 1, 16384});
    return suite;
}

}  // namespace paretoken::microbench::gpu
