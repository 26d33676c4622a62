#pragma once
// Arrivals from their text, for tests that make loads by hand.
#include <string_view>

#include "core/spec.h"
#include "loadgen/load/arrival.h"

namespace paretoken::loadgen {

/// Reads "at_once", "constant:rate=8", "poisson:rate=8", "gamma:rate=8,burstiness=0.5". Throws UsageError.
inline Arrivals parse_arrivals(std::string_view text) {
    Arrivals arrivals = arrivals_of(parse_spec(text));
    arrivals.text = text;
    return arrivals;
}

}  // namespace paretoken::loadgen
