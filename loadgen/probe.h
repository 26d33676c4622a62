#pragma once
// Asks a server what it is and what it takes, before any clock starts: reachable, which model, which options,
// token ids or text, how many tokens our words make. What cannot be worked around ends the command with one
// clear line; what can (no tokenizer, a refused option) is noted in the facts.
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "core/record/record.h"
#include "datasets/catalog.h"
#include "datasets/generated/calibration.h"
#include "loadgen/http/address.h"
#include "loadgen/http/fetch.h"
#include "loadgen/http/message.h"
#include "loadgen/http/tls.h"
#include "loadgen/http/url.h"
#include "loadgen/openai/body.h"

namespace paretoken::loadgen {

struct EndpointOptions {
    http::Url url;
    std::string path;       ///< of requests; empty: the endpoint type's own
    http::Headers headers;  ///< further ones, authorisation included
    const http::TlsContext* tls = nullptr;
    openai::BodyOptions body;  ///< what is wanted; `model` empty: the first that the server lists
    bool calibrate = true;     ///< find out how many tokens our words make
    std::string prose = {};    ///< a piece of the text that prompts are cut from; empty: they are not
    bool token_ids = true;     ///< prompts as token ids where they are taken
    Duration timeout = std::chrono::minutes(10);  ///< for the answer to one question
    std::stop_token stop = {};                    ///< ends the probe: RuntimeError "interrupted"
    /// Told what the probe is waiting for, a sentence, when an answer takes longer than 2 s.
    std::function<void(const std::string&)> on_wait = {};
    std::string proxy_variable = {};  ///< name of the proxy variable that is set and not used; empty: none
};

struct EndpointFacts {
    http::Address address;
    bool local = false;                      ///< a loopback address
    openai::BodyOptions body;                ///< model set, refused options off
    std::vector<std::string> refused;        ///< options that the server does not take, by name
    std::string server_kind;                 ///< "vllm", "llama.cpp", "paretoken-sim", … or empty
    std::optional<std::int64_t> context;     ///< most tokens of prompt and answer together
    std::optional<std::int64_t> slots = {};  ///< llama.cpp: each serves one request and keeps its KV cache
    std::map<std::string, std::string> server_config = {};  ///< its own settings, without secrets
    datasets::PromptForm prompt_form = datasets::PromptForm::text;
    std::optional<datasets::Calibration> calibration;
    /// Cached prompt tokens of a request that shares nothing but the chat template with one before it;
    /// nothing where that was not asked.
    std::optional<double> cached_by_template = {};
    std::string simulator_profile;  ///< empty for a real server
    std::map<std::string, double> simulator_terms;
};

/// Throws RuntimeError (unreachable, refused, not OpenAI, unknown model, interrupted) or UsageError. A server
/// that is busy or still loading (429, 503) is asked again, as its Retry-After says, for a minute or the
/// timeout at the most. What the server says is told without the secrets that were sent to it.
EndpointFacts probe(const EndpointOptions& options);

/// Sends one request as the load would and throws RuntimeError with the server's words when it is refused:
/// the prompt may be longer than the context, the extra body nonsense.
/// Gives what the server says it counted.
TokenUsage try_one(const EndpointOptions& options, const EndpointFacts& facts, const Request& request);

/// Path of generation requests: the options' own, with a slash before it, or the endpoint type's.
std::string target_of(const EndpointOptions& options);

}  // namespace paretoken::loadgen
