#pragma once
// Describes a file of requests by figures for planning a load and a server. The file is read in one pass. A
// row costs about 32 bytes of memory, a turn of a job with times 24 more, and a block of a prompt that was
// not seen before 10 to 21.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "datasets/files/file_dataset.h"

namespace paretoken::datasets {

/// Statistics of a number of tokens per row, over all rows of the file.
struct LengthSummary {
    double mean = 0;
    double p50 = 0;
    double p95 = 0;
    double p99 = 0;
    double max = 0;

    bool operator==(const LengthSummary&) const = default;
};

/// Amounts per second: over the whole time, and over the busiest second, minute and hour of those that follow
/// each other from the first row on. A shorter file counts as one interval of its length, at least 1 s. A
/// later turn of a job counts at the job's time and the pauses before it, as if answers took no time.
struct RateSummary {
    double mean = 0;
    double peak_second = 0;
    double peak_minute = 0;
    double peak_hour = 0;

    bool operator==(const RateSummary&) const = default;
};

/// The jobs of a file (datasets/job.h); conversations are jobs with one agent.
struct JobSummary {
    std::uint64_t jobs = 0;
    std::uint64_t agents = 0;
    std::uint64_t background_agents = 0;  ///< agents that nobody waits for
    std::uint64_t turns = 0;
    std::uint64_t depth = 0;                 ///< 1 if no agent starts another
    std::uint64_t waits_between_agents = 0;  ///< waits of a turn for a turn of another agent
    std::uint64_t shrinking =
        0;  ///< turns whose prompt is shorter than that before in its agent, by stated length
    LengthSummary agents_per_job = {};
    LengthSummary turns_per_job = {};
    // The pauses before all turns but the first of each job, in seconds.
    std::optional<LengthSummary> delay_s = {};
    std::optional<LengthSummary> tool_s = {};
    /// The share of the prompt tokens that a cache of unlimited size, with whole blocks and for each job
    /// alone, would find. Nothing if rows have no blocks.
    std::optional<double> best_hit = {};

    bool operator==(const JobSummary&) const = default;
};

struct FileDescription {
    std::string format;
    std::uint64_t rows = 0;                    ///< without those that were left out; a row per turn of a job
    std::optional<LengthSummary> input = {};   ///< prompt tokens; nothing unless every row has them
    std::optional<LengthSummary> output = {};  ///< output tokens; nothing unless every row has them
    std::optional<LengthSummary> total = {};   ///< prompt and output tokens of a row together
    std::optional<double> seconds = {};        ///< from the first request to the last; nothing without times
    std::optional<RateSummary> requests_per_s = {};
    std::optional<RateSummary> prompt_tokens_per_s = {};
    /// The mean requests per second of each hour from the first row on. An hour that ends with the file
    /// counts if it has at least half of its time. Empty without times, and for a file of more than a year.
    std::vector<double> hours = {};
    /// The share of the blocks, and of the tokens in blocks, that an earlier row has too, which a prefix
    /// cache of unlimited size would find. Nothing if rows have no blocks.
    std::optional<double> block_hits = {};
    std::optional<double> token_hits = {};
    std::optional<std::int64_t> max_model_len = {};  ///< suggested context length: ⌈1.2 · p99 of `total`⌉

    std::optional<JobSummary> jobs = {};  ///< nothing if all rows are single requests
    std::vector<std::string> notes = {};  ///< rows that were left out, fields that have no effect

    bool operator==(const FileDescription&) const = default;
};

/// Describes a file. Throws UsageError naming the line when a row is wrong or goes back in time, or when the
/// file is not regular or has no rows; RuntimeError when it cannot be read.
FileDescription description_of(const std::string& path, const RowFormat& format);

}  // namespace paretoken::datasets
