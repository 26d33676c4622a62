#pragma once
// A paged KV cache: the layout of the pages in one pool, the pages that each request owns, and the numbers
// that they hold. Each number is a function of the seed and of its index, so that the host can compute the
// contents of the pool that the device has filled. Compiles with and without CUDA.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "microbench/gpu/host_device.h"

namespace paretoken::microbench::gpu {

/// Formats of a cache. fp8 is e4m3 with one scale per pool; int8 has one scale per token, head, and K or V.
enum class KvFormat { bf16, fp16, fp8, int8 };
std::string_view name_of(KvFormat format);
PARETOKEN_HOST_DEVICE constexpr std::uint32_t bytes_of(KvFormat format) {
    return format == KvFormat::bf16 || format == KvFormat::fp16 ? 2 : 1;
}

/// Order of K, or V, in a page: nhd is [token][head][dim], hnd is [head][token][dim].
enum class PageLayout { nhd, hnd };
std::string_view name_of(PageLayout layout);

/// Order in which the requests own the pages of the pool.
enum class PageOrder { random, sequential };
std::string_view name_of(PageOrder order);

/// The distances in bytes between elements of the pool.
struct PageStrides {
    std::uint64_t page = 0;   ///< from one page to the next; a page holds K, then V
    std::uint32_t value = 0;  ///< from K to V within a page
    std::uint32_t head = 0;   ///< from one head to the next
    std::uint32_t token = 0;  ///< from one token to the next

    bool operator==(const PageStrides&) const = default;
};

struct PoolShape {
    KvFormat format = KvFormat::bf16;
    PageLayout layout = PageLayout::nhd;
    std::uint32_t kv_heads = 0;
    std::uint32_t head_dim = 0;
    std::uint32_t page = 0;  ///< tokens per page, a multiple of 16

    bool operator==(const PoolShape&) const = default;
    PageStrides strides() const;
    std::uint64_t page_bytes() const { return strides().page; }
    /// Returns the number of scales of a page, which are floats [head][K, V][token]; 0 if the format has no
    /// scale per token.
    std::uint64_t page_scales() const { return format == KvFormat::int8 ? 2ULL * kv_heads * page : 0; }
};

/// The pages of each request, one after the other: request i owns pages[first[i]] … pages[first[i + 1] − 1].
struct PageTable {
    std::vector<std::int32_t> pages;  ///< indices of pages in the pool, or kNoPage
    std::vector<std::int32_t> first;  ///< [requests + 1]

    bool operator==(const PageTable&) const = default;
};

/// Entry of a page that was freed, because no query sees it any more.
inline constexpr std::int32_t kNoPage = -1;

/// Returns the first token that a query at the end of `length` tokens sees. It sees only the last `window`
/// tokens, or all tokens if `window` is 0.
constexpr std::int32_t window_begin(std::int32_t length, std::int32_t window) {
    return window == 0 || length <= window ? 0 : length - window;
}

/// Returns how many tokens, counted from the first one of the request, query token `token` (0 to q_len − 1)
/// sees if there is no window. The query tokens are the last `q_len` of the `length` tokens, and each of
/// them sees itself and the tokens before it.
constexpr std::int32_t seen_end(std::int32_t length, std::int32_t q_len, std::int32_t token) {
    return length - q_len + 1 + token;
}

/// Returns how many of the last tokens are seen by at least one of `q_len` query tokens, each of which sees
/// `window` tokens; 0 means all tokens.
constexpr std::int32_t joint_window(std::int32_t window, std::int32_t q_len) {
    return window == 0 ? 0 : window + q_len - 1;
}

/// Returns the number of pages that one cache needs: those that hold a token that the query at the end of
/// its request sees (window_begin). `lengths` are the tokens of the requests. A page has `page` tokens.
std::uint64_t pages_for(std::span<const std::int32_t> lengths, std::uint32_t page, std::int32_t window = 0);

/// Returns the page tables of `copies` caches in one pool, each for requests with these lengths. The pool
/// has as many pages as all copies need (pages_for), but at least `least_pages`. Pages before the window
/// are kNoPage. Random order permutes the pages over the whole pool. PageTable::first is equal in all
/// copies.
std::vector<PageTable> page_tables(std::span<const std::int32_t> lengths, std::uint32_t page,
                                   std::size_t copies, PageOrder order, std::uint64_t seed,
                                   std::int32_t window = 0, std::uint64_t least_pages = 0);

/// Applies the finalizer of splitmix64 (Steele, Lea, Flood 2014).
PARETOKEN_HOST_DEVICE inline std::uint64_t scrambled(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

/// These functions convert a float to its bits and back.
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

/// Returns the e4m3 code that is nearest to a number, and on a tie the even code. Numbers beyond ±448 give
/// the code of ±448, and NaN gives NaN.
PARETOKEN_HOST_DEVICE inline std::uint32_t e4m3_of(float value) {
    const std::uint32_t sign = bits_of(value) >> 24 & 0x80;
    const std::uint32_t magnitude = bits_of(value) & 0x7fffffff;
    if (magnitude > 0x7f800000) return sign | 0x7f;
    if (magnitude >= bits_of(448.0F)) return sign | 0x7e;
    if (magnitude >= bits_of(0x1p-6F)) {  // drops 20 bits of the mantissa and changes the bias from 127 to 7
        return sign | (((magnitude + 0x7ffff + (magnitude >> 20 & 1)) >> 20) - 120 * 8);
    }
    return sign | (bits_of(float_of(magnitude) * 512 + 0x1p23F) - bits_of(0x1p23F));
}

/// Returns a random number with an approximately normal distribution and standard deviation 1.15. It is a
/// multiple of 1/512 with a magnitude below 4, so that it is never subnormal in a 16-bit format.
PARETOKEN_HOST_DEVICE inline float random_number(std::uint64_t seed, std::uint64_t place) {
    const std::uint64_t bits = scrambled(seed ^ scrambled(place));
    const auto sum = static_cast<std::int32_t>((bits & 1023) + (bits >> 10 & 1023) + (bits >> 20 & 1023) +
                                               (bits >> 30 & 1023));
    return static_cast<float>(sum - 2046) / 512;
}

/// Returns the code of element `place` of a pool. For 16-bit formats it is a random number truncated to the
/// format, for fp8 any code with a magnitude up to 2, and for int8 a number from −127 to 127.
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

/// Returns a random scale in [1/128, 1/64).
PARETOKEN_HOST_DEVICE inline float random_scale(std::uint64_t seed, std::uint64_t place) {
    return static_cast<float>(1024 + (scrambled(~seed ^ scrambled(place)) & 1023)) / (128 * 1024);
}

/// Returns the exact number of a code, without its scale.
double number_of(KvFormat format, std::uint16_t code);

/// The numbers of a pool that was filled by the formulas above, multiplied by their scales.
class PoolNumbers {
  public:
    /// All numbers are also multiplied by `pool_scale`.
    PoolNumbers(const PoolShape& shape, std::uint64_t seed, double pool_scale = 1);

    /// Return one number of K and of V. `token` is the index of the token in its page.
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

/// Returns the index of the scale of a token among all scales of the pool. `which` is 0 for K and 1 for V.
PARETOKEN_HOST_DEVICE constexpr std::uint64_t scale_place(std::uint32_t kv_heads, std::uint32_t page_tokens,
                                                          std::uint64_t page, std::uint32_t head,
                                                          std::uint32_t which, std::uint32_t token) {
    return ((page * kv_heads + head) * 2 + which) * page_tokens + token;
}

}  // namespace paretoken::microbench::gpu
