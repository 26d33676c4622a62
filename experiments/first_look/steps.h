#pragma once
// Chooses the runs of a first look at a server so that all of them fit into the time.
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "reports/analysis/first_look/first_look.h"

namespace paretoken::experiments {

/// The speed of earlier requests, from which the time of others is estimated.
struct Pace {
    double prompt_tokens = 0;
    double first_token_s = 0;
    double per_token_s = 0;  ///< time of one more output token

    bool operator==(const Pace&) const = default;
};

/// Returns the estimated time of a request. The time to the first token grows a little more than the prompt
/// does, and tokens take somewhat longer behind a longer prompt.
double estimated_s(const Pace& pace, std::uint64_t prompt_tokens, std::uint64_t answer_tokens);

/// Returns the longest answer of 128, 64, 32 and 16 tokens that takes at most `most_s`, or 16.
std::uint64_t answer_tokens_for(const Pace& pace, double most_s);

/// Returns the number of requests that fit into `left_s`, at most `most`.
std::uint64_t requests_within(double each_s, double left_s, std::uint64_t most);

/// Returns the depths whose prompts and answers fit into the server's context, if that is known. A few tokens
/// are left for the chat template. The first depth is always returned.
std::vector<std::uint64_t> depths_within(std::span<const std::uint64_t> depths, std::uint64_t answer_tokens,
                                         std::optional<std::int64_t> context);

/// Returns the number of people to measure next: doubled until they are slowed to half, then bisected to
/// within a third; nothing then, or above `most`. `crowds` is ascending and begins with one person.
std::optional<std::uint64_t> next_people(std::span<const reports::SpeedOfCrowd> crowds, std::uint64_t most);

}  // namespace paretoken::experiments
