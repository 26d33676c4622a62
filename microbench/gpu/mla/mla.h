#pragma once
// The benchmark rows of multi-head latent attention (MLA) in decode, except for the kernel: their options,
// work, inputs and reference results. Every cached token is one row of 576 numbers that all query heads
// share: a latent part of 512 numbers and 64 numbers with rotary embedding. The scores use the whole row, the
// values are its latent part, and the row is read once. The sizes are those of DeepSeek-V3. Compiles without
// CUDA.
#include <cstdint>
#include <string>
#include <vector>

#include "microbench/gpu/attention/attention.h"
#include "microbench/gpu/attention/paged.h"
#include "microbench/gpu/device/kernel.h"
#include "microbench/gpu/mla/mla_body.h"

namespace paretoken::microbench::gpu {

/// The options of a row. The cache is bf16, in pages [token][576].
struct MlaOptions {
    std::string preset;
    std::int32_t heads = 16;  ///< query heads
    PageOrder order = PageOrder::random;
    std::int32_t page = 64;             ///< tokens per page
    std::vector<std::int32_t> lengths;  ///< number of cached tokens of each request, each ≥ 1

    bool operator==(const MlaOptions&) const = default;
    /// Number of tiles of 16 query heads.
    std::int32_t head_tiles() const { return (heads + kWarpTokens - 1) / kWarpTokens; }
    /// Number of elements of the results: [requests, heads, 512].
    std::uint64_t outputs() const {
        return lengths.size() * static_cast<std::uint64_t>(heads) * static_cast<std::uint64_t>(kMlaValue);
    }
    /// Number of elements of the queries: [requests, heads, 576].
    std::uint64_t queries() const {
        return lengths.size() * static_cast<std::uint64_t>(heads) * static_cast<std::uint64_t>(kMlaRow);
    }
};

/// Returns a name such as "mla/preset:deepseek-v3-tp8/kv:bf16/batch:64/ctx:8192/page:64/order:random".
std::string name_of(const MlaOptions& options);

/// Returns the work of the row. Each cached row is counted once, even if several head tiles read it. Partial
/// results are not counted.
Work mla_work(const MlaOptions& options);

/// Returns the arguments of a launch without the pointers, which the caller sets. `stages` is the number of
/// stages of a block in shared memory, each of which holds kMlaTokens tokens (mla_body.h).
MlaCall mla_call(const MlaOptions& options, std::int32_t stages);
/// Returns the options by which split_plan divides the row among `blocks` thread blocks.
SplitOptions split_options(const MlaOptions& options, std::int32_t blocks);

/// Returns the cached rows of a request by the formulas of paged.h: [tokens, 576].
std::vector<double> cached_rows(const MlaOptions& options, const PageTable& table, std::size_t request,
                                std::uint64_t seed);

/// Returns the reference results of one request: [heads, 512].
std::vector<double> mla_reference(const MlaOptions& options, const PageTable& table, std::size_t request,
                                  std::uint64_t seed);

/// Returns the requests that a check compares: all requests of a small row, or a sample with the first and
/// the last request of a large one.
std::vector<std::size_t> requests_to_check(const MlaOptions& options, std::uint64_t seed);

/// Returns the options of the rows of a suite.
std::vector<MlaOptions> mla_suite(RowSet set);

}  // namespace paretoken::microbench::gpu
