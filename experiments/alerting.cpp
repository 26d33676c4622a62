#include "experiments/alerting.h"

#include <fmt/format.h>

#include "core/error.h"
#include "reports/files/alerts_file.h"
#include "reports/files/run_directory.h"

namespace paretoken::experiments {

Alerting alerting_of(const LoadPlan& plan) {
    Alerting alerting;
    alerting.rules = plan.alerts.empty() ? default_alerts() : reports::read_alerts(plan.alerts);
    if (plan.baseline.empty()) return alerting;
    std::vector<RunResult> runs;
    for (const auto& directory : reports::find_run_directories(plan.baseline)) {
        runs.push_back(reports::read_run_directory(directory));
        if (runs.back().validity.verdict == Verdict::invalid)
            throw UsageError(fmt::format(
                "--baseline {}: the run is invalid, and nothing can be compared with it; measure it again",
                directory.string()));
        alerting.fingerprints.insert(runs.back().workload.fingerprint);
    }
    alerting.baseline = alert_baseline_of(runs);
    return alerting;
}

std::string baseline_doubt(const Alerting& alerting, const Workload& workload) {
    if (alerting.fingerprints.empty() || alerting.fingerprints.contains(workload.fingerprint)) return {};
    return fmt::format(
        "the baseline has another workload (fingerprint {}) than this run ({}): an alert that compares with "
        "the baseline may fire because of the workload and not because of the server",
        *alerting.fingerprints.begin(), workload.fingerprint);
}

}  // namespace paretoken::experiments
