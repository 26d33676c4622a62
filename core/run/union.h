#pragma once
// Joins what several processes or machines recorded of one load, whose schedule was split between them. The
// joined records give the result that one process would have given that had made the whole load.
#include <cstdint>
#include <span>
#include <vector>

#include "core/run/recorded.h"

namespace paretoken {

/// The records of one part of a load. A part whose Begun::shard is absent is the whole load.
struct RecordedPart {
    Recorded recorded;
    Duration offset{};  ///< the time on the common clock − the time on the clock of the part
};

/// A request of a part: its row in the part's records.
struct PlacedRow {
    std::uint32_t part = 0;  ///< index of the part, not its shard's number
    std::uint32_t row = 0;
};

/// Returns the requests of all parts in the order in which they ended on the common clock.
std::vector<PlacedRow> order_of(std::span<const RecordedPart> parts);

/// Returns the records of all parts, at least one, on the common clock. A missing part is named in
/// Recorded::lost, and the load counts as interrupted. Throws a UsageError that names the part if what
/// determines the load differs, a part is given twice, or two parts have the same request; the parts are then
/// unchanged.
Recorded union_of(std::vector<RecordedPart> parts);
/// The same with the order of the requests, which is that of order_of(). It takes the requests out of the
/// parts, so that both together need little more memory than the requests of one.
Recorded union_of(std::span<RecordedPart> parts, std::span<const PlacedRow> order);

}  // namespace paretoken
