#pragma once
// What `paretoken try` found out about a server in about a minute, and its account in plain sentences. The
// speeds have the names of llama-bench: pp512 is the speed of reading a prompt of 512 tokens, and
// tg128 @ d512 the speed of generating 128 tokens behind such a prompt.
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result/result.h"

namespace paretoken::reports {

/// The speed for one person at one depth, which is the length of the prompt.
struct SpeedAtDepth {
    std::uint64_t prompt_tokens = 0;
    std::uint64_t answer_tokens =
        0;  ///< the mean of the answers if they differ clearly from what was asked for
    std::optional<double> first_token_s = {};  ///< median
    /// Prompt tokens that were not cached ÷ first_token_s; absent if whole answers came at once.
    std::optional<double> prompt_tok_per_s = {};
    std::optional<double> generation_tok_per_s = {};  ///< 1 ÷ median time per output token

    bool operator==(const SpeedAtDepth&) const = default;
};

/// The speed while several people ask at once, each of whom waits for the answer before the next question.
struct SpeedOfCrowd {
    std::uint64_t people = 0;
    std::optional<double> answer_s = {};   ///< median time of a whole answer; absent if too many failed
    std::optional<double> tok_per_s = {};  ///< output tokens per second of all together

    bool operator==(const SpeedOfCrowd&) const = default;
};

/// What this machine's memory and its caches together could read, and what a generated token needs of it.
struct MemoryBound {
    std::string device;  ///< "AMD EPYC"
    double bytes_per_s = 0;
    double bytes_per_token = 0;  ///< weights that one step reads, and the KV cache at the depth of the speed

    bool operator==(const MemoryBound&) const = default;
};

struct FirstLook {
    std::string server;                     ///< "llama.cpp at http://127.0.0.1:8080"
    std::string model;                      ///< name of the model
    std::vector<SpeedAtDepth> depths = {};  ///< ascending, never empty
    std::vector<SpeedOfCrowd> crowds = {};  ///< ascending; the first has one person
    /// Why the figures may not be what they seem: the first sentence of each check.
    std::map<std::string, std::string> doubts = {};
    /// Whether the server ends answers when the model does, although it was asked to go on.
    bool ends_early = false;
    bool out_of_time = false;  ///< whether more people would have been measured with more time
    std::optional<MemoryBound> memory = {};
    std::string no_memory = {};  ///< why `memory` is absent, in one sentence
    std::string next = {};       ///< command to use next
    std::string page = {};       ///< path of the page

    bool operator==(const FirstLook&) const = default;
};

/// Returns the speed of a run of one person with prompts of `prompt_tokens` tokens.
SpeedAtDepth speed_at_depth(const RunResult& result, std::uint64_t prompt_tokens,
                            std::uint64_t answer_tokens);

/// Adds the doubts of a run that do not come from its being short.
void add_doubts(const RunResult& result, FirstLook& look);

/// Returns the speed of `people` at once; no time of an answer if more than a tenth failed.
SpeedOfCrowd speed_of_crowd(const RunResult& result, std::uint64_t people);

/// Returns whether each of these people gets less than half the speed of `alone`, or too many requests fail.
bool is_slowed_to_half(const SpeedOfCrowd& alone, const SpeedOfCrowd& crowd);

/// Returns the number of people at which each gets half the speed of one: between the last level that is
/// faster and the first that is not, interpolated over the logarithms. Nothing if no level is slowed to half.
std::optional<double> people_at_half_speed(std::span<const SpeedOfCrowd> crowds);

/// Returns a title that says what was found: "The first word comes in 26 ms, then 132 tokens per second".
std::string first_look_title(const FirstLook& look);

/// Returns the account, in lines of at most `columns` columns.
std::string first_look_text(const FirstLook& look, std::size_t columns = 80);

}  // namespace paretoken::reports
