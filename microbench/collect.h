#pragma once
// From timed windows to the figures of a row, and whether they prove anything. Pure. Every window of a kernel
// is paired with a ceiling window run right beside it: their ratio survives the noise that both of them saw.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace paretoken::microbench {

/// A kernel window and the read of as much memory next to it in time. No bytes: not a memory benchmark.
struct PairedWindow {
    double kernel_s = 0;
    double ceiling_s = 0;
    double kernel_bytes = 0;
    double ceiling_bytes = 0;
    double flops = 0;

    bool operator==(const PairedWindow&) const = default;
};

struct Measurement {
    double median_s = 0;  ///< of one window, all threads together
    double p10_s = 0;
    double p25_s = 0;
    double p75_s = 0;
    double p90_s = 0;
    double cv = 0;        ///< coefficient of variation of the medians of groups, from their quartiles
    std::uint64_t n = 0;  ///< windows
    std::optional<double> bytes_per_second = {};  ///< median over windows
    std::optional<double> bytes_per_second_best =
        {};  ///< the fastest decile: for limits, as noise only ever slows
    std::optional<double> flops_per_second = {};
    std::optional<double> flops_per_second_best = {};
    std::optional<double> of_ceiling = {};  ///< median over pairs of kernel bytes/s ÷ ceiling bytes/s
    std::optional<double> of_ceiling_p25 = {};
    std::optional<double> of_ceiling_p75 = {};
    std::optional<double> ceiling_drift = {};  ///< |last third ÷ first third − 1| of the ceiling's medians

    bool operator==(const Measurement&) const = default;
};

/// `windows` in time order, not empty; `group` ≥ 1 neighbours make one value for the coefficient of
/// variation.
Measurement measurement_of(std::span<const PairedWindow> windows, std::size_t group);

inline constexpr double kMaxVariation = 0.10;  ///< of `cv`; host time slices are not the kernel's doing
inline constexpr double kMaxDrift = 0.03;
/// Median of the pairs. A read keeps its distance from what is possible, so a few percent above it are real;
/// far above it the ceiling's windows were robbed of their CPU.
inline constexpr double kMaxOfCeiling = 1.15;

/// What a figure depends on besides the clock.
struct Circumstances {
    std::uint64_t working_set_bytes = 0;
    std::uint64_t llc_bytes = 0;  ///< 0: unknown
    bool must_exceed_llc = true;
    bool must_be_steady = true;  ///< not where the fastest decile is what counts
    std::string not_a_bound =
        {};  ///< for a compute ceiling: why this machine could do better; empty when it is one

    bool operator==(const Circumstances&) const = default;
};

struct Judgement {
    std::vector<std::string> invalid_because;  ///< empty: valid
    std::vector<std::string> notes;            ///< worth saying, no reason to reject

    bool operator==(const Judgement&) const = default;
    bool valid() const { return invalid_because.empty(); }
    std::string label() const;  ///< both, "; " between
};

Judgement judgement_of(const Measurement& measurement, const Circumstances& circumstances);

/// The error of an output against its reference: √(Σ(y − r)² ÷ Σ r²). Infinite when any y is not finite, or
/// when the reference is zero and the output is not.
double relative_l2(std::span<const float> output, std::span<const double> reference);

}  // namespace paretoken::microbench
