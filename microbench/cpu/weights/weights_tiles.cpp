// The weight kernels that use tile registers: packed bf16 at batches of 4, 8 and 16. Products of bytes in
// q8_0 blocks gain nothing by tiles, because the integer sums of every 32 weights must leave the registers.
#include "microbench/cpu/weights/weights_tiles.h"

namespace paretoken::microbench {

#if defined(PARETOKEN_X86)
namespace {

template <int kBatch, Fetch kFetch>
constexpr GemvVariant kBf16{WeightType::bf16,
                            Layout::packed,
                            Isa::amx,
                            kBatch,
                            multiply_bf16_by_tiles<Tiles, kBatch, kFetch>,
                            kFetch};

constexpr GemvVariant kTileGemvs[] = {
    kBf16<4, Fetch::none>,  kBf16<4, Fetch::l1>,  kBf16<4, Fetch::l2>,
    kBf16<8, Fetch::none>,  kBf16<8, Fetch::l1>,  kBf16<8, Fetch::l2>,
    kBf16<16, Fetch::none>, kBf16<16, Fetch::l1>, kBf16<16, Fetch::l2>,
};

}  // namespace

std::span<const GemvVariant> tile_gemvs() {
    return kTileGemvs;
}
#else
std::span<const GemvVariant> tile_gemvs() {
    return {};
}
#endif

}  // namespace paretoken::microbench
