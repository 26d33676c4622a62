#pragma once
// The server's side of the OpenAI protocol as vLLM 0.32 or llama.cpp speak it: request bodies in, what is
// asked about the server out. Bytes ↔ meaning only, no I/O, and nothing shared with loadgen/openai: a fault
// of the client must not be mirrored here.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/record/request.h"
#include "simulator/answers/answer_writer.h"
#include "simulator/answers/api_error.h"
#include "simulator/engine/prefix_cache.h"
#include "simulator/engine/profile.h"
#include "simulator/engine/tokenizer.h"

namespace paretoken::sim {

/// The server's description of itself in its answers.
struct ServedModel {
    std::string name;
    std::int64_t context_limit = 0;  ///< tokens of prompt and answer together ("max_model_len")
    std::int64_t vocabulary = 0;
    std::int64_t block_tokens = 0;  ///< of a prefix cache; 0: there is none, and prompts need no names
    Dialect dialect = Dialect::vllm;
    std::int64_t max_num_seqs = 1;
    bool recalls = false;  ///< answers give back values from the prompt

    bool operator==(const ServedModel&) const = default;
};

/// A request that can be served.
struct GenerationRequest {
    Endpoint endpoint = Endpoint::chat;
    std::int64_t prompt_tokens = 0;
    TokenIds prompt_token_ids;    ///< only with return_token_ids
    std::int64_t max_tokens = 0;  ///< resolved: what was asked for, else the endpoint's default
    std::int64_t min_tokens = 0;
    bool ignore_eos = false;
    bool stream = false;
    bool include_usage = false;
    bool continuous_usage = false;
    bool return_token_ids = false;
    std::vector<std::uint64_t> prompt_blocks = {};  ///< names of the full blocks (model.block_tokens)
    BlockHasher after_prompt = BlockHasher();       ///< names what the answer completes
    bool timings_per_token = false;                 ///< llama.cpp
    std::string tool = {};                          ///< that the answer calls; empty: none
    bool tool_was_named = false;                    ///< by tool_choice
    std::string recalled = {};                      ///< what the answer says; empty: nothing of the prompt

    bool operator==(const GenerationRequest&) const = default;
};

std::variant<GenerationRequest, ApiError> parse_generation(Endpoint endpoint, std::string_view body,
                                                           const ServedModel& model);

/// Tokens that will be emitted: max_tokens with ignore_eos; else an answer ends by itself after a length
/// drawn from the seed (log-normal, sigma 0.5, the given median).
std::int64_t answer_length(const GenerationRequest& request, double median_tokens, std::uint64_t seed);

/// The plan of an answer: its length, how much of it is reasoning, why it ends.
AnswerPlan answer_plan(const GenerationRequest& request, const Profile& profile, std::uint64_t seed);

/// POST /tokenize; `memory` learns the pieces.
std::variant<std::string, ApiError> tokenize_answer(std::string_view body, const ServedModel& model,
                                                    PieceMemory& memory);

/// POST /detokenize.
std::variant<std::string, ApiError> detokenize_answer(std::string_view body, const ServedModel& model,
                                                      const PieceMemory& memory);

std::string models_answer(const ServedModel& model, std::int64_t created);
std::string health_answer(Dialect dialect);
std::string props_answer(const ServedModel& model);  ///< llama.cpp's GET /props, as far as clients read it
std::string profile_answer(const std::string& name, const std::map<std::string, double>& limit_terms);

}  // namespace paretoken::sim
