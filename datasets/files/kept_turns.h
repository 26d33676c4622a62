#pragma once
// Turns that are kept in memory, for formats whose rows hold whole jobs and would be read anew for each turn.
// A turn costs about 400 bytes, and 8 bytes for each block that it does not share with the start of the turn
// before it in its agent.
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "datasets/files/file_dataset.h"

namespace paretoken::datasets {

class KeptTurns {
  public:
    /// Adds the turns of the next row: the row itself and its further turns, which are taken out of it.
    void add(Row row);

    /// Returns turn `part` of a row; both are counted from 0, in the order of add().
    Row turn(std::size_t row, std::size_t part) const;

  private:
    struct Kept {
        Row row = {};              ///< without blocks and further turns
        std::size_t shared = 0;    ///< number of blocks that it has from `base`
        std::size_t base = 0;      ///< another turn; only if `shared` is not 0
        std::uint64_t own = 0;     ///< place of its further blocks
        std::size_t own_size = 0;  ///< number of its further blocks
    };
    void add_turn(Row turn, std::unordered_map<std::string, std::size_t>& last);
    std::vector<std::uint64_t> blocks_of(std::size_t turn) const;

    std::vector<std::size_t> rows_;  ///< first turn of each row
    std::vector<Kept> turns_;
    std::vector<std::uint64_t> blocks_;
};

}  // namespace paretoken::datasets
