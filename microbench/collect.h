#pragma once
// Computes the figures of a benchmark row from timed windows, and judges whether they are valid. A window of
// a kernel is paired with the fastest read of as much memory next to it, to cancel noise.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace paretoken::microbench {

/// One window of a kernel and a read (`ceiling_…`) of about as much memory, over all threads; on a GPU its
/// time comes from a measured curve. Both numbers of bytes are 0 if no memory is streamed.
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
    double cv = 0;        ///< variation of the medians of groups of windows: (p75 − p25) ÷ 1.349 ÷ p50
    std::uint64_t n = 0;  ///< number of windows
    /// Median over windows. Rows `ceiling/cached_read` of the CPU replace it by `bytes_per_second_best`.
    std::optional<double> bytes_per_second = {};
    /// 90th percentile over windows, used for limits because noise only slows.
    std::optional<double> bytes_per_second_best = {};
    std::optional<double> flops_per_second = {};       ///< median; p90 in rows `ceiling/flops` of the CPU
    std::optional<double> flops_per_second_best = {};  ///< p90 over windows
    std::optional<double> of_ceiling = {};  ///< median over pairs of kernel bytes/s ÷ ceiling bytes/s
    std::optional<double> of_ceiling_p25 = {};
    std::optional<double> of_ceiling_p75 = {};
    /// The relative change of the ceiling's median speed from the first to the last third of windows.
    std::optional<double> ceiling_drift = {};

    bool operator==(const Measurement&) const = default;
};

/// Computes the figures of ordered `windows`, at least one; `cv` is over whole groups of `group`.
Measurement measurement_of(std::span<const PairedWindow> windows, std::size_t group);

inline constexpr double kMaxVariation = 0.10;  ///< limit of `cv`; a host may pause the CPUs briefly
inline constexpr double kMaxDrift = 0.03;      ///< limit of `ceiling_drift`; above it there is a note
/// The limit of `of_ceiling` on the CPU: a kernel can be a few percent faster than the ceiling's reads. If it
/// is much faster, other programs took the CPU during these.
inline constexpr double kMaxOfCeiling = 1.15;

/// The facts besides the measured times that decide whether a row is valid.
struct Circumstances {
    std::uint64_t working_set_bytes = 0;
    std::uint64_t llc_bytes = 0;  ///< 0 means unknown
    bool must_exceed_llc = true;  ///< whether a working set below 4 × llc_bytes makes the row invalid
    /// Whether a `cv` above kMaxVariation makes the row invalid: not if its figure is the fastest decile.
    bool must_be_steady = true;
    std::string not_a_bound =
        {};  ///< for a compute ceiling: why it is no upper bound here; empty if it is one

    bool operator==(const Circumstances&) const = default;
};

struct Judgement {
    std::vector<std::string> invalid_because;  ///< empty means valid
    std::vector<std::string> notes;            ///< remarks that are no reason to reject

    bool operator==(const Judgement&) const = default;
    bool valid() const { return invalid_because.empty(); }
    std::string label() const;  ///< both lists, with "; " between
};

Judgement judgement_of(const Measurement& measurement, const Circumstances& circumstances);

/// Returns √(Σ(y − r)² ÷ Σ r²) of an output y against its reference r of equal size; infinite when any y is
/// not finite, or only the reference is zero.
double relative_l2(std::span<const float> output, std::span<const double> reference);

}  // namespace paretoken::microbench
