#include "datasets/audit/block_table.h"

#include <algorithm>
#include <bit>
#include <functional>

namespace paretoken::datasets {
namespace {

constexpr std::size_t kWays = 8;

/// Mixes two names so that every bit of both counts (the finaliser of SplitMix64).
std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
    std::uint64_t x = a * 0x9E3779B97F4A7C15ULL + b;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    return x ^ (x >> 31);
}

}  // namespace

BlockTable::BlockTable(std::size_t names) : names_(std::bit_ceil(std::max(names, kWays)), 0) {}

std::size_t BlockTable::seen_bytes(std::string_view text, std::uint64_t world) {
    std::uint64_t name = mixed(world, 1);
    std::size_t seen = 0;
    bool all_seen = true;
    for (std::size_t at = 0; at + kBlockBytes <= text.size(); at += kBlockBytes) {
        name = mixed(name, std::hash<std::string_view>()(text.substr(at, kBlockBytes)));
        all_seen = add(std::max<std::uint64_t>(name, 1)) && all_seen;
        if (all_seen) seen = at + kBlockBytes;
    }
    return seen;
}

bool BlockTable::add(std::uint64_t name) {
    const std::size_t bucket = (name % (names_.size() / kWays)) * kWays;
    const auto begin = names_.begin() + static_cast<std::ptrdiff_t>(bucket);
    const auto end = begin + kWays;
    if (std::find(begin, end, name) != end) return true;
    auto place = std::find(begin, end, std::uint64_t{0});
    if (place == end) {
        place = begin + static_cast<std::ptrdiff_t>((name >> 40) % kWays);
        ++forgotten_;
    }
    *place = name;
    return false;
}

}  // namespace paretoken::datasets
