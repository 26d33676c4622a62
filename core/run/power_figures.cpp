#include "core/run/power_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace paretoken {
namespace {

using Member = std::optional<double> PowerSample::*;

Duration gap_before(const PowerReading& before, const PowerReading& reading) {
    return reading.merged > 1 ? reading.longest_gap : reading.at - before.at;
}

/// Returns the joules between two neighbours by their power; nothing if either has none.
std::optional<double> joules_between(const PowerReading& before, const PowerReading& reading) {
    if (reading.joules) return reading.joules;
    if (!before.sample.watts || !reading.sample.watts) return std::nullopt;
    return seconds(reading.at - before.at) * (*before.sample.watts + *reading.sample.watts) / 2;
}

std::optional<double> throttled_share_of(const PowerReading& reading) {
    if (reading.throttled_share) return reading.throttled_share;
    if (!reading.sample.throttled) return std::nullopt;
    return *reading.sample.throttled ? 1 : 0;
}

/// Returns the weighted mean of two means over `of_a` and `of_b` readings; if one is unknown, the other one.
std::optional<double> mean_of(const std::optional<double>& a, double of_a, const std::optional<double>& b,
                              double of_b) {
    if (!a || !b) return a ? a : b;
    return (*a * of_a + *b * of_b) / (of_a + of_b);
}

/// Returns `first` and `second` as one reading; `before` is the reading before them.
PowerReading merged(const PowerReading& before, const PowerReading& first, const PowerReading& second) {
    PowerReading all = second;
    all.merged = first.merged + second.merged;
    all.longest_gap = std::max(gap_before(before, first), gap_before(first, second));
    const auto until_first = joules_between(before, first);
    const auto until_second = joules_between(first, second);
    all.joules = until_first && until_second ? std::optional(*until_first + *until_second) : std::nullopt;
    all.sample.utilization =
        mean_of(first.sample.utilization, first.merged, second.sample.utilization, second.merged);
    all.throttled_share =
        mean_of(throttled_share_of(first), first.merged, throttled_share_of(second), second.merged);
    if (first.sample.devices != second.sample.devices) all.sample.devices.reset();
    return all;
}

/// Merges every two neighbours except the first reading, which begins the measured time.
void merge_neighbours(std::vector<PowerReading>& readings) {
    std::size_t kept = 1;
    for (std::size_t i = 1; i < readings.size(); i += 2, ++kept)
        readings[kept] =
            i + 1 < readings.size() ? merged(readings[kept - 1], readings[i], readings[i + 1]) : readings[i];
    readings.resize(kept);
}

/// The readings that have one quantity.
struct Curve {
    std::vector<const PowerReading*> readings;
    std::vector<double> values;

    Curve(std::span<const PowerReading> all, Member member) {
        for (const PowerReading& reading : all) {
            const auto value = reading.sample.*member;
            if (!value || !std::isfinite(*value)) continue;
            readings.push_back(&reading);
            values.push_back(*value);
        }
    }

    TimePoint at(std::size_t i) const { return readings[i]->at; }

    /// Returns whether the span lies between readings without a gap above the longest allowed
    /// one.
    bool encloses(TimeSpan span) const {
        if (values.size() < 2 || at(0) > span.begin || at(values.size() - 1) < span.end) return false;
        for (std::size_t i = 1; i < values.size(); ++i) {
            const bool touches = at(i) > span.begin && at(i - 1) < span.end;
            if (touches && gap_before(*readings[i - 1], *readings[i]) > kLongestGap) return false;
        }
        return true;
    }
    double value_at(TimePoint time) const {
        const auto after = std::upper_bound(
            readings.begin(), readings.end(), time,
            [](TimePoint wanted, const PowerReading* reading) { return wanted < reading->at; });
        if (after == readings.begin()) return values.front();
        if (after == readings.end()) return values.back();
        const auto i = static_cast<std::size_t>(after - readings.begin());
        const double share = seconds(time - at(i - 1)) / seconds(at(i) - at(i - 1));
        return values[i - 1] + share * (values[i] - values[i - 1]);
    }
    /// Integrates by trapezoids. Between merged readings the trapezoids give the shape, and the summed joules
    /// the total.
    double integral(TimeSpan span) const {
        double sum = 0;
        for (std::size_t i = 1; i < values.size(); ++i) {
            const TimePoint begin = std::max(at(i - 1), span.begin);
            const TimePoint end = std::min(at(i), span.end);
            if (end <= begin) continue;
            const double part = seconds(end - begin) * (value_at(begin) + value_at(end)) / 2;
            const double whole = seconds(at(i) - at(i - 1)) * (values[i - 1] + values[i]) / 2;
            const auto joules = readings[i]->joules;
            const double share = whole > 0 ? part / whole : seconds(end - begin) / seconds(at(i) - at(i - 1));
            sum += joules ? *joules * share : part;
        }
        return sum;
    }
};

bool has_watts(std::span<const PowerReading> readings) {
    return std::ranges::any_of(readings,
                               [](const PowerReading& reading) { return reading.sample.watts.has_value(); });
}

/// Returns the mean over the readings in the span that have `value`.
template <class Value>
std::optional<double> mean_in(std::span<const PowerReading> readings, TimeSpan span, Value value) {
    double sum = 0;
    double n = 0;
    for (const PowerReading& reading : readings) {
        const std::optional<double> own = value(reading);
        if (!own || !span.contains(reading.at)) continue;
        sum += *own * reading.merged;
        n += reading.merged;
    }
    if (n == 0) return std::nullopt;
    return sum / n;
}

/// Returns the number of devices in every reading; nothing if it changed.
std::optional<std::uint32_t> devices_of(std::span<const PowerReading> readings) {
    const auto devices = readings.front().sample.devices;
    const bool all = std::ranges::all_of(
        readings, [&](const PowerReading& reading) { return reading.sample.devices == devices; });
    return all ? devices : std::nullopt;
}

void add_per_token(PowerFigures& figures, TimeSpan window, const Totals& totals) {
    const double output = totals.output_tokens;
    const double all = output + totals.fresh_input_tokens + totals.cached_input_tokens;
    if (figures.energy_j && output > 0) figures.j_per_output_token = *figures.energy_j / output;
    if (figures.energy_j && all > 0) figures.j_per_token = *figures.energy_j / all;
    if (figures.mean_w && *figures.mean_w > 0 && output > 0)
        figures.output_tokens_per_s_per_w = output / seconds(window.length()) / *figures.mean_w;
}

}  // namespace

void add_reading(PowerReadings& power, const PowerReading& reading) {
    std::vector<PowerReading>& readings = power.readings;
    const std::size_t count = readings.size();
    if (count > 1 && readings.back().merged < power.stride)
        readings.back() = merged(readings[count - 2], readings.back(), reading);
    else
        readings.push_back(reading);
    if (readings.size() <= kMostReadings) return;
    merge_neighbours(readings);
    power.stride *= 2;
}

std::optional<double> energy_over(std::span<const PowerReading> readings, TimeSpan span) {
    if (!has_watts(readings)) return counted_energy_over(readings, span);
    const Curve watts(readings, &PowerSample::watts);
    if (!watts.encloses(span)) return std::nullopt;
    return watts.integral(span);
}

std::optional<double> counted_energy_over(std::span<const PowerReading> readings, TimeSpan span) {
    const Curve counter(readings, &PowerSample::counter_j);
    if (!counter.encloses(span)) return std::nullopt;
    return counter.value_at(span.end) - counter.value_at(span.begin);
}

std::optional<PowerFigures> power_figures(const PowerReadings& power, TimeSpan window, const Totals& totals) {
    const std::span<const PowerReading> readings = power.readings;
    if (readings.empty() || window.length() <= Duration{}) return std::nullopt;
    PowerFigures figures{.source = power.source};
    figures.devices = devices_of(readings);
    for (const PowerReading& reading : readings) figures.readings += reading.merged;
    figures.energy_j = energy_over(readings, window);
    if (has_watts(readings)) figures.counter_j = counted_energy_over(readings, window);
    figures.mean_w = figures.energy_j
                         ? std::optional(*figures.energy_j / seconds(window.length()))
                         : mean_in(readings, window, [](const auto& of) { return of.sample.watts; });
    figures.utilization = mean_in(readings, window, [](const auto& of) { return of.sample.utilization; });
    figures.throttled_share = mean_in(readings, window, throttled_share_of);
    if (!figures.energy_j)
        figures.note = fmt::format("readings are more than {} s apart, or do not enclose the window",
                                   seconds(kLongestGap));
    add_per_token(figures, window, totals);
    return figures;
}

std::optional<Series> power_series(const PowerReadings& power, TimePoint zero) {
    Series series{.name = "power_w", .unit = "W", .source = power.source};
    const std::span<const PowerReading> readings = power.readings;
    for (std::size_t begin = 0; begin < readings.size();) {
        std::size_t end = begin + 1;
        while (end < readings.size() && readings[end].at < readings[begin].at + std::chrono::seconds(1))
            ++end;
        if (end == readings.size()) break;
        const TimeSpan second{readings[begin].at, readings[end].at};
        if (const auto joules = energy_over(readings.subspan(begin, end - begin + 1), second)) {
            series.times_s.push_back(seconds(second.begin - zero) + seconds(second.length()) / 2);
            series.values.push_back(*joules / seconds(second.length()));
        }
        begin = end;
    }
    if (series.values.empty()) return std::nullopt;
    return series;
}

}  // namespace paretoken
