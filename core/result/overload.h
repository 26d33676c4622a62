#pragma once
// Whether the server kept up with the arrivals of an open loop.
#include <string>
#include <string_view>

#include "core/result/result.h"

namespace paretoken {

/// The stop rule that ends a run whose queue grows (Stop::rule).
inline constexpr std::string_view kDiverging = "diverging";

/// Returns whether the queue of an open loop neither grew during the run nor ended it.
bool kept_up(const RunResult& result);

/// "served 13.1 of 20 req/s", of an open loop with a rate; empty of another run. If the server kept up over a
/// steady window, "served 24.5 of the 24.6 req/s that arrived", because by chance a short window sees fewer
/// or more requests than the plan has on average; empty if it served at least as many.
std::string served_text(const RunResult& result);

/// "the server does not keep up with the arrivals (served 13.1 of 20 req/s)"; empty if it kept up.
std::string overload_text(const RunResult& result);

}  // namespace paretoken
