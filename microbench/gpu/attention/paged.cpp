#include "microbench/gpu/attention/paged.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/random.h"
#include "microbench/gpu/formats/dtypes.h"

namespace paretoken::microbench::gpu {
namespace {

std::int32_t pages_of(std::int32_t tokens, std::uint32_t page) {
    const auto size = static_cast<std::int32_t>(page);
    return (tokens + size - 1) / size;
}

}  // namespace

std::string_view name_of(KvFormat format) {
    constexpr std::string_view kNames[] = {"bf16", "fp16", "fp8", "int8"};
    return kNames[static_cast<std::size_t>(format)];
}

std::string_view name_of(PageLayout layout) {
    return layout == PageLayout::nhd ? "nhd" : "hnd";
}

std::string_view name_of(PageOrder order) {
    return order == PageOrder::random ? "random" : "seq";
}

PageStrides PoolShape::strides() const {
    const std::uint32_t row = head_dim * bytes_of(format);
    const std::uint32_t half = page * kv_heads * row;
    if (layout == PageLayout::nhd) {
        return {.page = 2ULL * half, .value = half, .head = row, .token = kv_heads * row};
    }
    return {.page = 2ULL * half, .value = half, .head = page * row, .token = row};
}

std::uint64_t pages_for(std::span<const std::int32_t> lengths, std::uint32_t page, std::int32_t window) {
    std::uint64_t sum = 0;
    for (const std::int32_t length : lengths) {
        const std::int32_t unseen = window_begin(length, window) / static_cast<std::int32_t>(page);
        sum += static_cast<std::uint64_t>(pages_of(length, page) - unseen);
    }
    return sum;
}

std::vector<PageTable> page_tables(std::span<const std::int32_t> lengths, std::uint32_t page,
                                   std::size_t copies, PageOrder order, std::uint64_t seed,
                                   std::int32_t window, std::uint64_t least_pages) {
    std::vector<std::int32_t> pool(
        std::max<std::uint64_t>(pages_for(lengths, page, window) * copies, least_pages));
    std::iota(pool.begin(), pool.end(), 0);
    if (order == PageOrder::random) {
        Random random(derived_seed(seed, "pages"));
        for (std::size_t left = pool.size(); left > 1; --left)
            std::swap(pool[left - 1], pool[random.below(left)]);
    }
    std::vector<PageTable> tables(copies);
    auto next = pool.begin();
    for (PageTable& table : tables) {
        table.first = {0};
        for (const std::int32_t length : lengths) {
            const std::int32_t unseen = window_begin(length, window) / static_cast<std::int32_t>(page);
            table.pages.insert(table.pages.end(), static_cast<std::size_t>(unseen), kNoPage);
            const auto end = next + (pages_of(length, page) - unseen);
            table.pages.insert(table.pages.end(), next, end);
            next = end;
            table.first.push_back(static_cast<std::int32_t>(table.pages.size()));
        }
    }
    return tables;
}

double number_of(KvFormat format, std::uint16_t code) {
    switch (format) {
        case KvFormat::bf16:
            return value_of_bf16(code);
        case KvFormat::fp16:
            return value_of_fp16(code);
        case KvFormat::int8:
            return static_cast<std::int8_t>(code & 0xff);
        case KvFormat::fp8:
            break;
    }
    return value_of_e4m3(code);
}

PoolNumbers::PoolNumbers(const PoolShape& shape, std::uint64_t seed, double pool_scale)
    : shape_(shape), strides_(shape.strides()), seed_(seed), pool_scale_(pool_scale) {}

double PoolNumbers::number(std::int32_t page, std::uint32_t which, std::uint32_t head, std::uint32_t token,
                           std::uint32_t dim) const {
    const auto page_index = static_cast<std::uint64_t>(page);
    const std::uint64_t row =
        page_index * strides_.page + which * strides_.value + head * strides_.head + token * strides_.token;
    const std::uint16_t code = random_code(shape_.format, seed_, row / bytes_of(shape_.format) + dim);
    double scale = pool_scale_;
    if (shape_.page_scales() != 0) {
        const auto place = scale_place(shape_.kv_heads, shape_.page, page_index, head, which, token);
        scale *= static_cast<double>(random_scale(seed_, place));
    }
    return number_of(shape_.format, code) * scale;
}

double PoolNumbers::key(std::int32_t page, std::uint32_t head, std::uint32_t token, std::uint32_t dim) const {
    return number(page, 0, head, token, dim);
}

double PoolNumbers::value(std::int32_t page, std::uint32_t head, std::uint32_t token,
                          std::uint32_t dim) const {
    return number(page, 1, head, token, dim);
}

}  // namespace paretoken::microbench::gpu
