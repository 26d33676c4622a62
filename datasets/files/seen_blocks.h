#pragma once
// What a prefix cache of unlimited size would find of the prompts of a file, by the names of their blocks.
#include <algorithm>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdint>
#include <optional>
#include <unordered_map>
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

/// Names of blocks that were seen, of which a large job has millions.
using SeenBlocks = boost::unordered_flat_set<std::uint64_t>;

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
        seen_ = {};
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
