#pragma once
// Computes the expected gain of speculative decoding. The functions are pure.

namespace paretoken {

/// Returns the expected number of tokens per pass, with the one that the pass itself adds, if k = `drafts`
/// drafted tokens are checked and each is right with probability a = `acceptance` when all before it are:
/// (1 − a^(k+1)) / (1 − a), or k + 1 for a = 1 (Leviathan et al. 2023).
double speculative_tokens_per_pass(double acceptance, double drafts);

}  // namespace paretoken
