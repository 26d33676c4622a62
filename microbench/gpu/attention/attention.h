#pragma once
// Decode attention over a paged KV cache, as numbers: what a row reads and computes at least, which inputs it
// is given, and what must come out, in fp64 from the dequantised operands. Compiles without CUDA.
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
    std::int32_t window = 0;  ///< tokens that a query sees; 0: all
    bool sinks = false;  ///< a learned logit per query head that takes part in the softmax and has no value
    KvFormat format = KvFormat::bf16;
    PageLayout layout = PageLayout::nhd;
    PageOrder order = PageOrder::random;
    std::int32_t page = 16;              ///< tokens
    std::vector<std::int32_t> lengths;   ///< tokens cached per request, each ≥ q_len
    std::int32_t q_len = 1;              ///< query tokens per request and step, the last of its cached tokens
    std::uint64_t least_pool_bytes = 0;  ///< the pages are spread over so much memory, though few are read

    bool operator==(const AttentionOptions&) const = default;
    PoolShape pool() const {
        return {format, layout, static_cast<std::uint32_t>(heads.kv_heads),
                static_cast<std::uint32_t>(heads.head_dim), static_cast<std::uint32_t>(page)};
    }
    /// Tiles of 16 query rows that one reading of a KV head serves.
    std::int32_t row_tiles() const {
        const std::int32_t tiles = (query_rows() + kWarpTokens - 1) / kWarpTokens;
        return q_len == 1 || tiles == 1 ? 1 : tiles == 2 ? 2 : kWarps;
    }
    std::int32_t tiles_per_kv_head() const {
        const std::int32_t rows = kWarpTokens * row_tiles();
        return (query_rows() + rows - 1) / rows;
    }
    std::int32_t head_tiles() const {
        return static_cast<std::int32_t>(heads.kv_heads) * tiles_per_kv_head();
    }
    /// Rows of queries that share a KV head.
    std::int32_t query_rows() const { return static_cast<std::int32_t>(heads.group()) * q_len; }
    /// Tokens at the end of a context that some query token sees; 0: all.
    std::int32_t seen_window() const { return joint_window(window, q_len); }
    /// Pages of the pool that holds `copies` caches.
    std::uint64_t pool_pages(std::size_t copies) const;
    /// Numbers of the queries, and of the results: [requests, q_len, query heads, head_dim].
    std::uint64_t outputs() const {
        return lengths.size() * static_cast<std::size_t>(q_len) * heads.query_heads * heads.head_dim;
    }
};

/// "attention/preset:llama3-8b/kv:bf16/batch:16/ctx:8192/page:16/layout:nhd/order:random", and "/window:128",
/// "/sinks:1", "/q_len:4" and "/pool:40G" where there are.
std::string name_of(const AttentionOptions& options);

/// Where the caches of `copies` of the row lie in their pool.
std::vector<PageTable> page_tables(const AttentionOptions& options, std::size_t copies, std::uint64_t seed);

/// K and V of every token seen, once, with its scales, the page table of those tokens, queries, and fp32
/// outputs. Partial results are not counted: they are this kernel's choice.
Work attention_work(const AttentionOptions& options);

/// What a query element is, by the formulas of paged.h.
float query_number(KvFormat format, std::uint64_t seed, std::uint64_t place);
std::uint16_t query_code(KvFormat format, std::uint64_t seed, std::uint64_t place);
float sink_logit(std::uint64_t seed, std::uint64_t head);

/// One query head's result from the keys and values it sees, each [tokens, head_dim]: softmax of q·k / √dim,
/// a sink adding e^sink to the denominator.
std::vector<double> attention_reference(std::span<const double> q, std::span<const double> keys,
                                        std::span<const double> values, double scale,
                                        std::optional<double> sink = std::nullopt);

/// What the queries of one KV head see together of a cache filled by the formulas of paged.h: each [tokens,
/// head_dim].
struct CachedHead {
    std::vector<double> keys;
    std::vector<double> values;
};
CachedHead cached_head(const AttentionOptions& options, const PageTable& table, std::size_t request,
                       std::size_t kv_head, std::uint64_t seed);

/// Results of all query heads of one KV head of one request: [q_len, group, head_dim].
std::vector<double> attention_reference(const AttentionOptions& options, const PageTable& table,
                                        std::size_t request, std::size_t kv_head, std::uint64_t seed);

/// The largest relative L2 error among the query tokens of one KV head of one request; `out` holds all
/// results of the row.
double attention_error(const AttentionOptions& options, std::span<const float> out, const PageTable& table,
                       std::size_t request, std::size_t kv_head, std::uint64_t seed);

/// Which (request, KV head) pairs a check compares: all while they are small, else a sample that holds the
/// first and the last.
std::vector<std::pair<std::size_t, std::size_t>> pairs_to_check(const AttentionOptions& options,
                                                                std::uint64_t seed);

/// Largest relative L2 error of fp32 results that a right kernel may show: bf16 caches round P to bf16.
constexpr double attention_bound(KvFormat format) {
    return format == KvFormat::bf16 ? 3e-3 : 6e-4;
}

/// The call without its pointers.
AttentionCall attention_call(const AttentionOptions& options, std::int32_t stages);

SplitOptions split_options(const AttentionOptions& options, std::int32_t blocks);

enum class RowSet { checks, quick, standard, full };  ///< checks: tiny and ragged, for verification

RowSet row_set(const GpuSettings& settings);

/// The rows of a suite, names and inputs only.
std::vector<AttentionOptions> attention_suite(RowSet set);

}  // namespace paretoken::microbench::gpu
