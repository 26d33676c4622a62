#pragma once
// Computes the expected gain of speculative decoding. Pure functions.

namespace paretoken {

/// Returns the expected tokens per pass with `drafts` checked, each right with probability `acceptance` if
/// those before it were: (1 − a^(k+1)) / (1 − a) (Leviathan et al. 2023).
double speculative_tokens_per_pass(double acceptance, double drafts);

}  // namespace paretoken
