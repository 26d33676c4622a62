#include "core/run/load_shape.h"

namespace paretoken {

std::vector<TimeSpan> spans_of(const std::vector<LoadPart>& parts, TimePoint began) {
    std::vector<TimeSpan> spans;
    for (const LoadPart& part : parts)
        spans.push_back(
            {began + part.begin, part.end == Duration::max() ? TimePoint::max() : began + part.end});
    return spans;
}

}  // namespace paretoken
