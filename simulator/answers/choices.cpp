#include "simulator/answers/choices.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/version.h"
#include "simulator/answers/json_text.h"
#include "simulator/answers/request_reader.h"
#include "simulator/engine/tokenizer.h"

namespace paretoken::sim {
namespace {

constexpr std::string_view kData = "data: ";
constexpr std::string_view kEventEnd = "\n\n";

void read_stream_options(const dom::object& object, Dialect dialect, GenerationRequest& request) {
    const auto field = field_of(object, "stream_options");
    if (!field) return;
    if (!request.stream && traits_of(dialect).requests.stream_options_alone) return;
    if (!request.stream)
        refuse("Stream options can only be defined when `stream=True`. (parameter=stream_options)",
               "stream_options");
    const dom::object options = object_of(*field, "stream_options");
    request.include_usage = flag_of(options, "include_usage", false);
    request.continuous_usage = request.include_usage && flag_of(options, "continuous_usage_stats", false);
}

void check_choices(const dom::object& object) {
    if (integer_of(object, "n").value_or(1) != 1)
        refuse("This server generates one choice per request (n=1).", "n");
}

/// Returns the requested limit, under any of its names.
std::optional<std::int64_t> asked_tokens(const dom::object& object, std::string_view limit_key,
                                         const ServedModel& model) {
    std::optional<std::int64_t> asked = integer_of(object, "max_tokens");
    if (!limit_key.empty())
        if (const auto tokens = integer_of(object, limit_key)) asked = tokens;
    if (!asked && traits_of(model.dialect).requests.any_limit) asked = integer_of(object, "n_predict");
    return checked_limit(asked, "max_tokens", model);
}

}  // namespace

std::optional<std::int64_t> read_choice_options(const RequestBody& body, std::string_view limit_key,
                                                const ServedModel& model, GenerationRequest& request) {
    const dom::object& object = body.fields;
    request.return_token_ids = flag_of(object, "return_token_ids", false);
    request.ignore_eos = flag_of(object, "ignore_eos", false);
    request.min_tokens = integer_of(object, "min_tokens").value_or(0);
    request.timings_per_token = flag_of(object, "timings_per_token", false);
    const auto asked = asked_tokens(object, limit_key, model);
    read_stream_options(object, model.dialect, request);
    check_choices(object);
    return asked;
}

std::string choices_failure(const DialectTraits& dialect, const Refusal& refusal) {
    return fmt::format("{0}{1}{2}{0}[DONE]{2}", kData, dialect.error_body(refusal), kEventEnd);
}

// vLLM.

VllmChoices::VllmChoices(AnswerTerms terms, const ChoiceNames& names)
    : terms_(std::move(terms)),
      chat_(traits_of(terms_.endpoint).chat),
      head_(fmt::format(R"({{"id":{},"object":"{}","created":{},"model":{},"choices":[)",
                        json_string(fmt::format("{}-{}", names.id_prefix, terms_.id)),
                        terms_.stream ? names.event : names.whole, terms_.created,
                        json_string(terms_.model))),
      fingerprint_(fmt::format(R"(,"system_fingerprint":"paretoken-{}")", version())) {}

std::size_t VllmChoices::open_frame(std::string& out) const {
    const std::size_t begin = open_chunk(out, terms_.framing);
    out.append(kData).append(head_);
    return begin;
}

void VllmChoices::close_frame(std::string& out, std::size_t begin) const {
    out.append("}").append(kEventEnd);
    close_chunk(out, begin, terms_.framing);
}

void VllmChoices::append_usage(std::string& out, std::int64_t tokens, std::string_view details) const {
    fmt::format_to(std::back_inserter(out),
                   R"(,"usage":{{"prompt_tokens":{},"total_tokens":{},"completion_tokens":{}{}}})",
                   terms_.prompt_tokens, terms_.prompt_tokens + tokens, tokens, details);
}

void VllmChoices::append_continuous_usage(std::string& out, std::int64_t tokens) const {
    if (terms_.continuous_usage) append_usage(out, tokens, reasoning_details(tokens));
}

/// Returns the details of usage. A chat has the key, null if reasoning is not counted separately; a
/// completion does not.
std::string VllmChoices::reasoning_details(std::int64_t tokens) const {
    if (!chat_) return {};
    if (!terms_.reasoning_model) return R"(,"completion_tokens_details":null)";
    return fmt::format(R"(,"completion_tokens_details":{{"reasoning_tokens":{}}})",
                       std::min(tokens, terms_.plan.reasoning_tokens));
}

void VllmChoices::append_finish_reason(std::string& out, bool last) const {
    if (last) {
        out.append("\"").append(terms_.plan.finish_reason).append("\"");
    } else {
        out += "null";
    }
}

void VllmChoices::append_token_ids(std::string& out, std::int64_t first, std::int64_t end) const {
    if (!terms_.token_ids) {
        out += R"("token_ids":null)";
        return;
    }
    out += R"("token_ids":[)";
    for (std::int64_t k = first; k < end; ++k) {
        fmt::format_to(std::back_inserter(out), "{}{}", k == first ? "" : ",",
                       token_id_of(piece_of(terms_.plan, k), terms_.vocabulary));
    }
    out += ']';
}

void VllmChoices::append_prompt_ids(std::string& out) const {
    if (terms_.token_ids) {
        fmt::format_to(std::back_inserter(out), R"(,"prompt_token_ids":[{}])",
                       fmt::join(terms_.prompt_token_ids, ","));
    } else {
        out += R"(,"prompt_token_ids":null)";
    }
}

void VllmChoices::append_tokens(std::string& out, std::int64_t first, std::int64_t count,
                                const AnswerState& state) const {
    const std::int64_t end = first + count;
    const bool last = end == terms_.plan.tokens;
    const std::size_t begin = open_frame(out);
    append_choice(out, first, end, last);
    out += ']';
    append_continuous_usage(out, end);
    if (!terms_.include_usage && last) out += fingerprint_;
    append_event_truth(out, state);
    close_frame(out, begin);
}

void VllmChoices::append_closing(std::string& out, const AnswerState& state) const {
    if (terms_.include_usage) {
        const std::size_t begin = open_frame(out);
        out += ']';
        std::string details;
        if (state.cached_tokens) {
            details = fmt::format(R"(,"prompt_tokens_details":{{"cached_tokens":{}{}}})",
                                  *state.cached_tokens, chat_ ? R"(,"created_cache_tokens":0)" : "");
        }
        if (terms_.reasoning_model) details += reasoning_details(terms_.plan.tokens);
        append_usage(out, terms_.plan.tokens, details);
        out += fingerprint_;
        close_frame(out, begin);
    }
    const std::size_t begin = open_chunk(out, terms_.framing);
    out.append(kData).append("[DONE]").append(kEventEnd);
    close_chunk(out, begin, terms_.framing);
    append_end(out, terms_.framing);
}

std::string VllmChoices::whole(const AnswerState& state) const {
    const AnswerPlan& plan = terms_.plan;
    std::string body = head_ + R"({"index":0,)";
    append_output(body);
    fmt::format_to(std::back_inserter(body), R"(,"logprobs":null,"finish_reason":"{}","stop_reason":null,)",
                   plan.finish_reason);
    append_token_ids(body, 0, plan.tokens);
    append_choice_end(body);
    body += R"(,"routed_experts":null}],"service_tier":null)" + fingerprint_;
    append_usage(body, plan.tokens, whole_details(state));
    append_whole_end(body);
    return body += R"(,"kv_transfer_params":null,"ec_transfer_params":null,"metrics":null})";
}

std::string VllmChoices::whole_details(const AnswerState& state) const {
    std::string cached = "null";
    if (state.cached_tokens) {
        cached = fmt::format(R"({{"cached_tokens":{},"created_cache_tokens":{},"multimodal_tokens":null}})",
                             *state.cached_tokens, chat_ ? "0" : "null");
    }
    const std::string reasoning =
        chat_ ? reasoning_details(terms_.plan.tokens) : R"(,"completion_tokens_details":null)";
    return fmt::format(R"(,"prompt_tokens_details":{}{})", cached, reasoning);
}

// llama.cpp.

/// The events of a chat have their id before the model, all other frames at their end.
LlamacppChoices::LlamacppChoices(AnswerTerms terms, const ChoiceNames& names) : terms_(std::move(terms)) {
    const std::string id =
        fmt::format(R"("id":{})", json_string(fmt::format("{}-{}", names.id_prefix, terms_.id)));
    const bool id_first = traits_of(terms_.endpoint).chat && terms_.stream;
    tail_ = fmt::format(R"(],"created":{}{}{},"model":{},"system_fingerprint":"paretoken-{}","object":"{}")",
                        terms_.created, id_first ? "," : "", id_first ? id : "", json_string(terms_.model),
                        version(), terms_.stream ? names.event : names.whole);
    if (!id_first) id_ = "," + id;
}

void LlamacppChoices::open_frame(std::string& out) const {
    out.append(kData).append(R"({"choices":[)");
}

void LlamacppChoices::close_frame(std::string& out) const {
    out.append("}").append(kEventEnd);
}

void LlamacppChoices::append_usage(std::string& out, const AnswerState& state) const {
    fmt::format_to(std::back_inserter(out),
                   R"(,"usage":{{"completion_tokens":{},"prompt_tokens":{},"total_tokens":{},)"
                   R"("prompt_tokens_details":{{"cached_tokens":{}}}}})",
                   terms_.plan.tokens, terms_.prompt_tokens, terms_.prompt_tokens + terms_.plan.tokens,
                   state.cached_tokens.value_or(0));
}

void LlamacppChoices::append_timings(std::string& out, std::int64_t tokens, const AnswerState& state) const {
    append_llamacpp_timings(out, terms_.prompt_tokens, tokens, state);
}

void LlamacppChoices::append_tokens(std::string& out, std::int64_t first, std::int64_t count,
                                    const AnswerState& state) const {
    for (std::int64_t k = first; k < first + count; ++k) {
        const std::size_t begin = open_chunk(out, terms_.framing);
        if (k == 0) append_first(out);
        open_frame(out);
        append_choice(out, k);
        out.append(tail_).append(id_);
        if (terms_.timings_per_token) append_timings(out, k + 1, state);
        append_event_truth(out, state);
        close_frame(out);
        close_chunk(out, begin, terms_.framing);
    }
}

void LlamacppChoices::append_closing(std::string& out, const AnswerState& state) const {
    std::size_t begin = open_chunk(out, terms_.framing);
    append_finish(out, state);
    close_chunk(out, begin, terms_.framing);
    begin = open_chunk(out, terms_.framing);
    out.append(kData).append("[DONE]").append(kEventEnd);
    close_chunk(out, begin, terms_.framing);
    append_end(out, terms_.framing);
}

std::string LlamacppChoices::whole(const AnswerState& state) const {
    std::string body = R"({"choices":[{)";
    append_whole_choice(body);
    body += '}';
    body += tail_;
    append_usage(body, state);
    body += id_;
    append_timings(body, terms_.plan.tokens, state);
    return body += '}';
}

}  // namespace paretoken::sim
