#include "simulator/answers/telemetry.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>

namespace paretoken::sim {
namespace {

// Bucket edges in seconds, equal to those of vLLM: a client must handle edges as coarse as these.
constexpr double kFirstTokenEdges[] = {.001, .005, .01, .02, .04, .06, .08, .1, .25,  .5,   .75,
                                       1,    2.5,  5,   7.5, 10,  20,  40,  80, 160., 640., 2560.};
constexpr double kTokenEdges[] = {.01, .025, .05, .075, .1,  .15, .2, .3, .4, .5,
                                  .75, 1,    2.5, 5,    7.5, 10,  20, 40, 80};
constexpr double kRequestEdges[] = {.3, .5, .8, 1,  1.5, 2,   2.5, 5,   10,   15,  20,
                                    30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680};

}  // namespace

void BucketCounts::add(double value) {
    const auto edge = std::ranges::lower_bound(edges_, value);
    ++counts_[static_cast<std::size_t>(edge - edges_.begin())];
    sum_ += value;
}

std::uint64_t BucketCounts::count() const {
    return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
}

void BucketCounts::append_text(std::string& out, std::string_view name, std::string_view labels) const {
    fmt::format_to(std::back_inserter(out), "# TYPE {} histogram\n", name);
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < edges_.size(); ++i) {
        below += counts_[i];
        fmt::format_to(std::back_inserter(out), "{}_bucket{{{},le=\"{}\"}} {}\n", name, labels, edges_[i],
                       below);
    }
    fmt::format_to(std::back_inserter(out),
                   "{0}_bucket{{{1},le=\"+Inf\"}} {2}\n{0}_sum{{{1}}} {3}\n"
                   "{0}_count{{{1}}} {2}\n",
                   name, labels, count(), sum_);
}

Telemetry::Telemetry()
    : time_to_first_token(kFirstTokenEdges),
      inter_token_latency(kTokenEdges),
      request_latency(kRequestEdges),
      queue_time(kRequestEdges),
      prefill_time(kRequestEdges),
      decode_time(kRequestEdges),
      time_per_output_token(kTokenEdges) {}

}  // namespace paretoken::sim
