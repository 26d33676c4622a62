#include "simulator/answers/answer_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace paretoken::sim {
namespace {

double milliseconds_of(Duration time) {
    return std::max(0.001, seconds(time) * 1e3);
}

}  // namespace

void AnswerWriter::append_event_tokens(std::vector<std::int32_t>& out, std::int64_t,
                                       std::int64_t count) const {
    const std::int64_t events = events_for(count);
    out.insert(out.end(), static_cast<std::size_t>(events), static_cast<std::int32_t>(count / events));
}

void append_tokens_of_parts(std::vector<std::int32_t>& out, const AnswerPlan& plan, std::int64_t first,
                            std::int64_t count) {
    for (std::int64_t k = first; k < first + count;) {
        const std::int64_t end = end_of_part(plan, k, first + count);
        out.push_back(static_cast<std::int32_t>(end - k));
        k = end;
    }
}

void append_event_truth(std::string& out, const AnswerState& state) {
    if (!state.truth) return;
    fmt::format_to(std::back_inserter(out), R"(,"sim":{{"due_ns":{},"written_ns":{}}})",
                   nanoseconds_since_boot(state.truth->due), nanoseconds_since_boot(state.truth->written));
}

void append_llamacpp_timings(std::string& out, std::int64_t prompt_tokens, std::int64_t tokens,
                             const AnswerState& state) {
    const std::int64_t cached = state.cached_tokens.value_or(0);
    const auto fresh = static_cast<double>(std::max<std::int64_t>(1, prompt_tokens - cached));
    const double prompt_ms = milliseconds_of(state.prefill);
    const double predicted_ms = milliseconds_of(state.decode);
    const auto decoded = static_cast<double>(tokens - 1);
    fmt::format_to(
        std::back_inserter(out),
        R"(,"timings":{{"cache_n":{},"prompt_n":{},"prompt_ms":{:.3f},"prompt_per_token_ms":{},)"
        R"("prompt_per_second":{},"predicted_n":{},"predicted_ms":{:.3f},"predicted_per_token_ms":{},)"
        R"("predicted_per_second":{}}})",
        cached, prompt_tokens - cached, prompt_ms, prompt_ms / fresh, fresh * 1e3 / prompt_ms, tokens,
        predicted_ms, decoded > 0 ? predicted_ms / decoded : 0.0, decoded * 1e3 / predicted_ms);
}

std::unique_ptr<AnswerWriter> answer_writer(AnswerTerms terms) {
    const DialectTraits& traits = traits_of(terms.dialect);
    return traits.writer(std::move(terms));
}

}  // namespace paretoken::sim
