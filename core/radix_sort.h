#pragma once
// Sorts many values by a 64-bit key in linear time, for percentiles over millions of gaps. Stable.
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

namespace paretoken {

/// Returns a key with the order of the doubles; NaN is not allowed.
inline std::uint64_t radix_key(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value == 0 ? 0.0 : value);  // -0 is 0
    constexpr std::uint64_t kSign = std::uint64_t{1} << 63U;
    return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

/// Returns a key with the order of the integers.
inline std::uint64_t radix_key(std::int64_t value) {
    return static_cast<std::uint64_t>(value) ^ (std::uint64_t{1} << 63U);
}

/// Sorts fewer than 2^32 values in ascending order of `key_of(value)`, a std::uint64_t; equal keys keep their
/// order. There is one pass per 11 bits of the key; digits that are equal in all keys are skipped.
template <class T, class KeyOf>
void radix_sort(std::vector<T>& values, KeyOf key_of) {
    constexpr unsigned kBits = 11;
    constexpr unsigned kDigits = 6;
    constexpr std::uint64_t kMask = (1U << kBits) - 1;
    std::vector<std::array<std::uint32_t, kMask + 1>> counts(kDigits);
    for (const T& value : values) {
        const std::uint64_t key = key_of(value);
        for (unsigned digit = 0; digit < kDigits; ++digit) ++counts[digit][(key >> (digit * kBits)) & kMask];
    }
    std::vector<T> sorted;
    for (unsigned digit = 0; digit < kDigits && !values.empty(); ++digit) {
        auto& count = counts[digit];
        const auto digit_of = [&](const T& value) { return (key_of(value) >> (digit * kBits)) & kMask; };
        if (count[digit_of(values.front())] == values.size()) continue;
        std::uint32_t before = 0;
        for (auto& place : count) {
            const std::uint32_t own = place;
            place = before;
            before += own;
        }
        sorted.resize(values.size());
        for (const T& value : values) sorted[count[digit_of(value)]++] = value;
        values.swap(sorted);
    }
}

/// Sorts numbers in ascending order; NaN is not allowed.
inline void radix_sort(std::vector<double>& values) {
    radix_sort(values, [](double value) { return radix_key(value); });
}

}  // namespace paretoken
