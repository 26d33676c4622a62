#include "reports/files/interop/prometheus_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/files/json/json_text.h"

namespace paretoken::reports {
namespace {

constexpr std::string_view kRange = "5m";  ///< time range of rates and percentiles

struct EngineFacts {
    std::string_view engine;
    int port;
    std::string_view switch_on;  ///< sentence on how its metrics are switched on
};

constexpr EngineFacts kEngineFacts[] = {
    {"vllm", 8000, "vLLM serves /metrics by default"},
    {"sglang", 30000, "SGLang serves /metrics with --enable-metrics"},
    {"trtllm", 8000,
     "TensorRT-LLM serves /prometheus/metrics with return_perf_metrics: true in its extra options"},
    {"tgi", 80, "TGI serves /metrics by default"},
    {"llamacpp", 8080, "llama.cpp serves /metrics with --metrics"},
};

const EngineFacts& facts_of(std::string_view engine) {
    const auto* const found = std::ranges::find(kEngineFacts, engine, &EngineFacts::engine);
    return found == std::end(kEngineFacts) ? kEngineFacts[0] : *found;
}

std::optional<std::string> name_in(const EngineMetrics& metrics, std::string_view key) {
    const auto found = metrics.names.find(std::string(key));
    if (found == metrics.names.end()) return std::nullopt;
    return found->second;
}

/// The rate of a counter in PromQL. `offset` is " offset 4h" for the rate 4 hours ago, or empty; PromQL needs
/// it after every selector.
std::string rate_of(const std::string& name, std::string_view offset) {
    return fmt::format("sum by (instance) (rate({}[{}]{}))", name, kRange, offset);
}

std::optional<std::string> ratio_of(const AlertSeries& series, const EngineMetrics& metrics,
                                    std::string_view offset) {
    const auto above = name_in(metrics, series.key);
    auto below = name_in(metrics, series.below);
    const bool of_prompts = !below && series.key == "prefix_hits";
    if (of_prompts) below = name_in(metrics, "prompt_tokens");
    if (!above || !below) return std::nullopt;
    // llama.cpp counts only the prompt tokens that it computed, so those from its cache are added.
    const bool on_top = of_prompts && metrics.engine == "llamacpp";
    const std::string whole = on_top
                                  ? fmt::format("({} + {})", rate_of(*below, offset), rate_of(*above, offset))
                                  : rate_of(*below, offset);
    return fmt::format("{} / {}", rate_of(*above, offset), whole);
}

std::optional<std::string> expression_of(const AlertSeries& series, const EngineMetrics& metrics,
                                         std::string_view offset) {
    const auto name = name_in(metrics, series.key);
    switch (series.source) {
        case AlertSource::gauge:
            if (!name) return std::nullopt;
            return fmt::format("{} by (instance) ({}{})", series.unit == "ratio" ? "max" : "sum", *name,
                               offset);
        case AlertSource::ratio:
            return ratio_of(series, metrics, offset);
        case AlertSource::rate:
            if (!name) return std::nullopt;
            return rate_of(*name, offset);
        case AlertSource::percentile:
            if (!name) return std::nullopt;
            return fmt::format("histogram_quantile({}, sum by (le, instance) (rate({}_bucket[{}]{})))",
                               series.p, *name, kRange, offset);
        case AlertSource::failures:
            break;  // no engine counts the failures that its clients saw
    }
    return std::nullopt;
}

/// The condition of a rule in PromQL, or the reason why there is none.
struct Condition {
    std::string text = {};
    std::string missing;
};

Condition condition_of(const AlertRule& rule, const AlertBaseline& baseline, const EngineMetrics& metrics) {
    const AlertSeries* const series = alert_series_named(rule.series);
    const auto value = series == nullptr ? std::nullopt : promql_of(*series, metrics);
    if (!value) return {.missing = fmt::format("{} does not export {}", metrics.engine, rule.series)};
    if (rule.comparison == AlertComparison::risen_by)
        return {.text = fmt::format(
                    "{} > {} * {}", *value, 1 + rule.threshold,
                    *expression_of(*series, metrics, fmt::format(" offset {}", span_text(rule.over)))),
                .missing = {}};
    const auto known = baseline.find(rule.series);
    const auto threshold =
        threshold_of(rule, known == baseline.end() ? std::nullopt : std::optional(known->second));
    if (!threshold) return {.missing = fmt::format("it needs a --baseline that has {}", rule.series)};
    const bool is_below =
        rule.comparison == AlertComparison::below || rule.comparison == AlertComparison::below_baseline_by;
    return {.text = fmt::format("{} {} {}", *value, is_below ? "<" : ">", *threshold), .missing = {}};
}

/// The text in single quotes, which YAML accepts for any text of one line.
std::string yaml_text(std::string_view text) {
    std::string out = "'";
    for (const char c : text) {
        if (c == '\'') out += '\'';
        out += c;
    }
    return out + "'";
}

// ---- dashboard

struct Target {
    std::string expression;
    std::string legend;
};

struct Panel {
    std::string title;
    std::string unit;  ///< name of the unit in Grafana
    std::vector<Target> targets;
};

void add_target(Panel& panel, const std::optional<std::string>& expression, std::string legend) {
    if (expression) panel.targets.push_back({*expression, std::move(legend)});
}

std::vector<Panel> panels_of(const EngineMetrics& metrics, std::optional<double> usd_per_hour) {
    const auto series = [&](std::string_view name) { return promql_of(*alert_series_named(name), metrics); };
    std::vector<Panel> panels;
    const auto add = [&](std::string title, std::string unit,
                         std::initializer_list<std::pair<std::string_view, std::string_view>> shown) {
        Panel panel{.title = std::move(title), .unit = std::move(unit), .targets = {}};
        for (const auto& [name, legend] : shown) add_target(panel, series(name), std::string(legend));
        panels.push_back(std::move(panel));
    };
    add("Time to first token", "s", {{"ttft_p50", "p50"}, {"ttft_p95", "p95"}, {"ttft_p99", "p99"}});
    add("Inter-token latency", "s", {{"itl_p50", "p50"}, {"itl_p95", "p95"}, {"itl_p99", "p99"}});
    add("Requests", "none", {{"running", "running"}, {"waiting", "waiting"}});
    add("KV cache in use", "percentunit", {{"kv_usage", "in use"}});
    add("Prefix cache hits", "percentunit", {{"prefix_hit_ratio", "hits"}});
    add("Preemptions per second", "none", {{"preemptions_per_s", "preemptions"}});
    add("Draft tokens accepted", "percentunit", {{"acceptance_ratio", "accepted"}});
    add("Output tokens per second", "none", {{"output_tokens_per_s", "tokens/s"}});
    if (const auto tokens = name_in(metrics, "generation_tokens"); tokens && usd_per_hour) {
        constexpr double kMillion = 1e6;
        constexpr double kSecondsPerHour = 3600;
        panels.push_back(
            {.title = "Dollars per million output tokens",
             .unit = "currencyUSD",
             .targets = {{fmt::format("{} / sum(rate({}[{}]))", *usd_per_hour / kSecondsPerHour * kMillion,
                                      *tokens, kRange),
                          "all cost on output"}}});
    }
    std::erase_if(panels, [](const Panel& panel) { return panel.targets.empty(); });
    return panels;
}

std::string panel_json(const Panel& panel, std::size_t number) {
    constexpr std::size_t kPerRow = 2;
    constexpr std::size_t kWidth = 12;
    constexpr std::size_t kHeight = 8;
    std::string targets;
    for (std::size_t i = 0; i < panel.targets.size(); ++i)
        targets += fmt::format(
            R"({}{{"refId": "{}", "datasource": {{"type": "prometheus", "uid": "${{datasource}}"}}, "expr": {}, "legendFormat": {}}})",
            i == 0 ? "" : ", ", static_cast<char>('A' + static_cast<int>(i)),
            json_text(panel.targets[i].expression), json_text(panel.targets[i].legend + " {{instance}}"));
    return fmt::format(
        R"({{"id": {}, "type": "timeseries", "title": {}, "datasource": {{"type": "prometheus", "uid": "${{datasource}}"}}, "gridPos": {{"x": {}, "y": {}, "w": {}, "h": {}}}, "fieldConfig": {{"defaults": {{"unit": {}, "min": 0}}, "overrides": []}}, "targets": [{}]}})",
        number + 1, json_text(panel.title), number % kPerRow * kWidth, number / kPerRow * kHeight, kWidth,
        kHeight, json_text(panel.unit), targets);
}

}  // namespace

std::optional<std::string> promql_of(const AlertSeries& series, const EngineMetrics& metrics) {
    return expression_of(series, metrics, "");
}

std::string prometheus_rules(std::span<const AlertRule> rules, const AlertBaseline& baseline,
                             const EngineMetrics& metrics) {
    std::string text;
    std::string left_out;
    for (const AlertRule& rule : rules) {
        const Condition condition = condition_of(rule, baseline, metrics);
        if (!condition.missing.empty()) {
            left_out += fmt::format("# {} is left out: {}.\n", rule.name, condition.missing);
            continue;
        }
        text += fmt::format(
            "      - alert: {}\n        expr: {}\n        for: {}\n        labels:\n          severity: {}\n"
            "        annotations:\n          summary: {}\n",
            rule.name, yaml_text(condition.text), span_text(rule.held_for), name_of(rule.severity),
            yaml_text(text_of(rule)));
    }
    const std::string head = fmt::format("# Alerts of paretoken for {}.\n{}groups:\n  - name: paretoken_{}\n",
                                         metrics.engine, left_out, metrics.engine);
    return head + (text.empty() ? "    rules: []\n" : "    rules:\n" + text);
}

std::string scrape_config(const EngineMetrics& metrics, const std::vector<std::string>& targets) {
    const EngineFacts& facts = facts_of(metrics.engine);
    std::string list;
    for (const std::string& target : targets) list += (list.empty() ? "" : ", ") + yaml_text(target);
    if (list.empty()) list = yaml_text(fmt::format("localhost:{}", facts.port));
    return fmt::format(
        "# {}.\nscrape_configs:\n  - job_name: {}\n    scrape_interval: 5s\n    metrics_path: {}\n"
        "    static_configs:\n      - targets: [{}]\n",
        facts.switch_on, metrics.engine, metrics.engine == "trtllm" ? "/prometheus/metrics" : "/metrics",
        list);
}

std::string grafana_dashboard(const EngineMetrics& metrics, std::optional<double> usd_per_hour) {
    std::string panels;
    const std::vector<Panel> all = panels_of(metrics, usd_per_hour);
    for (std::size_t i = 0; i < all.size(); ++i)
        panels += fmt::format("{}    {}", i == 0 ? "\n" : ",\n", panel_json(all[i], i));
    return fmt::format(R"({{
  "title": {0},
  "uid": "paretoken-{1}",
  "schemaVersion": 36,
  "refresh": "10s",
  "time": {{"from": "now-1h", "to": "now"}},
  "templating": {{"list": [{{"name": "datasource", "type": "datasource", "query": "prometheus"}}]}},
  "panels": [{2}
  ]
}}
)",
                       json_text(fmt::format("Inference: {}", metrics.engine)), metrics.engine, panels);
}

}  // namespace paretoken::reports
