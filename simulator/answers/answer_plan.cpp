#include "simulator/answers/answer_plan.h"

#include <algorithm>

#include "simulator/answers/json_text.h"
#include "simulator/engine/tokenizer.h"

namespace paretoken::sim {
namespace {

std::string_view argument_piece(const AnswerPlan& plan, std::int64_t k) {
    const std::int64_t first = plan.reasoning_tokens + 1;
    if (k == first) return k + 1 == plan.tokens ? "{}" : R"({"text": ")";
    return k + 1 == plan.tokens ? R"("})" : answer_word(plan.seed, k);
}

}  // namespace

Part part_of(const AnswerPlan& plan, std::int64_t k) {
    if (k < plan.reasoning_tokens) return Part::reasoning;
    if (plan.tool.empty()) return Part::content;
    return k == plan.reasoning_tokens ? Part::tool_name : Part::tool_arguments;
}

std::int64_t end_of_part(const AnswerPlan& plan, std::int64_t first, std::int64_t end) {
    switch (part_of(plan, first)) {
        case Part::reasoning:
            return std::min(end, plan.reasoning_tokens);
        case Part::tool_name:
            return std::min(end, first + 1);
        case Part::content:
        case Part::tool_arguments:
            break;
    }
    return end;
}

std::string_view piece_of(const AnswerPlan& plan, std::int64_t k) {
    switch (part_of(plan, k)) {
        case Part::tool_name:
            return plan.tool;
        case Part::tool_arguments:
            return argument_piece(plan, k);
        case Part::reasoning:
        case Part::content:
            break;
    }
    if (!plan.pieces.empty() && k >= plan.reasoning_tokens)
        return plan.pieces[static_cast<std::size_t>(k - plan.reasoning_tokens) % plan.pieces.size()];
    return answer_word(plan.seed, k);
}

void append_escaped_text(std::string& out, const AnswerPlan& plan, std::int64_t first, std::int64_t end) {
    for (; first < end; ++first) append_json_escaped(out, piece_of(plan, first));
}

}  // namespace paretoken::sim
