#pragma once
// The benchmark rows of decode attention over a paged KV cache, except for the kernel. This header has the
// options of a row, the least traffic and arithmetic that it needs, its inputs, and its reference results,
// which are computed in fp64 from the dequantised operands. It compiles without CUDA.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "microbench/gpu/attention/attention_body.h"
#include "microbench/gpu/attention/paged.h"
#include "microbench/gpu/device/kernel.h"
#include "microbench/gpu/rows.h"
#include "microbench/shapes.h"

namespace paretoken::microbench::gpu {

struct AttentionOptions {
    std::string preset;
    HeadShape heads;
    std::int32_t window = 0;  ///< number of tokens that a query sees; 0 means all
    /// Whether each query head has a sink, which is a learned logit that takes part in the softmax and has no
    /// value vector.
    bool sinks = false;
    KvFormat format = KvFormat::bf16;
    PageLayout layout = PageLayout::nhd;
    PageOrder order = PageOrder::random;
    std::int32_t page = 16;              ///< tokens per page
    std::vector<std::int32_t> lengths;   ///< number of cached tokens of each request, each ≥ q_len
    std::int32_t q_len = 1;              ///< query tokens per request: the last of its cached tokens
    std::uint64_t least_pool_bytes = 0;  ///< smallest size of the pool over which the pages are spread

    bool operator==(const AttentionOptions&) const = default;
    PoolShape pool() const {
        return {format, layout, static_cast<std::uint32_t>(heads.kv_heads),
                static_cast<std::uint32_t>(heads.head_dim), static_cast<std::uint32_t>(page)};
    }
    /// Number of tiles of 16 query rows that one pass over the cache of a KV head serves: 1, 2 or 4.
    std::int32_t row_tiles() const {
        const std::int32_t tiles = (query_rows() + kWarpTokens - 1) / kWarpTokens;
        return q_len == 1 || tiles == 1 ? 1 : tiles == 2 ? 2 : kWarps;
    }
    /// Number of passes over the cache of a KV head of one request.
    std::int32_t tiles_per_kv_head() const {
        const std::int32_t rows = kWarpTokens * row_tiles();
        return (query_rows() + rows - 1) / rows;
    }
    /// Number of passes over the caches of all KV heads of one request.
    std::int32_t head_tiles() const {
        return static_cast<std::int32_t>(heads.kv_heads) * tiles_per_kv_head();
    }
    /// Number of query rows that share a KV head: query heads per KV head · query tokens.
    std::int32_t query_rows() const { return static_cast<std::int32_t>(heads.group()) * q_len; }
    /// Number of tokens at the end of a context that at least one query token sees; 0: all.
    std::int32_t seen_window() const { return joint_window(window, q_len); }
    /// Number of pages of the pool that holds `copies` caches, each with the tokens of all requests.
    std::uint64_t pool_pages(std::size_t copies) const;
    /// Number of elements of the queries, and of the results: [requests, q_len, query heads, head_dim].
    std::uint64_t outputs() const {
        return lengths.size() * static_cast<std::size_t>(q_len) * heads.query_heads * heads.head_dim;
    }
};

/// Returns a name such as
/// "attention/preset:llama3-8b/kv:bf16/batch:16/ctx:8192/page:16/layout:nhd/order:random".
/// "/window:128", "/sinks:1", "/q_len:4" and "/pool:40G" follow if the row has these properties.
std::string name_of(const AttentionOptions& options);

/// Returns the page tables of `copies` caches of the row in one pool.
std::vector<PageTable> page_tables(const AttentionOptions& options, std::size_t copies, std::uint64_t seed);

/// Returns the work of the row: it reads K and V of each visible token once, with their scales, the
/// page-table entries of these tokens and the queries, and writes fp32 outputs. Partial results are not
/// counted, because only this kernel's algorithm needs them.
Work attention_work(const AttentionOptions& options);

/// Return element `place` of the random queries, as a number and as its 16-bit code: bf16 if `format`, the
/// format of the cache, is bf16, otherwise fp16.
float query_number(KvFormat format, std::uint64_t seed, std::uint64_t place);
std::uint16_t query_code(KvFormat format, std::uint64_t seed, std::uint64_t place);
/// Returns the random logit of the sink of query head `head`.
float sink_logit(std::uint64_t seed, std::uint64_t head);

/// Returns the result [value_dim] of one query head, which is a weighted sum of `values`. `q` is the query
/// [head_dim], `keys` is [tokens, head_dim] and `values` is [tokens, value_dim]; value_dim may differ from
/// head_dim. The query sees all of them. The weights are the softmax of `scale` · q·k; a sink adds e^sink
/// to the denominator.
std::vector<double> attention_reference(std::span<const double> q, std::span<const double> keys,
                                        std::span<const double> values, double scale,
                                        std::optional<double> sink = std::nullopt);

/// The keys and values that the queries of one KV head see together, each [tokens, head_dim], in a cache
/// that was filled by the formulas of microbench/gpu/attention/paged.h (random_code and random_scale).
struct CachedHead {
    std::vector<double> keys;
    std::vector<double> values;
};
CachedHead cached_head(const AttentionOptions& options, const PageTable& table, std::size_t request,
                       std::size_t kv_head, std::uint64_t seed);

/// Returns the reference results in fp64 of all query heads of one KV head of one request, whose keys and
/// values lie in the pages of `table`: [q_len, group, head_dim], where `group` is the number of query heads
/// per KV head.
std::vector<double> attention_reference(const AttentionOptions& options, const PageTable& table,
                                        std::size_t request, std::size_t kv_head, std::uint64_t seed);

/// Compares the results of one KV head of one request with attention_reference(). Returns the relative L2
/// error of the query token where it is largest. `out` holds all results of the row: [requests, q_len,
/// query heads, head_dim].
double attention_error(const AttentionOptions& options, std::span<const float> out, const PageTable& table,
                       std::size_t request, std::size_t kv_head, std::uint64_t seed);

/// Returns the (request, KV head) pairs that a check compares: all pairs of a small row, or a sample with the
/// first and the last pair of a large one.
std::vector<std::pair<std::size_t, std::size_t>> pairs_to_check(const AttentionOptions& options,
                                                                std::uint64_t seed);

/// Returns the largest relative L2 error of fp32 results that a correct kernel may have. The kernel rounds
/// the softmax weights to bf16 if the cache is bf16, otherwise to fp16. The bounds are near the largest
/// relative rounding errors of these formats, 2^-8 and 2^-11.
constexpr double attention_bound(KvFormat format) {
    return format == KvFormat::bf16 ? 3e-3 : 6e-4;
}

/// Returns the arguments of a launch without the pointers, which the caller sets. `stages` is the number of
/// tiles that each warp keeps in shared memory.
AttentionCall attention_call(const AttentionOptions& options, std::int32_t stages);

/// Returns the options by which split_plan divides the row among `blocks` thread blocks.
SplitOptions split_options(const AttentionOptions& options, std::int32_t blocks);

/// The sets of rows of a suite. `checks` are small rows with odd sizes, which are verified but not timed.
/// Each of the other sets contains the rows of those before it.
enum class RowSet { checks, quick, standard, full };

/// Returns the set that the program's options ask for.
RowSet row_set(const GpuSettings& settings);

/// Returns the options of the rows of a suite.
std::vector<AttentionOptions> attention_suite(RowSet set);

}  // namespace paretoken::microbench::gpu
