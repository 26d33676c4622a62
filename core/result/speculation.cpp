#include "core/result/speculation.h"

#include <cmath>

namespace paretoken {

double speculative_tokens_per_pass(double acceptance, double drafts) {
    if (acceptance >= 1) return drafts + 1;
    return (1 - std::pow(acceptance, drafts + 1)) / (1 - acceptance);
}

}  // namespace paretoken
