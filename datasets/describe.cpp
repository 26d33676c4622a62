#include "datasets/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <unordered_set>
#include <vector>

#include "core/error.h"
#include "core/statistics.h"
#include "datasets/catalog.h"

namespace paretoken::datasets {
namespace {

std::optional<LengthSummary> summary_of(std::vector<double> values, std::uint64_t rows) {
    if (values.empty() || values.size() != rows) return std::nullopt;
    std::sort(values.begin(), values.end());
    return LengthSummary{.mean = moments_of(values).mean,
                         .p50 = percentile(values, .5),
                         .p95 = percentile(values, .95),
                         .p99 = percentile(values, .99),
                         .max = values.back()};
}

/// Finds the largest sum of amounts within one interval. Intervals are equally long, and times ascend.
class Peak {
  public:
    explicit Peak(double length_s) : length_s_(length_s) {}

    void add(double at_s, double amount) {
        const double stretch = std::floor(at_s / length_s_);
        if (stretch != stretch_) sum_ = 0;
        stretch_ = stretch;
        sum_ += amount;
        most_ = std::max(most_, sum_);
    }
    /// Returns the largest sum per second; if `seconds` is shorter than an interval, the mean over `seconds`.
    double per_s(double seconds) const { return most_ / std::min(length_s_, seconds); }

  private:
    double length_s_;
    double stretch_ = -1;
    double sum_ = 0;
    double most_ = 0;
};

class Rate {
  public:
    void add(double at_s, double amount) {
        sum_ += amount;
        for (Peak& peak : peaks_) peak.add(at_s, amount);
    }
    /// Counts a time shorter than one second as one second.
    RateSummary summary(double seconds) const {
        seconds = std::max(seconds, 1.0);
        return {.mean = sum_ / seconds,
                .peak_second = peaks_[0].per_s(seconds),
                .peak_minute = peaks_[1].per_s(seconds),
                .peak_hour = peaks_[2].per_s(seconds)};
    }

  private:
    double sum_ = 0;
    std::array<Peak, 3> peaks_{Peak(1), Peak(60), Peak(3600)};
};

/// A prefix cache of unlimited size.
class InfiniteCache {
  public:
    void add(const Row& row, std::int64_t block_tokens) {
        std::int64_t left = row.input_tokens.value_or(0);
        for (const std::uint64_t block : row.blocks) {
            const auto tokens = static_cast<double>(std::clamp<std::int64_t>(left, 0, block_tokens));
            left -= block_tokens;
            const bool hit = seen_.contains(block);
            ++blocks_;
            tokens_ += tokens;
            block_hits_ += hit ? 1 : 0;
            token_hits_ += hit ? tokens : 0;
        }
        // Blocks of one prompt do not hit each other.
        seen_.insert(row.blocks.begin(), row.blocks.end());
    }
    void describe(FileDescription& description) const {
        if (blocks_ == 0) return;
        description.block_hits = block_hits_ / blocks_;
        if (tokens_ > 0) description.token_hits = token_hits_ / tokens_;
    }

  private:
    std::unordered_set<std::uint64_t> seen_;
    double blocks_ = 0;
    double tokens_ = 0;
    double block_hits_ = 0;
    double token_hits_ = 0;
};

}  // namespace

FileDescription description_of(const std::string& path, const RowFormat& format) {
    FileDescription description{.format = std::string(format.name)};
    std::vector<double> input;
    std::vector<double> output;
    std::vector<double> total;
    std::optional<double> first_s;
    double last_s = 0;
    Rate requests;
    Rate tokens;
    InfiniteCache cache;
    description.notes = for_each_row(path, format, [&](const Row& row, const RowPlace& place) {
        ++description.rows;
        if (row.input_tokens) input.push_back(static_cast<double>(*row.input_tokens));
        if (row.output_tokens) output.push_back(static_cast<double>(*row.output_tokens));
        if (row.input_tokens && row.output_tokens) total.push_back(input.back() + output.back());
        cache.add(row, format.block_tokens);
        if (!row.at_s) return;
        if (!first_s) first_s = last_s = *row.at_s;
        if (*row.at_s < last_s)
            place.refuse(fmt::format("the time goes back from {} s to {} s", last_s, *row.at_s));
        last_s = *row.at_s;
        requests.add(last_s - *first_s, 1);
        tokens.add(last_s - *first_s, static_cast<double>(row.input_tokens.value_or(0)));
    });
    description.input = summary_of(input, description.rows);
    description.output = summary_of(output, description.rows);
    description.total = summary_of(total, description.rows);
    if (first_s) {
        description.seconds = last_s - *first_s;
        description.requests_per_s = requests.summary(*description.seconds);
        if (description.input) description.prompt_tokens_per_s = tokens.summary(*description.seconds);
    }
    cache.describe(description);
    if (description.total)
        description.max_model_len = static_cast<std::int64_t>(std::ceil(1.2 * description.total->p99));
    return description;
}

std::string guessed_format(const std::string& path) {
    struct Sign {
        std::string_view text;
        std::string_view format;
    };
    constexpr std::array kSigns = {
        Sign{"ContextTokens", "azure"},       Sign{"Request tokens", "burstgpt"},
        Sign{"\"input_length\"", "mooncake"}, Sign{"\"conversations\"", "sharegpt"},
        Sign{"\"prompt_tokens\"", "log"},     Sign{"\"messages\"", "custom"},
        Sign{"\"prompt\"", "custom"},
    };
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
    std::string begin(std::size_t{1} << 16, '\0');
    if (file) begin.resize(std::fread(begin.data(), 1, begin.size(), file.get()));
    if (!file || std::ferror(file.get()))
        throw RuntimeError(fmt::format("cannot read '{}': {}", path, std::strerror(errno)));
    refuse_packed(path, begin);
    for (const Sign& sign : kSigns) {
        if (begin.find(sign.text) != std::string::npos) return std::string(sign.format);
    }
    throw UsageError(fmt::format("'{}' looks like none of the known formats; name one with --dataset ({})",
                                 path, names_of_file_formats()));
}

}  // namespace paretoken::datasets
