#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "simulator/answers/answer_writer.h"
#include "simulator/answers/json_text.h"
#include "simulator/answers/named_event.h"
#include "simulator/answers/request_reader.h"

namespace paretoken::sim {
namespace {

// Requests.

std::string_view name_of_response_tool(const dom::element& tool) {
    return required_text(object_of(tool, "tools"), "name", "tools.name");
}

ToolChoice choice_of_response_tool(const dom::element& choice) {
    std::string_view word;
    if (choice.get(word) == simdjson::SUCCESS) return {.none = word == "none"};
    return {.name = required_text(object_of(choice, "tool_choice"), "name", "tool_choice.name")};
}

std::optional<std::int64_t> read_response_options(const RequestBody& body, const ServedModel& model,
                                                  GenerationRequest& request) {
    if (field_of(body.fields, "previous_response_id"))
        throw Refused{{.status = 404,
                       .type = "NotFoundError",
                       .message = "This server stores no responses.",
                       .param = "previous_response_id"}};
    request.ignore_eos = flag_of(body.fields, "ignore_eos", false);
    choose_tool(body.fields, name_of_response_tool, choice_of_response_tool, request);
    return checked_limit(integer_of(body.fields, "max_output_tokens"), "max_output_tokens", model);
}

void read_input_message(std::string_view role, const dom::element& content, TokenSink& sink) {
    open_message(role, sink);
    read_content(content, "input", sink);
    close_message(sink);
}

/// Reads an item of the input. Chat templates leave out the reasoning of earlier turns.
void read_item(const dom::object& item, TokenSink& sink) {
    const auto content = field_of(item, "content");
    if (const auto role = field_of(item, "role"); role && content)
        return read_input_message(text_of(*role, "input.role"), *content, sink);
    const std::string_view type = required_text(item, "type", "input.type");
    if (type == "reasoning") return;
    if (type == "function_call_output") {
        const auto output = field_of(item, "output");
        if (!output) refuse_field("missing", "input.output", "Field required");
        return read_input_message("tool", *output, sink);
    }
    if (type != "function_call")
        refuse(fmt::format("Input items of type {} are not supported by this server.", type), "input");
    open_message("assistant", sink);
    sink.text(required_text(item, "arguments", "input.arguments"));
    close_message(sink);
}

void read_response_prompt(const RequestBody& body, const ServedModel&, TokenSink& sink) {
    if (const auto tools = field_of(body.fields, "tools")) sink.text(simdjson::minify(*tools));
    begin_text(sink);
    if (const auto instructions = field_of(body.fields, "instructions"))
        read_input_message("system", *instructions, sink);
    const dom::element input = *field_of(body.fields, "input");
    if (input.is_string()) {
        read_input_message("user", input, sink);
    } else {
        const dom::array items = list_of(input, "input");
        if (items.size() == 0) refuse("At least one item is required.", "input");
        for (const dom::element item : items) read_item(object_of(item, "input"), sink);
    }
    open_message("assistant", sink);
}

// Answers.

/// Writes answers as items, one after the other: reasoning, if there is any, and then a message or the call
/// of a function. Keys and their order are those of recorded streams.
class ResponseWriter : public AnswerWriter {
  public:
    explicit ResponseWriter(AnswerTerms terms) : terms_(std::move(terms)) {}

  protected:
    const AnswerTerms& terms() const { return terms_; }
    const AnswerPlan& plan() const { return terms_.plan; }
    std::int64_t reasoning_tokens() const { return std::min(plan().reasoning_tokens, plan().tokens); }
    bool has_reasoning() const { return reasoning_tokens() > 0; }
    bool has_answer() const { return reasoning_tokens() < plan().tokens; }
    bool calls() const { return has_answer() && !plan().tool.empty(); }
    bool starts_item(std::int64_t k) const { return k == 0 || k == plan().reasoning_tokens; }
    /// Returns an id as a JSON string: "resp_…".
    std::string id_of(std::string_view prefix) const {
        return json_string(fmt::format("{}_{}", prefix, terms_.id));
    }
    /// Appends tokens [first, end) as a JSON string.
    void append_text(std::string& out, std::int64_t first, std::int64_t end) const {
        out += '"';
        append_escaped_text(out, plan(), first, end);
        out += '"';
    }
    void append_reasoning(std::string& out) const { append_text(out, 0, reasoning_tokens()); }
    void append_message(std::string& out) const { append_text(out, reasoning_tokens(), plan().tokens); }
    void append_arguments(std::string& out) const { append_text(out, reasoning_tokens() + 1, plan().tokens); }

  private:
    AnswerTerms terms_;
};

// Events of vLLM's streams.
constexpr std::int64_t kOpeningEvents = 2;    // response.created, response.in_progress
constexpr std::int64_t kTextStartEvents = 2;  // the item, its part
constexpr std::int64_t kTextEndEvents = 3;    // the text, the part, the item

/// Writes an event per chunk. The events are numbered; state.events says how many of them had output.
class VllmResponse final : public ResponseWriter {
  public:
    explicit VllmResponse(AnswerTerms terms)
        : ResponseWriter(std::move(terms)),
          id_(id_of("resp")),
          reasoning_id_(id_of("rs")),
          item_id_(id_of(calls() ? "fc" : "msg")) {}

    bool opens_at_once() const override { return true; }
    void append_opening(std::string& out) const override;
    void append_tokens(std::string& out, std::int64_t first, std::int64_t count,
                       const AnswerState& state) const override;
    std::int64_t events_for(std::int64_t) const override { return 1; }
    void append_event_tokens(std::vector<std::int32_t>& out, std::int64_t first,
                             std::int64_t count) const override {
        append_tokens_of_parts(out, plan(), first, count);
    }
    void append_closing(std::string& out, const AnswerState& state) const override;
    std::string whole(const AnswerState& state) const override {
        return response(plan().finish_reason == "length" ? "incomplete" : "completed", &state);
    }

  private:
    /// The number of the next event of a stream.
    struct Numbers {
        std::int64_t next = 0;
    };
    /// Returns the number of events without output that precede the events of token k. The event that starts
    /// a call has the call's name as its output.
    std::int64_t events_without_output(std::int64_t k) const;
    /// Appends an event; `write_fields` appends the fields that precede its number, without braces, and
    /// `write_more` those between the number and the type.
    template <class WriteFields, class WriteMore>
    void append_event(std::string& out, std::string_view name, Numbers& numbers, const AnswerState& state,
                      WriteFields write_fields, WriteMore write_more) const;
    template <class WriteFields>
    void append_event(std::string& out, std::string_view name, Numbers& numbers, const AnswerState& state,
                      WriteFields write_fields) const {
        append_event(out, name, numbers, state, write_fields, [] {});
    }
    void append_item_start(std::string& out, std::int64_t k, Numbers& numbers,
                           const AnswerState& state) const;
    void append_item_end(std::string& out, bool reasoning, Numbers& numbers) const;
    void append_delta(std::string& out, std::int64_t first, std::int64_t end, Numbers& numbers,
                      const AnswerState& state) const;
    std::string item(bool reasoning) const;
    std::string usage(const AnswerState& state) const;
    std::string response(std::string_view status, const AnswerState* end) const;

    std::string_view item_id(bool reasoning) const { return reasoning ? reasoning_id_ : item_id_; }
    /// Returns the place of an item in the output.
    int place(bool reasoning) const { return !reasoning && has_reasoning() ? 1 : 0; }

    std::string id_;
    std::string reasoning_id_;
    std::string item_id_;
};

std::string VllmResponse::usage(const AnswerState& state) const {
    return fmt::format(
        R"({{"input_tokens":{},"input_tokens_details":{{"cached_tokens":{},"cache_write_tokens":0,)"
        R"("input_tokens_per_turn":[],"cached_tokens_per_turn":[]}},"output_tokens":{},)"
        R"("output_tokens_details":{{"reasoning_tokens":{},"tool_output_tokens":0,)"
        R"("output_tokens_per_turn":[],"tool_output_tokens_per_turn":[]}},"total_tokens":{}}})",
        terms().prompt_tokens, state.cached_tokens.value_or(0), plan().tokens, reasoning_tokens(),
        terms().prompt_tokens + plan().tokens);
}

/// Returns the completed item.
std::string VllmResponse::item(bool reasoning) const {
    std::string out = fmt::format(R"({{"id":{},)", item_id(reasoning));
    if (reasoning) {
        out += R"("summary":[],"type":"reasoning","content":[{"text":)";
        append_reasoning(out);
        return out += R"(,"type":"reasoning_text"}],"encrypted_content":null,"status":"completed"})";
    }
    if (calls()) {
        out = R"({"arguments":)";
        append_arguments(out);
        fmt::format_to(std::back_inserter(out),
                       R"(,"call_id":{},"name":{},"type":"function_call","id":{},"status":"completed"}})",
                       id_of("call"), json_string(plan().tool), item_id(false));
        return out;
    }
    out += R"("content":[{"annotations":[],"text":)";
    append_message(out);
    return out += R"(,"type":"output_text","logprobs":null}],"role":"assistant","status":"completed",)"
                  R"("type":"message","phase":null})";
}

/// Returns the response: as it ended in the state `end`, or in progress if `end` is null.
std::string VllmResponse::response(std::string_view status, const AnswerState* end) const {
    std::string output;
    if (end != nullptr && has_reasoning()) output += item(true);
    if (end != nullptr && has_answer()) output.append(output.empty() ? "" : ",").append(item(false));
    return fmt::format(
        R"({{"id":{},"created_at":{},"incomplete_details":{},"instructions":null,"metadata":null,)"
        R"("model":{},"object":"response","output":[{}],"parallel_tool_calls":true,"temperature":1.0,)"
        R"("tool_choice":"{}","tools":[],"top_p":1.0,"background":false,"max_output_tokens":{},)"
        R"("max_tool_calls":null,"previous_response_id":null,"prompt":null,"reasoning":null,)"
        R"("service_tier":"auto","status":"{}","text":null,"top_logprobs":null,"truncation":"disabled",)"
        R"("usage":{},"user":null,"presence_penalty":0.0,"frequency_penalty":0.0,"kv_transfer_params":null,)"
        R"("ec_transfer_params":null,"input_messages":null,"output_messages":null}})",
        id_, terms().created, status == "incomplete" ? R"({"reason":"max_output_tokens"})" : "null",
        json_string(terms().model), output, plan().tool.empty() ? "none" : "auto", terms().max_tokens, status,
        end == nullptr ? "null" : usage(*end));
}

template <class WriteFields, class WriteMore>
void VllmResponse::append_event(std::string& out, std::string_view name, Numbers& numbers,
                                const AnswerState& state, WriteFields write_fields,
                                WriteMore write_more) const {
    const std::size_t begin = open_named(out, name, terms().framing);
    out += '{';
    write_fields();
    fmt::format_to(std::back_inserter(out), R"(,"sequence_number":{})", numbers.next++);
    write_more();
    append_event_truth(out, state);
    fmt::format_to(std::back_inserter(out), R"(,"type":"{}"}})", name);
    close_named(out, begin, terms().framing);
}

void VllmResponse::append_opening(std::string& out) const {
    Numbers numbers;
    for (const std::string_view name : {"response.created", "response.in_progress"})
        append_event(out, name, numbers, {},
                     [&] { out.append(R"("response":)").append(response("in_progress", nullptr)); });
}

std::int64_t VllmResponse::events_without_output(std::int64_t k) const {
    std::int64_t events = kOpeningEvents;
    if (k > 0 && has_reasoning()) events += kTextStartEvents;
    if (k <= reasoning_tokens()) return events;
    if (has_reasoning()) events += kTextEndEvents;
    return calls() ? events : events + kTextStartEvents;
}

/// Appends the events that start the item of token k. The event of a call has the token of its name.
void VllmResponse::append_item_start(std::string& out, std::int64_t k, Numbers& numbers,
                                     const AnswerState& state) const {
    const bool reasoning = part_of(plan(), k) == Part::reasoning;
    const std::string_view id = item_id(reasoning);
    append_event(out, "response.output_item.added", numbers, calls() && !reasoning ? state : AnswerState{},
                 [&] {
                     out += R"("item":)";
                     if (reasoning) {
                         fmt::format_to(std::back_inserter(out),
                                        R"({{"id":{},"summary":[],"type":"reasoning","content":null,)"
                                        R"("encrypted_content":null,"status":"in_progress"}})",
                                        id);
                     } else if (calls()) {
                         fmt::format_to(std::back_inserter(out),
                                        R"({{"arguments":"","call_id":{},"name":{},"type":"function_call",)"
                                        R"("id":{},"status":"in_progress"}})",
                                        id_of("call"), json_string(plan().tool), id);
                     } else {
                         fmt::format_to(std::back_inserter(out),
                                        R"({{"id":{},"content":[],"role":"assistant","status":"in_progress",)"
                                        R"("type":"message","phase":null}})",
                                        id);
                     }
                     fmt::format_to(std::back_inserter(out), R"(,"output_index":{})", place(reasoning));
                 });
    if (calls() && !reasoning) return;
    append_event(out, "response.content_part.added", numbers, {}, [&] {
        fmt::format_to(std::back_inserter(out),
                       R"("content_index":0,"item_id":{},"output_index":{},"part":{})", id, place(reasoning),
                       reasoning ? R"({"text":"","type":"reasoning_text"})"
                                 : R"({"annotations":[],"text":"","type":"output_text","logprobs":[]})");
    });
}

void VllmResponse::append_delta(std::string& out, std::int64_t first, std::int64_t end, Numbers& numbers,
                                const AnswerState& state) const {
    const Part part = part_of(plan(), first);
    const bool reasoning = part == Part::reasoning;
    const std::string_view id = item_id(reasoning);
    if (part == Part::tool_arguments) {
        append_event(out, "response.function_call_arguments.delta", numbers, state, [&] {
            out += R"("delta":)";
            append_text(out, first, end);
            fmt::format_to(std::back_inserter(out), R"(,"item_id":{},"output_index":{})", id,
                           place(reasoning));
        });
        return;
    }
    append_event(out, reasoning ? "response.reasoning_text.delta" : "response.output_text.delta", numbers,
                 state, [&] {
                     out += R"("content_index":0,"delta":)";
                     append_text(out, first, end);
                     fmt::format_to(std::back_inserter(out), R"(,"item_id":{}{},"output_index":{})", id,
                                    reasoning ? "" : R"(,"logprobs":[])", place(reasoning));
                 });
}

void VllmResponse::append_tokens(std::string& out, std::int64_t first, std::int64_t count,
                                 const AnswerState& state) const {
    Numbers numbers{state.events + events_without_output(first)};
    for (std::int64_t k = first; k < first + count;) {
        const std::int64_t end = end_of_part(plan(), k, first + count);
        if (starts_item(k)) {
            if (k > 0) append_item_end(out, true, numbers);
            append_item_start(out, k, numbers, state);
        }
        if (part_of(plan(), k) != Part::tool_name) append_delta(out, k, end, numbers, state);
        k = end;
    }
}

void VllmResponse::append_item_end(std::string& out, bool reasoning, Numbers& numbers) const {
    const std::string_view id = item_id(reasoning);
    if (calls() && !reasoning) {
        append_event(out, "response.function_call_arguments.done", numbers, {}, [&] {
            out += R"("arguments":)";
            append_arguments(out);
            fmt::format_to(std::back_inserter(out), R"(,"item_id":{},"name":{},"output_index":{})", id,
                           json_string(plan().tool), place(reasoning));
        });
    } else {
        const auto append_whole_text = [&] { reasoning ? append_reasoning(out) : append_message(out); };
        append_event(
            out, reasoning ? "response.reasoning_text.done" : "response.output_text.done", numbers, {},
            [&] {
                fmt::format_to(std::back_inserter(out),
                               R"("content_index":0,"item_id":{}{},"output_index":{})", id,
                               reasoning ? "" : R"(,"logprobs":[])", place(reasoning));
            },
            [&] {
                out += R"(,"text":)";
                append_whole_text();
            });
        append_event(out, "response.content_part.done", numbers, {}, [&] {
            fmt::format_to(std::back_inserter(out),
                           R"("content_index":0,"item_id":{},"output_index":{},"part":{{{}"text":)", id,
                           place(reasoning), reasoning ? "" : R"("annotations":[],)");
            append_whole_text();
            out += reasoning ? R"(,"type":"reasoning_text"})" : R"(,"type":"output_text","logprobs":null})";
        });
    }
    append_event(out, "response.output_item.done", numbers, {}, [&] {
        fmt::format_to(std::back_inserter(out), R"("item":{},"output_index":{})", item(reasoning),
                       place(reasoning));
    });
}

void VllmResponse::append_closing(std::string& out, const AnswerState& state) const {
    Numbers numbers{state.events + events_without_output(plan().tokens)};
    append_item_end(out, !has_answer(), numbers);
    append_event(out, "response.completed", numbers, {},
                 [&] { out.append(R"("response":)").append(whole(state)); });
    append_end(out, terms().framing);
}

std::string vllm_response_failure(const DialectTraits& dialect, const Refusal& refusal) {
    const ErrorWords words = dialect.error_words(refusal);
    return fmt::format(
        "event: error\ndata: "
        R"({{"code":{},"message":{},"param":null,"sequence_number":0,"type":"error"}})"
        "\n\n",
        json_string(words.type), json_string(words.message));
}

/// Writes a chunk per token. The events that precede the first token are in its chunk, and those that follow
/// the last token in one chunk; the items are ended there.
class LlamacppResponse final : public ResponseWriter {
  public:
    explicit LlamacppResponse(AnswerTerms terms)
        : ResponseWriter(std::move(terms)),
          id_(id_of("resp")),
          reasoning_id_(id_of("rs")),
          message_id_(id_of("msg")),
          call_id_(id_of("fc")) {}

    void append_opening(std::string&) const override {}
    void append_tokens(std::string& out, std::int64_t first, std::int64_t count,
                       const AnswerState& state) const override;
    std::int64_t events_for(std::int64_t count) const override { return count; }
    void append_closing(std::string& out, const AnswerState& state) const override;
    std::string whole(const AnswerState& state) const override;

  private:
    /// Appends an event; `write_fields` appends its fields after the type, each with a comma before it.
    template <class WriteFields>
    void append_event(std::string& out, std::string_view name, const AnswerState& state,
                      WriteFields write_fields) const;
    void append_item_start(std::string& out, std::int64_t k, const AnswerState& state) const;
    void append_delta(std::string& out, std::int64_t k, const AnswerState& state) const;
    std::string reasoning_item() const;
    std::string text_part() const;
    std::string message_item() const;
    std::string call_item() const;
    std::string usage(const AnswerState& state) const;

    std::string id_;
    std::string reasoning_id_;
    std::string message_id_;
    std::string call_id_;
};

template <class WriteFields>
void LlamacppResponse::append_event(std::string& out, std::string_view name, const AnswerState& state,
                                    WriteFields write_fields) const {
    open_named(out, name, Framing::until_close);
    fmt::format_to(std::back_inserter(out), R"({{"type":"{}")", name);
    write_fields();
    append_event_truth(out, state);
    out += '}';
    close_named(out, 0, Framing::until_close);
}

void LlamacppResponse::append_item_start(std::string& out, std::int64_t k, const AnswerState& state) const {
    const Part part = part_of(plan(), k);
    const bool text = part == Part::content;
    append_event(out, "response.output_item.added", part == Part::tool_name ? state : AnswerState{}, [&] {
        if (part == Part::reasoning) {
            fmt::format_to(std::back_inserter(out),
                           R"(,"item":{{"id":{},"summary":[],"type":"reasoning","content":[],)"
                           R"("encrypted_content":"","status":"in_progress"}})",
                           reasoning_id_);
        } else if (text) {
            fmt::format_to(std::back_inserter(out),
                           R"(,"item":{{"content":[],"id":{},"role":"assistant","status":"in_progress",)"
                           R"("type":"message"}})",
                           message_id_);
        } else {
            fmt::format_to(std::back_inserter(out),
                           R"(,"item":{{"arguments":"","call_id":{},"name":{},"type":"function_call",)"
                           R"("status":"in_progress"}})",
                           call_id_, json_string(plan().tool));
        }
    });
    if (!text) return;
    append_event(out, "response.content_part.added", {}, [&] {
        fmt::format_to(std::back_inserter(out), R"(,"item_id":{},"part":{{"type":"output_text","text":""}})",
                       message_id_);
    });
}

void LlamacppResponse::append_delta(std::string& out, std::int64_t k, const AnswerState& state) const {
    switch (part_of(plan(), k)) {
        case Part::tool_name:
            return;
        case Part::reasoning:
            append_event(out, "response.reasoning_text.delta", state, [&] {
                out += R"(,"delta":)";
                append_text(out, k, k + 1);
                out.append(R"(,"item_id":)").append(reasoning_id_);
            });
            return;
        case Part::content:
            append_event(out, "response.output_text.delta", state, [&] {
                out.append(R"(,"item_id":)").append(message_id_).append(R"(,"delta":)");
                append_text(out, k, k + 1);
            });
            return;
        case Part::tool_arguments:
            append_event(out, "response.function_call_arguments.delta", state, [&] {
                out += R"(,"delta":)";
                append_text(out, k, k + 1);
                out.append(R"(,"item_id":)").append(call_id_);
            });
            return;
    }
}

void LlamacppResponse::append_tokens(std::string& out, std::int64_t first, std::int64_t count,
                                     const AnswerState& state) const {
    for (std::int64_t k = first; k < first + count; ++k) {
        const std::size_t begin = open_chunk(out, terms().framing);
        if (k == 0) {
            for (const std::string_view name : {"response.created", "response.in_progress"})
                append_event(out, name, {}, [&] {
                    fmt::format_to(std::back_inserter(out),
                                   R"(,"response":{{"id":{},"object":"response","status":"in_progress"}})",
                                   id_);
                });
        }
        if (starts_item(k)) append_item_start(out, k, state);
        append_delta(out, k, state);
        close_chunk(out, begin, terms().framing);
    }
}

std::string LlamacppResponse::reasoning_item() const {
    std::string out =
        fmt::format(R"({{"id":{},"summary":[],"type":"reasoning","content":[{{"text":)", reasoning_id_);
    append_reasoning(out);
    return out += R"(,"type":"reasoning_text"}],"encrypted_content":"")";
}

std::string LlamacppResponse::text_part() const {
    std::string out = R"({"type":"output_text","annotations":[],"logprobs":[],"text":)";
    append_message(out);
    return out += '}';
}

std::string LlamacppResponse::message_item() const {
    return fmt::format(
        R"({{"type":"message","status":"completed","id":{},"content":[{}],"role":"assistant"}})", message_id_,
        text_part());
}

std::string LlamacppResponse::call_item() const {
    std::string out = R"({"type":"function_call","status":"completed","arguments":)";
    append_arguments(out);
    fmt::format_to(std::back_inserter(out), R"(,"call_id":{},"name":{}}})", call_id_,
                   json_string(plan().tool));
    return out;
}

std::string LlamacppResponse::usage(const AnswerState& state) const {
    return fmt::format(R"({{"input_tokens":{},"output_tokens":{},"total_tokens":{},)"
                       R"("input_tokens_details":{{"cached_tokens":{}}}}})",
                       terms().prompt_tokens, plan().tokens, terms().prompt_tokens + plan().tokens,
                       state.cached_tokens.value_or(0));
}

void LlamacppResponse::append_closing(std::string& out, const AnswerState& state) const {
    const std::size_t begin = open_chunk(out, terms().framing);
    std::string output;
    const auto append_item = [&](const std::string& item) {
        append_event(out, "response.output_item.done", {}, [&] { out.append(R"(,"item":)").append(item); });
        output.append(output.empty() ? "" : ",").append(item);
    };
    if (has_reasoning()) append_item(reasoning_item() + "}");
    if (calls()) {
        append_item(call_item());
    } else if (has_answer()) {
        append_event(out, "response.output_text.done", {}, [&] {
            out.append(R"(,"item_id":)").append(message_id_).append(R"(,"text":)");
            append_message(out);
        });
        append_event(out, "response.content_part.done", {}, [&] {
            fmt::format_to(std::back_inserter(out), R"(,"item_id":{},"part":{})", message_id_, text_part());
        });
        append_item(message_item());
    }
    append_event(out, "response.completed", {}, [&] {
        fmt::format_to(std::back_inserter(out),
                       R"(,"response":{{"id":{},"object":"response","created_at":{},"status":"completed",)"
                       R"("model":{},"output":[{}],"usage":{}}})",
                       id_, terms().created, json_string(terms().model), output, usage(state));
        append_llamacpp_timings(out, terms().prompt_tokens, plan().tokens, state);
    });
    close_chunk(out, begin, terms().framing);
    append_end(out, terms().framing);
}

std::string LlamacppResponse::whole(const AnswerState& state) const {
    std::string output;
    if (has_reasoning()) output = reasoning_item() + R"(,"status":"completed"})";
    if (has_answer() && has_reasoning()) output += ',';
    if (calls()) {
        output += call_item();
    } else if (has_answer()) {
        output += fmt::format(
            R"({{"content":[{}],"id":{},"role":"assistant","status":"completed","type":"message"}})",
            text_part(), message_id_);
    }
    return fmt::format(
        R"({{"completed_at":{},"created_at":{},"id":{},"model":{},"object":"response","output":[{}],)"
        R"("status":"completed","usage":{}}})",
        terms().created, terms().created, id_, json_string(terms().model), output, usage(state));
}

/// Returns the event of llama.cpp, which has no name here.
std::string llamacpp_response_failure(const DialectTraits& dialect, const Refusal& refusal) {
    return fmt::format("data: {}\n\n", dialect.error_body(refusal));
}

template <class Writer>
std::unique_ptr<AnswerWriter> response_writer(AnswerTerms terms) {
    return std::make_unique<Writer>(std::move(terms));
}

}  // namespace

/// OpenAI's Responses, as vLLM and llama.cpp serve them. Nothing is stored.
constinit const ProtocolTraits kResponses{
    .path = "/v1/responses",
    .prompt_key = "input",
    .read_options = read_response_options,
    .read_prompt = read_response_prompt,
    .vllm = {.writer = response_writer<VllmResponse>, .failure = vllm_response_failure},
    .llamacpp = {.writer = response_writer<LlamacppResponse>, .failure = llamacpp_response_failure}};

}  // namespace paretoken::sim
