#include "core/evidence/evidence.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/radix_sort.h"
#include "core/statistics.h"

namespace paretoken {
namespace {

/// The longest series. Longer ones are reduced to sums of consecutive values, so that the cost is bounded.
constexpr std::size_t kLongest = 4096;

/// The mean number in flight below which requests share the server only by chance.
constexpr double kAlone = 1.5;

/// The factors that enlarge the estimated time, from measured coverage: if a queue may build, and otherwise.
constexpr double kQueueing = 1.45;
constexpr double kChance = 1.05;

// ---- autocorrelation

/// The memory of a series.
struct Memory {
    double time = 1;        ///< integrated autocorrelation time, in steps
    std::size_t lag = 1;    ///< first lag that was not used
    std::size_t until = 0;  ///< lag up to which correlations were summed
};

/// Sums autocorrelations in bins of `bin` lags: at least up to `least`, then until a bin's sum is not
/// positive. The largest of all partial sums counts. Each correlation is raised by 1/n, because removing
/// the mean lowers it by that. `centred` has mean 0.
Memory memory_of_series(std::span<const double> centred, std::size_t bin, double least) {
    Memory memory;
    const std::size_t n = centred.size();
    const double squares = std::inner_product(centred.begin(), centred.end(), centred.begin(), 0.0);
    if (!(squares > 0)) return memory;
    double sum = 1;
    for (; memory.lag + bin < n / 2; memory.lag += bin) {
        double of_bin = 0;
        for (std::size_t lag = memory.lag; lag < memory.lag + bin; ++lag) {
            of_bin += std::inner_product(centred.begin() + static_cast<std::ptrdiff_t>(lag), centred.end(),
                                         centred.begin(), 0.0) /
                          squares +
                      1 / static_cast<double>(n);
        }
        if (of_bin <= 0 && static_cast<double>(memory.lag) > least) break;
        sum += 2 * of_bin;
        if (sum > memory.time) {
            memory.time = sum;
            memory.until = memory.lag + bin;
        }
    }
    memory.time *= 1 + (2 * static_cast<double>(memory.until) + 1) / static_cast<double>(n);
    return memory;
}

std::size_t bin_for(double in_flight) {
    return static_cast<std::size_t>(std::max(1L, std::lround(in_flight / 4)));
}

std::vector<double> centred(std::vector<double> values) {
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) /
                        std::max<double>(1, static_cast<double>(values.size()));
    for (double& value : values) value -= mean;
    return values;
}

/// Returns figure_of(part) for each part of `size` consecutive values; the last part may have fewer.
template <class FigureOf>
std::vector<double> of_groups(std::span<const double> values, std::size_t size, FigureOf figure_of) {
    std::vector<double> sums;
    sums.reserve((values.size() + size - 1) / size);
    for (std::size_t at = 0; at < values.size(); at += size)
        sums.push_back(figure_of(values.subspan(at, std::min(size, values.size() - at))));
    return sums;
}

double sum_of(std::span<const double> values) {
    return std::accumulate(values.begin(), values.end(), 0.0);
}

std::vector<double> grouped(std::span<const double> values, std::size_t size) {
    return of_groups(values, size, sum_of);
}

std::size_t group_for(std::size_t values) {
    return std::max<std::size_t>(1, (values + kLongest - 1) / kLongest);
}

/// Returns the number of equal values with the same sum and the same sum of squares.
double effective_count(double sum, double squares) {
    return squares > 0 ? sum * sum / squares : 0;
}

// ---- the number in flight

/// The state that each request of the window found on arrival, and its time.
struct Arrivals {
    std::vector<double> at_s;
    std::vector<double> in_flight;
    std::vector<double> with_output;  ///< those in flight whose first output had come
};

std::vector<double> sorted_times(std::span<const Stay> stays, double (*time_of)(const Stay&)) {
    std::vector<double> times;
    times.reserve(stays.size());
    for (const auto& stay : stays) times.push_back(time_of(stay));
    std::ranges::sort(times);
    return times;
}

Arrivals arrivals_of(std::span<const Stay> stays, Interval window) {
    const auto ends = sorted_times(stays, [](const Stay& stay) { return stay.end_s; });
    const auto outputs = sorted_times(
        stays, [](const Stay& stay) { return std::min(stay.begin_s + stay.waited_s, stay.end_s); });
    Arrivals arrivals;
    std::size_t ended = 0;
    std::size_t answered = 0;
    for (std::size_t begun = 0; begun < stays.size(); ++begun) {
        const double at = stays[begun].begin_s;
        while (ended < ends.size() && ends[ended] <= at) ++ended;
        while (answered < outputs.size() && outputs[answered] <= at) ++answered;
        if (at < window.low || at >= window.high) continue;
        arrivals.at_s.push_back(at);
        arrivals.in_flight.push_back(static_cast<double>(begun) - static_cast<double>(ended));
        arrivals.with_output.push_back(static_cast<double>(answered) - static_cast<double>(ended));
    }
    return arrivals;
}

std::size_t longest_run_on_one_side(std::span<const double> about_mean) {
    std::size_t longest = 0;
    std::size_t run = 0;
    bool above = false;
    for (const double value : about_mean) {
        run = (value > 0) == above ? run + 1 : 1;
        above = value > 0;
        longest = std::max(longest, run);
    }
    return longest;
}

std::vector<double> gaps_of(const Arrivals& arrivals) {
    std::vector<double> gaps(arrivals.at_s.size());
    std::adjacent_difference(arrivals.at_s.begin(), arrivals.at_s.end(), gaps.begin());
    gaps.erase(gaps.begin());
    return gaps;
}

/// Returns the squared coefficient of variation; 0 if the mean is 0.
double squared_variation(std::span<const double> values) {
    const auto moments = moments_of(values);
    if (!(moments.mean > 0)) return 0;
    const double variation = moments.standard_deviation / moments.mean;
    return variation * variation;
}

/// Returns variance ÷ mean of the number in flight, relative to the value that the arrivals' own burstiness
/// gives with a server without any waiting: (1 + cv²)/2, 1 for Poisson arrivals (Eckberg 1983, for service
/// times that vary much). It is at least 1.
double congestion_of(const Arrivals& arrivals, double gap_variation) {
    const auto held = moments_of(arrivals.in_flight);
    const bool all_at_once = !(arrivals.at_s.back() > arrivals.at_s.front());
    if (!(held.mean > 0) || all_at_once) return 1;
    const double expected = (1 + gap_variation) / 2;
    return std::max(1.0, held.standard_deviation * held.standard_deviation / held.mean / expected);
}

/// Returns the time from first output to end of each request that arrived in the window.
std::vector<double> service_times(std::span<const Stay> stays, Interval window) {
    std::vector<double> times;
    for (const auto& stay : stays) {
        if (stay.begin_s < window.low || stay.begin_s >= window.high) continue;
        times.push_back(std::max(0.0, stay.end_s - stay.begin_s - stay.waited_s));
    }
    return times;
}

/// Returns LoadMemory::most_samples. A queue of c slots at utilisation ρ, whose requests take a mean time S
/// with squared coefficients of variation a (gaps) and s (service), has the relaxation time (S/c) · (a + s)/2
/// ÷ (1 − √ρ)² (that of M/M/c, Morse 1955, with the variability of the heavy-traffic limit, Kingman 1962). ρ
/// is the upper end of its own 95 % interval.
double most_samples_of(const Arrivals& arrivals, double gap_variation, std::span<const double> service,
                       double window_s) {
    constexpr double kOften = 0.05;
    constexpr double kRelaxations = 1.5;
    constexpr double kUpper = 1.645;
    const auto& held = arrivals.with_output;
    const double slots = *std::ranges::max_element(held);
    const double nearly_all = slots - std::min(slots / 10, std::sqrt(slots) / 2);
    const auto n = static_cast<double>(held.size());
    const auto full =
        static_cast<double>(std::ranges::count_if(held, [&](double number) { return number >= nearly_all; }));
    if (!(slots > 0) || full < kOften * n) return kInfinity;
    const double variability = gap_variation + squared_variation(service);
    const double used = moments_of(held).mean / slots * (1 + kUpper * std::sqrt(variability / n));
    if (used >= 1) return 0;
    const double room = 1 - std::sqrt(used);
    const double relaxation_s = moments_of(service).mean / slots * variability / 2 / (room * room);
    return relaxation_s > 0 ? window_s / (kRelaxations * relaxation_s) : kInfinity;
}

/// Returns the mean of what arrivals found in each of `count` equal stretches of the window; one without
/// arrivals has that of the stretch before, and the first ones have the first value.
std::vector<double> means_by_time(const Arrivals& arrivals, Interval window, std::size_t count) {
    std::vector<double> means(count);
    double last = arrivals.in_flight.front();
    std::size_t next = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const double end =
            window.low + (window.high - window.low) * static_cast<double>(i + 1) / static_cast<double>(count);
        const std::size_t first = next;
        double sum = 0;
        for (; next < arrivals.at_s.size() && arrivals.at_s[next] < end; ++next)
            sum += arrivals.in_flight[next];
        if (next > first) last = sum / static_cast<double>(next - first);
        means[i] = last;
    }
    return means;
}

double mean_residence(std::span<const Stay> stays, Interval window) {
    double sum = 0;
    double count = 0;
    for (const auto& stay : stays) {
        if (stay.begin_s < window.low || stay.begin_s >= window.high) continue;
        sum += stay.end_s - stay.begin_s;
        ++count;
    }
    return count > 0 ? sum / count : 0;
}

}  // namespace

// In a closed loop the number in flight is constant by construction, so that it gives no information. In an
// open loop there are two tests:
// - `enough_s` is 8 · c² · L. L is the longest time for which the number in flight stayed on one side of its
//   mean. c is the variance of the number in flight ÷ the variance that the arrivals alone would cause, but
//   at least 1.
// - A calm run near saturation may pass the first test by chance. `most_samples` therefore shows whether the
//   server's slots (the requests that it can work on at once) are often nearly all taken. At each arrival in
//   the window, the requests that have had their first output and have not ended are counted. The largest
//   count is taken as the number of slots. A count is nearly as large if it is lower by at most a tenth of
//   the slots and by at most √slots ÷ 2. If this holds for at least a twentieth of the arrivals,
//   `most_samples` is the length of the window ÷ (1.5 relaxation times of a queue with that many slots), or 0
//   if the slots may be saturated. Otherwise it is infinite.
LoadMemory memory_of(std::span<const Stay> stays, Interval window, bool closed_loop) {
    constexpr std::size_t kFewest = 10;
    constexpr double kExcursions = 8;
    LoadMemory memory;
    memory.window_s = window.high - window.low;
    memory.residence_s = mean_residence(stays, window);
    if (closed_loop || !(memory.window_s > 0)) return memory;
    const auto arrivals = arrivals_of(stays, window);
    if (arrivals.at_s.size() < kFewest) return memory;
    const auto n = static_cast<double>(arrivals.at_s.size());
    const double step_s = memory.window_s / n;
    const std::size_t group = group_for(arrivals.at_s.size());
    const auto about_mean = centred(arrivals.in_flight);
    const auto series = centred(grouped(about_mean, group));
    const double in_flight = memory.residence_s / step_s / static_cast<double>(group);
    const auto found = memory_of_series(series, bin_for(in_flight), kAlone < in_flight ? 1.5 * in_flight : 0);
    memory.queue_s = static_cast<double>(found.lag * group) * step_s;
    const double gap_variation = squared_variation(gaps_of(arrivals));
    const double congestion = congestion_of(arrivals, gap_variation);
    memory.enough_s = kExcursions * congestion * congestion *
                      static_cast<double>(longest_run_on_one_side(about_mean)) * step_s;
    memory.most_samples =
        most_samples_of(arrivals, gap_variation, service_times(stays, window), memory.window_s);
    if (memory.most_samples < kInfinity) {
        const auto mean_of = [](std::span<const double> part) { return moments_of(part).mean; };
        memory.held_by_order = of_groups(arrivals.in_flight, group, mean_of);
        memory.held_by_time = means_by_time(arrivals, window, memory.held_by_order.size());
    }
    return memory;
}

namespace {

struct Exceedances {
    std::size_t group = 1;       ///< consecutive elements of the series in each element of the two below
    std::vector<double> counts;  ///< values over the limit
    std::vector<double> totals;  ///< all values
    // Sums over the ungrouped elements:
    double over_squares = 0;   ///< squares of the numbers of values over the limit
    double under_squares = 0;  ///< squares of the numbers of the others
};

/// Returns the correlation ratio η² (Pearson 1905): the share of the variance of `off` that lies between the
/// tenths of its elements, sorted by the number in flight. `off` has the mean 0 and the sum of squares
/// `squares`. `held` is the number in flight over the same window, in any number of parts; it is empty if
/// this is unknown, and the result is then 1.
double share_explained(std::span<const double> off, double squares, std::span<const double> held) {
    constexpr std::size_t kTenths = 10;
    if (held.empty()) return 1;
    std::vector<std::pair<double, double>> by_held(off.size());
    for (std::size_t i = 0; i < off.size(); ++i) {
        const std::size_t first = i * held.size() / off.size();
        const std::size_t count = std::max<std::size_t>(1, (i + 1) * held.size() / off.size() - first);
        by_held[i] = {sum_of(held.subspan(first, count)) / static_cast<double>(count), off[i]};
    }
    std::ranges::stable_sort(by_held, [](const auto& a, const auto& b) { return a.first < b.first; });
    double between = 0;
    for (std::size_t tenth = 0; tenth < kTenths; ++tenth) {
        const std::size_t first = tenth * off.size() / kTenths;
        const std::size_t last = (tenth + 1) * off.size() / kTenths;
        double sum = 0;
        for (std::size_t i = first; i < last; ++i) sum += by_held[i].second;
        if (last > first) between += sum * sum / static_cast<double>(last - first);
    }
    return std::min(1.0, between / squares);
}

/// Returns the effective sample. `held` is the member of `memory` with the number in flight over the series:
/// by order for a series of requests, by time for one of blocks of time.
double sample_of(const Exceedances& exceedances, std::span<const double> held, const LoadMemory& memory) {
    constexpr double kResidences = 1.5;
    constexpr double kQueueTimes = 2;
    const auto& [group, counts, totals, over_squares, under_squares] = exceedances;
    if (counts.empty() || !(memory.window_s > 0)) return 0;
    const double total = sum_of(totals);
    const double share = total > 0 ? sum_of(counts) / total : 0;
    std::vector<double> off(counts.size());
    double squares = 0;
    for (std::size_t i = 0; i < off.size(); ++i) {
        off[i] = counts[i] - share * totals[i];
        squares += off[i] * off[i];
    }
    if (!(squares > 0) || !(share > 0) || !(share < 1)) return 0;

    const auto n = static_cast<double>(off.size());
    const double steps_per_s = n / memory.window_s;
    const double in_flight = memory.residence_s * steps_per_s;
    const bool shared = in_flight * static_cast<double>(group) > kAlone;
    const double least =
        std::max(shared ? kResidences * in_flight : 0, kQueueTimes * memory.queue_s * steps_per_s);
    const auto found = memory_of_series(off, bin_for(in_flight), least);

    // With few exceedances, or few clumps of them, the autocorrelation time itself is uncertain.
    const double seen = std::max(1.0, std::min(effective_count(share * total, over_squares),
                                               effective_count((1 - share) * total, under_squares)));
    double time = found.time + (found.time - 1) * std::sqrt(found.time / seen);

    // The variance comes from few independent intervals, so Student's t widens it.
    const double degrees = std::max(1.0, n / (2 * static_cast<double>(found.lag) + 1));
    const double widened = student_t(0.95, degrees) / 1.959964;
    time *= widened * widened * (memory.queue_s > 0 ? kQueueing : kChance);
    const double own = share * (1 - share) * total * total / (squares * time);
    // With few samples of the number in flight, its rarer states may not have been seen at all.
    constexpr double kFewestStates = 50;
    if (own <= memory.most_samples || memory.most_samples < kFewestStates)
        return std::min(own, memory.most_samples);
    const double with_rest = 1 / (1 / own + share_explained(off, squares, held) / memory.most_samples);
    return std::max(memory.most_samples, with_rest);
}

}  // namespace

// The result is share · (1 − share) · (Σ weights)² ÷ (t · Σ (over − share · weight)²), where t is the
// integrated autocorrelation time of over − share · weight. To compute t, the autocorrelations are summed
// until they vanish, but at least over the memory of the load (Geyer 1992; Madras and Sokal 1988). t is then
// enlarged, because it is itself only an estimate.
// LoadMemory::most_samples limits the result if it is finite, which is the case near saturation. If it is
// below 50, the result is at most most_samples. Otherwise the limit applies only to that share of the series'
// variance which the number in flight explains. To find this share (the correlation ratio), the elements are
// sorted by the number in flight and divided into ten groups of equal size.
double effective_sample(std::span<const double> over, std::span<const double> weights,
                        const LoadMemory& memory) {
    const std::size_t group = group_for(over.size());
    Exceedances exceedances{
        .group = group, .counts = grouped(over, group), .totals = grouped(weights, group)};
    for (std::size_t i = 0; i < over.size(); ++i) {
        exceedances.over_squares += over[i] * over[i];
        exceedances.under_squares += (weights[i] - over[i]) * (weights[i] - over[i]);
    }
    return sample_of(exceedances, memory.held_by_time, memory);
}

double effective_sample_above(std::span<const double> values, double limit, const LoadMemory& memory) {
    const auto above = [limit](std::span<const double> part) {
        const auto is_above = [limit](double value) { return value > limit || value == kInfinity; };
        return static_cast<double>(std::ranges::count_if(part, is_above));
    };
    const auto size = [](std::span<const double> part) { return static_cast<double>(part.size()); };
    const std::size_t group = group_for(values.size());
    Exceedances exceedances{
        .group = group, .counts = of_groups(values, group, above), .totals = of_groups(values, group, size)};
    exceedances.over_squares = sum_of(exceedances.counts);  // every element is one value
    exceedances.under_squares = static_cast<double>(values.size()) - exceedances.over_squares;
    return sample_of(exceedances, memory.held_by_order, memory);
}

double samples_for_interval(double p, double confidence) {
    return std::log((1 - confidence) / 2) / std::log(std::max(p, 1 - p));
}

std::optional<Interval> percentile_levels(double p, double n, double confidence) {
    if (!(n >= samples_for_interval(p, confidence))) return std::nullopt;
    const double tail = (1 - confidence) / 2;
    return Interval{beta_quantile(tail, n * p, n * (1 - p) + 1),
                    beta_quantile(1 - tail, n * p + 1, n * (1 - p))};
}

std::optional<Interval> effective_interval(std::span<const double> sorted, double p, double effective_n) {
    if (sorted.empty()) return std::nullopt;
    const auto levels = percentile_levels(p, effective_n);
    if (!levels) return std::nullopt;
    const Interval interval{percentile(sorted, levels->low), percentile(sorted, levels->high)};
    if (!(interval.low < interval.high)) return std::nullopt;  // both ends are in one group of equal values
    return interval;
}

namespace {

/// Returns the value farthest from `holding` towards `other` for which `holds`, which holds at `holding`.
template <class Holds>
double last_where(double holding, double other, Holds holds) {
    const double close = std::abs(other - holding) * 1e-7;
    while (std::abs(other - holding) > close) {
        const double middle = (holding + other) / 2;
        (holds(middle) ? holding : other) = middle;
    }
    return holding;
}

}  // namespace

Interval exact_limits(std::span<const double> sorted, double p, double effective_n) {
    constexpr double kConfidence = 0.99;
    constexpr double kRounding = 1e-6;
    Interval limits{0, kInfinity};
    if (!(effective_n >= 1) || sorted.empty()) return limits;
    const auto n = static_cast<double>(sorted.size());
    const double per_sample = n / effective_n;
    const double allowed_share = 1 - p;
    // The upper limit for a share of x ÷ n is a beta quantile, which grows with x; and so does the lower one.
    const auto certifies = [&](double x) {
        return beta_share(allowed_share, x + 1, effective_n - x) >= kConfidence;
    };
    const auto refutes = [&](double x) {
        return beta_share(allowed_share, x, effective_n - x + 1) < 1 - kConfidence;
    };
    if (certifies(0)) {
        const double allowed = last_where(0, effective_n * allowed_share, certifies);
        const auto over = static_cast<std::size_t>(std::floor(allowed * per_sample + kRounding));
        if (over < sorted.size()) limits.high = sorted[sorted.size() - 1 - over];
    }
    if (refutes(effective_n)) {
        const double refuting = last_where(effective_n, effective_n * allowed_share, refutes);
        const auto over = static_cast<std::size_t>(std::ceil(refuting * per_sample - kRounding));
        if (over >= 1 && over <= sorted.size()) limits.low = sorted[sorted.size() - over];
    }
    return limits;
}

namespace {

/// Returns how much wider an interval from blocks must be because neighbouring blocks are alike. The lag-1
/// autocorrelation is raised by 1 ÷ blocks, because removing the mean lowers it by that.
double widened_by_neighbours(std::span<const double> blocks) {
    constexpr double kMost = 0.9;
    const double alike =
        std::clamp(lag1_autocorrelation(blocks) + 1 / static_cast<double>(blocks.size()), 0.0, kMost);
    return std::sqrt((1 + alike) / (1 - alike));
}

}  // namespace

double half_width_of_blocks(std::span<const double> deviations) {
    const auto blocks = static_cast<double>(deviations.size());
    double squares = 0;
    for (const double deviation : deviations) squares += deviation * deviation;
    return student_t(0.95, blocks - 1) * std::sqrt(squares / (blocks * (blocks - 1))) *
           widened_by_neighbours(deviations);
}

// The values are divided into 10, 20 and 30 blocks of whole rounds; the spread of the blocks' percentiles
// about that of all values gives the interval. The widest of the three counts, a quarter wider. There is no
// interval if fewer than 10 values (from p99 on, 20) lie beyond the percentile, or if it falls among failures
// in a block.
std::vector<std::optional<Interval>> sectioned_intervals(std::span<const double> in_order,
                                                         std::span<const double> percentiles,
                                                         std::uint64_t rounds) {
    constexpr double kFewestBeyond = 10;
    constexpr double kFewestBeyondHigh = 20;
    constexpr double kHigh = 0.99;
    constexpr double kWider = 1.25;
    std::vector<std::optional<Interval>> intervals(percentiles.size());
    std::vector<double> half(percentiles.size(), 0);
    std::vector<double> sorted(in_order.begin(), in_order.end());
    radix_sort(sorted);
    const auto beyond = [&](double p) {
        return static_cast<double>(in_order.size()) * std::min(p, 1 - p) + 1e-9;
    };
    const auto is_possible = [&](double p) {
        return beyond(p) >= (p >= kHigh ? kFewestBeyondHigh : kFewestBeyond);
    };
    if (std::ranges::none_of(percentiles, is_possible)) return intervals;
    for (const std::uint64_t blocks : kBlockCounts) {
        if (blocks > rounds) continue;
        std::vector<std::vector<double>> deviations(percentiles.size());
        for (std::uint64_t block = 0; block < blocks; ++block) {
            // The edges are those of whole rounds.
            const auto edge = [&](std::uint64_t k) {
                return static_cast<std::size_t>(static_cast<double>(k * rounds / blocks) /
                                                static_cast<double>(rounds) *
                                                static_cast<double>(in_order.size()));
            };
            const auto part = in_order.subspan(edge(block), edge(block + 1) - edge(block));
            std::vector<double> values(part.begin(), part.end());
            if (values.empty()) return intervals;
            radix_sort(values);
            for (std::size_t i = 0; i < percentiles.size(); ++i)
                deviations[i].push_back(percentile(values, percentiles[i]) -
                                        percentile(sorted, percentiles[i]));
        }
        for (std::size_t i = 0; i < percentiles.size(); ++i) {
            if (beyond(percentiles[i]) < static_cast<double>(blocks)) continue;
            const bool known =
                std::ranges::all_of(deviations[i], [](double value) { return std::isfinite(value); });
            half[i] = std::max(half[i], known ? kWider * half_width_of_blocks(deviations[i]) : kInfinity);
        }
    }
    for (std::size_t i = 0; i < percentiles.size(); ++i) {
        if (!is_possible(percentiles[i]) || !(half[i] > 0) || !std::isfinite(half[i])) continue;
        const double middle = percentile(sorted, percentiles[i]);
        intervals[i] = {std::max(sorted.front(), middle - half[i]), middle + half[i]};
    }
    return intervals;
}

Interval decided_limits(std::span<const double> sorted, double p, double effective_n) {
    constexpr double kConfidence = 0.99;
    Interval limits{0, kInfinity};
    const auto n = static_cast<double>(sorted.size());
    const auto whole = static_cast<std::uint64_t>(std::max(0.0, effective_n));
    if (whole == 0 || sorted.empty()) return limits;
    const double requests_per_sample = n / effective_n;
    if (const auto allowed = allowed_over(p, whole, kConfidence)) {
        const auto over =
            static_cast<std::size_t>(static_cast<double>(*allowed) * requests_per_sample + 1e-9);
        if (over < sorted.size()) limits.high = sorted[sorted.size() - 1 - over];
    }
    if (const auto refuted = refuting_over(p, whole, kConfidence)) {
        const auto over =
            static_cast<std::size_t>(std::ceil(static_cast<double>(*refuted) * requests_per_sample - 1e-9));
        if (over >= 1 && over <= sorted.size()) limits.low = sorted[sorted.size() - over];
    }
    return limits;
}

}  // namespace paretoken
