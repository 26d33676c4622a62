#include "loadgen/power/energy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text/number_text.h"

namespace paretoken::power {
namespace {

using Member = std::optional<double> cards::PowerSample::*;

/// The readings that have a quantity.
struct Curve {
    std::vector<TimePoint> at;
    std::vector<double> values;

    Curve(std::span<const PowerReading> readings, Member member) {
        for (const PowerReading& reading : readings) {
            const auto value = reading.sample.*member;
            if (!value || !std::isfinite(*value)) continue;
            at.push_back(reading.at);
            values.push_back(*value);
        }
    }

    /// Whether the span lies between readings of which no two neighbours are further apart than the longest
    /// gap.
    bool encloses(TimeSpan span) const {
        if (at.size() < 2 || at.front() > span.begin || at.back() < span.end) return false;
        for (std::size_t i = 1; i < at.size(); ++i) {
            const bool touches = at[i] > span.begin && at[i - 1] < span.end;
            if (touches && at[i] - at[i - 1] > kLongestGap) return false;
        }
        return true;
    }
    double value_at(TimePoint time) const {
        const auto after = std::upper_bound(at.begin(), at.end(), time);
        if (after == at.begin()) return values.front();
        if (after == at.end()) return values.back();
        const auto i = static_cast<std::size_t>(after - at.begin());
        const double share = seconds(time - at[i - 1]) / seconds(at[i] - at[i - 1]);
        return values[i - 1] + share * (values[i] - values[i - 1]);
    }
    double integral(TimeSpan span) const {
        double sum = 0;
        TimePoint before = span.begin;
        double value = value_at(before);
        const auto step = [&](TimePoint to, double next) {
            sum += seconds(to - before) * (value + next) / 2;
            before = to;
            value = next;
        };
        for (std::size_t i = 0; i < at.size(); ++i)
            if (at[i] > span.begin && at[i] < span.end) step(at[i], values[i]);
        step(span.end, value_at(span.end));
        return sum;
    }
};

bool has_watts(std::span<const PowerReading> readings) {
    return std::any_of(readings.begin(), readings.end(),
                       [](const PowerReading& reading) { return reading.sample.watts.has_value(); });
}

/// Mean over the readings in the span that `value` is known of.
template <class Value>
std::optional<double> mean_in(std::span<const PowerReading> readings, TimeSpan span, Value value) {
    double sum = 0;
    double n = 0;
    for (const PowerReading& reading : readings) {
        const std::optional<double> own = value(reading.sample);
        if (!own || !span.contains(reading.at)) continue;
        sum += *own;
        ++n;
    }
    if (n == 0) return std::nullopt;
    return sum / n;
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

std::optional<double> energy_over(std::span<const PowerReading> readings, TimeSpan span) {
    if (!has_watts(readings)) return counted_energy_over(readings, span);
    const Curve watts(readings, &cards::PowerSample::watts);
    if (!watts.encloses(span)) return std::nullopt;
    return watts.integral(span);
}

std::optional<double> counted_energy_over(std::span<const PowerReading> readings, TimeSpan span) {
    const Curve counter(readings, &cards::PowerSample::counter_j);
    if (!counter.encloses(span)) return std::nullopt;
    return counter.value_at(span.end) - counter.value_at(span.begin);
}

std::optional<PowerFigures> power_figures(const PowerReadings& power, TimeSpan window, const Totals& totals) {
    const std::span<const PowerReading> readings = power.readings;
    if (readings.empty() || window.length() <= Duration{}) return std::nullopt;
    PowerFigures figures{.source = power.source};
    figures.readings = readings.size();
    figures.energy_j = energy_over(readings, window);
    if (has_watts(readings)) figures.counter_j = counted_energy_over(readings, window);
    figures.mean_w = figures.energy_j
                         ? std::optional(*figures.energy_j / seconds(window.length()))
                         : mean_in(readings, window, [](const auto& sample) { return sample.watts; });
    figures.utilization = mean_in(readings, window, [](const auto& sample) { return sample.utilization; });
    figures.throttled_share = mean_in(readings, window, [](const auto& sample) {
        return sample.throttled ? std::optional<double>(*sample.throttled ? 1 : 0) : std::nullopt;
    });
    if (!figures.energy_j)
        figures.note = fmt::format("readings are more than {} s apart, or do not enclose the window",
                                   seconds(kLongestGap));
    add_per_token(figures, window, totals);
    return figures;
}

std::optional<Series> power_series(const PowerReadings& power, TimePoint zero) {
    Series series{.name = "power_w", .unit = "W", .source = power.source, .times_s = {}, .values = {}};
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

}  // namespace paretoken::power
