#pragma once
// The functions with which the protocols read the bodies of requests. A reader that finds a field of a wrong
// type or value throws Refused, which parse_generation() and its siblings (wire.h) turn into an answer.
// Only the files of protocols and wire.cpp include this header, because simdjson takes seconds to compile.
#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "simulator/answers/api_error.h"
#include "simulator/answers/wire.h"

namespace paretoken::sim {

namespace dom = simdjson::dom;

/// The JSON object of a request.
struct RequestBody {
    dom::object fields;
};

struct Refused {
    Refusal refusal;
};

/// Refuses a field that is invalid.
[[noreturn]] void refuse_field(std::string_view type, std::string_view field, std::string_view message);
/// Refuses a request for a reason that concerns the field `param`.
[[noreturn]] void refuse(std::string_view message, std::string_view param);

dom::object parsed_object(dom::parser& parser, std::string_view body);

/// Returns the field; nothing if it is absent or null.
std::optional<dom::element> field_of(const dom::object& object, std::string_view name);
bool flag_of(const dom::object& object, std::string_view name, bool otherwise);
std::optional<std::int64_t> integer_of(const dom::object& object, std::string_view name);

// `name` is the field's name in the refusal.
dom::array list_of(const dom::element& element, std::string_view name);
dom::object object_of(const dom::element& element, std::string_view name);
std::string_view text_of(const dom::element& element, std::string_view name);
/// Returns the text of a field that must be there.
std::string_view required_text(const dom::object& object, std::string_view key, std::string_view name);

/// Receives a prompt in order, part by part. special() receives `count` tokens of the group `name` of the
/// chat template, text() a text that still has to be divided into tokens, and id() one token id.
struct TokenSink {
    virtual ~TokenSink() = default;
    virtual void special(std::int64_t count, std::string_view name) = 0;
    virtual void text(std::string_view text) = 0;
    virtual void id(std::int64_t id) = 0;
};

/// Gives the tokens of the chat template to `sink`: before the prompt, before each text, and after it.
void begin_text(TokenSink& sink);
void open_message(std::string_view role, TokenSink& sink);
void close_message(TokenSink& sink);

/// Reads the content of a message: a text, or parts with texts. `prompt_key` is the field of the messages.
void read_content(const dom::element& content, std::string_view prompt_key, TokenSink& sink);

/// Reads the messages of chat completions. `answer_header`: whether the header of the answer follows them.
void read_messages(const dom::element& messages, bool answer_header, TokenSink& sink);

/// Reads the prompt of a chat: the tools, if there are any, and the messages.
void read_chat_prompt(const dom::object& object, TokenSink& sink);

/// Reads a text; `add_special`: whether the token that starts a text precedes it.
void read_text_prompt(std::string_view text, bool add_special, TokenSink& sink);

/// Returns the limit of output tokens; `name` is the field's name in a refusal. With RequestRules::any_limit
/// a negative limit means none, and 0 means 1; otherwise one below 1 is refused.
std::optional<std::int64_t> checked_limit(std::optional<std::int64_t> asked, std::string_view name,
                                          const ServedModel& model);

/// The request's own choice of a tool.
struct ToolChoice {
    bool none = false;           ///< whether no tool may be called
    std::string_view name = {};  ///< tool to call; empty means that none is named
};

/// Chooses the tool that the answer calls: the one that `tool_choice` names, none if it forbids calls,
/// otherwise the first. Throws Refused if the named tool is not offered.
void choose_tool(const dom::object& object, std::string_view (*name_of)(const dom::element& tool),
                 ToolChoice (*choice_of)(const dom::element& choice), GenerationRequest& request);

}  // namespace paretoken::sim
