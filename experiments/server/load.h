#pragma once
// One load that is ready to run on a target.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "datasets/dataset.h"
#include "loadgen/load_options.h"

namespace paretoken {
struct PowerReading;
struct ServerScrape;
}  // namespace paretoken

namespace paretoken::loadgen {
struct EndpointFacts;
class Workers;
}  // namespace paretoken::loadgen

namespace paretoken::protocol {
struct Protocol;
}

namespace paretoken::experiments {

struct Instruments;
class Target;
class Watcher;

/// A resolved plan and the values computed from it.
struct Load {
    LoadPlan plan = {};
    std::vector<std::unique_ptr<datasets::Dataset>> datasets = {};  ///< dataset of each class
    loadgen::LoadOptions options = {};
    std::shared_ptr<loadgen::Workers> workers = {};  ///< set by Target::get_ready(); null in virtual time
    /// What reads the server's metrics and the power; set by Target::get_ready() where that precedes the
    /// load.
    std::shared_ptr<Instruments> instruments = {};
    Duration server_age{};  ///< in virtual time: how long the server has run before this load
    /// Called during the load, from other threads, with each reading; may be empty.
    std::function<void(const ServerScrape&)> on_scrape = {};
    std::function<void(const std::string& source, const PowerReading& reading)> on_power = {};
    /// Called when the requests of this process are over, before the last scrape; may be empty.
    std::function<void()> when_over = {};
};

/// Returns the protocol of a plan. Throws UsageError for an unknown name.
const protocol::Protocol& protocol_of(const LoadPlan& plan);

/// Returns what the bodies of all requests of a plan have in common.
protocol::BodyOptions body_of(const LoadPlan& plan);

/// Returns the load of a plan without the options that each kind of target adds. Throws UsageError.
Load load_of(const LoadPlan& asked, const loadgen::EndpointFacts& facts, const std::string& salt,
             bool outline_content = true);

/// Throws UsageError if the mean request of a dataset does not fit into the server's context.
void check_context(const Load& load, const loadgen::EndpointFacts& facts);

/// Throws UsageError for options that are wrong whatever the target is.
void refuse_wrong_options(const LoadPlan& asked);

/// Returns a sentence without a full stop if a trace that is replayed at its times ends well before a limit
/// of the load that the user gave; otherwise an empty text.
std::string early_end_of(const loadgen::ClassLoad& of);

/// Warns of rows of files that are left out, of a trace that ends before the load's limits, and, over
/// sockets, of a load above this host's ceiling.
void warn_of(const Load& load, const Target& target, Watcher& watcher);

}  // namespace paretoken::experiments
