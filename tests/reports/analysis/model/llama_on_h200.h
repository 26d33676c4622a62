#pragma once
// The deployment to which the expected values in tests of limits belong.
#include <cstdint>

#include "cards/model.h"
#include "reports/analysis/model/limit.h"

namespace paretoken::reports::sample {

/// The inputs of the hardware limit of Llama-3.1-8B in bf16 on `count` H200, each with 4.8 TB/s, 989 TFLOP/s
/// and 141 GB by its datasheet. A decode step reads 15.009 GB of weights.
inline LimitInputs llama_on_h200(std::uint32_t count = 1) {
    const HardwareTerms h200{.read_bytes_per_s = Sourced{4.8e12, "datasheet"},
                             .flops_per_s = Sourced{989e12, "datasheet"},
                             .memory_bytes = Sourced{141e9, "datasheet"},
                             .ranks = count};
    return limit_inputs(cards::model_card("llama-3.1-8b"), h200);
}

}  // namespace paretoken::reports::sample
