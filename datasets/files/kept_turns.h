#pragma once
// Turns that are kept in memory, for formats whose rows hold whole jobs. A turn costs about 80 bytes, and 16
// for each run of consecutive block names that it does not share with the turn before it in its agent.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "datasets/files/file_dataset.h"

namespace paretoken::datasets {

class KeptTurns {
  public:
    /// Adds the turns of the next row: the row itself and its further turns, which are taken out of it. What
    /// places them in their jobs (Row::job, Row::conversation and Row::turn) is not kept.
    void add(Row row);

    /// Returns turn `part` of a row; both are counted from 0, in the order of add().
    Row turn(std::size_t row, std::size_t part) const;

  private:
    /// Names of blocks that follow each other by one.
    struct Run {
        std::uint64_t first = 0;
        std::uint32_t count = 0;
    };
    struct Kept {
        std::optional<std::int64_t> input_tokens = {};
        std::optional<std::int64_t> output_tokens = {};
        std::uint32_t rest = 0;    ///< place of what it states besides
        std::uint32_t shared = 0;  ///< number of blocks that it has from `base`
        std::uint32_t base = 0;    ///< another turn; only if `shared` is not 0
        std::uint32_t own = 0;     ///< number of its further blocks
        std::uint64_t run = 0;     ///< first run of its further blocks
    };
    /// The last turn of an agent while a row is added.
    struct Last {
        std::uint32_t turn = 0;
        std::vector<std::uint64_t> blocks = {};
    };
    void add_turn(Row turn, std::unordered_map<std::string, Last>& last);
    void add_blocks(std::span<const std::uint64_t> blocks);
    std::vector<std::uint64_t> blocks_of(std::size_t turn) const;

    std::vector<std::size_t> rows_;  ///< first turn of each row
    std::vector<Kept> turns_;
    std::vector<Row> rests_;
    std::vector<Run> runs_;
};

}  // namespace paretoken::datasets
