#pragma once
// What a result is judged by.
#include <map>
#include <string>
#include <vector>

#include "core/record/provenance.h"
#include "core/result/alerts.h"

namespace paretoken {

/// What a result is judged by. The texts are those of the plan.
struct Judging {
    std::vector<std::string> goodput = {};  ///< limits for each request: "ttft:500"
    std::map<std::string, std::vector<std::string>> class_goodput = {};  ///< limits of classes with their own
    std::vector<std::string> slos = {};    ///< limits on percentiles: "ttft_p95:800"
    bool accept_host_noise = false;        ///< ValidityOptions::accept_host_noise
    double max_failed = .10;               ///< ValidityOptions::max_failed
    std::vector<double> percentiles = {};  ///< percentiles to compute besides kPercentiles
    std::vector<AlertRule> alerts = {};
    AlertBaseline baseline = {};  ///< values that the alerts compare with
    PlanEcho plan = {};           ///< the fields of the plan that judge results, as text

    bool operator==(const Judging&) const = default;
};

}  // namespace paretoken
