#pragma once
// The table of the kernels of one weight type, except those for AMX, as a template for all types. Scalar
// kernels take any batch. AVX2 and AVX-512 kernels exist for batches of 1, 4 and 8, and those of the packed
// layout also for 16. Packed AVX-512 kernels exist with every way of prefetching (Fetch).
#include <array>

#include "microbench/cpu/weights/weights.h"

namespace paretoken::microbench {

/// Declares the class `Kernels` for gemv_table(), of functions that are named as in all files of kernels.
#if defined(PARETOKEN_X86)
#define PARETOKEN_KERNELS                                                    \
    struct Kernels {                                                         \
        static constexpr Gemv kRow = row_scalar;                             \
        static constexpr Gemv kPacked = packed_scalar;                       \
        template <int kBatch>                                                \
        static constexpr Gemv kRowAvx2 = row_avx2<kBatch>;                   \
        template <int kBatch>                                                \
        static constexpr Gemv kPackedAvx2 = packed_avx2<kBatch>;             \
        template <int kBatch>                                                \
        static constexpr Gemv kRowAvx512 = row_avx512<kBatch>;               \
        template <int kBatch, Fetch kFetch>                                  \
        static constexpr Gemv kPackedAvx512 = packed_avx512<kBatch, kFetch>; \
    }
#else
#define PARETOKEN_KERNELS                              \
    struct Kernels {                                   \
        static constexpr Gemv kRow = row_scalar;       \
        static constexpr Gemv kPacked = packed_scalar; \
    }
#endif

/// Returns the table. The class `Kernels` has the functions of `type` as static members: kRow, kPacked, and
/// on x86 kRowAvx2<batch>, kPackedAvx2<batch>, kRowAvx512<batch> and kPackedAvx512<batch, Fetch>.
template <class Kernels>
constexpr auto gemv_table(WeightType type) {
    return std::to_array<GemvVariant>({
        {type, Layout::row, Isa::scalar, 0, Kernels::kRow},
            {type, Layout::packed, Isa::scalar, 0, Kernels::kPacked},
#if defined(PARETOKEN_X86)
            {type, Layout::row, Isa::avx2, 1, Kernels::template kRowAvx2<1>},
            {type, Layout::row, Isa::avx2, 4, Kernels::template kRowAvx2<4>},
            {type, Layout::row, Isa::avx2, 8, Kernels::template kRowAvx2<8>},
            {type, Layout::packed, Isa::avx2, 1, Kernels::template kPackedAvx2<1>},
            {type, Layout::packed, Isa::avx2, 4, Kernels::template kPackedAvx2<4>},
            {type, Layout::packed, Isa::avx2, 8, Kernels::template kPackedAvx2<8>},
            {type, Layout::packed, Isa::avx2, 16, Kernels::template kPackedAvx2<16>},
            {type, Layout::row, Isa::avx512, 1, Kernels::template kRowAvx512<1>},
            {type, Layout::row, Isa::avx512, 4, Kernels::template kRowAvx512<4>},
            {type, Layout::row, Isa::avx512, 8, Kernels::template kRowAvx512<8>},
            {type,       Layout::packed, Isa::avx512, 1, Kernels::template kPackedAvx512<1, Fetch::none>,
             Fetch::none},
            {type, Layout::packed, Isa::avx512, 1, Kernels::template kPackedAvx512<1, Fetch::l1>, Fetch::l1},
            {type, Layout::packed, Isa::avx512, 1, Kernels::template kPackedAvx512<1, Fetch::l2>, Fetch::l2},
            {type,       Layout::packed, Isa::avx512, 4, Kernels::template kPackedAvx512<4, Fetch::none>,
             Fetch::none},
            {type, Layout::packed, Isa::avx512, 4, Kernels::template kPackedAvx512<4, Fetch::l1>, Fetch::l1},
            {type, Layout::packed, Isa::avx512, 4, Kernels::template kPackedAvx512<4, Fetch::l2>, Fetch::l2},
            {type,       Layout::packed, Isa::avx512, 8, Kernels::template kPackedAvx512<8, Fetch::none>,
             Fetch::none},
            {type, Layout::packed, Isa::avx512, 8, Kernels::template kPackedAvx512<8, Fetch::l1>, Fetch::l1},
            {type, Layout::packed, Isa::avx512, 8, Kernels::template kPackedAvx512<8, Fetch::l2>, Fetch::l2},
            {type,       Layout::packed, Isa::avx512, 16, Kernels::template kPackedAvx512<16, Fetch::none>,
             Fetch::none},
            {type,     Layout::packed, Isa::avx512, 16, Kernels::template kPackedAvx512<16, Fetch::l1>,
             Fetch::l1},
            {type,     Layout::packed, Isa::avx512, 16, Kernels::template kPackedAvx512<16, Fetch::l2>,
             Fetch::l2},
#endif
    });
}

}  // namespace paretoken::microbench
