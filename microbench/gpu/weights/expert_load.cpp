#include "microbench/gpu/weights/expert_load.h"

#include <cmath>

#include "cards/model.h"

namespace paretoken::microbench::gpu {

ExpertLoad expert_load(std::size_t experts, std::size_t active, std::size_t tokens) {
    const double expected = cards::distinct_experts(static_cast<double>(experts), static_cast<double>(active),
                                                    static_cast<double>(tokens));
    const auto entries = static_cast<std::size_t>(std::round(expected));
    return {entries, (active * tokens + entries - 1) / entries};
}

}  // namespace paretoken::microbench::gpu
