#include "datasets/files/kept_turns.h"

#include <algorithm>
#include <utility>

namespace paretoken::datasets {

void KeptTurns::add(Row row) {
    std::unordered_map<std::string, Last> last;  // by agent
    std::vector<Row> further = std::exchange(row.further, {});
    rows_.push_back(turns_.size());
    add_turn(std::move(row), last);
    for (Row& turn : further) add_turn(std::move(turn), last);
}

void KeptTurns::add_turn(Row turn, std::unordered_map<std::string, Last>& last) {
    const auto number = static_cast<std::uint32_t>(turns_.size());
    std::vector<std::uint64_t> blocks = std::exchange(turn.blocks, {});
    Kept kept{.input_tokens = std::exchange(turn.input_tokens, {}),
              .output_tokens = std::exchange(turn.output_tokens, {}),
              .run = runs_.size()};
    const auto [before, is_first] = last.try_emplace(std::exchange(turn.conversation, {}));
    if (!is_first) {
        kept.base = before->second.turn;
        const std::vector<std::uint64_t>& earlier = before->second.blocks;
        const auto differ = std::mismatch(blocks.begin(), blocks.end(), earlier.begin(), earlier.end());
        kept.shared = static_cast<std::uint32_t>(differ.first - blocks.begin());
    }
    add_blocks(std::span(blocks).subspan(kept.shared));
    kept.own = static_cast<std::uint32_t>(blocks.size() - kept.shared);
    before->second = {number, std::move(blocks)};
    turn.job = {};
    turn.turn.reset();
    if (rests_.empty() || rests_.back() != turn) rests_.push_back(std::move(turn));
    kept.rest = static_cast<std::uint32_t>(rests_.size() - 1);
    turns_.push_back(kept);
}

void KeptTurns::add_blocks(std::span<const std::uint64_t> blocks) {
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        if (i > 0 && blocks[i] == blocks[i - 1] + 1)
            ++runs_.back().count;
        else
            runs_.push_back({blocks[i], 1});
    }
}

std::vector<std::uint64_t> KeptTurns::blocks_of(std::size_t turn) const {
    std::vector<std::uint64_t> blocks(turns_[turn].shared + std::size_t{turns_[turn].own});
    std::size_t left = blocks.size();  // blocks that have not been found yet, from the front
    while (left > 0) {
        const Kept& kept = turns_[turn];
        std::size_t at = kept.shared;
        for (auto run = runs_.begin() + static_cast<std::ptrdiff_t>(kept.run); at < left; ++run)
            for (std::uint32_t i = 0; i < run->count && at < left; ++i) blocks[at++] = run->first + i;
        left = std::min<std::size_t>(left, kept.shared);
        turn = kept.base;
    }
    return blocks;
}

Row KeptTurns::turn(std::size_t row, std::size_t part) const {
    const std::size_t at = rows_.at(row) + part;
    const Kept& kept = turns_.at(at);
    Row turn = rests_[kept.rest];
    turn.input_tokens = kept.input_tokens;
    turn.output_tokens = kept.output_tokens;
    turn.blocks = blocks_of(at);
    return turn;
}

}  // namespace paretoken::datasets
