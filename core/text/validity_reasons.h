#pragma once
// What each check of core/result/validity.h means, and what to do about it.
#include <span>
#include <string_view>

namespace paretoken {

struct ValidityReason {
    std::string_view check;   ///< "loop_lag", as in Reason::check
    std::string_view means;   ///< one sentence
    std::string_view remedy;  ///< one sentence
};

/// Returns the explanations of all checks; "unknown_FACT" is the one of all unknown facts.
std::span<const ValidityReason> validity_reasons();

/// Returns the explanation of a check; null if it has none.
const ValidityReason* validity_reason(std::string_view check);

bool is_explained(std::string_view check);

/// Returns whether a check tells of the server's answers; the others judge how a run was made.
bool tells_of_answers(std::string_view check);

}  // namespace paretoken
