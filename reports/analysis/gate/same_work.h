#pragma once
// Checks whether two runs did the same work. The runs that a gate compares must have equal workloads, loads,
// models and hardware, except for differences that the user allows. The functions are pure.
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "core/plan/plan_fields.h"
#include "core/result/result.h"

namespace paretoken::reports {

/// The differences that a user may allow (--across). The workload must always be equal.
enum class Across : std::uint8_t { model, hardware, load, host };

/// Parses names of differences, separated by commas: "model", "hardware", "load", "host". Throws UsageError.
std::set<Across> parse_across(std::string_view text);

/// Returns the options for workload and load in which two plans differ, "--isl: 512 and 1000; --concurrency:
/// 8 and 1 (--across load)"; nothing if there are none.
std::optional<std::string> difference_of_plans(const PlanEcho& first, const PlanEcho& second,
                                               const std::set<Across>& across);

/// Returns how the work of two runs differs, "--temperature: 0 and 0.7": in options for workload and load, in
/// the model, the hardware or the client's CPU. The text names the value of `across` that would allow it.
std::optional<std::string> difference_of_work(const RunResult& first, const RunResult& second,
                                              const std::set<Across>& across);

/// Returns the differences between the models and the hardware of two servers, which are known before they
/// are measured; nothing if there are none or `across` allows them.
std::optional<std::string> difference_of_servers(const Provenance& first, const Provenance& second,
                                                 const std::set<Across>& across);

/// Returns the difference between the CPUs of the hosts that made the loads: "host: a (X, 2 cores) and b (Y,
/// 4 cores) (--across host)". Nothing if they are equal, not known, or without effect (virtual time).
std::optional<std::string> difference_of_host(const RunResult& first, const RunResult& second);

/// The hardware that served a run. For a simulated server it is the name of the profile, without the settings
/// after "?": "sim:llama3-8b-h100-bf16".
std::string hardware_of(const RunResult& run);

}  // namespace paretoken::reports
