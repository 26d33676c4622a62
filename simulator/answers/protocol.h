#pragma once
// The table of the API's protocols that the simulated server answers: the path, reading of bodies, and
// writing of answers, events and errors. Each row has a file in protocols/ (chat.cpp is the example).
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace paretoken::sim {

enum class Endpoint : std::uint8_t { chat, completions, messages, responses };
inline constexpr Endpoint kEndpoints[] = {Endpoint::chat, Endpoint::completions, Endpoint::messages,
                                          Endpoint::responses};

class AnswerWriter;
struct AnswerTerms;
struct DialectTraits;
struct GenerationRequest;
struct Refusal;
struct RequestBody;
struct ServedModel;
struct TokenSink;

/// The form in which one family of servers writes a protocol.
struct ProtocolForm {
    std::unique_ptr<AnswerWriter> (*writer)(AnswerTerms terms);
    /// Returns the events that end a stream in which the server failed, without HTTP's chunk framing.
    std::string (*failure)(const DialectTraits& dialect, const Refusal& refusal);
    /// Returns the JSON body of an answer that refuses a request. Null: DialectTraits::error_body() is used.
    std::string (*error_body)(const DialectTraits& dialect, const Refusal& refusal) = nullptr;
};

struct ProtocolTraits {
    std::string_view path;  ///< "/v1/chat/completions"
    /// Whether prompts are put into a chat template. Only then can answers have reasoning and tool calls.
    bool chat = true;
    std::string_view prompt_key;  ///< field of the prompt, which every request must have: "messages"
    /// The limit of output tokens of a request without one, cut to what the prompt leaves; 0: all of that, as
    /// always with RequestRules::any_limit.
    std::int64_t usual_tokens = 0;
    /// Reads the fields except the prompt, the model and "stream" into `request`. Returns the requested limit
    /// of output tokens, or one that the dialect sets in its place; nothing if there is none.
    std::optional<std::int64_t> (*read_options)(const RequestBody& body, const ServedModel& model,
                                                GenerationRequest& request);
    /// Gives the tokens of the prompt to `sink`. The prompt's field is present.
    void (*read_prompt)(const RequestBody& body, const ServedModel& model, TokenSink& sink);
    // DialectTraits::form chooses one of the two forms, or returns another one from the dialect's own file.
    ProtocolForm vllm;
    ProtocolForm llamacpp;
};

extern const ProtocolTraits kChat;
extern const ProtocolTraits kCompletions;
extern const ProtocolTraits kMessages;
extern const ProtocolTraits kResponses;

const ProtocolTraits& traits_of(Endpoint endpoint);

/// Returns the paths of all protocols: "/v1/chat/completions, …".
std::string paths_of_protocols();

inline const ProtocolForm& vllm_form(const ProtocolTraits& protocol) {
    return protocol.vllm;
}
inline const ProtocolForm& llamacpp_form(const ProtocolTraits& protocol) {
    return protocol.llamacpp;
}

}  // namespace paretoken::sim
