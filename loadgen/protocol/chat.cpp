#include "loadgen/protocol/choices.h"
#include "loadgen/protocol/json_text.h"
#include "loadgen/protocol/protocol.h"

namespace paretoken::protocol {
namespace {

void append_prompt(std::string& out, const Prompt& prompt) {
    out += "\"messages\":";
    append_messages(out, prompt);
}

}  // namespace

/// OpenAI's chat completions. A text is one message of the user.
constinit const Protocol kChat{.name = "chat",
                               .path = "/v1/chat/completions",
                               .chat_template = true,
                               .takes_token_ids = false,
                               .prompt_key = "messages",
                               .limit_key = "max_tokens",
                               .reasoning_limit_key = "max_completion_tokens",
                               .optional_fields = kChoicesFields,
                               .append_prompt = append_prompt,
                               .events = &kChoices};

}  // namespace paretoken::protocol
