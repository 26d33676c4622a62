#include "loadgen/load/arrival.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/error.h"
#include "core/random.h"

namespace paretoken::loadgen {
namespace {

Random stream(std::uint64_t seed, std::uint64_t index) {
    return Random(derived_seed(seed, "arrivals", index));
}

// ---- fields

[[noreturn]] void refuse(const Spec& spec, std::string_view why) {
    throw UsageError(fmt::format("--arrivals '{}': {}", text_of(spec), why));
}

double positive(const Spec& spec, const std::string& key) {
    const double value = spec.number(key);
    if (!(value > 0) || value > 1e9) refuse(spec, fmt::format("{} must be above 0, not {}", key, value));
    return value;
}

std::string_view text_in(const Spec& spec, const std::string& key) {
    const auto field = spec.fields.find(key);
    if (field == spec.fields.end()) refuse(spec, fmt::format("{}= is missing", key));
    return field->second;
}

double positive_seconds(const Spec& spec, const std::string& key) {
    const Duration duration = parse_duration(text_in(spec, key));
    if (duration <= Duration{}) refuse(spec, fmt::format("{} must be above 0", key));
    return seconds(duration);
}

std::uint64_t positive_count(const Spec& spec, const std::string& key) {
    constexpr std::uint64_t kMost = 1'000'000;
    const std::uint64_t count = parse_count(text_in(spec, key));
    if (count == 0 || count > kMost) refuse(spec, fmt::format("{} must lie between 1 and {}", key, kMost));
    return count;
}

// ---- processes whose gaps are independent

template <class Gap>  // Duration(seed, index)
Arrivals renewal(double rate, Gap gap) {
    Arrivals arrivals;
    arrivals.at_once = false;
    arrivals.rate = rate;
    arrivals.stationary = true;
    arrivals.times = [gap](std::uint64_t seed) -> ArrivalTimes {
        return [gap, seed, index = std::uint64_t{0}, at = Duration{}]() mutable -> std::optional<Duration> {
            at += gap(seed, index++);
            return at;
        };
    };
    return arrivals;
}

Arrivals at_once(const Spec& spec) {
    spec.expect_only({});
    return {};
}

Arrivals constant(const Spec& spec) {
    spec.expect_only({"rate"});
    const double rate = positive(spec, "rate");
    return renewal(rate, [rate](std::uint64_t, std::uint64_t index) {
        return index == 0 ? Duration{} : from_seconds(1 / rate);
    });
}

auto poisson_gap(double rate) {
    return [rate](std::uint64_t seed, std::uint64_t index) {
        return from_seconds(stream(seed, index).exponential() / rate);
    };
}

Arrivals poisson(const Spec& spec) {
    spec.expect_only({"rate"});
    const double rate = positive(spec, "rate");
    return renewal(rate, poisson_gap(rate));
}

Arrivals gamma(const Spec& spec) {
    spec.expect_only({"rate", "burstiness"});
    const double rate = positive(spec, "rate");
    const double burstiness = positive(spec, "burstiness");
    return renewal(rate, [rate, burstiness](std::uint64_t seed, std::uint64_t index) {
        return from_seconds(stream(seed, index).gamma(burstiness) / (burstiness * rate));
    });
}

// ---- Poisson processes whose rate changes

/// Makes arrivals by rescaling a Poisson process of rate 1. `time_of(n)`: the seconds within which n requests
/// are expected.
template <class TimeOf>
Arrivals rescaled(double mean_rate, std::vector<LoadPart> constant_rate, TimeOf time_of) {
    Arrivals arrivals;
    arrivals.at_once = false;
    arrivals.constant_rate = std::move(constant_rate);
    arrivals.rate = mean_rate;
    arrivals.time_of = time_of;
    arrivals.times = [time_of](std::uint64_t seed) -> ArrivalTimes {
        return
            [time_of, seed, index = std::uint64_t{0}, expected = 0.0]() mutable -> std::optional<Duration> {
                expected += stream(seed, index++).exponential();
                return from_seconds(time_of(expected));
            };
    };
    return arrivals;
}

/// The rate is from + (to − from)·t/over until `over`, and `to` afterwards.
Arrivals linear_ramp(double from, double to, double over) {
    const double slope = (to - from) / over;
    const double mean = (from + to) / 2;
    return rescaled(mean, {{.begin = from == to ? Duration{} : from_seconds(over)}}, [=](double expected) {
        const double within = mean * over;
        if (expected > within) return over + (expected - within) / to;
        // The root of from·t + slope·t²/2 = expected, in the form that is exact for small slopes.
        return 2 * expected / (from + std::sqrt(std::max(0.0, from * from + 2 * slope * expected)));
    });
}

/// The rate is from·(to/from)^(t/over) until `over`, and `to` afterwards.
Arrivals exponential_ramp(double from, double to, double over) {
    if (from == to) return linear_ramp(from, to, over);
    const double growth = std::log(to / from) / over;
    const double within = (to - from) / growth;
    return rescaled(within / over, {{.begin = from_seconds(over)}}, [=](double expected) {
        if (expected > within) return over + (expected - within) / to;
        return std::log1p(growth * expected / from) / growth;
    });
}

Arrivals ramp(const Spec& spec) {
    spec.expect_only({"from", "to", "over", "shape"});
    const double from = positive(spec, "from");
    const double to = positive(spec, "to");
    const double over = positive_seconds(spec, "over");
    const std::string shape = spec.text_or("shape", "linear");
    if (shape == "linear") return linear_ramp(from, to, over);
    if (shape == "exponential") return exponential_ramp(from, to, over);
    refuse(spec, fmt::format("shape is linear or exponential, not '{}'", shape));
}

Arrivals steps(const Spec& spec) {
    spec.expect_only({"rates", "each"});
    std::vector<double> rates;
    std::string_view rest = text_in(spec, "rates");
    while (true) {
        const auto end = rest.find(';');
        const double rate = parse_number(rest.substr(0, end));
        if (!(rate > 0) || rate > 1e9) refuse(spec, fmt::format("a rate must be above 0, not {}", rate));
        rates.push_back(rate);
        if (end == std::string_view::npos) break;
        rest.remove_prefix(end + 1);
    }
    const double each = positive_seconds(spec, "each");
    double sum = 0;
    std::vector<LoadPart> parts;
    for (std::size_t step = 0; step < rates.size(); ++step) {
        sum += rates[step];
        const Duration begin = from_seconds(static_cast<double>(step) * each);
        if (step > 0 && rates[step] == rates[step - 1]) continue;
        if (step > 0) parts.back().end = begin;
        parts.push_back({.begin = begin});
    }
    return rescaled(sum / static_cast<double>(rates.size()), std::move(parts),
                    [rates, each](double expected) {
                        std::size_t step = 0;
                        for (; step + 1 < rates.size() && expected > rates[step] * each; ++step)
                            expected -= rates[step] * each;
                        return static_cast<double>(step) * each + expected / rates[step];
                    });
}

// ---- mixed

/// Poisson arrivals, with several at once every `every`.
Arrivals bursts(const Spec& spec) {
    spec.expect_only({"rate", "size", "every"});
    const double rate = positive(spec, "rate");
    const std::uint64_t size = positive_count(spec, "size");
    const double every = positive_seconds(spec, "every");
    const auto between = renewal(rate, poisson_gap(rate)).times;
    Arrivals arrivals;
    arrivals.at_once = false;
    arrivals.rate = rate + static_cast<double>(size) / every;
    arrivals.times = [between, size, every](std::uint64_t seed) -> ArrivalTimes {
        ArrivalTimes others = between(seed);
        return [others, size, every, other = others(), burst = std::uint64_t{1},
                left = size]() mutable -> std::optional<Duration> {
            const Duration burst_at = from_seconds(every * static_cast<double>(burst));
            if (*other < burst_at) return std::exchange(other, others());
            if (--left == 0) {
                left = size;
                ++burst;
            }
            return burst_at;
        };
    };
    return arrivals;
}

/// Each of n users sends a request every n/rate seconds, beginning at a random time.
Arrivals users(const Spec& spec) {
    spec.expect_only({"n", "rate"});
    const std::uint64_t n = positive_count(spec, "n");
    const double rate = positive(spec, "rate");
    Arrivals arrivals;
    arrivals.at_once = false;
    arrivals.rate = rate;
    arrivals.stationary = true;
    arrivals.users = n;
    arrivals.times = [n, rate](std::uint64_t seed) -> ArrivalTimes {
        const double period = static_cast<double>(n) / rate;
        std::vector<double> phases;
        for (std::uint64_t user = 0; user < n; ++user)
            phases.push_back(stream(seed, user).uniform() * period);
        std::ranges::sort(phases);
        return [phases = std::move(phases), period,
                index = std::uint64_t{0}]() mutable -> std::optional<Duration> {
            const auto turn = static_cast<double>(index / phases.size());
            const double phase = phases[index++ % phases.size()];
            return from_seconds(turn * period + phase);
        };
    };
    return arrivals;
}

// ---- recorded

Arrivals trace(const Spec& spec) {
    spec.expect_only({"scale", "spread"});
    Arrivals arrivals;
    arrivals.at_once = false;
    arrivals.recorded = true;
    if (spec.fields.contains("scale")) arrivals.time_scale = positive(spec, "scale");
    if (spec.fields.contains("spread")) arrivals.spread = from_seconds(positive_seconds(spec, "spread"));
    return arrivals;
}

/// The rows of a dataset at their own times. If m rows have one time, the k-th comes k/m of `spread` later.
class RecordedArrivals {
  public:
    RecordedArrivals(const datasets::Dataset& dataset, double scale, Duration spread)
        : dataset_(&dataset), rows_(dataset.size().value_or(0)), scale_(scale), spread_(spread) {}

    std::optional<Duration> operator()() {
        if (row_ == rows_) return std::nullopt;
        if (row_ == group_begin_ + group_size_) find_group();
        const double share = static_cast<double>(row_++ - group_begin_) / static_cast<double>(group_size_);
        last_ = std::max(last_, from_seconds(scale_ * (group_s_ + share * seconds(spread_))));
        return last_;
    }

  private:
    void find_group() {
        group_begin_ = row_;
        const Duration at = *dataset_->recorded_time(row_);
        group_s_ = seconds(at);
        group_size_ = 1;
        while (row_ + group_size_ < rows_ && dataset_->recorded_time(row_ + group_size_) == at) ++group_size_;
    }

    const datasets::Dataset* dataset_;
    std::uint64_t rows_;
    double scale_;
    Duration spread_;
    std::uint64_t row_ = 0;
    std::uint64_t group_begin_ = 0;
    std::uint64_t group_size_ = 0;
    double group_s_ = 0;
    Duration last_{};
};

constexpr std::array kArrivals = {
    ArrivalRow{"at_once", "", "all at the start; the in-flight cap paces them (closed loop)", at_once},
    ArrivalRow{"constant", "rate=R", "one every 1/R seconds", constant},
    ArrivalRow{"poisson", "rate=R", "independent arrivals, exponential gaps", poisson},
    ArrivalRow{"gamma", "rate=R,burstiness=B", "gamma gaps; B = 1 is poisson, below 1 burstier", gamma},
    ArrivalRow{"ramp", "from=R,to=R,over=60s,shape=linear|exponential",
               "Poisson arrivals of a rate that rises or falls, then stays", ramp},
    ArrivalRow{"steps", "rates=R;R;R,each=60s", "Poisson arrivals, one rate after the other; the last stays",
               steps},
    ArrivalRow{"bursts", "rate=R,size=N,every=10s", "Poisson arrivals, and N at once every 10 s", bursts},
    ArrivalRow{"users", "n=N,rate=R",
               "N users, each of whom sends a request, or the next turn of a conversation, every N/R seconds",
               users},
    ArrivalRow{"trace", "scale=1,spread=0s",
               "the dataset's own times, multiplied by scale; rows of one time are spread over a duration",
               trace},
};

/// Makes arrivals. A UsageError begins with the option.
Arrivals made(const ArrivalRow& row, const Spec& spec) {
    try {
        return row.make(spec);
    } catch (const UsageError& error) {
        if (std::string_view(error.what()).starts_with("--arrivals")) throw;
        refuse(spec, error.what());
    }
}

}  // namespace

std::span<const ArrivalRow> arrival_table() {
    return kArrivals;
}

Arrivals arrivals_of(const Spec& spec) {
    std::string known;
    for (const ArrivalRow& row : kArrivals) {
        if (row.name == spec.name) {
            Arrivals arrivals = made(row, spec);
            arrivals.text = text_of(spec);
            return arrivals;
        }
        known += fmt::format("{}{}{}{}", known.empty() ? "" : ", ", row.name, row.fields.empty() ? "" : ":",
                             row.fields);
    }
    refuse(spec, fmt::format("there are no such arrivals; expected one of {}", known));
}

Arrivals with_recorded_times(Arrivals arrivals, const datasets::Dataset& dataset) {
    if (!arrivals.recorded) return arrivals;
    const std::uint64_t rows = dataset.size().value_or(0);
    if (rows == 0 || !dataset.recorded_time(0))
        throw UsageError(
            fmt::format("--arrivals '{}': these are the times of a dataset's rows, but {} has none",
                        arrivals.text, dataset.description()));
    const double span = seconds(*dataset.recorded_time(rows - 1)) * arrivals.time_scale;
    const auto intervals = static_cast<double>(std::max<std::uint64_t>(1, rows - 1));
    arrivals.rate = span > 0 ? intervals / span : static_cast<double>(rows);
    // The number of rows stands for times that are all the same, so that no other trace has this rate.
    if (span > 0 && arrivals.rate == static_cast<double>(rows))
        arrivals.rate = std::nextafter(arrivals.rate, kInfinity);
    arrivals.times = [&dataset, scale = arrivals.time_scale, spread = arrivals.spread](std::uint64_t) {
        return ArrivalTimes(RecordedArrivals(dataset, scale, spread));
    };
    return arrivals;
}

}  // namespace paretoken::loadgen
