#include "reports/analysis/cost/cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "cards/gpu.h"
#include "core/error.h"
#include "reports/document/table.h"

namespace paretoken::reports {
namespace {

constexpr double kMillion = 1e6;
constexpr double kSecondsPerMonth = cards::kHoursPerMonth * 3600;

std::optional<double> per_million(double usd_per_s, double tokens_per_s) {
    if (!(tokens_per_s > 0) || !std::isfinite(tokens_per_s)) return {};
    return usd_per_s * kMillion / tokens_per_s;
}

using Vector3 = std::array<double, 3>;
using Matrix3 = std::array<Vector3, 3>;

/// Solves the unknowns named in `free` (others stay 0) of a symmetric system; nothing when it is singular.
std::optional<Vector3> solved(Matrix3 a, Vector3 b, const std::array<bool, 3>& free) {
    const double scale = std::max({a[0][0], a[1][1], a[2][2]});
    for (int i = 0; i < 3; ++i) {
        if (free[i]) continue;
        for (int j = 0; j < 3; ++j) a[i][j] = a[j][i] = 0;
        a[i][i] = scale;
        b[i] = 0;
    }
    for (int column = 0; column < 3; ++column) {
        int pivot = column;
        for (int row = column + 1; row < 3; ++row)
            if (std::abs(a[row][column]) > std::abs(a[pivot][column])) pivot = row;
        if (!(std::abs(a[pivot][column]) > 1e-12 * scale)) return {};
        std::swap(a[pivot], a[column]);
        std::swap(b[pivot], b[column]);
        for (int row = column + 1; row < 3; ++row) {
            const double factor = a[row][column] / a[column][column];
            for (int j = column; j < 3; ++j) a[row][j] -= factor * a[column][j];
            b[row] -= factor * b[column];
        }
    }
    Vector3 x{};
    for (int row = 2; row >= 0; --row) {
        x[row] = b[row];
        for (int j = row + 1; j < 3; ++j) x[row] -= a[row][j] * x[j];
        x[row] /= a[row][row];
    }
    return x;
}

Vector3 row_of(const PricedMix& mix) {
    return {mix.rates.fresh_input, mix.rates.cached_input, mix.rates.output};
}

double squared_error(std::span<const PricedMix> mixes, const Vector3& prices) {
    double sum = 0;
    for (const PricedMix& mix : mixes) {
        const Vector3 rates = row_of(mix);
        const double miss =
            rates[0] * prices[0] + rates[1] * prices[1] + rates[2] * prices[2] - mix.usd_per_s;
        sum += miss * miss;
    }
    return sum;
}

}  // namespace

std::optional<std::uint32_t> cores_that_serve(const Provenance& from, std::string_view hardware) {
    const bool is_the_clients = !from.host_cpu.empty() && cards::normalised_hardware(hardware) ==
                                                              cards::normalised_hardware(from.host_cpu);
    if (!is_the_clients || from.host_cores == 0) return std::nullopt;
    return from.host_cores;
}

cards::PricedHardware priced_hardware(const Provenance& from) {
    return {
        .name = from.hardware, .count = from.hardware_count, .cores = cores_that_serve(from, from.hardware)};
}

std::string earning_text(double share) {
    return share < 1 ? fmt::format("; {} % of the time earns", significant(share * 100)) : "";
}

std::optional<double> usd_per_m_output(double usd_per_s, double output_per_s) {
    return per_million(usd_per_s, output_per_s);
}

std::optional<double> usd_per_m_total(double usd_per_s, const TokenRates& rates) {
    return per_million(usd_per_s, rates.fresh_input + rates.cached_input + rates.output);
}

std::optional<Interval> usd_per_m_interval(double usd_per_s, const Interval& output_per_s) {
    const auto low = per_million(usd_per_s, output_per_s.high);
    const auto high = per_million(usd_per_s, output_per_s.low);
    if (!low || !high) return {};
    return Interval{*low, *high};
}

std::optional<SplitPrices> split_by_ratio(double usd_per_s, const TokenRates& rates, double output_ratio,
                                          double cached_ratio) {
    const auto fresh = per_million(
        usd_per_s, rates.fresh_input + cached_ratio * rates.cached_input + output_ratio * rates.output);
    if (!fresh) return {};
    return SplitPrices{*fresh, cached_ratio * *fresh, output_ratio * *fresh};
}

std::optional<SplitPrices> split_by_prefill_share(double usd_per_s, const TokenRates& rates,
                                                  double prefill_share, double cached_ratio) {
    const auto fresh =
        per_million(prefill_share * usd_per_s, rates.fresh_input + cached_ratio * rates.cached_input);
    const auto output = per_million((1 - prefill_share) * usd_per_s, rates.output);
    if (!fresh || !output) return {};
    return SplitPrices{*fresh, cached_ratio * *fresh, *output};
}

std::optional<SplitPrices> split_by_mixes(std::span<const PricedMix> mixes) {
    if (mixes.size() < 3) return {};
    Matrix3 normal{};
    Vector3 right{};
    for (const PricedMix& mix : mixes) {
        const Vector3 rates = row_of(mix);
        for (int i = 0; i < 3; ++i) {
            right[i] += rates[i] * mix.usd_per_s;
            for (int j = 0; j < 3; ++j) normal[i][j] += rates[i] * rates[j];
        }
    }
    // With three unknowns every set of non-zero prices can be tried; the best non-negative one is the answer.
    std::optional<Vector3> best;
    double least = std::numeric_limits<double>::infinity();
    for (int set = 7; set >= 1; --set) {
        std::array<bool, 3> free{};
        for (int i = 0; i < 3; ++i) free[i] = ((set >> i) & 1) != 0 && normal[i][i] > 0;
        const auto prices = solved(normal, right, free);
        if (!prices || (*prices)[0] < 0 || (*prices)[1] < 0 || (*prices)[2] < 0) continue;
        if (const double error = squared_error(mixes, *prices); error < least) {
            least = error;
            best = prices;
        }
    }
    if (!best) return {};
    return SplitPrices{(*best)[0] * kMillion, (*best)[1] * kMillion, (*best)[2] * kMillion};
}

SplitRule parse_split(const std::string& text, const std::vector<cards::PriceCard>& cards) {
    const auto number_in = [&](const std::string& digits) {
        char* end = nullptr;
        const double value = std::strtod(digits.c_str(), &end);
        const bool whole = !digits.empty() && *end == '\0';
        return whole && std::isfinite(value) && value > 0 ? std::optional(value) : std::nullopt;
    };
    constexpr std::string_view kApi = "api:";
    constexpr std::string_view kShare = "prefill-share";
    SplitRule rule;
    if (text.starts_with(kApi)) {
        const std::string name = text.substr(kApi.size());
        const cards::ApiPrice api = cards::api_price_named(name, cards);
        rule.output_ratio = api.output / api.input;
        rule.cached_ratio = api.cache_read.value_or(api.input) / api.input;
        rule.source = fmt::format(
            "the ratios of {}: an output token costs {:.3g} fresh input tokens and a cached one {:.3g}", name,
            rule.output_ratio, rule.cached_ratio);
        return rule;
    }
    if (text == "mixes") {
        rule.kind = SplitRule::Kind::mixes;
        rule.source = "non-negative least squares over the mixes of this report";
        return rule;
    }
    if (text == kShare) {
        rule.kind = SplitRule::Kind::prefill_share;
        rule.source = "the share of the step that the waterfall attributes to prefill";
        return rule;
    }
    if (text.starts_with(std::string(kShare) + ":")) {
        rule.kind = SplitRule::Kind::prefill_share;
        rule.prefill_share = number_in(text.substr(kShare.size() + 1));
        rule.source = "the share of prefill as stated: " + text.substr(kShare.size() + 1);
        if (rule.prefill_share && *rule.prefill_share < 1) return rule;
        throw UsageError(fmt::format("--split {}: expected a share above 0 and below 1", text));
    }
    if (const auto ratio = number_in(text)) {
        rule.output_ratio = *ratio;
        rule.source = fmt::format("an output token costs {:g} fresh input tokens and a cached one {:g}",
                                  *ratio, rule.cached_ratio);
        return rule;
    }
    throw UsageError(
        fmt::format("--split {}: expected a ratio above 0, api:NAME, prefill-share or mixes", text));
}

double break_even_output_per_s(double usd_per_s, double usd_per_m) {
    return usd_per_s * kMillion / usd_per_m;
}

bool is_simulated(const Provenance& provenance) {
    return !provenance.simulator.empty() || provenance.hardware.starts_with("sim:");
}

std::optional<cards::MeasuredPower> measured_power_of(const RunResult& result) {
    const auto& power = result.power;
    if (!power || !power->energy_j || !power->mean_w || is_simulated(result.provenance)) return {};
    return cards::MeasuredPower{.watts = *power->mean_w, .source = power->source, .devices = power->devices};
}

std::optional<double> self_host_break_even_tokens(double usd_per_month, double api_usd_per_m,
                                                  double capacity_tokens_per_s) {
    const double tokens = usd_per_month / api_usd_per_m * kMillion;
    if (tokens > capacity_tokens_per_s * kSecondsPerMonth) return {};
    return tokens;
}

}  // namespace paretoken::reports
