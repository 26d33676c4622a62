#pragma once
// Writes metrics as text that Prometheus scrapes, in its format 0.0.4 or in OpenMetrics 1.0.
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace paretoken::reports {

struct MetricSample {
    std::vector<std::pair<std::string, std::string>> labels = {};  ///< names and values
    double value = 0;
    /// Time in seconds since 1970, which only OpenMetrics has; absent where the reader's time counts.
    std::optional<double> time_s = {};
};

/// The samples of one metric, which differ in their labels.
struct MetricFamily {
    /// The name with its base unit ("paretoken_ttft_seconds"). The text appends "_total" for a counter.
    std::string name;
    std::string help = {};  ///< one sentence; nothing is written if it is empty
    bool counter = false;   ///< whether it is a counter; otherwise it is a gauge
    std::vector<MetricSample> samples = {};
};

/// Returns the families that have samples as text: in OpenMetrics 1.0, or else in format 0.0.4.
std::string exposition_text(std::span<const MetricFamily> families, bool open_metrics);

/// Returns the value of the HTTP header Content-Type for that text.
std::string_view exposition_type(bool open_metrics);

}  // namespace paretoken::reports
