#pragma once
// Computes the figures of a row from timed windows, and judges whether they are valid. Pure. Every window of
// a kernel is paired with a ceiling window next to it in time: noise that affects both cancels in their
// ratio.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace paretoken::microbench {

/// A kernel window and the read of as much memory next to it in time. Without bytes it is no memory
/// benchmark.
struct PairedWindow {
    double kernel_s = 0;
    double ceiling_s = 0;
    double kernel_bytes = 0;
    double ceiling_bytes = 0;
    double flops = 0;

    bool operator==(const PairedWindow&) const = default;
};

struct Measurement {
    double median_s = 0;  ///< time of one window, all threads together
    double p10_s = 0;
    double p25_s = 0;
    double p75_s = 0;
    double p90_s = 0;
    double cv = 0;        ///< coefficient of variation of the medians of groups, from their quartiles
    std::uint64_t n = 0;  ///< number of windows
    std::optional<double> bytes_per_second = {};  ///< median over windows
    std::optional<double> bytes_per_second_best =
        {};  ///< fastest decile, used for limits, because noise only slows
    std::optional<double> flops_per_second = {};
    std::optional<double> flops_per_second_best = {};
    std::optional<double> of_ceiling = {};  ///< median over pairs of kernel bytes/s ÷ ceiling bytes/s
    std::optional<double> of_ceiling_p25 = {};
    std::optional<double> of_ceiling_p75 = {};
    std::optional<double> ceiling_drift = {};  ///< |last third ÷ first third − 1| of the ceiling's medians

    bool operator==(const Measurement&) const = default;
};

/// Computes the figures. `windows` are in order of time, not empty; `group` ≥ 1 neighbours give one value for
/// the coefficient of variation.
Measurement measurement_of(std::span<const PairedWindow> windows, std::size_t group);

inline constexpr double kMaxVariation = 0.10;  ///< limit of `cv`, which allows for time slices of the host
inline constexpr double kMaxDrift = 0.03;
/// The limit of the pairs' median. A read does not reach the full bandwidth, so a few percent above it are
/// real; far above it the ceiling's windows lost their CPU to others.
inline constexpr double kMaxOfCeiling = 1.15;

/// The conditions of a figure besides the clock.
struct Circumstances {
    std::uint64_t working_set_bytes = 0;
    std::uint64_t llc_bytes = 0;  ///< 0: unknown
    bool must_exceed_llc = true;
    bool must_be_steady = true;  ///< false if the fastest decile is used
    std::string not_a_bound =
        {};  ///< for a compute ceiling: why it is no upper bound here; empty if it is one

    bool operator==(const Circumstances&) const = default;
};

struct Judgement {
    std::vector<std::string> invalid_because;  ///< empty: valid
    std::vector<std::string> notes;            ///< remarks that are no reason to reject

    bool operator==(const Judgement&) const = default;
    bool valid() const { return invalid_because.empty(); }
    std::string label() const;  ///< both lists, with "; " between
};

Judgement judgement_of(const Measurement& measurement, const Circumstances& circumstances);

/// Returns the error of an output against its reference: √(Σ(y − r)² ÷ Σ r²). It is infinite when any y is
/// not finite, or when the reference is zero and the output is not.
double relative_l2(std::span<const float> output, std::span<const double> reference);

}  // namespace paretoken::microbench
