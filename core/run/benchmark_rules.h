#pragma once
// The rules of published benchmarks of agents, as far as a result shows whether they were kept: AgentX of
// InferenceX, and MLPerf Endpoints' agentic load (a draft). What a result cannot show is named too.
#include <optional>

#include "core/result/result.h"

namespace paretoken {

/// Holds a run against the rules of the benchmark in its plan (--rules); nothing if the plan has none.
std::optional<BenchmarkRules> benchmark_rules_of(const RunResult& result);

}  // namespace paretoken
