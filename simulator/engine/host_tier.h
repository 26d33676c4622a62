#pragma once
// The memory of the host, in which an engine keeps KV blocks, by name (BlockHasher), that were displaced from
// the GPU's memory. Those that were neither put in nor wanted for longest are forgotten.
#include <cstddef>
#include <cstdint>
#include <list>
#include <span>
#include <unordered_map>

namespace paretoken::sim {

class HostTier {
  public:
    /// `blocks`: number of blocks that fit; with 0 it keeps nothing.
    explicit HostTier(std::size_t blocks) : blocks_(blocks) {}

    void keep(std::uint64_t name);

    /// Returns the length of the longest beginning of `names` that is here, and notes that it was wanted.
    std::size_t wanted(std::span<const std::uint64_t> names);

    void forget();
    std::size_t size() const { return found_.size(); }

  private:
    std::size_t blocks_;
    std::list<std::uint64_t> order_;  ///< the next one to forget first
    std::unordered_map<std::uint64_t, std::list<std::uint64_t>::iterator> found_;
};

}  // namespace paretoken::sim
