#include "core/result/figures.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/evidence/evidence.h"

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

Ratio share_of_good(const Totals& t) {
    return {t.judged_good, t.judged};
}
Ratio good_part_of_requests(const Totals& t) {
    return {t.good_requests, t.requests};
}
Ratio good_part_of_output(const Totals& t) {
    return {t.good_output_tokens, t.output_tokens};
}
Ratio cached_share(const Totals& t) {
    return {t.cached_input_tokens, input_tokens(t)};
}

// The facts that figures need. Tokens are credited to the time of the first output and those after it.
constexpr Facts kNothing;
constexpr Facts kOutput{Fact::first_event, Fact::output_tokens};
constexpr Facts kInput{Fact::first_event, Fact::input_tokens};
constexpr Facts kCaching{Fact::first_event, Fact::input_tokens, Fact::cached_tokens};
constexpr Facts kBoth{Fact::first_event, Fact::input_tokens, Fact::output_tokens};

constexpr std::array kFigures = {
    Figure{figure::kOutputTokens, "tok/s", "Output tokens", Better::higher,
           "Output tokens per second, each credited to the moment it arrived.", kOutput, always,
           per_second<&Totals::output_tokens>},
    Figure{figure::kInputTokens, "tok/s", "Input tokens", Better::higher,
           "Prompt tokens per second, credited to the moment their answer began.", kInput, knows_prompts,
           [](const Totals& t) {
               return Ratio{input_tokens(t), t.seconds};
           }},
    Figure{figure::kFreshInputTokens, "tok/s", "Fresh input tokens", Better::higher,
           "Prompt tokens per second without those that came from a prefix cache.", kCaching, knows_prompts,
           per_second<&Totals::fresh_input_tokens>},
    Figure{figure::kCachedInputTokens, "tok/s", "Cached input tokens", Better::higher,
           "Prompt tokens per second that came from a prefix cache, as the server's usage counts them.",
           kCaching, knows_cached, per_second<&Totals::cached_input_tokens>, cached_share},
    Figure{figure::kTotalTokens, "tok/s", "Input and output tokens", Better::higher,
           "Prompt and output tokens per second together.", kBoth, knows_prompts,
           [](const Totals& t) {
               return Ratio{input_tokens(t) + t.output_tokens, t.seconds};
           }},
    Figure{figure::kRequests, "req/s", "Requests", Better::higher, "Completed requests per second.", kNothing,
           always, per_second<&Totals::requests>},
    Figure{figure::kMeanInFlight, "requests", "Requests in flight", Better::neither,
           "Mean number of requests in the system: their time in it, over the length of the stretch.",
           kNothing, always, per_second<&Totals::time_in_system_s>},
    Figure{figure::kGoodput, "req/s", "Good requests", Better::higher,
           "Requests per second that met every SLO; failures are not good.", kNothing, was_judged,
           per_second<&Totals::good_requests>, good_part_of_requests, true},
    Figure{figure::kGoodputRatio, "ratio", "Share of good requests", Better::higher,
           "Share of the requests due in the stretch that met every SLO; failures are not good.", kNothing,
           was_judged, share_of_good, share_of_good, true},
    Figure{figure::kGoodOutputTokens, "tok/s", "Good output tokens", Better::higher,
           "Output tokens per second of requests that met every SLO.", kOutput, was_judged,
           per_second<&Totals::good_output_tokens>, good_part_of_output, true},
    Figure{figure::kCachedPromptRatio, "ratio", "Cached share of prompts", Better::higher,
           "Prompt tokens that came from a prefix cache, over all prompt tokens.", kCaching, knows_cached,
           cached_share, cached_share},
};

std::optional<double> value_of(const Figure& figure, const Totals& totals) {
    const Ratio ratio = figure.of(totals);
    if (!figure.known(totals) || ratio.below <= 0) return std::nullopt;
    return ratio.above / ratio.below;
}

/// Returns by how much a figure could be higher without the client's own delays; nothing if by nothing.
std::optional<double> instrument_of(const Figure& figure, double value, const Totals& totals,
                                    const ClientLoss& loss) {
    Ratio ratio = figure.of(totals);
    if (figure.of_slos) ratio.above += figure.of(loss.good).above;
    const double share = figure.unit == "ratio" ? 0 : loss.load;
    const double could_be = ratio.above / ratio.below * (1 + share);
    if (could_be <= value) return std::nullopt;
    return could_be - value;
}

/// Returns the interval of a figure whose value over the whole window is `value`, from groups of blocks.
std::optional<Interval> interval_of(const Figure& figure, double value, std::span<const Totals> of_groups) {
    const std::size_t groups = of_groups.size();
    Ratio all;
    std::vector<Ratio> ratios;
    for (const Totals& group : of_groups) {
        ratios.push_back(figure.of(group));
        all.above += ratios.back().above;
        all.below += ratios.back().below;
    }
    if (all.below <= 0) return std::nullopt;
    const double of_all = all.above / all.below;
    std::optional<double> half;
    for (const std::uint64_t blocks : kBlockCounts) {
        if (blocks > groups) continue;
        std::vector<double> deviations(blocks, 0);
        for (std::uint64_t block = 0; block < blocks; ++block)
            for (std::size_t i = block * groups / blocks; i < (block + 1) * groups / blocks; ++i)
                deviations[block] += ratios[i].above - of_all * ratios[i].below;
        const double below_per_block = all.below / static_cast<double>(blocks);
        half = std::max(half.value_or(0), half_width_of_blocks(deviations) / below_per_block);
    }
    if (!half) return std::nullopt;
    return Interval{std::min(value, of_all - *half), std::max(value, of_all + *half)};
}

/// Returns the interval within what the figure can be. `trials`: the number of independent samples of a share
/// that was 0 or 1 throughout.
Interval bounded(const Figure& figure, const Totals& totals, Interval interval, double trials) {
    constexpr double kTail = 0.025;
    const Ratio ratio = figure.of(totals);
    const double value = ratio.above / ratio.below;
    const bool is_share = figure.unit == "ratio";
    // A figure is never below 0, and a share never above the whole.
    interval.low = std::max(0.0, interval.low);
    if (is_share) interval.high = std::min(std::max(1.0, value), interval.high);
    if (figure.part == nullptr) return interval;
    const Ratio part = figure.part(totals);
    if (part.below <= 0) return interval;
    trials = std::min(trials, std::max(1.0, part.below));  // a class may have fewer requests
    const double least = std::pow(kTail, 1 / trials);      // Clopper and Pearson 1934, if all were successes
    if (part.above >= part.below) interval.low = std::min(interval.low, interval.low * least);
    if (part.above <= 0) {
        const double whole = part.below / ratio.below;
        interval.high = std::max(interval.high, (1 - least) * whole);
    }
    return interval;
}

}  // namespace

std::span<const Figure> figures() {
    return kFigures;
}

const Figure* figure_named(std::string_view key) {
    const auto found = std::ranges::find(kFigures, key, &Figure::key);
    return found == kFigures.end() ? nullptr : &*found;
}

// The groups are joined to 10, 20 and 30 blocks, as far as there are as many groups. The figure R of all
// blocks together and the differences `above` − R · `below` of the blocks give an interval by linearisation;
// the widest of the three counts. If all blocks have the share 0 or all have 1, their differences tell
// nothing. The limit of Clopper and Pearson for `trials` is then the other end of the interval. It also
// widens the interval of a rate that counts a part (Figure::part) if that part is nothing or everything.
Figures figures_of(const Totals& totals, const Blocks& blocks, const ClientLoss& loss) {
    Figures found;
    for (const Figure& figure : kFigures) {
        const auto value = value_of(figure, totals);
        if (!value) continue;
        auto interval = interval_of(figure, *value, blocks.groups);
        if (interval) interval = bounded(figure, totals, *interval, static_cast<double>(blocks.trials));
        found.values.push_back(
            {std::string(figure.key), *value, interval, instrument_of(figure, *value, totals, loss)});
    }
    return found;
}

}  // namespace paretoken
