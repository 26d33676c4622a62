#include "loadgen/scrape/known_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "core/run/server_figures.h"
#include "core/text/printable.h"
#include "core/text/secrets.h"

namespace paretoken::scrape {
namespace {

std::string_view without_total(std::string_view name) {
    constexpr std::string_view kSuffix = "_total";
    if (name.ends_with(kSuffix)) name.remove_suffix(kSuffix.size());
    return name;
}

/// Returns an engine's own name of a metric that another exporter renamed: Ray Serve exports ray_vllm:… or
/// ray_vllm_…, and exporters that allow no colon in names, or put one everywhere, sglang_… or trtllm:….
std::string own_name_of(std::string_view name) {
    constexpr std::string_view kRay = "ray_";
    const std::string_view plain = name.substr(name.starts_with(kRay) ? kRay.size() : 0);
    for (const std::string& engine : engines()) {
        if (!plain.starts_with(engine) || plain.size() < engine.size() + 2) continue;
        if (plain[engine.size()] != ':' && plain[engine.size()] != '_') continue;
        const std::string rest(plain.substr(engine.size() + 1));
        std::string own = fmt::format("{}:{}", engine, rest);
        return engine_of_metric(own).empty() ? fmt::format("{}_{}", engine, rest) : own;
    }
    return std::string(name);
}

/// Returns the samples with the engines' own names. A page that has a metric under both names keeps both.
std::vector<Sample> with_own_names(std::vector<Sample> samples) {
    std::set<std::string> names;
    for (const Sample& sample : samples) names.insert(sample.name);
    std::map<std::string, std::string> sources;  // the only name whose samples get an own name
    for (Sample& sample : samples) {
        const std::string own = own_name_of(sample.name);
        if (names.contains(own) || sources.try_emplace(own, sample.name).first->second != sample.name)
            continue;
        sample.name = own;
    }
    return samples;
}

/// Returns the kinds of all known quantities by their names, without "_total". A histogram has the names of
/// its sum and its count.
const std::map<std::string, MetricKind, std::less<>>& kinds_by_name() {
    static const auto kinds_of_names = [] {
        std::map<std::string, MetricKind, std::less<>> kinds;
        for (const ServerMetric& metric : server_metrics())
            for (const std::string_view name : metric.names) {
                if (metric.kind == MetricKind::histogram) {
                    kinds.emplace(std::string(name) + "_sum", metric.kind);
                    kinds.emplace(std::string(name) + "_count", metric.kind);
                } else {
                    kinds.emplace(without_total(name), metric.kind);
                }
            }
        return kinds;
    }();
    return kinds_of_names;
}

/// Returns the samples without those of known quantities that cannot be true, whose faults are added to
/// `left_out`.
std::vector<Sample> possible_ones(std::vector<Sample> samples, std::vector<std::string>& left_out) {
    std::set<std::pair<std::string, Labels>> seen;
    std::erase_if(samples, [&](const Sample& sample) {
        const auto kind = kinds_by_name().find(without_total(sample.name));
        if (kind == kinds_by_name().end()) return false;
        constexpr double kNotKnown = -1;  // of the share of hits without a cache
        if (sample.name.ends_with("cache_hit_rate") && sample.value == kNotKnown) return true;
        const bool is_possible =
            !(sample.value < 0) && !(kind->second == MetricKind::share && sample.value > kMostShare);
        const bool is_new = seen.emplace(sample.name, sample.labels).second;
        if (is_possible && is_new) return false;
        left_out.push_back(is_possible ? fmt::format("{} is there twice", sample.name)
                                       : fmt::format("{} {:g} is impossible", sample.name, sample.value));
        return true;
    });
    return samples;
}

bool is_known(const Sample& sample) {
    return kinds_by_name().contains(without_total(sample.name));
}

/// Returns the samples without those of known quantities of other models, if any is of `model`. A name that
/// no series has may be an alias or an adapter of the model that is served.
std::vector<Sample> of_model(std::vector<Sample> samples, std::string_view model) {
    const auto model_of = [](const Sample& sample) {
        const std::string_view name = sample.label("model_name");
        return name.empty() ? sample.label("model") : name;
    };
    const auto is_named = std::ranges::any_of(
        samples, [&](const Sample& sample) { return is_known(sample) && model_of(sample) == model; });
    if (model.empty() || !is_named) return samples;
    std::erase_if(samples, [&](const Sample& sample) {
        const std::string_view of = model_of(sample);
        return is_known(sample) && !of.empty() && of != model;
    });
    return samples;
}

/// Returns the samples without those of known quantities that further ranks of the same engine repeat.
std::vector<Sample> without_ranks(std::vector<Sample> samples) {
    std::set<std::pair<std::string, Labels>> seen;
    std::erase_if(samples, [&](const Sample& sample) {
        Labels labels = sample.labels;
        std::erase_if(labels, [](const auto& label) {
            return label.first == "tp_rank" || label.first == "pp_rank" || label.first == "moe_ep_rank";
        });
        if (labels.size() == sample.labels.size() || !is_known(sample)) return false;
        return !seen.emplace(sample.name, std::move(labels)).second;
    });
    return samples;
}

/// Returns the sum of the samples of that name for each engine (label "engine", or SGLang's "dp_rank"); for a
/// share, their mean.
std::map<std::string, double> engines_of(std::span<const Sample> samples, std::string_view name,
                                         MetricKind kind) {
    std::map<std::string, double> sums;
    std::map<std::string, double> counts;
    for (const Sample& sample : samples) {
        if (sample.name != name) continue;
        const std::string_view number = sample.label("engine");
        const std::string engine(number.empty() ? sample.label("dp_rank") : number);
        sums[engine] += sample.value;
        ++counts[engine];
    }
    if (kind == MetricKind::share)
        for (auto& [engine, sum] : sums) sum /= counts[engine];
    return sums;
}

double mean_of(const std::map<std::string, double>& values) {
    double sum = 0;
    for (const auto& [key, value] : values) sum += value;
    return sum / static_cast<double>(values.size());
}

std::vector<double> accepted_by_position(std::span<const Sample> samples) {
    constexpr std::string_view kNames[] = {"vllm:spec_decode_num_accepted_tokens_per_pos_total",
                                           "llamacpp:spec_decode_num_accepted_tokens_per_pos_total"};
    constexpr std::size_t kMost = 64;
    std::vector<double> accepted;
    const auto name = name_among(samples, kNames);
    if (!name) return accepted;
    for (const Sample& sample : samples) {
        if (sample.name != *name) continue;
        const std::string_view text = sample.label("position");
        std::size_t position = 0;
        const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), position);
        if (error != std::errc{} || stop != text.data() + text.size() || position >= kMost) continue;
        if (accepted.size() <= position) accepted.resize(position + 1);
        accepted[position] += sample.value;
    }
    return accepted;
}

/// Returns labels of metrics whose value has no meaning: vllm:cache_config_info{block_size="16"} 1.
std::map<std::string, std::string> config_of(std::span<const Sample> samples) {
    constexpr std::string_view kSuffix = "config_info";
    constexpr std::size_t kMostEntries = 64;
    constexpr std::size_t kLongestValue = 200;
    std::map<std::string, std::string> config;
    for (const Sample& sample : samples) {
        if (!sample.name.ends_with(kSuffix) || engine_of_metric(sample.name).empty()) continue;
        const std::string name = sample.name.substr(sample.name.find_first_of(":_") + 1);
        const std::string topic = name.substr(0, name.size() - std::string_view("_info").size());
        for (const auto& [label, value] : sample.labels) {
            if (label == "engine" || label == "model_name" || value.empty() || value == "None" ||
                names_a_secret(label) || config.size() == kMostEntries)
                continue;
            config.emplace(printable_line(fmt::format("{}.{}", topic, label), kLongestValue),
                           printable_line(value, kLongestValue));
        }
    }
    return config;
}

}  // namespace

ServerScrape server_scrape_of(const Scrape& text, TimePoint at, std::string_view model) {
    ServerScrape known{.at = at, .engine = {}};
    const Scrape scrape{.samples = possible_ones(without_ranks(of_model(with_own_names(text.samples), model)),
                                                 known.left_out)};
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
            if (metric.kind != MetricKind::counter) {
                auto engines = engines_of(scrape.samples, *name, metric.kind);
                if (metric.kind == MetricKind::share) known.values[key] = mean_of(engines);
                if (engines.size() > 1) known.by_engine[key] = std::move(engines);
            }
        }
        if (!name) continue;
        known.sources[key] = *name;
        if (known.engine.empty()) known.engine = engine_of_metric(*name);
    }
    known.accepted_by_position = accepted_by_position(scrape.samples);
    known.config = config_of(scrape.samples);
    return known;
}

std::map<std::string, double> kept_series(const Scrape& scrape,
                                          const std::function<bool(std::string_view name)>& wants) {
    std::map<std::string, double> kept;
    for (const Sample& sample : scrape.samples) {
        if (!std::isfinite(sample.value) || !wants(sample.name)) continue;
        std::string name = sample.name;
        for (const auto& [label, value] : sample.labels)
            name += fmt::format("{}{}=\"{}\"", name == sample.name ? "{" : ",", label, value);
        if (!sample.labels.empty()) name += "}";
        kept[printable_line(name)] = sample.value;
    }
    return kept;
}

}  // namespace paretoken::scrape
