#include "core/result/figures.h"

#include <algorithm>
#include <array>
#include <limits>

#include "core/statistics.h"

namespace paretoken {
namespace {

bool always(const Totals&) {
    return true;
}
bool knows_prompts(const Totals& t) {
    return t.prompts == 0 || t.known_prompts > 0;
}
bool knows_cached(const Totals& t) {
    return t.known_cached > 0;
}
bool was_judged(const Totals& t) {
    return t.judged > 0;
}

template <double Totals::*kAmount>
Ratio per_second(const Totals& t) {
    return {t.*kAmount, t.seconds};
}

double input_tokens(const Totals& t) {
    return t.fresh_input_tokens + t.cached_input_tokens;
}

constexpr std::array kFigures = {
    Figure{figure::kOutputTokens, "tok/s", "Output tokens", Better::higher,
           "Output tokens per second, each credited to the moment it arrived.", always,
           per_second<&Totals::output_tokens>},
    Figure{figure::kInputTokens, "tok/s", "Input tokens", Better::higher,
           "Prompt tokens per second, credited to the moment their answer began.", knows_prompts,
           [](const Totals& t) {
               return Ratio{input_tokens(t), t.seconds};
           }},
    Figure{figure::kFreshInputTokens, "tok/s", "Fresh input tokens", Better::higher,
           "Prompt tokens per second without those that came from a prefix cache.", knows_prompts,
           per_second<&Totals::fresh_input_tokens>},
    Figure{figure::kCachedInputTokens, "tok/s", "Cached input tokens", Better::higher,
           "Prompt tokens per second that came from a prefix cache, as the server's usage counts them.",
           knows_cached, per_second<&Totals::cached_input_tokens>},
    Figure{figure::kTotalTokens, "tok/s", "Input and output tokens", Better::higher,
           "Prompt and output tokens per second together.", knows_prompts,
           [](const Totals& t) {
               return Ratio{input_tokens(t) + t.output_tokens, t.seconds};
           }},
    Figure{figure::kRequests, "req/s", "Requests", Better::higher, "Completed requests per second.", always,
           per_second<&Totals::requests>},
    Figure{figure::kMeanInFlight, "requests", "Requests in flight", Better::neither,
           "Mean number of requests in the system: their time in it, over the length of the stretch.", always,
           per_second<&Totals::time_in_system_s>},
    Figure{figure::kGoodput, "req/s", "Good requests", Better::higher,
           "Requests per second that met every SLO; failures are not good.", was_judged,
           per_second<&Totals::good_requests>},
    Figure{figure::kGoodputRatio, "ratio", "Share of good requests", Better::higher,
           "Share of the requests due in the stretch that met every SLO; failures are not good.", was_judged,
           [](const Totals& t) {
               return Ratio{t.judged_good, t.judged};
           }},
    Figure{figure::kGoodOutputTokens, "tok/s", "Good output tokens", Better::higher,
           "Output tokens per second of requests that met every SLO.", was_judged,
           per_second<&Totals::good_output_tokens>},
    Figure{figure::kCachedPromptRatio, "ratio", "Cached share of prompts", Better::higher,
           "Prompt tokens that came from a prefix cache, over all prompt tokens.", knows_cached,
           [](const Totals& t) {
               return Ratio{t.cached_input_tokens, input_tokens(t)};
           }},
};

std::optional<double> value_of(const Figure& figure, const Totals& totals) {
    const Ratio ratio = figure.of(totals);
    if (!figure.known(totals) || ratio.below <= 0) return std::nullopt;
    return ratio.above / ratio.below;
}

std::optional<Interval> interval_of(const Figure& figure, double value, std::span<const Totals> blocks) {
    std::vector<double> deviations;
    double below = 0;
    for (const Totals& block : blocks) {
        const Ratio ratio = figure.of(block);
        deviations.push_back(ratio.above - value * ratio.below);
        below += ratio.below;
    }
    const auto mean = block_mean(deviations);
    if (!mean || below <= 0) return std::nullopt;
    const double below_per_block = below / static_cast<double>(blocks.size());
    // A figure is never below 0, and a share never above the whole.
    const double most =
        figure.unit == "ratio" ? std::max(1.0, value) : std::numeric_limits<double>::infinity();
    return Interval{std::max(0.0, value + mean->ci95.low / below_per_block),
                    std::min(most, value + mean->ci95.high / below_per_block)};
}

}  // namespace

std::span<const Figure> figures() {
    return kFigures;
}

const Figure* figure_named(std::string_view key) {
    const auto found = std::find_if(kFigures.begin(), kFigures.end(),
                                    [key](const Figure& figure) { return figure.key == key; });
    return found == kFigures.end() ? nullptr : &*found;
}

std::optional<double> Figures::at(std::string_view key) const {
    for (const FigureValue& held : values)
        if (held.key == key) return held.value;
    return std::nullopt;
}

std::optional<Interval> Figures::interval(std::string_view key) const {
    for (const FigureValue& held : values)
        if (held.key == key) return held.ci95;
    return std::nullopt;
}

void Figures::set(std::string_view key, double value, std::optional<Interval> ci95) {
    for (FigureValue& held : values) {
        if (held.key != key) continue;
        held.value = value;
        held.ci95 = ci95;
        return;
    }
    values.push_back({std::string(key), value, ci95});
}

Figures figures_of(const Totals& totals) {
    return figures_of(totals, {});
}

Figures figures_of(const Totals& totals, std::span<const Totals> blocks) {
    Figures found;
    for (const Figure& figure : kFigures) {
        const auto value = value_of(figure, totals);
        if (!value) continue;
        found.values.push_back({std::string(figure.key), *value, interval_of(figure, *value, blocks)});
    }
    return found;
}

}  // namespace paretoken
