#pragma once
// Streams KV caches of one length, one KV head of one sequence after the other, through decode attention.
#include <memory>

#include "microbench/cpu/attention/attention.h"
#include "microbench/cpu/weights/weights_kernel.h"
#include "microbench/kernel.h"
#include "microbench/shapes.h"

namespace paretoken::microbench {

struct AttentionOptions {
    KvType type = KvType::bf16;
    HeadShape heads;
    std::size_t context = 0;    ///< tokens
    std::size_t block = 0;      ///< tokens
    bool random_order = false;  ///< whether blocks lie in random order in the thread's memory
};

std::unique_ptr<Kernel> attention_kernel(const AttentionOptions& options, const StreamOptions& stream);

}  // namespace paretoken::microbench
