#pragma once
// Writes figures as text for Prometheus, in its own format 0.0.4 or in OpenMetrics 1.0. Pure.
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
    std::string name;      ///< ends with the base unit; the "_total" of a counter is added by the writer
    std::string help;      ///< one sentence
    bool counter = false;  ///< otherwise a gauge
    std::vector<MetricSample> samples = {};
};

/// The families as text. Families without samples are left out.
std::string exposition_text(std::span<const MetricFamily> families, bool open_metrics);

/// The content type of that text.
std::string_view exposition_type(bool open_metrics);

}  // namespace paretoken::reports
