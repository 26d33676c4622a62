#pragma once
// By how much the client's own delays may have made the headline figures of a run worse.
#include <optional>
#include <string>

#include "core/result/result.h"
#include "core/validity/options.h"

namespace paretoken {

/// The share of a headline figure by which the client's own delays may have made it worse.
struct InstrumentPart {
    double part = 0;          ///< `instrument` ÷ the value; 0 if there is none that matters
    std::string figure = {};  ///< "p95 of ttft_s could truly be 3.1 % lower"
};

/// Returns the largest such share of throughput and of the medians and p95s of the headline times.
InstrumentPart largest_instrument_part(const RunResult& result);

/// Returns a reason if the client's own delays may have made a headline figure worse. A p99 or a goodput that
/// they spoil leaves the other figures usable.
std::optional<Reason> instrument_of(const RunResult& result, const ValidityOptions& options);

}  // namespace paretoken
