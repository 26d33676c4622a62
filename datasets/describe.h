#pragma once
// What a file of requests holds, in figures that a load and a server are planned with. Read in one pass; a
// row costs 24 bytes of memory, and a block of a prompt that was not seen before about 40.
#include <cstdint>
#include <optional>
#include <string>

#include "datasets/files/file_dataset.h"

namespace paretoken::datasets {

/// Tokens, over the rows that tell them.
struct LengthSummary {
    double mean = 0;
    double p50 = 0;
    double p95 = 0;
    double p99 = 0;
    double max = 0;

    bool operator==(const LengthSummary&) const = default;
};

/// Per second: over the whole time, and in the fullest second, minute and hour.
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
    std::optional<LengthSummary> input = {};  ///< nothing unless every row tells its tokens; likewise below
    std::optional<LengthSummary> output = {};
    std::optional<LengthSummary> total = {};
    std::optional<double> seconds = {};  ///< from the first row's time to the last one's
    std::optional<RateSummary> requests_per_s = {};
    std::optional<RateSummary> prompt_tokens_per_s = {};
    /// Shares that a prefix cache which forgets nothing would find, of blocks and of prompt tokens.
    std::optional<double> block_hits = {};
    std::optional<double> token_hits = {};
    std::optional<std::int64_t> max_model_len = {};  ///< ⌈1.2 · p99 of input and output together⌉

    bool operator==(const FileDescription&) const = default;
};

/// Throws as RowFile, and as the format's reader where a row is wrong.
FileDescription description_of(const std::string& path, const RowFormat& format);

/// The name of the dataset whose format a file seems to have, by its first row. Throws UsageError when it is
/// none, RuntimeError when it cannot be read.
std::string guessed_format(const std::string& path);

}  // namespace paretoken::datasets
