#include <fmt/format.h>

#include "loadgen/protocol/choices.h"
#include "loadgen/protocol/json_text.h"
#include "loadgen/protocol/protocol.h"

namespace paretoken::protocol {
namespace {

void append_ids(std::string& out, const TokenIds& ids) {
    out += '[';
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (i != 0) out += ',';
        const fmt::format_int digits(ids[i]);
        out.append(digits.data(), digits.size());
    }
    out += ']';
}

void append_prompt(std::string& out, const Prompt& prompt) {
    out += "\"prompt\":";
    if (const auto* ids = std::get_if<TokenIds>(&prompt)) return append_ids(out, *ids);
    if (const auto* text = std::get_if<std::string>(&prompt)) return append_json_string(out, *text);
    out += '"';
    const Messages& messages = std::get<Messages>(prompt);
    for (std::size_t i = 0; i < messages.size(); ++i) {
        if (i != 0) out += "\\n";
        append_json_escaped(out, messages[i].content);
    }
    out += '"';
}

}  // namespace

/// OpenAI's completions. A conversation is sent as its messages' text, one per line.
constinit const Protocol kCompletions{.name = "completions",
                                      .path = "/v1/completions",
                                      .chat_template = false,
                                      .takes_token_ids = true,
                                      .prompt_key = "prompt",
                                      .limit_key = "max_tokens",
                                      .reasoning_limit_key = "max_tokens",
                                      .optional_fields = kChoicesFields,
                                      .append_prompt = append_prompt,
                                      .events = &kChoices};

}  // namespace paretoken::protocol
