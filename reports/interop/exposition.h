#pragma once
// Figures as the text that Prometheus reads: its own format 0.0.4, and OpenMetrics 1.0. Pure.
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace paretoken::reports {

struct MetricSample {
    std::vector<std::pair<std::string, std::string>> labels = {};
    double value = 0;
};

struct MetricFamily {
    std::string name;  ///< with the base unit; of a counter without "_total"
    std::string help;  ///< one sentence
    bool counter = false;
    std::vector<MetricSample> samples = {};
};

/// Families without samples are left out.
std::string exposition_text(std::span<const MetricFamily> families, bool open_metrics);

/// What the text above is served as.
std::string_view exposition_type(bool open_metrics);

}  // namespace paretoken::reports
