#pragma once
// The table of alerts as rules for Prometheus, with the dashboard and the scrape configuration that belong to
// them. Pure. Whoever calls says what the engine names its metrics.
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result/alerts.h"

namespace paretoken::reports {

struct EngineMetrics {
    std::string engine;                        ///< "vllm"
    std::map<std::string, std::string> names;  ///< quantity of ServerFigures → the engine's name for it
};

/// The series in PromQL, by instance; nothing when the engine does not export it.
std::optional<std::string> promql_of(const AlertSeries& series, const EngineMetrics& metrics);

/// A rule file. A rule that the engine has no metric for, or that needs a baseline value that is not known,
/// is left out, and a comment in the file says which and why.
std::string prometheus_rules(std::span<const AlertRule> rules, const AlertBaseline& baseline,
                             const EngineMetrics& metrics);

/// A scrape configuration. `targets`: "host:port"; none: the engine's usual port on this host.
std::string scrape_config(const EngineMetrics& metrics, const std::vector<std::string>& targets);

/// A dashboard as Grafana imports it. `usd_per_hour`: what the whole deployment costs; adds dollars per
/// million output tokens.
std::string grafana_dashboard(const EngineMetrics& metrics, std::optional<double> usd_per_hour);

}  // namespace paretoken::reports
