#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "core/random.h"
#include "simulator/answers/answer_writer.h"
#include "simulator/answers/json_text.h"
#include "simulator/answers/named_event.h"
#include "simulator/answers/request_reader.h"

namespace paretoken::sim {
namespace {

constexpr std::int64_t kUsualLimitOfLlamacpp = 4096;

// Requests.

std::string_view name_of_message_tool(const dom::element& tool) {
    return required_text(object_of(tool, "tools"), "name", "tools.name");
}

ToolChoice choice_of_message_tool(const dom::element& choice) {
    const dom::object object = object_of(choice, "tool_choice");
    const std::string_view type = required_text(object, "type", "tool_choice.type");
    if (type == "tool") return {.name = required_text(object, "name", "tool_choice.name")};
    return {.none = type == "none"};
}

/// Reads the options. The protocol has no field "ignore_eos", and real servers ignore it.
std::optional<std::int64_t> read_message_options(const RequestBody& body, const ServedModel& model,
                                                 GenerationRequest& request) {
    choose_tool(body.fields, name_of_message_tool, choice_of_message_tool, request);
    auto asked = integer_of(body.fields, "max_tokens");
    if (!asked && traits_of(model.dialect).requests.any_limit) asked = kUsualLimitOfLlamacpp;
    if (!asked) refuse_field("missing", "max_tokens", "Field required");
    return checked_limit(asked, "max_tokens", model);
}

/// Reads a text or a list of content blocks. Chat templates leave out the thinking of earlier turns.
void read_blocks(const dom::element& content, TokenSink& sink) {
    std::string_view text;
    if (content.get(text) == simdjson::SUCCESS) return sink.text(text);
    for (const dom::element element : list_of(content, "messages.content")) {
        const dom::object block = object_of(element, "messages.content");
        const std::string_view type = required_text(block, "type", "messages.content.type");
        if (type == "text") {
            sink.text(required_text(block, "text", "messages.content.text"));
        } else if (type == "tool_use") {
            if (const auto input = field_of(block, "input")) sink.text(simdjson::minify(*input));
        } else if (type == "tool_result") {
            if (const auto result = field_of(block, "content")) read_blocks(*result, sink);
        } else if (type != "thinking" && type != "redacted_thinking") {
            refuse(fmt::format("Content blocks of type {} are not supported by this server.", type),
                   "messages");
        }
    }
}

void read_message(std::string_view role, const dom::element& content, TokenSink& sink) {
    open_message(role, sink);
    read_blocks(content, sink);
    close_message(sink);
}

void read_message_prompt(const RequestBody& body, const ServedModel&, TokenSink& sink) {
    if (const auto tools = field_of(body.fields, "tools")) sink.text(simdjson::minify(*tools));
    begin_text(sink);
    if (const auto system = field_of(body.fields, "system")) read_message("system", *system, sink);
    bool any = false;
    for (const dom::element element : list_of(*field_of(body.fields, "messages"), "messages")) {
        const dom::object message = object_of(element, "messages");
        const auto content = field_of(message, "content");
        if (!content) refuse_field("missing", "messages.content", "Field required");
        read_message(required_text(message, "role", "messages.role"), *content, sink);
        any = true;
    }
    if (!any) refuse("At least one message is required.", "messages");
    open_message("assistant", sink);
}

// Answers.

std::string_view stop_reason_of(std::string_view finish_reason) {
    if (finish_reason == "length") return "max_tokens";
    return finish_reason == "tool_calls" ? "tool_use" : "end_turn";
}

/// Writes answers as content blocks, one after the other: thinking, if there is any, and then a text or the
/// call of a tool. A token of a block is an event; the name of a tool comes in the event that starts its
/// block. Keys and their order are those of recorded streams.
class MessageWriter : public AnswerWriter {
  public:
    explicit MessageWriter(AnswerTerms terms)
        : terms_(std::move(terms)), id_(json_string("chatcmpl-" + terms_.id)) {}

    std::string whole(const AnswerState& state) const override;

  protected:
    const AnswerTerms& terms() const { return terms_; }
    std::int64_t thinking_tokens() const {
        return std::min(terms_.plan.reasoning_tokens, terms_.plan.tokens);
    }
    /// Returns the number of blocks with one of the first `tokens` tokens.
    std::int64_t blocks_until(std::int64_t tokens) const {
        return (tokens > 0 && thinking_tokens() > 0 ? 1 : 0) + (tokens > thinking_tokens() ? 1 : 0);
    }
    bool starts_block(std::int64_t k) const { return k == 0 || k == terms_.plan.reasoning_tokens; }
    void append_start(std::string& out, std::string_view usage) const;
    /// Appends the object of the block that begins with token k, without its text.
    void append_block(std::string& out, std::int64_t k) const;
    /// Appends the object of the addition to a block: tokens [first, end), which are of one part.
    void append_delta(std::string& out, std::int64_t first, std::int64_t end) const;
    std::string tool_id() const { return json_string("toolu_" + terms_.id); }

    virtual std::string signature() const = 0;
    /// Returns the object of usage for the end of the answer.
    virtual std::string usage(const AnswerState& state) const = 0;
    /// Returns the fields of an answer in one piece between the stop reason and usage.
    virtual std::string_view whole_stop_sequence() const = 0;
    /// Returns the fields of a tool's block, after the name, that say that there is no input yet.
    virtual std::string_view no_input() const = 0;

  private:
    AnswerTerms terms_;
    std::string id_;
};

void MessageWriter::append_start(std::string& out, std::string_view usage) const {
    fmt::format_to(std::back_inserter(out),
                   R"({{"type":"message_start","message":{{"id":{},"type":"message","role":"assistant",)"
                   R"("content":[],"model":{},"stop_reason":null,"stop_sequence":null,"usage":{}}}}})",
                   id_, json_string(terms_.model), usage);
}

void MessageWriter::append_block(std::string& out, std::int64_t k) const {
    switch (part_of(terms_.plan, k)) {
        case Part::reasoning:
            out += R"({"type":"thinking","thinking":""})";
            return;
        case Part::content:
            out += R"({"type":"text","text":""})";
            return;
        case Part::tool_name:
        case Part::tool_arguments:
            fmt::format_to(std::back_inserter(out), R"({{"type":"tool_use","id":{},"name":{}{}}})", tool_id(),
                           json_string(terms_.plan.tool), no_input());
            return;
    }
}

void MessageWriter::append_delta(std::string& out, std::int64_t first, std::int64_t end) const {
    const Part part = part_of(terms_.plan, first);
    out += part == Part::reasoning ? R"({"type":"thinking_delta","thinking":")"
           : part == Part::content ? R"({"type":"text_delta","text":")"
                                   : R"({"type":"input_json_delta","partial_json":")";
    append_escaped_text(out, terms_.plan, first, end);
    out += R"("})";
}

std::string MessageWriter::whole(const AnswerState& state) const {
    const AnswerPlan& plan = terms_.plan;
    const std::int64_t answer = thinking_tokens();
    std::string body = fmt::format(R"({{"id":{},"type":"message","role":"assistant","content":[)", id_);
    if (answer > 0) {
        body += R"({"type":"thinking","thinking":")";
        append_escaped_text(body, plan, 0, answer);
        fmt::format_to(std::back_inserter(body), R"(","signature":"{}"}})", signature());
    }
    if (answer < plan.tokens) {
        if (answer > 0) body += ',';
        if (plan.tool.empty()) {
            body += R"({"type":"text","text":")";
            append_escaped_text(body, plan, answer, plan.tokens);
            body += R"("})";
        } else {
            fmt::format_to(std::back_inserter(body), R"({{"type":"tool_use","id":{},"name":{},"input":)",
                           tool_id(), json_string(plan.tool));
            if (answer + 1 == plan.tokens) body += "{}";
            for (std::int64_t k = answer + 1; k < plan.tokens; ++k) body += piece_of(plan, k);
            body += '}';
        }
    }
    fmt::format_to(std::back_inserter(body), R"(],"model":{},"stop_reason":"{}"{},"usage":{}}})",
                   json_string(terms_.model), stop_reason_of(plan.finish_reason), whole_stop_sequence(),
                   usage(state));
    return body;
}

/// Writes an event per chunk.
class VllmMessage final : public MessageWriter {
  public:
    using MessageWriter::MessageWriter;

    void append_opening(std::string& out) const override;
    void append_tokens(std::string& out, std::int64_t first, std::int64_t count,
                       const AnswerState& state) const override;
    std::int64_t events_for(std::int64_t) const override { return 1; }
    void append_event_tokens(std::vector<std::int32_t>& out, std::int64_t first,
                             std::int64_t count) const override {
        append_tokens_of_parts(out, terms().plan, first, count);
    }
    void append_closing(std::string& out, const AnswerState& state) const override;

  private:
    template <class WriteValue>
    void append_indexed(std::string& out, std::string_view name, std::int64_t index, std::string_view key,
                        const AnswerState& state, WriteValue write_value) const;
    void append_stop(std::string& out, std::int64_t index) const;

    std::string signature() const override {
        return fmt::format("{:016x}{:016x}", terms().plan.seed, derived_seed(terms().plan.seed, "signature"));
    }
    std::string usage(const AnswerState& state) const override;
    std::string_view whole_stop_sequence() const override { return {}; }
    std::string_view no_input() const override { return R"(,"input":{})"; }
};

/// Returns usage, in which the input tokens exclude those found in the prefix cache.
std::string VllmMessage::usage(const AnswerState& state) const {
    std::string cache;
    if (state.cached_tokens)
        cache = fmt::format(R"(,"cache_creation_input_tokens":0,"cache_read_input_tokens":{})",
                            *state.cached_tokens);
    return fmt::format(R"({{"input_tokens":{},"output_tokens":{}{}}})",
                       terms().prompt_tokens - state.cached_tokens.value_or(0), terms().plan.tokens, cache);
}

template <class WriteValue>
void VllmMessage::append_indexed(std::string& out, std::string_view name, std::int64_t index,
                                 std::string_view key, const AnswerState& state,
                                 WriteValue write_value) const {
    const std::size_t begin = open_named(out, name, terms().framing);
    fmt::format_to(std::back_inserter(out), R"({{"type":"{}","{}":)", name, key);
    write_value();
    fmt::format_to(std::back_inserter(out), R"(,"index":{})", index);
    append_event_truth(out, state);
    out += '}';
    close_named(out, begin, terms().framing);
}

/// Appends the end of a block. The block of thinking, which is signed, is the first of two or the only one.
void VllmMessage::append_stop(std::string& out, std::int64_t index) const {
    if (index == 0 && thinking_tokens() > 0) {
        append_indexed(out, "content_block_delta", index, "delta", {}, [&] {
            fmt::format_to(std::back_inserter(out), R"({{"type":"signature_delta","signature":"{}"}})",
                           signature());
        });
    }
    const std::size_t begin = open_named(out, "content_block_stop", terms().framing);
    fmt::format_to(std::back_inserter(out), R"({{"type":"content_block_stop","index":{}}})", index);
    close_named(out, begin, terms().framing);
}

/// Appends the event that starts the message. At that time the cached tokens are not known yet.
void VllmMessage::append_opening(std::string& out) const {
    const std::size_t begin = open_named(out, "message_start", terms().framing);
    append_start(out, fmt::format(R"({{"input_tokens":{},"output_tokens":0}})", terms().prompt_tokens));
    close_named(out, begin, terms().framing);
}

void VllmMessage::append_tokens(std::string& out, std::int64_t first, std::int64_t count,
                                const AnswerState& state) const {
    const AnswerPlan& plan = terms().plan;
    for (std::int64_t k = first; k < first + count;) {
        const std::int64_t end = end_of_part(plan, k, first + count);
        const std::int64_t index = blocks_until(k + 1) - 1;
        const bool only_start = part_of(plan, k) == Part::tool_name;
        if (starts_block(k)) {
            if (index > 0) append_stop(out, index - 1);
            append_indexed(out, "content_block_start", index, "content_block",
                           only_start ? state : AnswerState{}, [&] { append_block(out, k); });
        }
        if (!only_start)
            append_indexed(out, "content_block_delta", index, "delta", state,
                           [&] { append_delta(out, k, end); });
        k = end;
    }
}

void VllmMessage::append_closing(std::string& out, const AnswerState& state) const {
    append_stop(out, blocks_until(terms().plan.tokens) - 1);
    std::size_t begin = open_named(out, "message_delta", terms().framing);
    fmt::format_to(std::back_inserter(out),
                   R"({{"type":"message_delta","delta":{{"stop_reason":"{}","stop_sequence":null}},)"
                   R"("usage":{}}})",
                   stop_reason_of(terms().plan.finish_reason), usage(state));
    close_named(out, begin, terms().framing);
    begin = open_named(out, "message_stop", terms().framing);
    out += R"({"type":"message_stop"})";
    close_named(out, begin, terms().framing);
    append_end(out, terms().framing);
}

std::string vllm_message_error(const DialectTraits& dialect, const Refusal& refusal) {
    const ErrorWords words = dialect.error_words(refusal);
    return fmt::format(R"({{"type":"error","error":{{"type":{},"message":{}}}}})", json_string(words.type),
                       json_string(words.message));
}

std::string vllm_message_failure(const DialectTraits& dialect, const Refusal& refusal) {
    return fmt::format("event: error\ndata: {}\n\n", vllm_message_error(dialect, refusal));
}

/// Writes a chunk per token. The events that precede the first token are in its chunk, and those that follow
/// the last token in one chunk; the blocks are ended there.
class LlamacppMessage final : public MessageWriter {
  public:
    using MessageWriter::MessageWriter;

    void append_opening(std::string&) const override {}
    void append_tokens(std::string& out, std::int64_t first, std::int64_t count,
                       const AnswerState& state) const override;
    std::int64_t events_for(std::int64_t count) const override { return count; }
    void append_closing(std::string& out, const AnswerState& state) const override;

  private:
    template <class WriteValue>
    void append_indexed(std::string& out, std::string_view name, std::int64_t index, std::string_view key,
                        const AnswerState& state, WriteValue write_value) const;

    std::string signature() const override { return {}; }
    std::string usage(const AnswerState& state) const override {
        return usage_of(state, terms().plan.tokens);
    }
    std::string usage_of(const AnswerState& state, std::int64_t tokens) const {
        const std::int64_t cached = state.cached_tokens.value_or(0);
        return fmt::format(R"({{"cache_read_input_tokens":{},"input_tokens":{},"output_tokens":{}}})", cached,
                           terms().prompt_tokens - cached, tokens);
    }
    std::string_view whole_stop_sequence() const override { return R"(,"stop_sequence":null)"; }
    std::string_view no_input() const override { return {}; }
};

template <class WriteValue>
void LlamacppMessage::append_indexed(std::string& out, std::string_view name, std::int64_t index,
                                     std::string_view key, const AnswerState& state,
                                     WriteValue write_value) const {
    open_named(out, name, Framing::until_close);
    fmt::format_to(std::back_inserter(out), R"({{"type":"{}","index":{},"{}":)", name, index, key);
    write_value();
    append_event_truth(out, state);
    out += '}';
    close_named(out, 0, Framing::until_close);
}

void LlamacppMessage::append_tokens(std::string& out, std::int64_t first, std::int64_t count,
                                    const AnswerState& state) const {
    for (std::int64_t k = first; k < first + count; ++k) {
        const std::size_t begin = open_chunk(out, terms().framing);
        const std::int64_t index = blocks_until(k + 1) - 1;
        const bool only_start = part_of(terms().plan, k) == Part::tool_name;
        if (k == 0) {
            open_named(out, "message_start", Framing::until_close);
            append_start(out, usage_of(state, 0));
            close_named(out, 0, Framing::until_close);
        }
        if (starts_block(k))
            append_indexed(out, "content_block_start", index, "content_block",
                           only_start ? state : AnswerState{}, [&] { append_block(out, k); });
        if (!only_start)
            append_indexed(out, "content_block_delta", index, "delta", state,
                           [&] { append_delta(out, k, k + 1); });
        close_chunk(out, begin, terms().framing);
    }
}

void LlamacppMessage::append_closing(std::string& out, const AnswerState&) const {
    const std::size_t begin = open_chunk(out, terms().framing);
    if (thinking_tokens() > 0)
        append_indexed(out, "content_block_delta", 0, "delta", {},
                       [&] { out += R"({"type":"signature_delta","signature":""})"; });
    for (std::int64_t index = 0; index < blocks_until(terms().plan.tokens); ++index)
        fmt::format_to(
            std::back_inserter(out),
            "event: content_block_stop\ndata: {{\"type\":\"content_block_stop\",\"index\":{}}}\n\n", index);
    fmt::format_to(std::back_inserter(out),
                   "event: message_delta\ndata: "
                   R"({{"type":"message_delta","delta":{{"stop_reason":"{}","stop_sequence":null}},)"
                   R"("usage":{{"output_tokens":{}}}}})"
                   "\n\nevent: message_stop\ndata: {{\"type\":\"message_stop\"}}\n\n",
                   stop_reason_of(terms().plan.finish_reason), terms().plan.tokens);
    close_chunk(out, begin, terms().framing);
    append_end(out, terms().framing);
}

/// Returns the event of llama.cpp, whose data is the error itself. Its refusals have no form of their own.
std::string llamacpp_message_failure(const DialectTraits& dialect, const Refusal& refusal) {
    return fmt::format("event: error\ndata: {}\n\n", dialect.error_object(refusal));
}

template <class Writer>
std::unique_ptr<AnswerWriter> message_writer(AnswerTerms terms) {
    return std::make_unique<Writer>(std::move(terms));
}

}  // namespace

/// Anthropic's Messages, as vLLM and llama.cpp serve them.
constinit const ProtocolTraits kMessages{
    .path = "/v1/messages",
    .prompt_key = "messages",
    .read_options = read_message_options,
    .read_prompt = read_message_prompt,
    .vllm = {.writer = message_writer<VllmMessage>,
             .failure = vllm_message_failure,
             .error_body = vllm_message_error},
    .llamacpp = {.writer = message_writer<LlamacppMessage>, .failure = llamacpp_message_failure}};

}  // namespace paretoken::sim
