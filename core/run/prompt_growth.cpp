#include "core/run/prompt_growth.h"

#include <map>
#include <utility>

namespace paretoken {

std::optional<Asked> prompt_growth_of(const RequestTable& requests) {
    constexpr double kFewest = 10;
    std::map<std::pair<std::uint64_t, std::uint32_t>, Asked> prompts;  // by conversation and turn
    for (const RequestRecord& record : requests)
        if (record.turn && !record.warmup && record.outcome == Outcome::ok && record.wanted_input_tokens &&
            record.usage.prompt)
            prompts[{record.turn->conversation, record.turn->number}] = {
                static_cast<double>(*record.wanted_input_tokens), static_cast<double>(*record.usage.prompt)};
    Asked sum;
    double n = 0;
    for (auto turn = prompts.begin(); turn != prompts.end(); ++turn) {
        const auto next = std::next(turn);
        const auto [conversation, number] = turn->first;
        if (next == prompts.end() || next->first != std::pair(conversation, number + 1)) continue;
        if (!(next->second.asked > turn->second.asked)) continue;
        sum.asked += next->second.asked - turn->second.asked;
        sum.counted += next->second.counted - turn->second.counted;
        ++n;
    }
    if (n < kFewest) return std::nullopt;
    return Asked{sum.asked / n, sum.counted / n};
}

}  // namespace paretoken
