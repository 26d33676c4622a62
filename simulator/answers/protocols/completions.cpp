#include <fmt/format.h>

#include <iterator>
#include <memory>
#include <utility>

#include "simulator/answers/choices.h"
#include "simulator/answers/request_reader.h"

namespace paretoken::sim {
namespace {

constexpr std::int64_t kUsualTokens = 16;  // default of vLLM and OpenAI

// Requests.

std::optional<std::int64_t> read_completion_options(const RequestBody& body, const ServedModel& model,
                                                    GenerationRequest& request) {
    return read_choice_options(body, "", model, request);
}

void read_id_prompt(const dom::array& ids, std::int64_t vocabulary, TokenSink& sink) {
    for (const dom::element element : ids) {
        std::int64_t id = 0;
        if (element.get(id) != simdjson::SUCCESS) {
            refuse_field("int_type", "prompt", "Input should be a valid integer");
        }
        if (id < 0 || id >= vocabulary) refuse(fmt::format("Token id {} is out of vocabulary", id), "prompt");
        sink.id(id);
    }
}

/// Reads a text, token ids, or a list of exactly one of them.
void read_prompt_of(const dom::element& prompt, const ServedModel& model, bool add_special, TokenSink& sink) {
    std::string_view text;
    if (prompt.get(text) == simdjson::SUCCESS) return read_text_prompt(text, add_special, sink);
    const dom::array list = list_of(prompt, "prompt");
    if (list.size() == 0) refuse("Either prompt or prompt_embeds must be provided and non-empty.", "prompt");
    const dom::element first = list.at(0).value_unsafe();
    if (first.is_int64()) return read_id_prompt(list, model.vocabulary, sink);
    if (list.size() != 1) refuse("This server takes one prompt per request.", "prompt");
    if (first.is_array()) return read_prompt_of(first, model, add_special, sink);
    read_text_prompt(text_of(first, "prompt"), add_special, sink);
}

void read_completion_prompt(const RequestBody& body, const ServedModel& model, TokenSink& sink) {
    read_prompt_of(*field_of(body.fields, "prompt"), model, flag_of(body.fields, "add_special_tokens", true),
                   sink);
}

// Answers of vLLM.

class VllmCompletion final : public VllmChoices {
  public:
    explicit VllmCompletion(AnswerTerms terms)
        : VllmChoices(std::move(terms),
                      {.id_prefix = "cmpl", .event = "text_completion", .whole = "text_completion"}) {}

    void append_opening(std::string&) const override {}

  private:
    void append_choice(std::string& out, std::int64_t first, std::int64_t end, bool last) const override {
        out += R"({"index":0,)";
        append_text(out, first, end);
        out += R"(,"logprobs":null,"finish_reason":)";
        append_finish_reason(out, last);
        out += R"(,"stop_reason":null)";
        if (first == 0) {
            append_prompt_ids(out);
        } else {
            out += R"(,"prompt_token_ids":null)";
        }
        out += ',';
        append_token_ids(out, first, end);
        out += '}';
    }
    void append_output(std::string& out) const override { append_text(out, 0, terms().plan.tokens); }
    void append_choice_end(std::string& out) const override {
        out += R"(,"prompt_logprobs":null)";
        append_prompt_ids(out);
    }
    void append_text(std::string& out, std::int64_t first, std::int64_t end) const {
        out += R"("text":")";
        append_escaped_text(out, terms().plan, first, end);
        out += '"';
    }
};

// Answers of llama.cpp.

class LlamacppCompletion final : public LlamacppChoices {
  public:
    explicit LlamacppCompletion(AnswerTerms terms)
        : LlamacppChoices(std::move(terms),
                          {.id_prefix = "chatcmpl", .event = "text_completion", .whole = "text_completion"}) {
    }

  private:
    void append_choice(std::string& out, std::int64_t k) const override {
        out += R"({"text":")";
        append_escaped_text(out, terms().plan, k, k + 1);
        out += R"(","index":0,"logprobs":null,"finish_reason":null})";
    }
    void append_finish(std::string& out, const AnswerState& state) const override {
        open_frame(out);
        fmt::format_to(std::back_inserter(out),
                       R"({{"text":"","index":0,"logprobs":null,"finish_reason":"{}"}})",
                       terms().plan.finish_reason);
        append_tail(out);
        append_usage(out, state);
        append_id(out);
        append_timings(out, terms().plan.tokens, state);
        close_frame(out);
    }
    void append_whole_choice(std::string& out) const override {
        out += R"("text":")";
        append_escaped_text(out, terms().plan, 0, terms().plan.tokens);
        fmt::format_to(std::back_inserter(out), R"(","index":0,"logprobs":null,"finish_reason":"{}")",
                       terms().plan.finish_reason);
    }
};

template <class Writer>
std::unique_ptr<AnswerWriter> completion_writer(AnswerTerms terms) {
    return std::make_unique<Writer>(std::move(terms));
}

}  // namespace

/// OpenAI's completions: a prompt of text or token ids, without a chat template.
constinit const ProtocolTraits kCompletions{
    .path = "/v1/completions",
    .chat = false,
    .prompt_key = "prompt",
    .usual_tokens = kUsualTokens,
    .read_options = read_completion_options,
    .read_prompt = read_completion_prompt,
    .vllm = {.writer = completion_writer<VllmCompletion>, .failure = choices_failure},
    .llamacpp = {.writer = completion_writer<LlamacppCompletion>, .failure = choices_failure}};

}  // namespace paretoken::sim
