#pragma once
// Decode of multi-head latent attention: every cached token is one row of 576 numbers that all query heads
// share; scores use all of it, values are its first 512, and the row is read once. Numbers only; no CUDA.
#include <cstdint>
#include <string>
#include <vector>

#include "microbench/gpu/attention/attention.h"
#include "microbench/gpu/attention/paged.h"
#include "microbench/gpu/device/kernel.h"
#include "microbench/gpu/mla/mla_body.h"

namespace paretoken::microbench::gpu {

/// A cache in bf16 of pages [token][576].
struct MlaOptions {
    std::string preset;
    std::int32_t heads = 16;
    PageOrder order = PageOrder::random;
    std::int32_t page = 64;             ///< tokens
    std::vector<std::int32_t> lengths;  ///< tokens cached per request, each ≥ 1

    bool operator==(const MlaOptions&) const = default;
    std::int32_t head_tiles() const { return (heads + kWarpTokens - 1) / kWarpTokens; }
    std::uint64_t outputs() const {
        return lengths.size() * static_cast<std::uint64_t>(heads) * static_cast<std::uint64_t>(kMlaValue);
    }
    std::uint64_t queries() const {
        return lengths.size() * static_cast<std::uint64_t>(heads) * static_cast<std::uint64_t>(kMlaRow);
    }
};

/// "mla/preset:deepseek-v3-tp8/kv:bf16/batch:64/ctx:8192/page:64/order:random"
std::string name_of(const MlaOptions& options);

/// Rows once, whatever the number of head tiles that read them; partial results are not counted.
Work mla_work(const MlaOptions& options);

MlaCall mla_call(const MlaOptions& options, std::int32_t stages);
SplitOptions split_options(const MlaOptions& options, std::int32_t blocks);

/// What a request's cache holds, by the formulas of paged.h: [tokens, 576].
std::vector<double> cached_rows(const MlaOptions& options, const PageTable& table, std::size_t request,
                                std::uint64_t seed);

/// [heads, 512] of one request.
std::vector<double> mla_reference(const MlaOptions& options, const PageTable& table, std::size_t request,
                                  std::uint64_t seed);

/// Which requests a check compares.
std::vector<std::size_t> requests_to_check(const MlaOptions& options, std::uint64_t seed);

std::vector<MlaOptions> mla_suite(RowSet set);

}  // namespace paretoken::microbench::gpu
