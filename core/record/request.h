#pragma once
// A request to a server, before it has been put into any wire format.
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace paretoken {

struct Message {
    std::string role;
    std::string content = {};  ///< text; if there are parts, the text of all parts
    /// A JSON list of content parts, or null, as text, or empty. Protocols with messages send it in place of
    /// `content`, except in messages of the role "system" of the protocol "messages".
    std::string parts = {};
    /// Further members as JSON text without braces, or empty:
    /// "\"tool_call_id\":\"call_1\",\"name\":\"weather\"". The protocols that send `parts` send them.
    std::string fields = {};

    bool operator==(const Message&) const = default;
};

using TokenIds = std::vector<std::int32_t>;
using Messages = std::vector<Message>;

/// The prompt of a request: a text (one message of the user, except with completions), token ids (only
/// completions), or a conversation (completions send its texts, joined by newlines).
using Prompt = std::variant<std::string, TokenIds, Messages>;

struct Request {
    std::uint64_t index = 0;    ///< position in the schedule; warm-up requests have their own count
    std::string id;             ///< unique within a run; sent as X-Request-Id
    std::string request_class;  ///< empty, or a label such as "interactive"
    std::string slo = {};       ///< its limits: "ttft:500"; empty means those of its class or of the run
    std::string model = {};     ///< model; empty means the run's
    std::string body = {};  ///< JSON object whose keys replace those of the body (null removes one); or empty
    Prompt prompt;
    std::optional<std::int64_t> wanted_input_tokens;
    /// The limit of output tokens (max_tokens, or the protocol's name for it), unless `body` or --extra-body
    /// sets one. If the server accepts ignore_eos, an answer with fewer tokens is a failure (too_short).
    std::optional<std::int64_t> wanted_output_tokens;
};

}  // namespace paretoken
