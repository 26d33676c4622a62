#pragma once
// What a prefix cache of unlimited size would find of the prompts of a file, by the names of their blocks.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "datasets/files/file_dataset.h"

namespace paretoken::datasets {

/// The last prompts of the agents of one job, with which their next prompts mostly begin.
template <class Agent>
class Fronts {
  public:
    /// Returns the number of first blocks that the row before in the same agent had too.
    std::size_t known(const Row& row, const Agent& agent) {
        if (row.scope == 0) return 0;
        if (row.scope != scope_) last_.clear();
        scope_ = row.scope;
        std::vector<std::uint64_t>& last = last_[agent];
        const auto differ = std::mismatch(row.blocks.begin(), row.blocks.end(), last.begin(), last.end());
        const auto known = static_cast<std::size_t>(differ.first - row.blocks.begin());
        last.erase(differ.second, last.end());
        last.insert(last.end(), differ.first, row.blocks.end());
        return known;
    }

  private:
    std::uint64_t scope_ = 0;
    std::unordered_map<Agent, std::vector<std::uint64_t>> last_;
};

/// Names of blocks that were seen: a hash table with open addressing, because there are millions of them.
class SeenBlocks {
  public:
    bool contains(std::uint64_t name) const {
        if (name == kFree) return has_free_name_;
        return !slots_.empty() && slots_[slot_of(name)] == name;
    }
    template <class Iterator>
    void insert(Iterator begin, Iterator end) {
        for (; begin != end; ++begin) insert(*begin);
    }
    void forget() { *this = {}; }

  private:
    static constexpr std::uint64_t kFree = UINT64_MAX;

    void insert(std::uint64_t name) {
        has_free_name_ = has_free_name_ || name == kFree;
        if (name == kFree) return;
        if (2 * (count_ + 1) > slots_.size()) grow();
        std::uint64_t& slot = slots_[slot_of(name)];
        if (slot == kFree) ++count_;
        slot = name;
    }
    /// Returns the slot that has the name, or else the free one that it would take.
    std::size_t slot_of(std::uint64_t name) const {
        constexpr std::uint64_t kGoldenRatio = 0x9E3779B97F4A7C15;
        std::size_t slot = (name * kGoldenRatio) >> shift_;
        while (slots_[slot] != kFree && slots_[slot] != name) slot = (slot + 1) & (slots_.size() - 1);
        return slot;
    }
    void grow() {
        constexpr int kFirstShift = 54;  // 1,024 slots
        shift_ = slots_.empty() ? kFirstShift : shift_ - 1;
        const auto before =
            std::exchange(slots_, std::vector<std::uint64_t>(std::size_t{1} << (64 - shift_), kFree));
        for (const std::uint64_t name : before)
            if (name != kFree) slots_[slot_of(name)] = name;
    }

    std::vector<std::uint64_t> slots_;  ///< twice as many as names, or more
    int shift_ = 0;                     ///< 64 - the logarithm of their number
    std::size_t count_ = 0;
    bool has_free_name_ = false;  ///< whether the name kFree was seen
};

/// Returns the number of tokens in the first blocks of a prompt.
inline std::int64_t end_of(std::size_t blocks, std::int64_t block_tokens) {
    return static_cast<std::int64_t>(blocks) * block_tokens;
}

/// The prompts of one job, for the best hit that a cache of its own could have.
class JobCache {
  public:
    /// Adds a turn of the job. `block_tokens`: tokens per block, if the row does not say it.
    void add(const Row& row, std::uint32_t agent, std::int64_t block_tokens) {
        if (row.block_tokens > 0) block_tokens = row.block_tokens;
        const std::int64_t tokens = row.input_tokens.value_or(0);
        tokens_ += static_cast<double>(tokens);
        const std::size_t known = fronts_.known(row, agent);
        if (row.blocks.empty()) return;
        const auto whole = std::min(row.blocks.size(), static_cast<std::size_t>(tokens / block_tokens));
        std::size_t hits = std::min(known, whole);
        while (hits < whole && seen_.contains(row.blocks[hits])) ++hits;
        hits_ += static_cast<double>(end_of(hits, block_tokens));
        seen_.insert(row.blocks.begin() + static_cast<std::ptrdiff_t>(known), row.blocks.end());
        any_ = true;
    }
    void next_job() {
        seen_.forget();
        fronts_ = {};
    }
    std::optional<double> hit() const {
        return any_ && tokens_ > 0 ? std::optional(hits_ / tokens_) : std::nullopt;
    }

  private:
    Fronts<std::uint32_t> fronts_;
    SeenBlocks seen_;
    double tokens_ = 0;
    double hits_ = 0;
    bool any_ = false;  ///< whether a prompt had blocks
};

}  // namespace paretoken::datasets
