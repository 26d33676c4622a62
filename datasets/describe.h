#pragma once
// Describes a file of requests by figures for planning a load and a server. The file is read in one pass. A
// row costs about 32 bytes of memory, and a block of a prompt that was not seen before about 40.
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

/// Amounts per second: the mean over the whole time, and the means over the busiest second, minute and hour.
/// These intervals follow each other from the first row on. If the time from the first row to the last is
/// shorter than an interval, the mean for this interval is over that time (at least 1 s).
struct RateSummary {
    double mean = 0;
    double peak_second = 0;
    double peak_minute = 0;
    double peak_hour = 0;

    bool operator==(const RateSummary&) const = default;
};

struct FileDescription {
    std::string format;
    std::uint64_t rows = 0;                    ///< without those that were left out
    std::optional<LengthSummary> input = {};   ///< prompt tokens; nothing unless every row has them
    std::optional<LengthSummary> output = {};  ///< output tokens; nothing unless every row has them
    std::optional<LengthSummary> total = {};   ///< prompt and output tokens of a row together
    std::optional<double> seconds = {};        ///< time from the first row to the last; nothing without times
    std::optional<RateSummary> requests_per_s = {};
    std::optional<RateSummary> prompt_tokens_per_s = {};
    /// The share of the blocks, and of the tokens in blocks, that an earlier row has too, which a prefix
    /// cache of unlimited size would find. Nothing if rows have no blocks.
    std::optional<double> block_hits = {};
    std::optional<double> token_hits = {};
    std::optional<std::int64_t> max_model_len = {};  ///< suggested context length: ⌈1.2 · p99 of `total`⌉

    std::vector<std::string> notes = {};  ///< rows that were left out, fields that have no effect

    bool operator==(const FileDescription&) const = default;
};

/// Describes a file. Throws UsageError naming the line when a row is wrong or its time is before that of the
/// previous row, UsageError when the file is not a regular file or has no rows, and RuntimeError when it
/// cannot be read.
FileDescription description_of(const std::string& path, const RowFormat& format);

/// Returns the name of the dataset whose format the file probably has, by the names of fields and columns in
/// its first 64 KiB. Throws UsageError when none is found, RuntimeError when the file cannot be read.
std::string guessed_format(const std::string& path);

}  // namespace paretoken::datasets
