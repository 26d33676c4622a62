#include "datasets/files/kept_turns.h"

#include <algorithm>
#include <utility>

namespace paretoken::datasets {

void KeptTurns::add(Row row) {
    std::unordered_map<std::string, std::size_t> last;  // last turn of each agent
    std::vector<Row> further = std::exchange(row.further, {});
    rows_.push_back(turns_.size());
    add_turn(std::move(row), last);
    for (Row& turn : further) add_turn(std::move(turn), last);
}

void KeptTurns::add_turn(Row turn, std::unordered_map<std::string, std::size_t>& last) {
    const std::vector<std::uint64_t> blocks = std::exchange(turn.blocks, {});
    Kept kept{.row = std::move(turn), .own = blocks_.size()};
    const auto [before, is_first] = last.try_emplace(kept.row.conversation, turns_.size());
    if (!is_first) {
        kept.base = std::exchange(before->second, turns_.size());
        const std::vector<std::uint64_t> earlier = blocks_of(kept.base);
        const auto differ = std::mismatch(blocks.begin(), blocks.end(), earlier.begin(), earlier.end());
        kept.shared = static_cast<std::size_t>(differ.first - blocks.begin());
    }
    blocks_.insert(blocks_.end(), blocks.begin() + static_cast<std::ptrdiff_t>(kept.shared), blocks.end());
    kept.own_size = blocks.size() - kept.shared;
    turns_.push_back(std::move(kept));
}

std::vector<std::uint64_t> KeptTurns::blocks_of(std::size_t turn) const {
    std::vector<std::uint64_t> blocks(turns_[turn].shared + turns_[turn].own_size);
    std::size_t left = blocks.size();  // blocks that have not been found yet, from the front
    while (left > 0) {
        const Kept& kept = turns_[turn];
        for (; left > kept.shared; --left) blocks[left - 1] = blocks_[kept.own + (left - 1 - kept.shared)];
        turn = kept.base;
    }
    return blocks;
}

Row KeptTurns::turn(std::size_t row, std::size_t part) const {
    const std::size_t at = rows_.at(row) + part;
    Row turn = turns_.at(at).row;
    turn.blocks = blocks_of(at);
    return turn;
}

}  // namespace paretoken::datasets
