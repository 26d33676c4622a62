#pragma once
// The server's side of the OpenAI protocol: reads request bodies, and writes answers about the server. It
// shares nothing with loadgen/protocol, because the server must not repeat an error of the client.
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/record/request.h"
#include "simulator/answers/answer_plan.h"
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
    std::int64_t block_tokens = 0;  ///< tokens of a block of the prefix cache; 0 means that there is no cache
    Dialect dialect = Dialect::vllm;
    std::int64_t max_num_seqs = 1;
    bool recalls = false;  ///< whether an answer returns the value that its prompt asks for

    bool operator==(const ServedModel&) const = default;
};

/// A request that can be served.
struct GenerationRequest {
    Endpoint endpoint = Endpoint::chat;
    std::int64_t prompt_tokens = 0;
    TokenIds prompt_token_ids = {};  ///< filled only with return_token_ids
    std::int64_t max_tokens = 0;     ///< limit of the request, or else the endpoint's default
    std::int64_t min_tokens = 0;
    bool ignore_eos = false;
    bool stream = false;
    bool include_usage = false;
    bool continuous_usage = false;
    bool return_token_ids = false;
    std::vector<std::uint64_t> prompt_blocks = {};  ///< names of the full blocks (model.block_tokens)
    BlockHasher after_prompt = BlockHasher();       ///< names the blocks that the answer completes
    bool timings_per_token = false;                 ///< option of llama.cpp
    std::string tool = {};                          ///< tool that the answer calls; empty means none
    bool tool_was_named = false;                    ///< whether tool_choice named it
    std::string recalled = {};                      ///< value that the answer returns; empty means none

    bool operator==(const GenerationRequest&) const = default;
};

/// The tokens of a text.
struct TokenList {
    TokenIds ids;
    std::vector<std::string> pieces;  ///< text of each token
};

/// Reads the body of a request for an answer; returns the error to answer with if it cannot be served.
std::variant<GenerationRequest, ApiError> parse_generation(Endpoint endpoint, std::string_view body,
                                                           const ServedModel& model);

/// Returns the length of an answer: max_tokens with ignore_eos, otherwise drawn from the seed (log-normal,
/// sigma 0.5, the given median), at least 1 and min_tokens, at most max_tokens.
std::int64_t answer_length(const GenerationRequest& request, double median_tokens, std::uint64_t seed);

/// Returns the plan of an answer: its content, its length, the tokens of reasoning in it, and the reason for
/// its end. Reasoning exists in chats only.
AnswerPlan answer_plan(const GenerationRequest& request, const Profile& profile, std::uint64_t seed);

/// Answers POST /tokenize; `memory` learns the pieces.
std::variant<std::string, ApiError> tokenize_answer(std::string_view body, const ServedModel& model,
                                                    PieceMemory& memory);

/// Answers POST /detokenize.
std::variant<std::string, ApiError> detokenize_answer(std::string_view body, const ServedModel& model,
                                                      const PieceMemory& memory);

/// Answers GET /sim/profile: the profile's name, and the result of limit_terms().
std::string profile_answer(const std::string& name, const std::map<std::string, double>& limit_terms);

}  // namespace paretoken::sim
