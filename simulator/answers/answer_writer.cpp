#include "simulator/answers/answer_writer.h"

#include <fmt/format.h>

#include <iterator>

#include "simulator/answers/llamacpp_writer.h"
#include "simulator/answers/vllm_writer.h"

namespace paretoken::sim {

void append_event_truth(std::string& out, const AnswerState& state) {
    if (!state.truth) return;
    fmt::format_to(std::back_inserter(out), R"(,"sim":{{"due_ns":{},"written_ns":{}}})",
                   nanoseconds_since_boot(state.truth->due), nanoseconds_since_boot(state.truth->written));
}

std::unique_ptr<AnswerWriter> answer_writer(AnswerTerms terms) {
    if (terms.dialect == Dialect::llamacpp) return std::make_unique<LlamacppWriter>(std::move(terms));
    return std::make_unique<VllmWriter>(std::move(terms));
}

}  // namespace paretoken::sim
