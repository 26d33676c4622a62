#include "loadgen/sim/telemetry.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>

namespace paretoken::sim {
namespace {

// Bucket edges in seconds, as vLLM has them: a client must cope with how coarse they are.
constexpr double kFirstTokenEdges[] = {.001, .005, .01, .02, .04, .06, .08, .1, .25,  .5,   .75,
                                       1,    2.5,  5,   7.5, 10,  20,  40,  80, 160., 640., 2560.};
constexpr double kTokenEdges[] = {.01, .025, .05, .075, .1,  .15, .2, .3, .4, .5,
                                  .75, 1,    2.5, 5,    7.5, 10,  20, 40, 80};
constexpr double kRequestEdges[] = {.3, .5, .8, 1,  1.5, 2,   2.5, 5,   10,   15,  20,
                                    30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680};

void append_header(std::string& out, std::string_view name, std::string_view type) {
    fmt::format_to(std::back_inserter(out), "# TYPE vllm:{} {}\n", name, type);
}

void append_value(std::string& out, std::string_view name, std::string_view type, std::string_view labels,
                  double value) {
    append_header(out, name, type);
    fmt::format_to(std::back_inserter(out), "vllm:{}{{{}}} {}\n", name, labels, value);
}

double share_of_blocks(const EngineState& engine) {
    return engine.blocks == 0 ? 0
                              : static_cast<double>(engine.blocks_used) / static_cast<double>(engine.blocks);
}

}  // namespace

void BucketCounts::add(double value) {
    const auto edge = std::lower_bound(edges_.begin(), edges_.end(), value);
    ++counts_[static_cast<std::size_t>(edge - edges_.begin())];
    sum_ += value;
}

std::uint64_t BucketCounts::count() const {
    return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
}

void BucketCounts::append_text(std::string& out, std::string_view name, std::string_view labels) const {
    append_header(out, name, "histogram");
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < edges_.size(); ++i) {
        below += counts_[i];
        fmt::format_to(std::back_inserter(out), "vllm:{}_bucket{{{},le=\"{}\"}} {}\n", name, labels,
                       edges_[i], below);
    }
    fmt::format_to(std::back_inserter(out),
                   "vllm:{0}_bucket{{{1},le=\"+Inf\"}} {2}\nvllm:{0}_sum{{{1}}} {3}\n"
                   "vllm:{0}_count{{{1}}} {2}\n",
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

std::string metrics_text(const Telemetry& telemetry, const EngineState& engine, const Profile& profile,
                         std::string_view model) {
    const std::string labels = fmt::format("engine=\"0\",model_name=\"{}\"", model);
    std::string out;
    append_value(out, "num_requests_running", "gauge", labels, static_cast<double>(engine.running));
    append_value(out, "num_requests_waiting", "gauge", labels, static_cast<double>(engine.waiting));
    append_value(out, "kv_cache_usage_perc", "gauge", labels, share_of_blocks(engine));
    append_value(out, "num_preemptions_total", "counter", labels, static_cast<double>(engine.preemptions));
    append_value(out, "prefix_cache_queries_total", "counter", labels,
                 static_cast<double>(engine.prefix_queries));
    append_value(out, "prefix_cache_hits_total", "counter", labels, static_cast<double>(engine.prefix_hits));
    append_value(out, "prompt_tokens_total", "counter", labels, static_cast<double>(telemetry.prompt_tokens));
    append_value(out, "generation_tokens_total", "counter", labels,
                 static_cast<double>(telemetry.generation_tokens));
    append_header(out, "request_success_total", "counter");
    const std::pair<std::string_view, std::uint64_t> ends[] = {
        {"stop", telemetry.stopped}, {"length", telemetry.reached_length}, {"abort", telemetry.aborted}};
    for (const auto& [reason, count] : ends) {
        fmt::format_to(std::back_inserter(out),
                       "vllm:request_success_total{{{},finished_reason=\"{}\"}} {}\n", labels, reason, count);
    }
    append_header(out, "cache_config_info", "gauge");
    fmt::format_to(std::back_inserter(out),
                   "vllm:cache_config_info{{block_size=\"{}\",engine=\"0\",num_gpu_blocks=\"{}\"}} 1\n",
                   profile.block_tokens, engine.blocks);
    telemetry.time_to_first_token.append_text(out, "time_to_first_token_seconds", labels);
    telemetry.inter_token_latency.append_text(out, "inter_token_latency_seconds", labels);
    telemetry.time_per_output_token.append_text(out, "request_time_per_output_token_seconds", labels);
    telemetry.request_latency.append_text(out, "e2e_request_latency_seconds", labels);
    telemetry.queue_time.append_text(out, "request_queue_time_seconds", labels);
    telemetry.prefill_time.append_text(out, "request_prefill_time_seconds", labels);
    telemetry.decode_time.append_text(out, "request_decode_time_seconds", labels);
    return out;
}

}  // namespace paretoken::sim
