#include "reports/analysis/plan/server_fit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>

#include "core/result/figures.h"
#include "core/statistics.h"
#include "core/text/number_text.h"
#include "core/units.h"
#include "reports/document/table.h"

namespace paretoken::reports {
namespace {

struct NamedFigure {
    LoadFigure figure;
    std::string_view name;
    double assumed_error;  ///< of the logarithm of its prediction, for each doubling or halving of the load
};
constexpr NamedFigure kFigures[] = {{&LoadFigures::output_tokens_per_s, "output tokens/s", 0.04},
                                    {&LoadFigures::ttft_p50_s, "TTFT p50", 0.08},
                                    {&LoadFigures::itl_p50_s, "ITL p50", 0.04}};

std::optional<double> end_of(const RunResult& result, const char* metric, bool slow) {
    const auto value = result.percentile(metric, .5);
    const MetricSummary* const summary = result.metric(metric);
    if (summary == nullptr) return value;
    for (const PercentileValue& percentile : summary->percentiles)
        if (percentile.p == .5 && percentile.ci95) {
            const double end = slow ? percentile.ci95->high : percentile.ci95->low;
            return std::isfinite(end) && end > 0 ? end : value;
        }
    return value;
}

/// The ratio of two figures, if both are known and above 0.
std::optional<double> ratio_of(const std::optional<double>& a, const std::optional<double>& b) {
    if (!a || !b || !(*a > 0) || !(*b > 0)) return {};
    return *a / *b;
}

std::vector<PredictedLevel> measured_levels_of(const ServerFit& fit) {
    std::vector<PredictedLevel> measured;
    for (const auto* const levels : {&fit.levels, &fit.others})
        std::ranges::copy_if(*levels, std::back_inserter(measured),
                             [](const PredictedLevel& level) { return level.measured.has_value(); });
    return measured;
}

double log_ratio(const std::optional<double>& a, const std::optional<double>& b) {
    return std::log(ratio_of(a, b).value_or(1));
}

/// How far the logarithm of a predicted figure is off in 9 of 10 cases, by the errors for each doubling of
/// the load at the measured levels and by the assumed one, which counts as much as some levels. A measured
/// level says nothing about its own range, as if it were not measured yet.
double error_of(const PredictedLevel& level, const std::vector<PredictedLevel>& measured, double fitted_load,
                const NamedFigure& named) {
    constexpr double kConfidence = 0.9;
    constexpr double kAssumedLevels = 3;
    const auto doublings = [&](double load) {
        return std::max(1.0, std::abs(std::log2(load / fitted_load)));
    };
    double squares = kAssumedLevels * named.assumed_error * named.assumed_error;
    double levels = kAssumedLevels;
    for (const PredictedLevel& other : measured) {
        const std::optional<double>& of_other = (*other.measured).*named.figure;
        if (other.load == level.load || !ratio_of(other.predicted.*named.figure, of_other)) continue;
        const double error = log_ratio(other.predicted.*named.figure, of_other) / doublings(other.load);
        squares += error * error;
        ++levels;
    }
    return student_t(kConfidence, levels) * std::sqrt(squares / levels) * doublings(level.load);
}

std::string ms_text(const std::optional<double>& s) {
    return s ? fmt::format("{} ms", number_text(*s * 1e3)) : "–";
}

std::string rate_text(const std::optional<double>& rate) {
    return rate ? number_text(*rate) : "–";
}

std::string off_text(const std::optional<double>& figure, const std::optional<double>& measured) {
    const auto ratio = ratio_of(figure, measured);
    return ratio ? fmt::format("{:+.0f} %", (*ratio - 1) * 100) : "";
}

std::string label(const ServerFit& fit, double load) {
    return fit.axis == "c" ? fmt::format("c={}", number_text(load))
                           : fmt::format("{} {}", number_text(load), fit.axis);
}

std::string row(const std::string& what, const std::string& tokens, const std::string& ttft,
                const std::string& itl) {
    return fmt::format("  {:24}{:>18}{:>18}{:>18}\n", what, tokens, ttft, itl);
}

std::string figures_row(const std::string& what, const LoadFigures& figures) {
    return row(what, rate_text(figures.output_tokens_per_s), ms_text(figures.ttft_p50_s),
               ms_text(figures.itl_p50_s));
}

std::string off_row(const std::string& what, const LoadFigures& figures, const LoadFigures& measured) {
    return row(what, off_text(figures.output_tokens_per_s, measured.output_tokens_per_s),
               off_text(figures.ttft_p50_s, measured.ttft_p50_s),
               off_text(figures.itl_p50_s, measured.itl_p50_s));
}

std::string range_text(const std::optional<double>& low, const std::optional<double>& high, double scale) {
    if (!low || !high) return "";
    return fmt::format("{} to {}", number_text(*low * scale), number_text(*high * scale));
}

std::string share_text(const std::optional<double>& now, const std::optional<double>& usual) {
    if (!now) return "";
    return fmt::format(", {:.0f} % of the datasheet{}", *now * 100,
                       usual ? fmt::format(" (usual: {:.0f} %)", *usual * 100) : "");
}

std::string flops_text(double per_s) {
    constexpr double kTera = 1e12;
    return per_s < kTera ? fmt::format("{} GFLOP/s", number_text(per_s / 1e9))
                         : fmt::format("{} TFLOP/s", number_text(per_s / kTera));
}

std::string speeds_text(const ServerFit& fit) {
    const FittedSpeeds usual = fit.usual.value_or(FittedSpeeds{});
    std::string text = fmt::format("  {:12}weights are read at {} GB/s{}\n", "speeds",
                                   number_text(fit.speeds.memory_bytes_per_s / 1e9),
                                   share_text(fit.speeds.memory_share, usual.memory_share));
    if (fit.speeds.linear_flops_per_s > 0)
        text += fmt::format("  {:12}linear layers at {}{}\n", "", flops_text(fit.speeds.linear_flops_per_s),
                            share_text(fit.speeds.linear_share, usual.linear_share));
    text += fmt::format("  {:12}{} of fixed time per step\n", "", ms_text(fit.speeds.step_s));
    if (fit.speeds.row_s)
        text += fmt::format("  {:12}few tokens at once are computed one by one, {} each\n", "",
                            ms_text(fit.speeds.row_s));
    return text;
}

}  // namespace

LoadFigures load_figures_of(const RunResult& result) {
    return {.output_tokens_per_s = result.throughput.at(figure::kOutputTokens),
            .ttft_p50_s = result.percentile("ttft_s", .5),
            .itl_p50_s = result.percentile("itl_s", .5)};
}

LoadFigures at_interval_end(const RunResult& result, bool slow) {
    LoadFigures figures = load_figures_of(result);
    figures.ttft_p50_s = end_of(result, "ttft_s", slow);
    figures.itl_p50_s = end_of(result, "itl_s", slow);
    return figures;
}

void widen_ranges(ServerFit& fit) {
    const std::vector<PredictedLevel> measured = measured_levels_of(fit);
    for (const NamedFigure& named : kFigures) {
        const LoadFigure figure = named.figure;
        const double missed = log_ratio(fit.after.*figure, fit.measured.*figure);
        for (PredictedLevel& level : fit.levels) {
            std::optional<double>& low = level.low.*figure;
            std::optional<double>& high = level.high.*figure;
            const std::optional<double>& predicted = level.predicted.*figure;
            if (!predicted || !low || !high) continue;
            const double error = error_of(level, measured, fit.load, named);
            low = *predicted * std::exp(-std::hypot(log_ratio(low, predicted), missed, error));
            high = *predicted * std::exp(std::hypot(log_ratio(high, predicted), missed, error));
        }
    }
}

bool has_equal_lengths(const RunResult& result) {
    const auto same = [&](const char* metric) {
        const MetricSummary* const lengths = result.metric(metric);
        return lengths != nullptr && lengths->min && lengths->min == lengths->max;
    };
    return same("input_tokens_tok") && same("output_tokens_tok");
}

std::vector<std::string> doubts_of(const ServerFit& fit) {
    std::vector<std::string> doubts;
    for (const auto& [figure, name, assumed] : kFigures) {
        const auto ratio = ratio_of(fit.after.*figure, fit.measured.*figure);
        if (!ratio || std::abs(*ratio - 1) <= kLargestMiss) continue;
        doubts.push_back(
            fmt::format("The fitted server misses the {} of its own level by {:+.0f} %, so that other levels "
                        "are off by at least as much.",
                        name, (*ratio - 1) * 100));
    }
    constexpr double kRounding = 1.005;
    if (fit.speeds.linear_share && *fit.speeds.linear_share > kRounding)
        doubts.push_back(fmt::format(
            "No such GPU computes linear layers at {}, which is {:.0f} % of its datasheet: the server has "
            "another GPU, model or format of weights than the card says, or found prompts in its cache. "
            "Times "
            "to first token of other levels do not follow from this.",
            flops_text(fit.speeds.linear_flops_per_s), *fit.speeds.linear_share * 100));
    if (fit.equal_lengths && fit.load > 1)
        doubts.emplace_back(
            "All requests have the same lengths, so that those in flight can run in step. Their TTFT then "
            "depends on how many begin together by chance; lengths that vary (--isl "
            "\"uniform:min=…;max=…\") do not have this effect.");
    return doubts;
}

std::string certainty_of(const ServerFit& fit) {
    double farthest = fit.load;
    const std::vector<PredictedLevel> measured = measured_levels_of(fit);
    std::vector<std::string> worst;
    for (const PredictedLevel& level : fit.levels) {
        const bool is_farther =
            std::abs(std::log(level.load / fit.load)) > std::abs(std::log(farthest / fit.load));
        if (!level.measured && is_farther) farthest = level.load;
    }
    for (const auto& [figure, name, assumed] : kFigures) {
        std::optional<double> most;
        for (const PredictedLevel& level : measured)
            if (const auto ratio = ratio_of(level.predicted.*figure, (*level.measured).*figure))
                most = std::max(most.value_or(0), std::abs(*ratio - 1));
        if (most) worst.push_back(fmt::format("{} by {:.0f} %", name, *most * 100));
    }
    std::string text =
        measured.empty()
            ? fmt::format("None of these levels was measured; everything follows from {}.",
                          label(fit, fit.load))
            : fmt::format("At the {} other measured level{}, the predictions are off by at most: {}.",
                          measured.size(), measured.size() == 1 ? "" : "s", fmt::join(worst, ", "));
    if (farthest == fit.load) return text;
    return text + fmt::format(
                      " The level farthest from it is surer once it is measured: paretoken sweep {} {} {}",
                      fit.again, fit.axis == "c" ? "--concurrency" : "--request-rate", number_text(farthest));
}

std::string server_fit_console(const ServerFit& fit) {
    std::string text = fmt::format("  {:12}{}\n  {:12}{}, at {}\n\n", "server", fit.server, "fitted to",
                                   fit.run, label(fit, fit.load));
    text += speeds_text(fit) + "\n";
    text += row("at " + label(fit, fit.load), "output tokens/s", "TTFT p50", "ITL p50");
    text += figures_row("measured", fit.measured);
    if (fit.before) text += off_row("off by the card", *fit.before, fit.measured);
    text += off_row("off after the fit", fit.after, fit.measured);
    text += "\n" + row("estimated", "output tokens/s", "TTFT p50", "ITL p50");
    for (const PredictedLevel& level : fit.levels) {
        text += figures_row(label(fit, level.load), level.predicted);
        text += row("  range", range_text(level.low.output_tokens_per_s, level.high.output_tokens_per_s, 1),
                    range_text(level.low.ttft_p50_s, level.high.ttft_p50_s, 1e3),
                    range_text(level.low.itl_p50_s, level.high.itl_p50_s, 1e3));
        if (!level.measured) continue;
        text += figures_row("  measured", *level.measured);
        text += off_row("  prediction off by", level.predicted, *level.measured);
    }
    text += "\n" + labelled_text("sure", certainty_of(fit));
    for (const std::string& doubt : doubts_of(fit)) text += labelled_text("doubt", doubt);
    if (!fit.profile.empty()) text += fmt::format("\n  {:12}sim:{}\n", "profile", fit.profile);
    return text;
}

}  // namespace paretoken::reports
