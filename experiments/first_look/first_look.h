#pragma once
// A first look at a server in about a minute: one person at several depths, then more and more people until
// each gets half the speed of one. All runs are points of one sweep in the output directory.
#include <filesystem>
#include <vector>

#include "core/plan/plan.h"
#include "core/units.h"
#include "experiments/server/target.h"
#include "reports/analysis/first_look/first_look.h"

namespace paretoken::experiments {

struct Session;

struct FirstLookPlan {
    LoadPlan asked;                            ///< without lengths, load and stop rules
    Duration time = std::chrono::seconds(60);  ///< time of the loads; virtual time for runs in it
    std::vector<std::uint64_t> depths = {128, 512, 2048, 8192, 32768};  ///< prompt lengths, ascending
};

/// Returns the plan with which the target of a first look is opened: its requests are short.
LoadPlan opening_plan(const FirstLookPlan& plan);

/// Measures, and writes sweep.json and the runs in `directory`. Returns the speeds; all else is left to the
/// caller. Throws RuntimeError if a run was interrupted, or the server does not answer.
reports::FirstLook first_look(const Target& target, const FirstLookPlan& plan,
                              const std::filesystem::path& directory, const Session& session);

}  // namespace paretoken::experiments
