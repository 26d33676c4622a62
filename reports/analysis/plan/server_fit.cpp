#include "reports/analysis/plan/server_fit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "core/result/figures.h"
#include "core/text/number_text.h"
#include "core/units.h"
#include "reports/document/table.h"

namespace paretoken::reports {
namespace {

struct NamedFigure {
    LoadFigure figure;
    std::string_view name;
};
constexpr NamedFigure kFigures[] = {{&LoadFigures::output_tokens_per_s, "output tokens/s"},
                                    {&LoadFigures::ttft_p50_s, "TTFT p50"},
                                    {&LoadFigures::itl_p50_s, "ITL p50"}};

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

PredictedLevel widened(PredictedLevel level, const LoadFigures& measured, const LoadFigures& after) {
    for (const auto& [figure, name] : kFigures) {
        const double missed = ratio_of(after.*figure, measured.*figure).value_or(1);
        const double factor = std::max(missed, 1 / missed);
        if (level.low.*figure) *(level.low.*figure) /= factor;
        if (level.high.*figure) *(level.high.*figure) *= factor;
    }
    return level;
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
    for (const auto& [figure, name] : kFigures) {
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
    std::size_t measured = 0;
    std::vector<std::string> worst;
    for (const PredictedLevel& level : fit.levels) {
        if (level.measured) ++measured;
        const bool is_farther =
            std::abs(std::log(level.load / fit.load)) > std::abs(std::log(farthest / fit.load));
        if (!level.measured && is_farther) farthest = level.load;
    }
    for (const auto& [figure, name] : kFigures) {
        std::optional<double> most;
        for (const PredictedLevel& level : fit.levels)
            if (const auto ratio =
                    ratio_of(level.predicted.*figure, level.measured.value_or(LoadFigures{}).*figure))
                most = std::max(most.value_or(0), std::abs(*ratio - 1));
        if (most) worst.push_back(fmt::format("{} by {:.0f} %", name, *most * 100));
    }
    std::string text =
        measured == 0
            ? fmt::format("None of these levels was measured; everything follows from {}.",
                          label(fit, fit.load))
            : fmt::format("At the {} other measured level{}, the predictions are off by at most: {}.",
                          measured, measured == 1 ? "" : "s", fmt::join(worst, ", "));
    if (farthest == fit.load) return text;
    return text +
           fmt::format(" The level farthest from it is surer once it is measured: paretoken sweep {} {} {}",
                       fit.target, fit.axis == "c" ? "--concurrency" : "--request-rate",
                       number_text(farthest));
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
