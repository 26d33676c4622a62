#pragma once
// The reasons that are not one figure above a limit.
#include <optional>
#include <span>

#include "core/record/fact.h"
#include "core/result/result.h"
#include "core/validity/options.h"

namespace paretoken {

using ReasonOf = std::optional<Reason> (*)(const RunResult& run, const ValidityOptions& options);

/// Return the functions whose reasons results hold before those of the checks, and after them.
std::span<const ReasonOf> judged_before_checks();
std::span<const ReasonOf> judged_after_checks();

/// Returns the reason that names a fact that is unknown, and everything that is absent without it.
Reason reason_of(const FactText& text, Facts needs_of_slos);

}  // namespace paretoken
