#include "simulator/telemetry.h"

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

void append_header(std::string& out, std::string_view name, std::string_view type) {
    fmt::format_to(std::back_inserter(out), "# TYPE vllm:{} {}\n", name, type);
}

void append_value(std::string& out, std::string_view name, std::string_view type, std::string_view labels,
                  double value) {
    append_header(out, name, type);
    fmt::format_to(std::back_inserter(out), "vllm:{}{{{}}} {}\n", name, labels, value);
}

/// Appends the metrics that only a server with speculation has.
void append_speculation(std::string& out, const EngineState& engine, std::string_view labels) {
    append_value(out, "spec_decode_num_drafts_total", "counter", labels, static_cast<double>(engine.drafts));
    append_value(out, "spec_decode_num_draft_tokens_total", "counter", labels,
                 static_cast<double>(engine.draft_tokens));
    append_value(out, "spec_decode_num_accepted_tokens_total", "counter", labels,
                 static_cast<double>(engine.accepted_tokens));
    append_header(out, "spec_decode_num_accepted_tokens_per_pos_total", "counter");
    for (std::size_t i = 0; i < engine.accepted_per_position.size(); ++i) {
        fmt::format_to(std::back_inserter(out),
                       "vllm:spec_decode_num_accepted_tokens_per_pos_total{{{},position=\"{}\"}} {}\n",
                       labels, i, engine.accepted_per_position[i]);
    }
}

void append_llamacpp(std::string& out, std::string_view name, std::string_view type, std::string_view help,
                     double value) {
    fmt::format_to(std::back_inserter(out),
                   "# HELP llamacpp:{0} {1}\n# TYPE llamacpp:{0} {2}\nllamacpp:{0} {3}\n", name, help, type,
                   value);
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
    append_value(out, "prompt_tokens_cached_total", "counter", labels,
                 static_cast<double>(telemetry.cached_tokens));
    if (profile.speculative_tokens > 0) append_speculation(out, engine, labels);
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

std::string llamacpp_metrics_text(const Telemetry& telemetry, const EngineState& engine) {
    const auto computed = static_cast<double>(telemetry.prompt_tokens - telemetry.cached_tokens);
    const auto predicted = static_cast<double>(telemetry.generation_tokens);
    const auto steps = static_cast<double>(engine.steps);
    const double prompt_s = telemetry.prefill_time.sum();
    const double predicted_s = telemetry.decode_time.sum();
    const auto ratio = [](double a, double b) { return b > 0 ? a / b : 0.0; };
    std::string out;
    const auto counter = [&out](std::string_view name, std::string_view help, double value) {
        append_llamacpp(out, name, "counter", help, value);
    };
    const auto gauge = [&out](std::string_view name, std::string_view help, double value) {
        append_llamacpp(out, name, "gauge", help, value);
    };
    counter("prompt_tokens_total", "Prompt tokens computed, cached ones left out", computed);
    counter("prompt_tokens_cached_total", "Prompt tokens found in the cache",
            static_cast<double>(telemetry.cached_tokens));
    counter("prompt_seconds_total", "Time spent on prompts", prompt_s);
    counter("tokens_predicted_total", "Tokens generated", predicted);
    counter("tokens_predicted_seconds_total", "Time spent generating", predicted_s);
    counter("n_decode_total", "Steps", steps);
    counter("n_tokens_max", "Longest sequence so far", static_cast<double>(telemetry.longest_sequence));
    counter("spec_decode_num_draft_tokens_total", "Draft tokens", static_cast<double>(engine.draft_tokens));
    counter("spec_decode_num_accepted_tokens_total", "Draft tokens that were right",
            static_cast<double>(engine.accepted_tokens));
    counter("spec_decode_num_drafts_total", "Times that drafts were checked",
            static_cast<double>(engine.drafts));
    gauge("prompt_tokens_seconds", "Mean prompt tokens per second", ratio(computed, prompt_s));
    gauge("predicted_tokens_seconds", "Mean generated tokens per second", ratio(predicted, predicted_s));
    gauge("requests_processing", "Requests being worked on", static_cast<double>(engine.running));
    gauge("requests_deferred", "Requests waiting", static_cast<double>(engine.waiting));
    gauge("n_busy_slots_per_decode", "Mean sequences per step",
          ratio(static_cast<double>(engine.step_sequences), steps));
    return out;
}

}  // namespace paretoken::sim
