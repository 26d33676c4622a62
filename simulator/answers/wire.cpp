#include "simulator/answers/wire.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/random.h"
#include "simulator/answers/json_text.h"
#include "simulator/answers/protocol.h"
#include "simulator/answers/recall.h"
#include "simulator/answers/request_reader.h"
#include "simulator/engine/prompt_tokens.h"

namespace paretoken::sim {
namespace {

struct Counter final : TokenSink {
    Counter(PromptTokens empty, std::int64_t size, bool keep)
        : tokens(std::move(empty)), vocabulary(size), keep_ids(keep) {}

    PromptTokens tokens;
    std::int64_t vocabulary = 0;
    bool keep_ids = false;
    bool keep_text = false;
    TokenIds ids;
    std::string words;

    void special(std::int64_t number, std::string_view name) override {
        tokens.add_special(number, name);
        if (!keep_ids) return;
        for (std::int64_t i = 0; i < number; ++i)
            ids.push_back(token_id_of(special_piece(name, i), vocabulary));
    }
    void text(std::string_view text) override {
        tokens.add_text(text);
        if (keep_text) words.append(text).append("\n");
        for (; keep_ids && !text.empty(); text.remove_prefix(first_piece(text)))
            ids.push_back(token_id_of(text.substr(0, first_piece(text)), vocabulary));
    }
    void id(std::int64_t id) override {
        tokens.add_id(id);
        if (keep_ids) ids.push_back(static_cast<std::int32_t>(id));
    }
};

struct Lister final : TokenSink {
    std::int64_t vocabulary = 0;
    TokenList tokens;

    void add(std::string_view piece) {
        tokens.ids.push_back(token_id_of(piece, vocabulary));
        tokens.pieces.emplace_back(piece);
    }
    void special(std::int64_t number, std::string_view name) override {
        for (std::int64_t i = 0; i < number; ++i) add(special_piece(name, i));
    }
    void text(std::string_view text) override {
        while (!text.empty()) {
            const std::size_t length = first_piece(text);
            add(text.substr(0, length));
            text.remove_prefix(length);
        }
    }
    void id(std::int64_t) override {}
};

void check_model(const dom::object& object, const ServedModel& model) {
    const auto field = field_of(object, "model");
    if (!field) return;
    const std::string_view name = text_of(*field, "model");
    if (name == model.name || traits_of(model.dialect).requests.any_model) return;
    throw Refused{
        {.status = 404,
         .type = "NotFoundError",
         .message = fmt::format("The model `{}` does not exist. Valid aliases: {}.", name, model.name),
         .param = "model"}};
}

/// Returns the limit within the context. llama.cpp stops at its end; vLLM refuses a request that exceeds it.
std::int64_t resolved_max_tokens(std::optional<std::int64_t> asked, const GenerationRequest& request,
                                 const ServedModel& model) {
    const std::int64_t limit = model.context_limit;
    const std::int64_t room = limit - request.prompt_tokens;
    if (room < 1)
        throw Refused{{.too_long = TooLong{.prompt_tokens = request.prompt_tokens, .context = limit}}};
    if (traits_of(model.dialect).requests.any_limit) return std::min(room, asked.value_or(room));
    if (asked && *asked > room) {
        refuse(
            fmt::format(
                "This model's maximum context length is {} tokens. However, you requested {} output tokens "
                "and your prompt contains at least {} input tokens, for a total of at least {} tokens. "
                "Please reduce the length of the input prompt or the number of requested output tokens. "
                "(parameter=input_tokens, value={})",
                limit, *asked, request.prompt_tokens, request.prompt_tokens + *asked, request.prompt_tokens),
            "input_tokens");
    }
    if (asked) return *asked;
    const std::int64_t usual = traits_of(request.endpoint).usual_tokens;
    return usual == 0 ? room : std::min(room, usual);
}

/// Returns the salt of a prompt; prompts with different salts share no block.
std::uint64_t salt_of(const dom::object& object) {
    const auto field = field_of(object, "cache_salt");
    return field ? derived_seed(0, text_of(*field, "cache_salt")) : 0;
}

void read_generation_prompt(const ProtocolTraits& protocol, const RequestBody& body, const ServedModel& model,
                            GenerationRequest& request) {
    Counter counter(PromptTokens(model.vocabulary, model.block_tokens, salt_of(body.fields)),
                    model.vocabulary, request.return_token_ids);
    counter.keep_text = model.recalls;
    if (!field_of(body.fields, protocol.prompt_key))
        refuse_field("missing", protocol.prompt_key, "Field required");
    protocol.read_prompt(body, model, counter);
    request.prompt_tokens = counter.tokens.count();
    request.prompt_token_ids = std::move(counter.ids);
    request.prompt_blocks = counter.tokens.blocks();
    request.after_prompt = counter.tokens.hasher().value_or(BlockHasher());
    request.recalled = recalled_from(counter.words);
    if (request.prompt_tokens == 0) refuse("The prompt is empty.", protocol.prompt_key);
}

GenerationRequest read_generation(Endpoint endpoint, const RequestBody& body, const ServedModel& model) {
    const ProtocolTraits& protocol = traits_of(endpoint);
    GenerationRequest request;
    request.endpoint = endpoint;
    request.stream = flag_of(body.fields, "stream", false);
    const auto asked = protocol.read_options(body, model, request);
    read_generation_prompt(protocol, body, model, request);
    check_model(body.fields, model);
    request.max_tokens = resolved_max_tokens(asked, request, model);
    return request;
}

std::string read_tokenize(const dom::object& object, const ServedModel& model, PieceMemory& memory) {
    check_model(object, model);
    const DialectTraits& dialect = traits_of(model.dialect);
    const TokenizeKeys& keys = dialect.tokenize;
    Lister lister;
    lister.vocabulary = model.vocabulary;
    const auto text = field_of(object, keys.text);
    if (keys.messages && field_of(object, "messages")) {
        read_chat_prompt(object, lister);
    } else if (text) {
        read_text_prompt(text_of(*text, keys.text), flag_of(object, keys.special, keys.special_unless_told),
                         lister);
    } else if (keys.text_is_required) {
        refuse_field("missing", keys.text, "Field required");
    }
    const TokenList& tokens = lister.tokens;
    for (std::size_t i = 0; i < tokens.ids.size(); ++i) memory.remember(tokens.ids[i], tokens.pieces[i]);
    return dialect.tokens(tokens, model, flag_of(object, keys.pieces, false));
}

std::string read_detokenize(const dom::object& object, const ServedModel& model, const PieceMemory& memory) {
    check_model(object, model);
    const auto tokens = field_of(object, "tokens");
    if (!tokens) refuse_field("missing", "tokens", "Field required");
    std::string text;
    for (const dom::element element : list_of(*tokens, "tokens")) {
        std::int64_t id = 0;
        if (element.get(id) != simdjson::SUCCESS)
            refuse_field("int_type", "tokens", "Input should be a valid integer");
        if (id < 0 || id >= model.vocabulary)
            refuse(fmt::format("Token id {} is out of vocabulary", id), "tokens");
        text += memory.piece_of(static_cast<std::int32_t>(id));
    }
    return fmt::format(R"({{"{}":{}}})", traits_of(model.dialect).tokenize.text, json_string(text));
}

std::int64_t reasoning_tokens_of(const ReasoningPart& part, std::int64_t tokens) {
    const auto share = std::llround(part.share * static_cast<double>(tokens));
    return std::min(tokens, part.tokens + static_cast<std::int64_t>(share));
}

}  // namespace

std::variant<GenerationRequest, ApiError> parse_generation(Endpoint endpoint, std::string_view body,
                                                           const ServedModel& model) {
    dom::parser parser;
    try {
        return read_generation(endpoint, {parsed_object(parser, body)}, model);
    } catch (const Refused& refused) {
        return api_error(model.dialect, endpoint, refused.refusal);
    }
}

std::variant<std::string, ApiError> tokenize_answer(std::string_view body, const ServedModel& model,
                                                    PieceMemory& memory) {
    dom::parser parser;
    try {
        return read_tokenize(parsed_object(parser, body), model, memory);
    } catch (const Refused& refused) {
        return api_error(model.dialect, refused.refusal);
    }
}

std::variant<std::string, ApiError> detokenize_answer(std::string_view body, const ServedModel& model,
                                                      const PieceMemory& memory) {
    dom::parser parser;
    try {
        return read_detokenize(parsed_object(parser, body), model, memory);
    } catch (const Refused& refused) {
        return api_error(model.dialect, refused.refusal);
    }
}

std::int64_t answer_length(const GenerationRequest& request, double median_tokens, std::uint64_t seed) {
    if (request.ignore_eos) return request.max_tokens;
    Random random(derived_seed(seed, "answer length"));
    const double drawn = median_tokens * std::exp(0.5 * random.normal());
    const auto natural = std::max<std::int64_t>(1, std::llround(drawn));
    return std::min(request.max_tokens, std::max(natural, request.min_tokens));
}

AnswerPlan answer_plan(const GenerationRequest& request, const Profile& profile, std::uint64_t seed) {
    AnswerPlan plan{.seed = seed, .tokens = answer_length(request, profile.answer_tokens, seed)};
    if (traits_of(request.endpoint).chat) {
        // Reasoning does not shorten the rest of an answer that may end by itself.
        if (!request.ignore_eos)
            plan.tokens = std::min(request.max_tokens, plan.tokens + profile.reasoning.tokens);
        plan.reasoning_tokens = reasoning_tokens_of(profile.reasoning, plan.tokens);
    }
    if (profile.answers == Answers::garbage) plan.pieces = {" the"};
    if (profile.answers == Answers::recall && request.tool.empty()) {
        for (std::string_view rest = request.recalled; !rest.empty(); rest.remove_prefix(first_piece(rest)))
            plan.pieces.emplace_back(rest.substr(0, first_piece(rest)));
        const auto said = plan.reasoning_tokens + static_cast<std::int64_t>(plan.pieces.size());
        if (!plan.pieces.empty() && !request.ignore_eos) plan.tokens = std::min(request.max_tokens, said);
    }
    plan.tool = request.tool;
    const bool calls = !plan.tool.empty() && plan.reasoning_tokens < plan.tokens && !request.tool_was_named;
    if (plan.tokens < request.max_tokens) plan.finish_reason = calls ? "tool_calls" : "stop";
    return plan;
}

std::string profile_answer(const std::string& name, const std::map<std::string, double>& limit_terms) {
    std::string terms;
    for (const auto& [key, value] : limit_terms) {
        fmt::format_to(std::back_inserter(terms), "{}\"{}\":{}", terms.empty() ? "" : ",", key, value);
    }
    return fmt::format(R"({{"profile":{},"limit_terms":{{{}}}}})", json_string(name), terms);
}

}  // namespace paretoken::sim
