#pragma once
// A hash table of fixed size for names of prompt blocks. A full bucket forgets (and counts) an older name.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace paretoken::datasets {

class BlockTable {
  public:
    static constexpr std::size_t kBlockBytes = 256;

    /// Makes a table for `names` names (8 bytes each), rounded up to a power of two of at least 8.
    explicit BlockTable(std::size_t names);

    /// Returns the bytes at the start of `text` that an earlier text of the same `world` (a number for the
    /// model) began with, in whole blocks of kBlockBytes, and adds the new blocks.
    std::size_t seen_bytes(std::string_view text, std::uint64_t world);

    std::size_t room() const { return names_.size(); }      ///< number of names that the table can hold
    std::uint64_t forgotten() const { return forgotten_; }  ///< number of names replaced by newer ones

  private:
    /// Adds a name. Returns whether it was in the table already.
    bool add(std::uint64_t name);

    std::vector<std::uint64_t> names_;  ///< names in buckets of kWays; 0 means empty
    std::uint64_t forgotten_ = 0;
};

}  // namespace paretoken::datasets
