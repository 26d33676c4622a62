#pragma once
// Decode attention over a paged KV cache, without its kernel: the rows, the least traffic and arithmetic of
// each row, its inputs, and its reference results, computed in fp64 from the dequantised operands. Compiles
// without CUDA.
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
    std::int32_t window = 0;  ///< number of tokens that a query sees; 0: all
    /// Each query head has a sink: a learned logit that takes part in the softmax and has no value vector.
    bool sinks = false;
    KvFormat format = KvFormat::bf16;
    PageLayout layout = PageLayout::nhd;
    PageOrder order = PageOrder::random;
    std::int32_t page = 16;              ///< tokens per page
    std::vector<std::int32_t> lengths;   ///< number of cached tokens of each request, each ≥ q_len
    std::int32_t q_len = 1;              ///< query tokens per request, the last of its cached tokens
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
    /// Number of passes over the cache of a KV head.
    std::int32_t tiles_per_kv_head() const {
        const std::int32_t rows = kWarpTokens * row_tiles();
        return (query_rows() + rows - 1) / rows;
    }
    std::int32_t head_tiles() const {
        return static_cast<std::int32_t>(heads.kv_heads) * tiles_per_kv_head();
    }
    /// Number of query rows that share a KV head: query heads per KV head · query tokens.
    std::int32_t query_rows() const { return static_cast<std::int32_t>(heads.group()) * q_len; }
    /// Number of tokens at the end of a context that at least one query token sees; 0: all.
    std::int32_t seen_window() const { return joint_window(window, q_len); }
    /// Number of pages of the pool that holds `copies` caches.
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

/// Return element `place` of the queries, as a number and as its code, by the formulas of paged.h.
float query_number(KvFormat format, std::uint64_t seed, std::uint64_t place);
std::uint16_t query_code(KvFormat format, std::uint64_t seed, std::uint64_t place);
float sink_logit(std::uint64_t seed, std::uint64_t head);

/// Returns the result of one query head. `keys` and `values` are those that it sees, each [tokens, head_dim].
/// The weights are the softmax of `scale` · q·k; a sink adds e^sink to the denominator.
std::vector<double> attention_reference(std::span<const double> q, std::span<const double> keys,
                                        std::span<const double> values, double scale,
                                        std::optional<double> sink = std::nullopt);

/// The keys and values that the queries of one KV head see together, each [tokens, head_dim], in a cache that
/// was filled by the formulas of paged.h.
struct CachedHead {
    std::vector<double> keys;
    std::vector<double> values;
};
CachedHead cached_head(const AttentionOptions& options, const PageTable& table, std::size_t request,
                       std::size_t kv_head, std::uint64_t seed);

/// Returns the results of all query heads of one KV head of one request: [q_len, group, head_dim], where
/// `group` is the number of query heads per KV head.
std::vector<double> attention_reference(const AttentionOptions& options, const PageTable& table,
                                        std::size_t request, std::size_t kv_head, std::uint64_t seed);

/// Returns the largest relative L2 error among the query tokens of one KV head of one request. `out` holds
/// all results of the row.
double attention_error(const AttentionOptions& options, std::span<const float> out, const PageTable& table,
                       std::size_t request, std::size_t kv_head, std::uint64_t seed);

/// Returns the (request, KV head) pairs that a check compares: all pairs of a small row, or a sample with the
/// first and the last pair of a large one.
std::vector<std::pair<std::size_t, std::size_t>> pairs_to_check(const AttentionOptions& options,
                                                                std::uint64_t seed);

/// Returns the largest relative L2 error of fp32 results that a correct kernel may have. It is larger for
/// bf16 caches, because the kernel rounds the softmax weights to bf16 then.
constexpr double attention_bound(KvFormat format) {
    return format == KvFormat::bf16 ? 3e-3 : 6e-4;
}

/// Returns the call with all fields but the pointers.
AttentionCall attention_call(const AttentionOptions& options, std::int32_t stages);

SplitOptions split_options(const AttentionOptions& options, std::int32_t blocks);

enum class RowSet { checks, quick, standard, full };  ///< checks: small rows with odd sizes, for verification

RowSet row_set(const GpuSettings& settings);

/// Returns the options of the rows of a suite.
std::vector<AttentionOptions> attention_suite(RowSet set);

}  // namespace paretoken::microbench::gpu
