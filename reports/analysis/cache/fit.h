#pragma once
// How the time to first token grows with the tokens that a server must process, by least squares.
#include <cstdint>
#include <optional>
#include <span>

#include "core/units.h"

namespace paretoken::reports {

struct FitPoint {
    double uncached_tokens = 0;
    double ttft_s = 0;
};

/// A coefficient with its 95 % interval (Student's t).
struct FitTerm {
    double value = 0;
    Interval ci95;

    bool operator==(const FitTerm&) const = default;
};

/// ttft = base + per_token · uncached (+ per_token2 · uncached²), in seconds.
struct TtftFit {
    std::uint64_t n = 0;
    FitTerm base_s;
    FitTerm per_token_s;
    std::optional<FitTerm> per_token2_s = {};  ///< absent unless its 99.9 % interval lies above 0

    bool operator==(const TtftFit&) const = default;
};

struct LastTokens {
    double longest_tokens = 0;  ///< largest number of tokens of a point
    FitTerm per_token_s;        ///< mean time of one of the last tokens
};

/// The fit through points; nothing for fewer than 4 different lengths or 6 points.
std::optional<TtftFit> fit_of(std::span<const FitPoint> points);

/// The mean time of one of the last `tokens` tokens of the longest prompt (n): (T(n) − T(n − tokens)) ÷
/// tokens, or (T(n) − T(0)) ÷ n if n is at most `tokens`. Nothing without a fit.
std::optional<LastTokens> last_tokens_of(std::span<const FitPoint> points, double tokens);

}  // namespace paretoken::reports
