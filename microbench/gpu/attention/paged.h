#pragma once
// A paged KV cache: how the pages of all sequences lie in one pool, which of them a sequence owns, and which
// numbers they hold. The numbers are a function of seed and place, so that the device fills its pool by the
// same formula by which the host knows what is there. Compiles with and without CUDA.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "microbench/gpu/device/host_device.h"

namespace paretoken::microbench::gpu {

enum class KvFormat {
    bf16,
    fp16,
    fp8,
    int8
};  ///< fp8 is e4m3 with one scale per pool, int8 has one per token
std::string_view name_of(KvFormat format);
PARETOKEN_HOST_DEVICE constexpr std::uint32_t bytes_of(KvFormat format) {
    return format == KvFormat::bf16 || format == KvFormat::fp16 ? 2 : 1;
}

enum class PageLayout { nhd, hnd };  ///< a page's K, or V: [token][head][dim], or [head][token][dim]
std::string_view name_of(PageLayout layout);

enum class PageOrder { random, sequential };
std::string_view name_of(PageOrder order);

/// How far apart things lie in the pool, in bytes.
struct PageStrides {
    std::uint64_t page = 0;   ///< from a page to the next; K first, then V
    std::uint32_t value = 0;  ///< from K to V within a page
    std::uint32_t head = 0;
    std::uint32_t token = 0;

    bool operator==(const PageStrides&) const = default;
};

struct PoolShape {
    KvFormat format = KvFormat::bf16;
    PageLayout layout = PageLayout::nhd;
    std::uint32_t kv_heads = 0;
    std::uint32_t head_dim = 0;
    std::uint32_t page = 0;  ///< tokens, a multiple of 16

    bool operator==(const PoolShape&) const = default;
    PageStrides strides() const;
    std::uint64_t page_bytes() const { return strides().page; }
    /// Scales of a page: [head][K, V][token] floats; none where the format has no scale per token.
    std::uint64_t page_scales() const { return format == KvFormat::int8 ? 2ULL * kv_heads * page : 0; }
};

/// The pages of each sequence, one after the other: sequence i owns table[first[i]] … table[first[i + 1] −
/// 1].
struct PageTable {
    std::vector<std::int32_t> pages;
    std::vector<std::int32_t> first;  ///< [sequences + 1]

    bool operator==(const PageTable&) const = default;
};

inline constexpr std::int32_t kNoPage = -1;  ///< what no query sees any more has been given back

/// The first token that a query at the end of `length` tokens sees; `window` 0: it sees all.
constexpr std::int32_t window_begin(std::int32_t length, std::int32_t window) {
    return window == 0 || length <= window ? 0 : length - window;
}

/// Where the tokens end that query token `token` of `q_len` sees: the new tokens are the last of the
/// `length`, and each sees itself and what is before it.
constexpr std::int32_t seen_end(std::int32_t length, std::int32_t q_len, std::int32_t token) {
    return length - q_len + 1 + token;
}

/// The window of one query at the end that holds what `q_len` query tokens see together.
constexpr std::int32_t joint_window(std::int32_t window, std::int32_t q_len) {
    return window == 0 ? 0 : window + q_len - 1;
}

/// Pages that hold what queries at the ends of these lengths see.
std::uint64_t pages_for(std::span<const std::int32_t> lengths, std::uint32_t page, std::int32_t window = 0);

/// Tables for `copies` caches in one pool with as many pages as all copies need, and `least_pages` at least:
/// random order permutes them over the whole pool. Every copy has the same `first`.
std::vector<PageTable> page_tables(std::span<const std::int32_t> lengths, std::uint32_t page,
                                   std::size_t copies, PageOrder order, std::uint64_t seed,
                                   std::int32_t window = 0, std::uint64_t least_pages = 0);

/// The finalizer of splitmix64 (Steele, Lea, Flood 2014).
PARETOKEN_HOST_DEVICE inline std::uint64_t scrambled(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

PARETOKEN_HOST_DEVICE inline std::uint32_t bits_of(float value) {
#if defined(__CUDA_ARCH__)
    return __float_as_uint(value);
#else
    return std::bit_cast<std::uint32_t>(value);
#endif
}
PARETOKEN_HOST_DEVICE inline float float_of(std::uint32_t bits) {
#if defined(__CUDA_ARCH__)
    return __uint_as_float(bits);
#else
    return std::bit_cast<float>(bits);
#endif
}

/// The e4m3 code nearest to a number, ties to the even one; beyond ±448 that of ±448, of NaN NaN.
PARETOKEN_HOST_DEVICE inline std::uint32_t e4m3_of(float value) {
    const std::uint32_t sign = bits_of(value) >> 24 & 0x80;
    const std::uint32_t magnitude = bits_of(value) & 0x7fffffff;
    if (magnitude > 0x7f800000) return sign | 0x7f;
    if (magnitude >= bits_of(448.0F)) return sign | 0x7e;
    if (magnitude >= bits_of(0x1p-6F)) {  // 20 bits of mantissa fewer, and a bias of 7 instead of 127
        return sign | (((magnitude + 0x7ffff + (magnitude >> 20 & 1)) >> 20) - 120 * 8);
    }
    return sign | (bits_of(float_of(magnitude) * 512 + 0x1p23F) - bits_of(0x1p23F));
}

/// About normal with deviation 1.15, a multiple of 1/512 below 4: never subnormal in any 16-bit format.
PARETOKEN_HOST_DEVICE inline float random_number(std::uint64_t seed, std::uint64_t place) {
    const std::uint64_t bits = scrambled(seed ^ scrambled(place));
    const auto sum = static_cast<std::int32_t>((bits & 1023) + (bits >> 10 & 1023) + (bits >> 20 & 1023) +
                                               (bits >> 30 & 1023));
    return static_cast<float>(sum - 2046) / 512;
}

/// What lies at element `place` of a pool: for 16-bit formats the bits of a random number, cut to the format;
/// for fp8 any code up to magnitude 2; for int8 −127 … 127.
PARETOKEN_HOST_DEVICE inline std::uint16_t random_code(KvFormat format, std::uint64_t seed,
                                                       std::uint64_t place) {
    if (format == KvFormat::fp8 || format == KvFormat::int8) {
        const std::uint64_t bits = scrambled(seed ^ scrambled(place));
        if (format == KvFormat::int8) return static_cast<std::uint8_t>((bits >> 8) % 255 - 127);
        return static_cast<std::uint16_t>((bits & 0x80) | (bits >> 8) % 65);
    }
    const std::uint32_t bits = bits_of(random_number(seed, place));
    if (format == KvFormat::bf16) return static_cast<std::uint16_t>(bits >> 16);
    if ((bits & 0x7fffffff) == 0) return 0;
    return static_cast<std::uint16_t>((bits >> 16 & 0x8000) | ((bits & 0x7fffffff) - 0x38000000) >> 13);
}

/// A scale between 1/128 and 1/64.
PARETOKEN_HOST_DEVICE inline float random_scale(std::uint64_t seed, std::uint64_t place) {
    return static_cast<float>(1024 + (scrambled(~seed ^ scrambled(place)) & 1023)) / (128 * 1024);
}

/// The number that a code stands for, without its scale; exact.
double number_of(KvFormat format, std::uint16_t code);

/// The numbers of a pool that was filled by the formulas above, scales applied.
class PoolNumbers {
  public:
    PoolNumbers(const PoolShape& shape, std::uint64_t seed, double pool_scale = 1);

    double key(std::int32_t page, std::uint32_t head, std::uint32_t token, std::uint32_t dim) const;
    double value(std::int32_t page, std::uint32_t head, std::uint32_t token, std::uint32_t dim) const;

  private:
    double number(std::int32_t page, std::uint32_t which, std::uint32_t head, std::uint32_t token,
                  std::uint32_t dim) const;

    PoolShape shape_;
    PageStrides strides_;
    std::uint64_t seed_;
    double pool_scale_;
};

/// Index of a token's scale among those of the pool.
PARETOKEN_HOST_DEVICE constexpr std::uint64_t scale_place(std::uint32_t kv_heads, std::uint32_t page_tokens,
                                                          std::uint64_t page, std::uint32_t head,
                                                          std::uint32_t which, std::uint32_t token) {
    return ((page * kv_heads + head) * 2 + which) * page_tokens + token;
}

}  // namespace paretoken::microbench::gpu
