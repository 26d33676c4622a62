#include "reports/analysis/model/front.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/error.h"
#include "core/result/metrics.h"
#include "reports/analysis/model/choice.h"
#include "reports/analysis/model/pareto.h"
#include "reports/analysis/model/quality.h"

namespace paretoken::reports {
namespace {

constexpr std::array kXs{
    FrontX{"interactivity_p90", "interactivity", 0.9, true, 1,
           "Output tokens/s per user (p90, waiting included): faster →", "tok/s per user"},
    FrontX{"decode_interactivity_p50", "decode_interactivity", 0.5, true, 1,
           "Output tokens/s per user (p50, once it streams): faster →", "while decoding"},
    FrontX{"ttft_p95", "ttft", 0.95, false, 1e3, "← sooner: time to first token, p95, ms", "TTFT"},
    FrontX{"e2e_p95", "e2e", 0.95, false, 1, "← sooner: whole answer, p95, s", "whole answer"},
};

constexpr std::array kYs{
    FrontY{"usd_per_m", false, "$ per million output tokens", "$ per M output"},
    FrontY{"tokens_per_s_per_gpu", true, "Output tokens/s per GPU", "tokens/s"},
};

template <class Axes>
std::size_t axis_named(const Axes& axes, std::string_view name, std::string_view option) {
    std::vector<std::string_view> names;
    for (std::size_t i = 0; i < axes.size(); ++i) {
        if (axes[i].name == name) return i;
        names.push_back(axes[i].name);
    }
    if (option == "--x") names.push_back(kDateAxis);
    throw UsageError(fmt::format("{} {}: no such axis; known are {}", option, name, fmt::join(names, ", ")));
}

const PercentileValue* percentile_on(const ReportPoint& point, const FrontX& x) {
    const MetricSummary* metric = point.result.metric(headline_key(x.tag, point.open_loop));
    return metric == nullptr ? nullptr : metric->at(x.p);
}

/// A point with its measured coordinates and the best coordinates that its intervals allow; a larger x and a
/// smaller y are better.
struct Contender {
    PointAt at;
    ParetoPoint measured = {};
    ParetoPoint best = {};
    bool certified = false;
};

std::optional<Interval> ci_of_y(const ReportPoint& point, bool in_dollars) {
    if (in_dollars && point.cost) return point.cost->usd_per_m_output_ci95;
    return point.result.throughput.interval(figure::kOutputTokens);
}

/// The point as a contender; nothing without the figures for both axes. y is dollars if the axis shows
/// dollars and there is a price; otherwise it is the negative output rate per GPU, which gives the same order
/// within one deployment.
std::optional<Contender> contender(const ReportPoint& point, PointAt at, const FrontX& x, const FrontY& y) {
    const PercentileValue* const held = percentile_on(point, x);
    if (held == nullptr || !held->value || !std::isfinite(*held->value) || !point.output_tokens_per_s)
        return {};
    Contender out{.at = at, .certified = held->certified};
    const double sign = x.higher_is_better ? 1 : -1;
    out.measured.x = out.best.x = sign * *held->value;
    if (held->ci95) {
        const double end = x.higher_is_better ? held->ci95->high : held->ci95->low;
        if (std::isfinite(end)) out.best.x = std::max(out.best.x, sign * end);
    }
    const double gpus = std::max<std::uint32_t>(1, point.result.provenance.hardware_count);
    const bool in_dollars = !y.higher_is_better && point.cost.has_value();
    const auto interval = ci_of_y(point, in_dollars);
    if (in_dollars) {
        out.measured.y = point.cost->usd_per_m_output;
        out.best.y = interval ? std::min(out.measured.y, interval->low) : out.measured.y;
    } else {
        out.measured.y = -*point.output_tokens_per_s / gpus;
        out.best.y = interval ? std::min(out.measured.y, -interval->high / gpus) : out.measured.y;
    }
    return out;
}

/// Whether quality allows points of `a` to dominate points of `b`.
bool quality_allows(const Configuration& a, const Configuration& b, const FrontOptions& options) {
    if (options.quality_equal || options.anyway) return true;
    if (are_comparable(a.quality, b.quality)) return !is_certainly_worse(a.quality, b.quality);
    return a.precision == b.precision;
}

constexpr std::string_view kNoPrice = "no price";

/// The difference that keeps two configurations off a common front, in words; empty when there is none.
std::string differing_part(const Configuration& a, const Configuration& b, bool in_dollars) {
    if (a.served != b.served) {
        if (b.served.empty()) return "perhaps another model (its result names none)";
        if (a.served.empty())
            return fmt::format("perhaps another model ({}; the other result names none)", b.served);
        return fmt::format("another model ({})", b.served);
    }
    const auto fingerprint = [](const Configuration& c) {
        return c.points.empty() ? std::string() : c.points.front().result.workload.fingerprint;
    };
    if (fingerprint(a) != fingerprint(b))
        return a.workload == b.workload ? std::string("other options of the workload")
                                        : fmt::format("another workload ({})", b.workload);
    if (!in_dollars) return "";
    const bool lack_prices = a.price_basis.empty() && b.price_basis.empty();
    if (lack_prices) return a.title == b.title ? "" : std::string(kNoPrice);
    if (a.price_basis.empty() || b.price_basis.empty()) return std::string(kNoPrice);
    if (a.price_basis != b.price_basis) return fmt::format("another price basis ({})", b.price_basis);
    return "";
}

class Fronts {
  public:
    Fronts(const std::vector<Configuration>& configurations, const FrontOptions& options, bool in_dollars)
        : anyway_(options.anyway), size_(configurations.size()), allowed_(size_ * size_) {
        for (std::size_t a = 0; a < size_; ++a)
            for (std::size_t b = 0; b < size_; ++b) {
                const Configuration& one = configurations[a];
                const Configuration& other = configurations[b];
                // Dollars cannot be compared without prices, even with --anyway.
                const bool comparable =
                    !in_dollars ||
                    (one.price_basis.empty() == other.price_basis.empty() && !one.price_basis.empty());
                const bool same = differing_part(one, other, in_dollars).empty();
                allowed_[a * size_ + b] = a == b || ((same || (options.anyway && comparable)) &&
                                                     quality_allows(one, other, options));
            }
    }

    bool may_dominate(const Contender& a, const Contender& b) const {
        if (a.at.configuration == b.at.configuration) return true;
        if (!a.certified && !anyway_) return false;
        return allowed_[a.at.configuration * size_ + b.at.configuration];
    }

  private:
    bool anyway_;
    std::size_t size_;
    std::vector<bool> allowed_;
};

/// Finds for every contender whether it is dominated and by which point. If several points dominate it,
/// points on the front go before others, and the one with the smallest y goes first.
std::vector<FrontPlace> places_of(const std::vector<Contender>& contenders, const Fronts& fronts) {
    const auto beaten_by = [&](const Contender& worse, const ParetoPoint& as) {
        std::vector<const Contender*> better;
        for (const Contender& other : contenders)
            if (&other != &worse && dominates(other.measured, as) && fronts.may_dominate(other, worse))
                better.push_back(&other);
        return better;
    };
    std::vector<FrontPlace> places(contenders.size());
    std::vector<std::vector<const Contender*>> better(contenders.size());
    for (std::size_t i = 0; i < contenders.size(); ++i) {
        better[i] = beaten_by(contenders[i], contenders[i].measured);
        places[i].on_front = better[i].empty();
    }
    for (std::size_t i = 0; i < contenders.size(); ++i) {
        if (better[i].empty()) continue;
        const auto place = [&](const Contender* one) {
            return std::pair(!places[static_cast<std::size_t>(one - contenders.data())].on_front,
                             one->measured.y);
        };
        const Contender* by = *std::ranges::min_element(
            better[i], [&](const auto* a, const auto* b) { return place(a) < place(b); });
        places[i].dominated_by = by->at;
        places[i].within_noise = beaten_by(contenders[i], contenders[i].best).empty();
    }
    return places;
}

std::vector<Contender> contenders_in(const std::vector<Configuration>& configurations, const FrontX& x,
                                     const FrontY& y, const std::vector<Slo>& slos) {
    std::vector<Contender> contenders;
    for (std::size_t c = 0; c < configurations.size(); ++c)
        for (std::size_t p = 0; p < configurations[c].points.size(); ++p) {
            const ReportPoint& point = configurations[c].points[p];
            if (!unfit_because(point, slos).empty()) continue;
            if (const auto found = contender(point, {c, p}, x, y)) contenders.push_back(*found);
        }
    return contenders;
}

/// The reason why a point is not on the front: "dominated by c=8 on NVIDIA L40S, within noise"
std::string why_dominated(const FrontPlace& place, const std::vector<Configuration>& configurations,
                          std::size_t own) {
    const Configuration& by = configurations[place.dominated_by->configuration];
    std::string text = "dominated by " + by.points[place.dominated_by->point].load_label;
    if (place.dominated_by->configuration != own)
        text += fmt::format(" on {}", by.name.empty() ? by.title : by.name);
    return place.within_noise ? text + ", within noise" : text;
}

void place_within_each(std::vector<Configuration>& configurations, const FrontOptions& options) {
    for (Configuration& configuration : configurations) {
        std::vector<ParetoPoint> coordinates;
        std::vector<ReportPoint*> fit;
        for (ReportPoint& point : configuration.points) {
            const auto found = unfit_because(point, options.slos).empty()
                                   ? contender(point, {}, kXs[options.x], kYs[options.y])
                                   : std::nullopt;
            if (!found) continue;
            coordinates.push_back(found->measured);
            fit.push_back(&point);
        }
        const auto places = pareto_front(coordinates);
        for (std::size_t i = 0; i < fit.size(); ++i) fit[i]->on_own_front = places[i].on_front;
    }
}

std::vector<AxisLimit> limits_on_axes(const std::vector<Slo>& slos) {
    std::vector<AxisLimit> limits;
    for (const FrontX& x : kXs)
        for (const Slo& slo : slos)
            if (slo.tag == x.tag && slo.p == x.p)
                limits.push_back({std::string(x.name), slo.limit * x.scale,
                                  fmt::format("{} {}", name_of(slo), significant(slo.limit * x.scale))});
    return limits;
}

std::string title_of(const Configuration& configuration) {
    return configuration.name.empty() ? configuration.title : configuration.name;
}

/// A sentence about two configurations that cannot be compared in dollars, not even with --anyway.
std::string without_price(const Configuration& first, const Configuration& other) {
    const bool lack_both = first.price_basis.empty() && other.price_basis.empty();
    const Configuration& priceless = first.price_basis.empty() ? first : other;
    return fmt::format("{}, so they do not share a front in dollars.",
                       lack_both
                           ? fmt::format("Neither {} nor {} has a price", title_of(first), title_of(other))
                           : fmt::format("{} has no price, and {} has one", title_of(priceless),
                                         title_of(&priceless == &first ? other : first)));
}

/// Sentences about the configurations that cannot be compared with the first one, each with the part that
/// differs, and one sentence if the quality of number formats is not known.
std::vector<std::string> separations(const std::vector<Configuration>& configurations,
                                     const FrontOptions& options, bool in_dollars) {
    std::vector<std::string> texts;
    std::vector<std::string> of_workloads;
    bool quality_unknown = false;
    for (std::size_t b = 1; b < configurations.size(); ++b) {
        const std::string part = differing_part(configurations[0], configurations[b], in_dollars);
        const std::string what = options.anyway ? "; they share a front nevertheless (--anyway)"
                                                : ", so they do not share a front; --anyway joins them";
        const std::string first = title_of(configurations[0]);
        if (part == kNoPrice)
            texts.push_back(without_price(configurations[0], configurations[b]));
        else if (part.starts_with("another workload"))
            of_workloads.push_back(fmt::format("{} and {} have different workloads{}.", first,
                                               title_of(configurations[b]), what));
        else if (!part.empty())
            texts.push_back(
                fmt::format("{} has {} than {}{}.", title_of(configurations[b]), part, first, what));
        for (std::size_t a = 0; a < b; ++a)
            quality_unknown = quality_unknown ||
                              (differing_part(configurations[a], configurations[b], in_dollars).empty() &&
                               configurations[a].precision != configurations[b].precision &&
                               !are_comparable(configurations[a].quality, configurations[b].quality));
    }
    if (of_workloads.size() > 1)
        of_workloads = {fmt::format("{} configurations have other workloads than {}{}.", of_workloads.size(),
                                    title_of(configurations[0]),
                                    options.anyway
                                        ? "; they share a front nevertheless (--anyway)"
                                        : ", so they do not share a front with it; --anyway joins them")};
    texts.insert(texts.end(), of_workloads.begin(), of_workloads.end());
    if (options.anyway && configurations.size() > 1 &&
        std::ranges::any_of(configurations, [&](const Configuration& one) {
            return std::ranges::any_of(one.points, [&](const ReportPoint& point) {
                const PercentileValue* const held = percentile_on(point, kXs[options.x]);
                return held != nullptr && held->value && !held->certified;
            });
        }))
        texts.emplace_back(
            "A run whose percentile is not certified dominates runs of other configurations too (--anyway).");
    if (!quality_unknown || options.quality_equal) return texts;
    texts.emplace_back(
        options.anyway
            ? "Quality of number formats is unknown, and taken to be equal (--anyway)."
            : "Quality of number formats is unknown: a run does not dominate runs of another format. "
              "--quality FILE adds measured quality, and so does --probe of a run.");
    return texts;
}

}  // namespace

std::span<const FrontX> front_xs() {
    return kXs;
}

std::span<const FrontY> front_ys() {
    return kYs;
}

std::size_t place_of_axes(std::size_t x, std::size_t y) {
    return x * kYs.size() + y;
}

std::size_t front_x_named(std::string_view name) {
    return axis_named(kXs, name, "--x");
}

std::size_t front_y_named(std::string_view name) {
    return axis_named(kYs, name, "--y");
}

std::optional<double> front_value(const ReportPoint& point, const FrontX& x) {
    const PercentileValue* const held = percentile_on(point, x);
    if (held == nullptr || !held->value || !std::isfinite(*held->value)) return {};
    return *held->value * x.scale;
}

std::optional<double> tokens_per_s_per_gpu(const ReportPoint& point) {
    if (!point.output_tokens_per_s) return {};
    return *point.output_tokens_per_s / std::max<std::uint32_t>(1, point.result.provenance.hardware_count);
}

FrontNote place_on_fronts(std::vector<Configuration>& configurations, const FrontOptions& options) {
    for (Configuration& configuration : configurations)
        for (ReportPoint& point : configuration.points) {
            point.places.assign(kXs.size() * kYs.size(), {});
            point.why_not = unfit_because(point, options.slos);
            point.fits = point.why_not.empty();
            if (!options.slos.empty()) point.limits = verdict_on_all(point, options.slos);
            point.missed_own_slo = missed_own_slo(point.result, options.slos);
        }
    place_within_each(configurations, options);
    for (std::size_t x = 0; x < kXs.size(); ++x)
        for (std::size_t y = 0; y < kYs.size(); ++y) {
            const bool in_dollars = !kYs[y].higher_is_better;
            const std::vector<Contender> contenders =
                contenders_in(configurations, kXs[x], kYs[y], options.slos);
            const Fronts fronts(configurations, options, in_dollars);
            const std::vector<FrontPlace> places = places_of(contenders, fronts);
            for (std::size_t i = 0; i < contenders.size(); ++i) {
                const PointAt at = contenders[i].at;
                configurations[at.configuration].points[at.point].places[place_of_axes(x, y)] = places[i];
            }
        }
    for (std::size_t c = 0; c < configurations.size(); ++c)
        for (ReportPoint& point : configurations[c].points) {
            const FrontPlace& place = point.places[place_of_axes(options.x, options.y)];
            point.on_front = place.on_front;
            point.within_noise = place.within_noise;
            if (place.dominated_by)
                point.why_not = why_dominated(place, configurations, c);
            else if (!place.on_front && point.why_not.empty())
                point.why_not =
                    fmt::format("no {}: it falls among failures or was not measured", kXs[options.x].name);
        }
    return {.x = std::string(kXs[options.x].name),
            .y = std::string(kYs[options.y].name),
            .separate = separations(configurations, options, !kYs[options.y].higher_is_better),
            .anyway = options.anyway,
            .limits = limits_on_axes(options.slos),
            .over_time = options.over_time};
}

}  // namespace paretoken::reports
