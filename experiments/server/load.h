#pragma once
// One load that is ready to run on a target.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "core/run/observations.h"
#include "datasets/dataset.h"
#include "loadgen/load_options.h"

namespace paretoken::loadgen {
class Workers;
}

namespace paretoken::experiments {

/// A resolved plan and the values computed from it.
struct Load {
    LoadPlan plan = {};
    std::vector<std::unique_ptr<datasets::Dataset>> datasets = {};  ///< dataset of each class
    loadgen::LoadOptions options = {};
    std::shared_ptr<loadgen::Workers> workers = {};  ///< set by Target::get_ready(); null in virtual time
    Duration server_age{};  ///< in virtual time: how long the server has run before this load
    /// Called during the load, from other threads, with each reading of the server's metrics and of the power
    /// meter; may be empty.
    std::function<void(const ServerScrape&)> on_scrape = {};
    std::function<void(const std::string& source, const PowerReading& reading)> on_power = {};
    /// Called when the requests of this process are over, before the server's metrics are read for the last
    /// time; may be empty.
    std::function<void()> when_over = {};
};

}  // namespace paretoken::experiments
