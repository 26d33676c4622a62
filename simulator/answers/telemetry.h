#pragma once
// The counters and histograms that the simulated server keeps beside those of its engine. Each dialect writes
// those that its real server has under that server's Prometheus names.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paretoken::sim {

/// A Prometheus histogram. The edges ascend; a bucket counts the values up to and including its edge.
class BucketCounts {
  public:
    explicit BucketCounts(std::span<const double> edges) : edges_(edges), counts_(edges.size() + 1) {}

    void add(double value);
    std::uint64_t count() const;
    double sum() const { return sum_; }
    /// Appends the metric in the text format of Prometheus. `labels` must not be empty: `a="1",b="2"`.
    void append_text(std::string& out, std::string_view name, std::string_view labels) const;

  private:
    std::span<const double> edges_;      ///< static storage
    std::vector<std::uint64_t> counts_;  ///< not cumulative; the last counts values above every edge
    double sum_ = 0;
};

struct Telemetry {
    Telemetry();

    std::uint64_t prompt_tokens = 0;     ///< tokens of the prompts of completed requests
    std::uint64_t cached_tokens = 0;     ///< part of `prompt_tokens` that was found in the prefix cache
    std::uint64_t longest_sequence = 0;  ///< largest number of tokens of a prompt and its answer together
    std::uint64_t generation_tokens = 0;
    std::uint64_t stopped = 0;  ///< requests that ended by themselves
    std::uint64_t reached_length = 0;
    std::uint64_t aborted = 0;
    BucketCounts time_to_first_token;  ///< seconds, as are all below
    BucketCounts inter_token_latency;
    BucketCounts request_latency;
    BucketCounts queue_time;
    BucketCounts prefill_time;
    BucketCounts decode_time;
    BucketCounts time_per_output_token;
};

}  // namespace paretoken::sim
