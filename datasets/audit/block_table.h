#pragma once
// Names of prompt blocks that were seen, in a table of fixed size: when it is full, an older name makes room
// for a new one, and is counted as forgotten.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace paretoken::datasets {

class BlockTable {
  public:
    static constexpr std::size_t kBlockBytes = 256;

    /// Room for so many names (8 bytes each), rounded up to a power of two of at least 8.
    explicit BlockTable(std::size_t names);

    /// Bytes at the start of `text` whose blocks were all seen before, each behind the same beginning. Adds
    /// what is new. Texts of another `world` (a model) share nothing.
    std::size_t seen_bytes(std::string_view text, std::uint64_t world);

    std::size_t room() const { return names_.size(); }
    std::uint64_t forgotten() const { return forgotten_; }

  private:
    /// Whether it was there already.
    bool add(std::uint64_t name);

    std::vector<std::uint64_t> names_;  ///< in buckets of kWays; 0: empty
    std::uint64_t forgotten_ = 0;
};

}  // namespace paretoken::datasets
