#include "loadgen/scrape/server_metrics.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace paretoken::scrape {
namespace {

struct EnginePrefix {
    std::string_view prefix;
    std::string_view engine;
};
constexpr std::array kEngines = {EnginePrefix{"vllm:", "vllm"}, EnginePrefix{"sglang:", "sglang"},
                                 EnginePrefix{"trtllm_", "trtllm"}, EnginePrefix{"tgi_", "tgi"},
                                 EnginePrefix{"llamacpp:", "llamacpp"}};

std::string engine_of(std::string_view name) {
    for (const auto& [prefix, engine] : kEngines)
        if (name.starts_with(prefix)) return std::string(engine);
    return {};
}

/// llama.cpp counts the prompt tokens that it computed; those from its cache come on top.
bool excludes_cached(const ServerScrape& scrape) {
    return scrape.engine == "llamacpp";
}

// ---- one quantity over time

/// What a counter has grown by from the first scrape to `at`, linear in between.
class Growth {
  public:
    template <class ValueOf>
    Growth(std::span<const ServerScrape> scrapes, ValueOf value_of) {
        std::optional<double> before;
        double grown = 0;
        for (const ServerScrape& scrape : scrapes) {
            const std::optional<double> value = value_of(scrape);
            if (!value || !std::isfinite(*value)) continue;
            if (before) grown += *value >= *before ? *value - *before : *value;
            before = value;
            at_.push_back(scrape.at);
            grown_.push_back(grown);
        }
    }

    bool is_known() const { return at_.size() >= 2; }

    double over(TimeSpan span) const { return until(span.end) - until(span.begin); }

  private:
    double until(TimePoint at) const {
        const auto after = std::upper_bound(at_.begin(), at_.end(), at) - at_.begin();
        if (after == 0) return grown_.front();
        if (static_cast<std::size_t>(after) == at_.size()) return grown_.back();
        const auto i = static_cast<std::size_t>(after);
        const double share = seconds(at - at_[i - 1]) / seconds(at_[i] - at_[i - 1]);
        return grown_[i - 1] + share * (grown_[i] - grown_[i - 1]);
    }

    std::vector<TimePoint> at_;
    std::vector<double> grown_;
};

std::optional<double> value_in(const ServerScrape& scrape, const std::string& key) {
    const auto found = scrape.values.find(key);
    if (found == scrape.values.end()) return std::nullopt;
    return found->second;
}

void add_gauge(std::span<const ServerScrape> scrapes, TimeSpan span, const std::string& key,
               std::map<std::string, double>& figures) {
    double sum = 0;
    double most = 0;
    double count = 0;
    for (const ServerScrape& scrape : scrapes) {
        const auto value = value_in(scrape, key);
        if (!value || !std::isfinite(*value) || !span.contains(scrape.at)) continue;
        sum += *value;
        most = std::max(most, *value);
        ++count;
    }
    if (count == 0) return;
    figures[key] = sum / count;
    figures[key + "_max"] = most;
}

void add_counter(std::span<const ServerScrape> scrapes, TimeSpan span, const std::string& key,
                 std::map<std::string, double>& figures) {
    const Growth growth(scrapes, [&](const ServerScrape& scrape) { return value_in(scrape, key); });
    if (growth.is_known()) figures[key] = growth.over(span);
}

void add_histogram(std::span<const ServerScrape> scrapes, TimeSpan span, const std::string& key,
                   std::map<std::string, double>& figures) {
    const auto part = [&](double ServerScrape::Sums::*member) {
        return Growth(scrapes, [&, member](const ServerScrape& scrape) -> std::optional<double> {
            const auto found = scrape.histograms.find(key);
            if (found == scrape.histograms.end()) return std::nullopt;
            return found->second.*member;
        });
    };
    const Growth sum = part(&ServerScrape::Sums::sum);
    const Growth count = part(&ServerScrape::Sums::count);
    if (!sum.is_known() || !count.is_known() || !(count.over(span) > 0)) return;
    figures[key + "_mean_s"] = sum.over(span) / count.over(span);
}

std::optional<double> at(const std::map<std::string, double>& figures, const std::string& key) {
    const auto found = figures.find(key);
    if (found == figures.end()) return std::nullopt;
    return found->second;
}

/// Ratios of counters, and only where something was counted.
void add_ratios(bool cached_on_top, std::map<std::string, double>& figures) {
    const auto hits = at(figures, "prefix_hits");
    auto queries = at(figures, "prefix_queries");
    if (!queries) queries = at(figures, "prompt_tokens");
    if (hits && queries) {
        const double asked = cached_on_top ? *queries + *hits : *queries;
        if (asked > 0) figures["prefix_hit_ratio"] = std::clamp(*hits / asked, 0.0, 1.0);
    }
    const auto accepted = at(figures, "accepted_tokens");
    const auto drafted = at(figures, "draft_tokens");
    const auto drafts = at(figures, "drafts");
    if (accepted && drafted && *drafted > 0) figures["acceptance_ratio"] = *accepted / *drafted;
    if (accepted && drafts && *drafts > 0) figures["tokens_per_pass"] = 1 + *accepted / *drafts;
}

}  // namespace

std::span<const ServerMetric> server_metrics() {
    using enum MetricKind;
    static const std::vector<ServerMetric> table = {
        {"running",
         gauge,
         {"vllm:num_requests_running", "sglang:num_running_reqs", "trtllm_num_requests_running",
          "tgi_batch_current_size", "llamacpp:requests_processing"}},
        {"waiting",
         gauge,
         {"vllm:num_requests_waiting", "sglang:num_queue_reqs", "trtllm_num_requests_waiting",
          "tgi_queue_size", "llamacpp:requests_deferred"}},
        {"kv_usage",
         gauge,
         {"vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc", "sglang:token_usage",
          "trtllm_kv_cache_utilization", "llamacpp:kv_cache_usage_ratio"}},
        {"preemptions",
         counter,
         {"vllm:num_preemptions_total", "vllm:num_preempted_seqs_total",
          "sglang:num_retracted_requests_total"}},
        {"prefix_queries",
         counter,
         {"vllm:prefix_cache_queries_total", "vllm:gpu_prefix_cache_queries_total"}},
        {"prefix_hits",
         counter,
         {"vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total", "sglang:cached_tokens_total",
          "llamacpp:prompt_tokens_cached_total"}},
        {"prompt_tokens",
         counter,
         {"vllm:prompt_tokens_total", "sglang:prompt_tokens_total", "trtllm_prompt_tokens_total",
          "llamacpp:prompt_tokens_total"}},
        {"generation_tokens",
         counter,
         {"vllm:generation_tokens_total", "sglang:generation_tokens_total", "trtllm_generation_tokens_total",
          "llamacpp:tokens_predicted_total"}},
        {"requests",
         counter,
         {"vllm:request_success_total", "sglang:num_requests_total", "trtllm_request_success_total",
          "tgi_request_success"}},
        {"drafts", counter, {"vllm:spec_decode_num_drafts_total", "llamacpp:spec_decode_num_drafts_total"}},
        {"draft_tokens",
         counter,
         {"vllm:spec_decode_num_draft_tokens_total", "trtllm_spec_decode_num_draft_tokens_total",
          "llamacpp:spec_decode_num_draft_tokens_total"}},
        {"accepted_tokens",
         counter,
         {"vllm:spec_decode_num_accepted_tokens_total", "trtllm_spec_decode_num_accepted_tokens_total",
          "llamacpp:spec_decode_num_accepted_tokens_total"}},
        {"ttft",
         histogram,
         {"vllm:time_to_first_token_seconds", "sglang:time_to_first_token_seconds",
          "trtllm_time_to_first_token_seconds"}},
        {"itl",
         histogram,
         {"vllm:inter_token_latency_seconds", "vllm:time_per_output_token_seconds",
          "sglang:inter_token_latency_seconds", "trtllm_inter_token_latency_seconds",
          "tgi_request_mean_time_per_token_duration"}},
        {"queue",
         histogram,
         {"vllm:request_queue_time_seconds", "sglang:queue_time_seconds", "trtllm_request_queue_time_seconds",
          "tgi_request_queue_duration"}},
        {"prefill", histogram, {"vllm:request_prefill_time_seconds", "trtllm_request_prefill_time_seconds"}},
        {"decode", histogram, {"vllm:request_decode_time_seconds", "trtllm_request_decode_time_seconds"}},
        {"e2e",
         histogram,
         {"vllm:e2e_request_latency_seconds", "sglang:e2e_request_latency_seconds",
          "trtllm_e2e_request_latency_seconds", "tgi_request_duration"}},
    };
    return table;
}

std::vector<std::string> engines() {
    std::vector<std::string> names;
    for (const auto& [prefix, engine] : kEngines) names.emplace_back(engine);
    return names;
}

std::map<std::string, std::string> names_of_engine(std::string_view engine) {
    std::map<std::string, std::string> names;
    for (const ServerMetric& metric : server_metrics())
        for (const std::string_view name : metric.names)
            if (engine_of(name) == engine) names.emplace(metric.key, name);  // the first, which is the newest
    return names;
}

ServerScrape server_scrape_of(const Scrape& scrape, TimePoint at) {
    ServerScrape known{.at = at, .engine = {}, .sources = {}, .values = {}, .histograms = {}};
    for (const ServerMetric& metric : server_metrics()) {
        const std::string key(metric.key);
        std::optional<std::string> name;
        if (metric.kind == MetricKind::histogram) {
            for (const std::string_view candidate : metric.names) {
                const auto sum = sum_of(scrape.samples, std::string(candidate) + "_sum");
                const auto count = sum_of(scrape.samples, std::string(candidate) + "_count");
                if (!sum || !count) continue;
                name = std::string(candidate);
                known.histograms[key] = {*sum, *count};
                break;
            }
        } else if ((name = name_among(scrape.samples, metric.names))) {
            known.values[key] = sum_of(scrape.samples, *name).value_or(0);
        }
        if (!name) continue;
        known.sources[key] = *name;
        if (known.engine.empty()) known.engine = engine_of(*name);
    }
    return known;
}

std::map<std::string, double> figures_over(std::span<const ServerScrape> scrapes, TimeSpan span) {
    std::map<std::string, double> figures;
    if (scrapes.size() < 2) return figures;
    for (const ServerMetric& metric : server_metrics()) {
        const std::string key(metric.key);
        switch (metric.kind) {
            case MetricKind::gauge:
                add_gauge(scrapes, span, key, figures);
                break;
            case MetricKind::counter:
                add_counter(scrapes, span, key, figures);
                break;
            case MetricKind::histogram:
                add_histogram(scrapes, span, key, figures);
                break;
        }
    }
    add_ratios(excludes_cached(scrapes.front()), figures);
    return figures;
}

std::optional<ServerFigures> server_figures(const ServerScrapes& scraped, TimeSpan window) {
    const std::vector<ServerScrape>& scrapes = scraped.scrapes;
    if (scrapes.empty() && scraped.failed == 0) return std::nullopt;
    ServerFigures server;
    server.scrapes = scrapes.size();
    server.failed_scrapes = scraped.failed;
    server.note = scraped.last_failure;
    if (scrapes.empty()) return server;
    server.engine = scrapes.front().engine;
    server.sources = scrapes.front().sources;
    server.window = figures_over(scrapes, window);
    server.whole_run = figures_over(scrapes, {scrapes.front().at, scrapes.back().at + Duration(1)});
    return server;
}

std::vector<Series> server_series(std::span<const ServerScrape> scrapes, TimePoint zero) {
    std::vector<Series> all;
    for (const ServerMetric& metric : server_metrics()) {
        if (metric.kind != MetricKind::gauge) continue;
        const std::string key(metric.key);
        Series series{.name = key,
                      .unit = key == "kv_usage" ? "ratio" : "requests",
                      .source = "server",
                      .times_s = {},
                      .values = {}};
        for (const ServerScrape& scrape : scrapes) {
            const auto value = value_in(scrape, key);
            if (!value || !std::isfinite(*value)) continue;
            series.times_s.push_back(seconds(scrape.at - zero));
            series.values.push_back(*value);
        }
        if (!series.values.empty()) all.push_back(std::move(series));
    }
    return all;
}

}  // namespace paretoken::scrape
