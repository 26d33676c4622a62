#include "simulator/answers/answer_writer.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

namespace paretoken::sim {

void append_event_truth(std::string& out, const AnswerState& state) {
    if (!state.truth) return;
    fmt::format_to(std::back_inserter(out), R"(,"sim":{{"due_ns":{},"written_ns":{}}})",
                   nanoseconds_since_boot(state.truth->due), nanoseconds_since_boot(state.truth->written));
}

std::unique_ptr<AnswerWriter> answer_writer(AnswerTerms terms) {
    const DialectTraits& dialect = traits_of(terms.dialect);
    return dialect.writer(std::move(terms));
}

}  // namespace paretoken::sim
