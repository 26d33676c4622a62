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
    std::string content;     ///< text, or the text of all parts if there are parts
    std::string parts = {};  ///< text of a JSON list that is sent in place of `content`, or empty

    bool operator==(const Message&) const = default;
};

using TokenIds = std::vector<std::int32_t>;
using Messages = std::vector<Message>;

/// Text (sent to a chat as one user message), token ids (completions only), or a conversation (sent to
/// completions as its texts, one per line).
using Prompt = std::variant<std::string, TokenIds, Messages>;

struct Request {
    std::uint64_t index = 0;    ///< position in the schedule; warm-up requests have their own count
    std::string id;             ///< unique within a run; sent as X-Request-Id
    std::string request_class;  ///< empty, or a label such as "interactive"
    std::string slo = {};       ///< its limits: "ttft:500"; empty: the run's
    std::string model = {};     ///< model; empty: the run's
    std::string body = {};      ///< JSON object merged into the body; null removes a key; or empty
    Prompt prompt;
    std::optional<std::int64_t> wanted_input_tokens;
    std::optional<std::int64_t> wanted_output_tokens;  ///< max_tokens; with ignore_eos also the minimum
};

}  // namespace paretoken
