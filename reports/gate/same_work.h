#pragma once
// Whether two runs did the same work: what a gate compares must differ in what is being judged and in nothing
// else. Pure.
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/result/result.h"

namespace paretoken::reports {

/// What a user may compare across on purpose. The workload itself is never among it.
enum class Across : std::uint8_t { model, hardware, load };

/// "model|hardware|load", separated by commas. Throws UsageError.
std::set<Across> parse_across(std::string_view text);

/// How the second run's work differs from the first's, as in "--temperature: 0 and 0.7"; nothing when it is
/// the same, or different only in what `across` allows.
std::optional<std::string> difference_of_work(const RunResult& first, const RunResult& second,
                                              const std::set<Across>& across);

/// What does not make runs incomparable and may explain a shift: another client host or version.
std::vector<std::string> oddities_of(const RunResult& first, const RunResult& second);

/// What served, without the changes to a simulated profile: "sim:llama3-8b-h100-bf16".
std::string hardware_of(const RunResult& run);

}  // namespace paretoken::reports
