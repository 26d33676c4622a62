#pragma once
// From the plan as asked to the plan as resolved, step by step; each step fills in what the user left open.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/plan/plan.h"
#include "datasets/dataset.h"
#include "loadgen/probe.h"
#include "loadgen/run.h"

namespace paretoken::experiments {

/// The quantity that a sweep varies.
enum class Axis : std::uint8_t { concurrency, request_rate };
std::string_view name_of(Axis axis);  ///< the field's name: "concurrency"

/// The plan of one point of a sweep. A level of concurrency has at least as many requests as slots, since it
/// would never be reached with fewer.
LoadPlan at_level(LoadPlan asked, Axis axis, double level);

/// Names the dataset, gives lengths their defaults and reads what a file holds, unless that is noted already.
/// Both the plan as asked and the plan as resolved have passed through it. Throws UsageError where options
/// contradict each other, RuntimeError when the file cannot be read.
LoadPlan with_dataset(LoadPlan plan);

/// Gives every class its arrivals, caps in-flight requests in a closed loop, and says how many requests there
/// are. Throws UsageError where options contradict each other. Pure.
LoadPlan with_load(LoadPlan plan);

/// All of the above, and what the server takes: model, form of prompts, options. `salt` is for a plan that
/// has none.
LoadPlan resolved(const LoadPlan& asked, const loadgen::EndpointFacts& facts, const std::string& salt);

/// The most requests that a plan with its load can have in flight: no more than there are to make. Nothing
/// for an open loop without a cap.
std::optional<std::uint64_t> most_in_flight(const LoadPlan& plan);

/// The requests of one class of a resolved plan.
std::unique_ptr<datasets::Dataset> dataset_of(const LoadPlan& resolved, std::size_t request_class,
                                              const std::optional<datasets::Calibration>& calibration);

/// The load of a resolved plan, without the addresses and bodies that a target adds.
loadgen::LoadOptions load_options(const LoadPlan& resolved);

/// Whether the requests of a resolved plan have nothing in common but what a chat template adds, so that a
/// prefix cache cannot help any of them.
bool shares_nothing(const LoadPlan& resolved);

/// A salt that no run had before.
std::string fresh_salt();

}  // namespace paretoken::experiments
