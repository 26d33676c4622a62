#pragma once
// The alerts that a plan asks for, and the baseline that they compare with.
#include <set>
#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "core/result/alerts.h"

namespace paretoken::experiments {

struct Alerting {
    std::vector<AlertRule> rules;
    AlertBaseline baseline;
    std::set<std::string> fingerprints;  ///< hashes of the workload options of the baseline's runs
};

/// Reads the files of the plan: the alert rules, or else default_alerts() (core/result/alerts.h), and the
/// runs of the baseline (--baseline). Throws UsageError for a wrong file or an invalid run.
Alerting alerting_of(const LoadPlan& plan);

/// Returns why the baseline does not fit a run: it has another workload. Empty if it fits or there is none.
std::string baseline_doubt(const Alerting& alerting, const Workload& workload);

}  // namespace paretoken::experiments
