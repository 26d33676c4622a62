#pragma once
// The options of `paretoken gate`, and what its parts share.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "cli/console/console_watcher.h"
#include "cli/console/presentation.h"
#include "cli/options/plan_options.h"
#include "experiments/gate.h"
#include "reports/files/gate/baseline_store.h"

namespace paretoken::cli {

struct GateCommand {
    PlanOptions plan;
    Presentation shown;
    std::vector<std::string> exports = {};  ///< values of --export
    std::vector<std::string> baseline;
    std::vector<std::string> candidate;
    experiments::GateSide baseline_server;
    experiments::GateSide candidate_server;
    std::vector<std::string> history;
    std::string store = reports::kDefaultStore;
    std::string self_test;  ///< name of the stored baseline; empty without --self-test
    bool create_baseline = false;
    std::uint64_t runs = 5;
    std::string policy;
    bool print_policy = false;
    std::vector<std::string> limits;
    std::string across;
    std::optional<std::uint64_t> max_pairs;
    std::string max_time;
    bool within_run = false;
    bool dry_run = false;
    bool github = false;
    bool checklist = false;
};

/// Returns the policy of --policy, --limit and --max-pairs. Throws UsageError.
reports::GatePolicy policy_of(const GateCommand& command);

std::set<reports::Across> across_of(const GateCommand& command);

bool is_given(const experiments::GateSide& side);

/// Returns the directories with these paths, or of the stored baselines with these names. Throws UsageError.
std::vector<std::filesystem::path> directories_of(const std::vector<std::string>& names,
                                                  const std::string& store);

/// Receives a plan that is ready to be measured, and the directory of its results.
using WithOutput = std::function<void(const experiments::GatePlan&, const std::filesystem::path&,
                                      ConsoleWatcher&, const std::stop_token&)>;

/// Checks that the load of the plan can be measured, opens the directory of --out and calls `action`, which
/// Ctrl-C stops. Throws UsageError and RuntimeError.
void with_output(experiments::GatePlan plan, bool quiet, const WithOutput& action);

/// Gates the server of a stored baseline against itself, and prints what a gate could show on this machine.
/// Throws UsageError if the baseline does not say how its server is reached; else as measure_gate().
void self_test(const GateCommand& command);

}  // namespace paretoken::cli
