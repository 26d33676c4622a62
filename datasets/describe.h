#pragma once
// Describes a file of requests by figures for planning a load and a server. The file is read in one pass; a
// row costs 24 bytes of memory, and a block of a prompt that was not seen before about 40.
#include <cstdint>
#include <optional>
#include <string>

#include "datasets/files/file_dataset.h"

namespace paretoken::datasets {

/// Statistics of a number of tokens over all rows of the file.
struct LengthSummary {
    double mean = 0;
    double p50 = 0;
    double p95 = 0;
    double p99 = 0;
    double max = 0;

    bool operator==(const LengthSummary&) const = default;
};

/// Amounts per second: the mean over the whole time, and over the busiest second, minute and hour.
struct RateSummary {
    double mean = 0;
    double peak_second = 0;
    double peak_minute = 0;
    double peak_hour = 0;

    bool operator==(const RateSummary&) const = default;
};

struct FileDescription {
    std::string format;
    std::uint64_t rows = 0;
    std::optional<LengthSummary> input = {};  ///< prompt tokens; nothing unless every row has them
    std::optional<LengthSummary> output = {};
    std::optional<LengthSummary> total = {};
    std::optional<double> seconds = {};  ///< time from the first row to the last one
    std::optional<RateSummary> requests_per_s = {};
    std::optional<RateSummary> prompt_tokens_per_s = {};
    /// The shares of blocks and of prompt tokens that a prefix cache of unlimited size would find.
    std::optional<double> block_hits = {};
    std::optional<double> token_hits = {};
    std::optional<std::int64_t> max_model_len = {};  ///< ⌈1.2 · p99 of input and output together⌉

    bool operator==(const FileDescription&) const = default;
};

/// Describes a file. Throws the errors of RowFile, and those of the format's reader if a row is wrong.
FileDescription description_of(const std::string& path, const RowFormat& format);

/// Returns the name of the dataset whose format the file's first row fits. Throws UsageError when no format
/// fits, RuntimeError when the file cannot be read.
std::string guessed_format(const std::string& path);

}  // namespace paretoken::datasets
