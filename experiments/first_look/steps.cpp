#include "experiments/first_look/steps.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace paretoken::experiments {

double estimated_s(const Pace& pace, std::uint64_t prompt_tokens, std::uint64_t answer_tokens) {
    constexpr double kDeeper = 1.1;  // for each doubling of the prompt
    const double ratio = static_cast<double>(prompt_tokens) / std::max(pace.prompt_tokens, 1.0);
    const double deeper = std::pow(kDeeper, std::max(0.0, std::log2(ratio)));
    return deeper * (pace.first_token_s * std::max(ratio, 1.0) +
                     pace.per_token_s * static_cast<double>(answer_tokens));
}

std::uint64_t answer_tokens_for(const Pace& pace, double most_s) {
    constexpr std::array<std::uint64_t, 3> kLengths = {128, 64, 32};
    constexpr std::uint64_t kShortest = 16;
    for (const std::uint64_t length : kLengths)
        if (static_cast<double>(length) * pace.per_token_s <= most_s) return length;
    return kShortest;
}

std::uint64_t requests_within(double each_s, double left_s, std::uint64_t most) {
    if (left_s <= 0) return 0;
    if (each_s <= 0) return most;
    return static_cast<std::uint64_t>(std::min(left_s / each_s, static_cast<double>(most)));
}

std::vector<std::uint64_t> depths_within(std::span<const std::uint64_t> depths, std::uint64_t answer_tokens,
                                         std::optional<std::int64_t> context) {
    constexpr std::uint64_t kTemplate = 64;
    std::vector<std::uint64_t> fitting;
    for (const std::uint64_t depth : depths) {
        const std::uint64_t needed = depth + answer_tokens + kTemplate;
        if (fitting.empty() || !context ||
            needed <= static_cast<std::uint64_t>(std::max<std::int64_t>(*context, 0)))
            fitting.push_back(depth);
    }
    return fitting;
}

std::optional<std::uint64_t> next_people(std::span<const reports::SpeedOfCrowd> crowds, std::uint64_t most) {
    constexpr double kNear = 4.0 / 3;
    const auto high = std::ranges::find_if(crowds, [&](const reports::SpeedOfCrowd& of) {
        return reports::is_slowed_to_half(crowds.front(), of);
    });
    if (high == crowds.end()) {
        const std::uint64_t next = 2 * crowds.back().people;
        return next <= most ? std::optional(next) : std::nullopt;
    }
    if (high == crowds.begin()) return std::nullopt;
    const auto low = static_cast<double>(std::prev(high)->people);
    const auto top = static_cast<double>(high->people);
    if (top - low <= 1 || top / low <= kNear) return std::nullopt;
    const double middle = std::clamp(std::round(std::sqrt(low * top)), low + 1, top - 1);
    return static_cast<std::uint64_t>(middle);
}

}  // namespace paretoken::experiments
