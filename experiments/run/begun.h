#pragma once
// What is known of a run before its load begins: begun.json, and what it is judged by.
#include <filesystem>

#include "core/result/result.h"
#include "core/run/begun.h"
#include "core/run/judging.h"
#include "experiments/server/provenance.h"

namespace paretoken::experiments {

struct Load;
class Target;
class Watcher;

/// Returns what the records of a load begin with, without secrets. Throws UsageError for a wrong card.
Begun begun_of(const Load& load, const Target& target, const Invocation& invocation,
               const std::filesystem::path& directory);

/// Returns what the results of a plan with classes are judged by. Warns of a baseline with another workload.
Judging judging_of(const LoadPlan& plan, const Workload& workload, Watcher& watcher);

/// Judges the finished run in `directory` by the options of `asked` of FieldKind::judging, which replace its
/// own, and returns it with new verdicts. Throws UsageError for wrong records or options; RuntimeError.
RunResult judge_anew(const std::filesystem::path& directory, const LoadPlan& asked);

}  // namespace paretoken::experiments
