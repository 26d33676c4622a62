#pragma once
// Writes alerts as alerting rules for Prometheus, with a dashboard for Grafana and a scrape configuration
// that fit them. The caller supplies the names that the inference engine gives to its metrics.
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result/alerts.h"

namespace paretoken::reports {

struct EngineMetrics {
    std::string engine;                        ///< "vllm"
    std::map<std::string, std::string> names;  ///< our name ("kv_usage") → the engine's name
};

/// The PromQL expression of a series, one value per instance; nothing when the engine lacks its metrics.
std::optional<std::string> promql_of(const AlertSeries& series, const EngineMetrics& metrics);

/// The text of a rule file. A rule is left out if the engine has no metric for it, or if it needs a baseline
/// value that `baseline` lacks; a comment in the file then names the rule and the reason.
std::string prometheus_rules(std::span<const AlertRule> rules, const AlertBaseline& baseline,
                             const EngineMetrics& metrics);

/// The text of a scrape configuration for the "host:port" in `targets`, or the engine's port on this host.
std::string scrape_config(const EngineMetrics& metrics, const std::vector<std::string>& targets);

/// A dashboard that Grafana can import. `usd_per_hour` is the cost of the whole deployment; if it is given,
/// the dashboard shows dollars per million output tokens.
std::string grafana_dashboard(const EngineMetrics& metrics, std::optional<double> usd_per_hour);

}  // namespace paretoken::reports
