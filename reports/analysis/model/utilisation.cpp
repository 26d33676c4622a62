#include "reports/analysis/model/utilisation.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/document/table.h"

namespace paretoken::reports {
namespace {

/// The value and source of a peak: "989 TFLOP/s, datasheet: …"; "profile" for a profile, which has no peaks
/// under these names.
std::string source_of(const LimitInputs& peaks, std::string_view name) {
    for (const SourcedTerm& term : peaks.terms)
        if (term.name == name)
            return fmt::format("{} {}, {}", significant(term.value), term.unit, term.source);
    return "profile";
}

/// Returns whether prompts take most of the step.
bool is_mostly_prompts(const ReportPoint& point) {
    if (!point.gap) return false;
    const auto prompts = std::ranges::find(point.gap->parts, kPrefillPart, &GapPart::name);
    return prompts != point.gap->parts.end() && 2 * prompts->ms.value_or(0) > point.gap->step_ms;
}

/// Returns what a share of the peak arithmetic means, behind a blank; empty if there is nothing to say.
std::string_view meaning_of(double mfu, bool mostly_prompts) {
    constexpr double kComputeBound = .85;
    if (mfu > kComputeBound)
        return " Above 85 % arithmetic is the limit: smaller formats or more GPUs help, faster memory does "
               "not.";
    if (mostly_prompts)
        return " Prompts take most of the step, and computing them can use most of the arithmetic: a low MFU "
               "means that the kernels or the threads for prompts are slow.";
    constexpr double kSingleDigit = .1;
    if (mfu >= kSingleDigit) return "";
    return " Single-digit MFU is normal while decoding, because each step reads all weights to compute few "
           "tokens.";
}

}  // namespace

std::optional<Utilisation> utilisation_of(const GapRun& run, const LimitInputs& peaks) {
    if (!(run.output_tokens_per_s > 0) || !(run.work.output_tokens > 0)) return {};
    const double seconds = run.work.output_tokens / run.output_tokens_per_s;
    Utilisation used;
    if (peaks.linear_s_per_token) {
        used.mfu = arithmetic_s(peaks, run.work) / seconds;
        used.mfu_source = source_of(peaks, kArithmetic);
    }
    const double batch = std::min(run.in_flight, run.running.value_or(run.slots.value_or(run.in_flight)));
    if (peaks.weight_bytes_per_s && batch > 0) {
        LimitInputs decoding = peaks;
        if (run.drafts) decoding.drafts = *run.drafts;
        if (run.tokens_per_pass) decoding.tokens_per_pass = *run.tokens_per_pass;
        const double passes = run.work.decoded_tokens / decoding.tokens_per_pass;
        const double at_once = std::max(1.0, batch);
        const double weights = passes / at_once * weight_pass_s(decoding, at_once * (decoding.drafts + 1));
        used.mbu = (weights + cache_read_s(decoding, run.work)) / seconds;
        used.mbu_source = source_of(peaks, kMemoryBandwidth);
    }
    if (!used.mfu && !used.mbu) return {};
    return used;
}

std::string utilisation_sentence(const ReportPoint& point) {
    if (!point.utilisation) return {};
    const Utilisation& used = *point.utilisation;
    std::string text;
    if (used.mbu)
        text += fmt::format("At {} decoding reads {} % of the peak bandwidth (MBU; peak: {}).",
                            point.load_label, significant(*used.mbu * 100), used.mbu_source);
    if (used.mfu)
        text += fmt::format(
            "{}{} uses {} % of the peak arithmetic (MFU; peak: {}).{}", text.empty() ? "" : " ",
            text.empty() ? "At " + point.load_label + " the run" : "The run", significant(*used.mfu * 100),
            used.mfu_source, meaning_of(*used.mfu, is_mostly_prompts(point)));
    return text;
}

}  // namespace paretoken::reports
