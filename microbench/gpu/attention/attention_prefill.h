#pragma once
// Causal attention over whole prompts, as numbers: bound by arithmetic, so a row tells operations per second.
// Compiles without CUDA.
#include <cstdint>
#include <string>
#include <vector>

#include "microbench/gpu/attention/attention.h"
#include "microbench/gpu/attention/attention_prefill_body.h"
#include "microbench/gpu/attention/paged.h"
#include "microbench/gpu/device/kernel.h"
#include "microbench/shapes.h"

namespace paretoken::microbench::gpu {

struct PrefillOptions {
    std::string preset;
    HeadShape heads;
    KvFormat format = KvFormat::bf16;  ///< or fp16
    std::int32_t batch = 1;
    std::int32_t tokens = 0;  ///< per prompt

    bool operator==(const PrefillOptions&) const = default;
    std::size_t rows() const { return static_cast<std::size_t>(batch) * static_cast<std::size_t>(tokens); }
    std::size_t queries() const { return rows() * heads.query_heads * heads.head_dim; }
    std::size_t keys() const { return rows() * heads.kv_heads * heads.head_dim; }
    unsigned blocks() const {
        return static_cast<unsigned>(prefill_tiles(tokens) * batch) *
               static_cast<unsigned>(heads.query_heads);
    }
};

/// "prefill/attention/engine:mma_sync/preset:llama3-8b/kv:bf16/batch:1/tokens:8192"
std::string name_of(const PrefillOptions& options);

/// Each query sees the tokens up to itself. Inputs and results once.
Work prefill_work(const PrefillOptions& options);

PrefillCall prefill_call(const PrefillOptions& options);

enum class PrefillOperand { q, k, v };
/// What lies at `place` of an operand.
std::uint16_t prefill_code(const PrefillOptions& options, PrefillOperand operand, std::uint64_t seed,
                           std::uint64_t place);
/// The seed of random_code for an operand.
std::uint64_t prefill_seed(PrefillOperand operand, std::uint64_t seed);

/// The result [head_dim] of one query.
std::vector<double> prefill_reference(const PrefillOptions& options, std::int32_t request, std::int32_t query,
                                      std::int32_t head, std::uint64_t seed);

/// (request, query, head) that a check compares: all of a small row, else a sample with first and last.
struct PrefillPlace {
    std::int32_t request = 0;
    std::int32_t query = 0;
    std::int32_t head = 0;
};
std::vector<PrefillPlace> places_to_check(const PrefillOptions& options, std::uint64_t seed);
/// Where its result lies.
std::size_t result_place(const PrefillOptions& options, const PrefillPlace& place);

std::vector<PrefillOptions> prefill_suite(RowSet set);

}  // namespace paretoken::microbench::gpu
