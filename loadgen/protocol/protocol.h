#pragma once
// The table of the API's protocols: how each writes the body of a request and reads the events of its
// streams. Each has a file of its own (chat.cpp, …), is declared below and listed in protocol.cpp.
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/record/request.h"

namespace paretoken::protocol {

struct BodyOptions;
struct EventFormat;

/// A field of requests that some servers refuse. The probe then leaves it out.
struct OptionalField {
    std::string_view name;          ///< name in messages: "ignore_eos"
    bool BodyOptions::*flag;        ///< whether it is sent
    std::string_view fields;        ///< JSON object with the fields to send
    bool only_with_stream = false;  ///< whether it is left out of requests without a stream
};

struct Protocol {
    std::string_view name;                 ///< value of --endpoint-type: "chat"
    std::string_view path;                 ///< default path of a request: "/v1/chat/completions"
    bool chat_template = false;            ///< whether the server puts prompts into a chat template
    bool takes_token_ids = false;          ///< whether a prompt may be token ids
    std::string_view prompt_key;           ///< field of the prompt: "messages"
    std::string_view limit_key;            ///< field of the most output tokens: "max_tokens"
    std::string_view reasoning_limit_key;  ///< the same with BodyOptions::max_completion_tokens
    /// Fields that every request has besides model and stream: a JSON object; empty: none.
    std::string_view constant_fields = {};
    /// In the order in which the probe leaves them out.
    std::span<const OptionalField> optional_fields = {};
    /// Headers that every request has, unless the user gives them.
    std::span<const std::pair<std::string_view, std::string_view>> headers = {};
    /// Appends the fields of `prompt` without braces, such as "\"messages\":[…]". It may be called with
    /// token ids only if `takes_token_ids` is set.
    void (*append_prompt)(std::string& out, const Prompt& prompt) = nullptr;
    /// Returns the path after the version: "/chat/completions".
    std::string_view path_in_version() const { return path.substr(std::string_view("/v1").size()); }
    const EventFormat* events = nullptr;  ///< how events and answers without a stream are read
};

extern const Protocol kChat, kCompletions, kMessages, kResponses;

/// All protocols; the default is the first.
std::span<const Protocol* const> protocols();
inline const Protocol& default_protocol() {
    return *protocols().front();
}

/// Returns the names of all protocols: "chat, completions, …".
std::string names_of_protocols();

const Protocol* protocol_named(std::string_view name);  ///< null when there is none

/// Returns the protocol whose path after the version is the end of a path or address without a query:
/// "https://a/x/v4/chat/completions". Null when there is none.
const Protocol* protocol_of_address(std::string_view address);

/// Returns whether `protocol` has the optional field of this flag.
bool has_field(const Protocol& protocol, bool BodyOptions::*flag);

}  // namespace paretoken::protocol
