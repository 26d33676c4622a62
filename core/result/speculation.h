#pragma once
// Computes the expected gain of speculative decoding. Pure functions.

namespace paretoken {

/// Returns the expected number of tokens per pass if k = `drafts` drafted tokens are checked, each of which
/// is right with probability a = `acceptance` if all before it are: (1 − a^(k+1)) / (1 − a) (Leviathan et al.
/// 2023).
double speculative_tokens_per_pass(double acceptance, double drafts);

}  // namespace paretoken
