#pragma once
// The benchmark rows of causal attention over whole prompts (prefill), except for the kernel: their options,
// work, inputs and reference results. Arithmetic limits the speed of these rows, so that their results are
// given in operations per second. This header compiles without CUDA.
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
    KvFormat format = KvFormat::bf16;  ///< bf16 or fp16
    std::int32_t batch = 1;            ///< prompts
    std::int32_t tokens = 0;           ///< tokens per prompt

    bool operator==(const PrefillOptions&) const = default;
    /// Number of tokens of all prompts.
    std::size_t rows() const { return static_cast<std::size_t>(batch) * static_cast<std::size_t>(tokens); }
    /// Number of elements of all queries, and of all results.
    std::size_t queries() const { return rows() * heads.query_heads * heads.head_dim; }
    /// Number of elements of all keys, and of all values.
    std::size_t keys() const { return rows() * heads.kv_heads * heads.head_dim; }
    /// Number of thread blocks of a launch.
    unsigned blocks() const {
        return static_cast<unsigned>(prefill_tiles(tokens) * batch) *
               static_cast<unsigned>(heads.query_heads);
    }
};

/// Returns a name such as "prefill/attention/engine:mma_sync/preset:llama3-8b/kv:bf16/batch:1/tokens:8192".
std::string name_of(const PrefillOptions& options);

/// Returns the work of the row. Inputs and results are counted once. Each query computes with the tokens up
/// to itself.
Work prefill_work(const PrefillOptions& options);

/// Returns the arguments of a launch without the pointers, which the caller sets.
PrefillCall prefill_call(const PrefillOptions& options);

enum class PrefillOperand { q, k, v };
/// Returns the random code of element `place` of an operand.
std::uint16_t prefill_code(const PrefillOptions& options, PrefillOperand operand, std::uint64_t seed,
                           std::uint64_t place);
/// Returns the seed with which random_code (paged.h) gives the codes of an operand.
std::uint64_t prefill_seed(PrefillOperand operand, std::uint64_t seed);

/// Returns the reference result [head_dim] of one query head in fp64. `request` is the index of the prompt,
/// `query` that of the token in it, and `head` that of the query head.
std::vector<double> prefill_reference(const PrefillOptions& options, std::int32_t request, std::int32_t query,
                                      std::int32_t head, std::uint64_t seed);

/// The place of one result that a check compares. `places_to_check` returns those of all results of a small
/// row, or a sample with the first and the last result of a large one.
struct PrefillPlace {
    std::int32_t request = 0;
    std::int32_t query = 0;
    std::int32_t head = 0;
};
std::vector<PrefillPlace> places_to_check(const PrefillOptions& options, std::uint64_t seed);
/// Returns the index of the first element of a result, in the output and in the queries.
std::size_t result_place(const PrefillOptions& options, const PrefillPlace& place);

/// Returns the options of the rows of a suite.
std::vector<PrefillOptions> prefill_suite(RowSet set);

}  // namespace paretoken::microbench::gpu
