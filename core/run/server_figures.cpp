#include "core/run/server_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "core/result/result.h"
#include "core/validity/checks.h"

namespace paretoken {
namespace {

struct EnginePrefix {
    std::string_view prefix;
    std::string_view engine;
};
constexpr std::array kEngines = {EnginePrefix{"vllm:", "vllm"}, EnginePrefix{"sglang:", "sglang"},
                                 EnginePrefix{"trtllm_", "trtllm"}, EnginePrefix{"tgi_", "tgi"},
                                 EnginePrefix{"llamacpp:", "llamacpp"}};

/// Returns whether prompt counts exclude cached tokens: llama.cpp counts computed prompt tokens only.
bool excludes_cached(const ServerScrape& scrape) {
    return scrape.engine == "llamacpp";
}

/// The growth of a counter from the first scrape to `at`, linear between scrapes.
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
        const auto after = std::ranges::upper_bound(at_, at) - at_.begin();
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

/// Adds the mean and the largest reading, if there are enough.
void add_gauge(std::span<const ServerScrape> scrapes, TimeSpan span, const std::string& key,
               std::map<std::string, double>& figures) {
    double sum = 0;
    double most = 0;
    constexpr std::size_t kFewest = 2;
    std::size_t count = 0;
    for (const ServerScrape& scrape : scrapes) {
        const auto value = value_in(scrape, key);
        if (!value || !std::isfinite(*value) || !span.contains(scrape.at)) continue;
        sum += *value;
        most = std::max(most, *value);
        ++count;
    }
    if (count < kFewest) return;
    figures[key] = sum / static_cast<double>(count);
    figures[key + "_max"] = most;
}

/// Adds the largest engine's mean over `span` ÷ the mean of all engines.
void add_imbalance(std::span<const ServerScrape> scrapes, TimeSpan span, const std::string& key,
                   std::map<std::string, double>& figures) {
    std::map<std::string, double> sums;
    for (const ServerScrape& scrape : scrapes) {
        const auto found = scrape.by_engine.find(key);
        if (found == scrape.by_engine.end() || !span.contains(scrape.at)) continue;
        for (const auto& [engine, value] : found->second)
            if (std::isfinite(value)) sums[engine] += value;
    }
    double most = 0;
    double all = 0;
    for (const auto& [engine, sum] : sums) {
        most = std::max(most, sum);
        all += sum;
    }
    if (all > 0) figures[key + "_imbalance"] = most / (all / static_cast<double>(sums.size()));
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

/// How counters fell. A restart sets all counters of a server to 0, so that most of them fall at once.
struct Falls {
    std::set<std::string> without_restart;
    std::size_t restarts = 0;

    /// Returns whether several servers answered in turn behind one address: each change looks like a restart.
    bool alternate() const { return restarts > 1; }
    bool makes_doubtful(const std::string& counter) const {
        return alternate() || without_restart.contains(counter);
    }
};

Falls falls_of(std::span<const ServerScrape> scrapes) {
    Falls falls;
    std::map<std::string, double> before;
    for (const ServerScrape& scrape : scrapes) {
        std::set<std::string> now_lower;
        std::size_t counted = 0;
        for (const ServerMetric& metric : server_metrics()) {
            if (metric.kind != MetricKind::counter) continue;
            const std::string key(metric.key);
            const auto value = value_in(scrape, key);
            if (!value || !std::isfinite(*value)) continue;
            double& earlier = before.try_emplace(key, 0).first->second;
            counted += earlier > 0 ? 1 : 0;
            if (*value < earlier) now_lower.insert(key);
            earlier = *value;
        }
        if (now_lower.empty()) continue;
        if (2 * now_lower.size() < counted)
            falls.without_restart.merge(now_lower);
        else
            ++falls.restarts;
    }
    return falls;
}

std::optional<double> at(const std::map<std::string, double>& figures, const std::string& key) {
    const auto found = figures.find(key);
    if (found == figures.end()) return std::nullopt;
    return found->second;
}

/// Adds the metrics of another server from about the same time. Shares are added too.
void add_server(ServerScrape& sum, const ServerScrape& other, const std::string& name) {
    for (const ServerMetric& metric : server_metrics()) {
        const std::string key(metric.key);
        const auto found = other.values.find(key);
        if (found == other.values.end()) continue;
        sum.values[key] += found->second;
        if (metric.kind == MetricKind::counter) continue;
        const auto engines = other.by_engine.find(key);
        if (engines == other.by_engine.end()) {
            sum.by_engine[key][name] = found->second;
            continue;
        }
        for (const auto& [engine, value] : engines->second)
            sum.by_engine[key][fmt::format("{}/{}", name, engine)] = value;
    }
    for (const auto& [key, sums] : other.histograms) {
        sum.histograms[key].sum += sums.sum;
        sum.histograms[key].count += sums.count;
    }
    auto& accepted = sum.accepted_by_position;
    accepted.resize(std::max(accepted.size(), other.accepted_by_position.size()));
    for (std::size_t i = 0; i < other.accepted_by_position.size(); ++i)
        accepted[i] += other.accepted_by_position[i];
}

/// Divides the added shares by the number of servers that have them.
void average_shares(ServerScrape& sum, std::span<const ServerScrape* const> servers) {
    for (const ServerMetric& metric : server_metrics()) {
        const auto found = sum.values.find(std::string(metric.key));
        if (metric.kind != MetricKind::share || found == sum.values.end()) continue;
        found->second /= static_cast<double>(std::ranges::count_if(
            servers, [&](const ServerScrape* server) { return server->values.contains(found->first); }));
    }
}

const ServerScrape& nearest(const std::vector<ServerScrape>& scrapes, TimePoint at) {
    return *std::ranges::min_element(scrapes, [&](const ServerScrape& a, const ServerScrape& b) {
        return std::chrono::abs(a.at - at) < std::chrono::abs(b.at - at);
    });
}

/// A part of what another counter counts.
struct PartOf {
    std::string_view part;
    std::string_view whole;
    std::string_view ratio;
};
constexpr std::array kParts = {PartOf{"prefix_hits", "prefix_queries", "prefix_hit_ratio"},
                               PartOf{"accepted_tokens", "draft_tokens", "acceptance_ratio"}};
/// Returns the parts that grew by more than their whole.
std::set<std::string> too_large_parts(const std::map<std::string, double>& figures) {
    std::set<std::string> parts;
    for (const auto& [part, whole, ratio] : kParts) {
        const auto own = at(figures, std::string(part));
        const auto all = at(figures, std::string(whole));
        if (own && all && *own > kMostShare * *all) parts.emplace(part);
    }
    return parts;
}

/// Removes the gauges of ratios whose counters are impossible: they come from the same server.
void remove_doubtful_ratios(const Falls& falls, const std::set<std::string>& too_large,
                            std::map<std::string, double>& figures) {
    for (const auto& [part, whole, ratio] : kParts)
        if (too_large.contains(std::string(part)) || falls.makes_doubtful(std::string(part)) ||
            falls.makes_doubtful(std::string(whole)))
            for (const char* const form : {"", "_max", "_imbalance"})
                figures.erase(fmt::format("{}{}", ratio, form));
}

/// Adds ratios of counters, if something was counted. There is none of a part that is larger than its whole.
/// `figures` lacks the doubtful counters.
void add_ratios(bool cached_on_top, const Falls& falls, std::map<std::string, double>& figures) {
    const std::set<std::string> too_large = too_large_parts(figures);
    remove_doubtful_ratios(falls, too_large, figures);
    const auto part = [&](const std::string& key) {
        return too_large.contains(key) ? std::nullopt : at(figures, key);
    };
    const auto hits = part("prefix_hits");
    auto queries = at(figures, "prefix_queries");
    if (!queries && !falls.makes_doubtful("prefix_queries")) queries = at(figures, "prompt_tokens");
    if (hits && queries) {
        const double asked = cached_on_top ? *queries + *hits : *queries;
        if (asked > 0) figures["prefix_hit_ratio"] = std::clamp(*hits / asked, 0.0, 1.0);
    }
    const auto accepted = part("accepted_tokens");
    const auto drafted = at(figures, "draft_tokens");
    const auto drafts = at(figures, "drafts");
    if (accepted && drafted && *drafted > 0)
        figures["acceptance_ratio"] = std::min(*accepted / *drafted, 1.0);
    if (accepted && drafts && *drafts > 0) figures["tokens_per_pass"] = 1 + *accepted / *drafts;
}

/// Returns one sentence for each fault of the counters over `scrapes`, whose growth is `figures`.
std::vector<std::string> faults_of_counters(std::span<const ServerScrape> scrapes,
                                            const std::map<std::string, double>& figures) {
    const auto name = [&](const std::string& key) {
        const auto found = scrapes.front().sources.find(key);
        return found == scrapes.front().sources.end() ? key : found->second;
    };
    std::vector<std::string> faults;
    const Falls falls = falls_of(scrapes);
    if (falls.alternate())
        faults.push_back(fmt::format(
            "most counters fell together {} times, as they do where several servers answer in turn "
            "at one address (--scrape, repeated, names the metrics address of each)",
            falls.restarts));
    for (const std::string& key : falls.without_restart)
        faults.push_back(fmt::format("{} fell although the server did not start again", name(key)));
    for (const auto& [part, whole, ratio] : kParts)
        if (too_large_parts(figures).contains(std::string(part)))
            faults.push_back(fmt::format("{} grew by {:g}, and {} by {:g}, of which it is a part",
                                         name(std::string(part)), figures.at(std::string(part)),
                                         name(std::string(whole)), figures.at(std::string(whole))));
    return faults;
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
         share,
         {"vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc", "sglang:token_usage",
          "trtllm_kv_cache_utilization", "llamacpp:kv_cache_usage_ratio"},
         "llamacpp:kv_cache_usage_ratio"},
        // Older versions state these ratios as gauges; where there are counters, those count.
        {"prefix_hit_ratio", share, {"vllm:gpu_prefix_cache_hit_rate", "sglang:cache_hit_rate"}},
        {"acceptance_ratio", share, {"vllm:spec_decode_draft_acceptance_rate"}},
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
        {"prompt_seconds", counter, {"llamacpp:prompt_seconds_total"}},
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

std::string engine_of_metric(std::string_view name) {
    for (const auto& [prefix, engine] : kEngines)
        if (name.starts_with(prefix)) return std::string(engine);
    return {};
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
            if (engine_of_metric(name) == engine && name != metric.removed)
                names.emplace(metric.key, name);  // the first is the newest
    return names;
}

void add_scrape(ServerScrapes& scrapes, ServerScrape scrape) {
    for (const auto& [name, value] : scrape.kept) {
        auto found = scrapes.kept.find(name);
        if (found == scrapes.kept.end()) {
            if (scrapes.kept.size() == kMostKeptSeries) continue;
            found = scrapes.kept.emplace(name, KeptSeries{}).first;
        }
        found->second.at.push_back(scrape.at);
        found->second.values.push_back(value);
    }
    if (scrape.values.empty() && scrape.histograms.empty()) return;
    scrape.kept.clear();
    if (!scrapes.scrapes.empty()) {  // only those of the first scrape are used, and a run may take days
        scrape.sources.clear();
        scrape.config.clear();
    }
    scrapes.scrapes.push_back(std::move(scrape));
}

ServerScrapes combined(std::vector<ServerScrapes> servers) {
    if (servers.size() == 1) return std::move(servers.front());
    ServerScrapes all;
    all.name = servers.front().name;
    for (std::size_t i = 0; i < servers.size(); ++i) {
        all.failed += servers[i].failed;
        if (!servers[i].last_failure.empty()) all.last_failure = servers[i].last_failure;
        for (auto& [name, series] : servers[i].kept)
            all.kept.emplace(i == 0 ? name : fmt::format("{} (server {})", name, i + 1), std::move(series));
    }
    const auto is_telling = [](const ServerScrapes& server) { return !server.scrapes.empty(); };
    const auto leading = std::ranges::find_if(servers, is_telling);
    if (leading == servers.end()) return all;
    for (ServerScrape& scrape : leading->scrapes) {
        ServerScrape& sum = all.scrapes.emplace_back();
        sum.at = scrape.at;
        sum.engine = scrape.engine;
        sum.sources = scrape.sources;
        sum.config = scrape.config;
        std::vector<const ServerScrape*> parts;
        for (std::size_t i = 0; i < servers.size(); ++i) {
            if (!is_telling(servers[i])) continue;
            parts.push_back(&nearest(servers[i].scrapes, scrape.at));
            add_server(sum, *parts.back(), std::to_string(i + 1));
        }
        average_shares(sum, parts);
    }
    return all;
}

std::vector<double> accepted_per_position(std::span<const ServerScrape> scrapes, TimeSpan span) {
    std::vector<double> shares;
    const Growth drafts(scrapes, [](const ServerScrape& scrape) { return value_in(scrape, "drafts"); });
    if (!drafts.is_known() || !(drafts.over(span) > 0) || falls_of(scrapes).makes_doubtful("drafts"))
        return shares;
    for (std::size_t i = 0; i < scrapes.back().accepted_by_position.size(); ++i) {
        const Growth accepted(scrapes, [i](const ServerScrape& scrape) {
            const auto& by_position = scrape.accepted_by_position;
            return i < by_position.size() ? std::optional(by_position[i]) : std::nullopt;
        });
        if (!accepted.is_known()) break;
        if (accepted.over(span) > kMostShare * drafts.over(span)) return {};
        shares.push_back(std::clamp(accepted.over(span) / drafts.over(span), 0.0, 1.0));
    }
    return shares;
}

std::map<std::string, double> figures_over(std::span<const ServerScrape> scrapes, TimeSpan span) {
    std::map<std::string, double> figures;
    if (scrapes.size() < 2) return figures;
    const Falls falls = falls_of(scrapes);
    for (const ServerMetric& metric : server_metrics()) {
        const std::string key(metric.key);
        switch (metric.kind) {
            case MetricKind::gauge:
            case MetricKind::share:
                add_imbalance(scrapes, span, key, figures);
                add_gauge(scrapes, span, key, figures);
                break;
            case MetricKind::counter:
                if (!falls.makes_doubtful(key)) add_counter(scrapes, span, key, figures);
                break;
            case MetricKind::histogram:
                if (!falls.alternate()) add_histogram(scrapes, span, key, figures);
                break;
        }
    }
    add_ratios(excludes_cached(scrapes.front()), falls, figures);
    return figures;
}

namespace {

/// Returns the figures of the whole run. The first and the last reading are taken before and after the load,
/// so that they do not tell how many requests it had on the server.
std::map<std::string, double> figures_of_run(std::span<const ServerScrape> scrapes) {
    auto figures = figures_over(scrapes, {scrapes.front().at, scrapes.back().at + Duration(1)});
    const TimeSpan inner{scrapes.front().at + Duration(1), scrapes.back().at};
    for (const std::string key : {"running", "waiting", "kv_usage"}) {
        figures.erase(key);
        figures.erase(key + "_max");
        add_gauge(scrapes, inner, key, figures);
    }
    return figures;
}

}  // namespace

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
    server.config = scrapes.front().config;
    for (const auto& [key, engines] : scrapes.front().by_engine)
        server.engines = std::max<std::uint64_t>(server.engines.value_or(0), engines.size());
    server.accepted_per_position = accepted_per_position(scrapes, window);
    server.window = figures_over(scrapes, window);
    server.whole_run = figures_of_run(scrapes);
    server.impossible = faults_of_counters(scrapes, server.whole_run);
    if (falls_of(scrapes).restarts == 1)
        server.note = fmt::format("{}, so that what they counted since the reading before is lost{}{}",
                                  kCountersRestarted, server.note.empty() ? "" : "; ", server.note);
    return server;
}

std::vector<Series> server_series(std::span<const ServerScrape> scrapes, TimePoint zero) {
    std::vector<Series> all;
    for (const ServerMetric& metric : server_metrics()) {
        if (metric.kind != MetricKind::gauge && metric.kind != MetricKind::share) continue;
        const std::string key(metric.key);
        Series series{
            .name = key, .unit = metric.kind == MetricKind::share ? "ratio" : "requests", .source = "server"};
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

std::vector<Series> kept_series_of(const ServerScrapes& scraped, TimePoint zero) {
    std::vector<Series> all;
    for (const auto& [name, kept] : scraped.kept) {
        Series& series = all.emplace_back();
        series.name = name;
        series.source = scraped.name.empty() ? "server" : scraped.name;
        for (const TimePoint at : kept.at) series.times_s.push_back(seconds(at - zero));
        series.values = kept.values;
    }
    return all;
}

}  // namespace paretoken
