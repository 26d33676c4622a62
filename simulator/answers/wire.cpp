#include "simulator/answers/wire.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/random.h"
#include "simulator/answers/json_text.h"
#include "simulator/answers/recall.h"
#include "simulator/engine/prompt_tokens.h"
#include "simulator/engine/tokenizer.h"

namespace paretoken::sim {
namespace {

namespace dom = simdjson::dom;

constexpr std::int64_t kDefaultCompletionTokens = 16;  // default of vLLM and OpenAI

// Thrown inside this file only, to leave a half-read body.
struct Refused {
    Refusal refusal;
};

/// Refuses a field that is invalid.
[[noreturn]] void refuse_field(std::string_view type, std::string_view field, std::string_view message) {
    throw Refused{
        {.fault = FieldFault{
             .type = std::string(type), .field = std::string(field), .message = std::string(message)}}};
}

[[noreturn]] void refuse(std::string_view message, std::string_view param) {
    throw Refused{{.message = std::string(message), .param = std::string(param)}};
}

dom::object parsed_object(dom::parser& parser, std::string_view body) {
    dom::element root;
    if (parser.parse(body.data(), body.size()).get(root) != simdjson::SUCCESS)
        refuse_field("json_invalid", "", "JSON decode error");
    dom::object object;
    if (root.get(object) != simdjson::SUCCESS)
        refuse_field("model_attributes_type", "", "Input should be a valid dictionary");
    return object;
}

/// Returns the field; nothing if it is absent or null.
std::optional<dom::element> field_of(const dom::object& object, std::string_view name) {
    dom::element value;
    if (object.at_key(name).get(value) != simdjson::SUCCESS || value.is_null()) return std::nullopt;
    return value;
}

bool flag_of(const dom::object& object, std::string_view name, bool otherwise) {
    const auto field = field_of(object, name);
    if (!field) return otherwise;
    bool value = false;
    if (field->get(value) != simdjson::SUCCESS) {
        refuse_field("bool_type", name, "Input should be a valid boolean");
    }
    return value;
}

std::optional<std::int64_t> integer_of(const dom::object& object, std::string_view name) {
    const auto field = field_of(object, name);
    if (!field) return std::nullopt;
    std::int64_t value = 0;
    if (field->get(value) != simdjson::SUCCESS) {
        refuse_field("int_type", name, "Input should be a valid integer");
    }
    return value;
}

dom::array list_of(const dom::element& element, std::string_view name) {
    dom::array list;
    if (element.get(list) != simdjson::SUCCESS) {
        refuse_field("list_type", name, "Input should be a valid list");
    }
    return list;
}

std::string_view text_of(const dom::element& element, std::string_view name) {
    std::string_view text;
    if (element.get(text) != simdjson::SUCCESS) {
        refuse_field("string_type", name, "Input should be a valid string");
    }
    return text;
}

/// Receives the tokens of a prompt: called once per piece, `special` for tokens of the template.
struct TokenSink {
    virtual ~TokenSink() = default;
    virtual void special(std::int64_t count, std::string_view name) = 0;
    virtual void text(std::string_view text) = 0;
    virtual void id(std::int64_t id) = 0;
};

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

/// Lists the tokens for /tokenize.
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

void read_content(const dom::element& content, TokenSink& sink) {
    std::string_view text;
    if (content.get(text) == simdjson::SUCCESS) return sink.text(text);
    for (const dom::element part : list_of(content, "messages.content")) {
        dom::object object;
        if (part.get(object) != simdjson::SUCCESS) {
            refuse_field("dict_type", "messages.content", "Input should be a valid dictionary");
        }
        const auto words = field_of(object, "text");
        if (!words) refuse("Only content parts of type text are supported by this server.", "messages");
        sink.text(text_of(*words, "messages.content.text"));
    }
}

void read_messages(const dom::element& messages, bool answer_header, TokenSink& sink) {
    sink.special(kTokensPerText, "begin");
    bool any = false;
    for (const dom::element message : list_of(messages, "messages")) {
        dom::object object;
        if (message.get(object) != simdjson::SUCCESS) {
            refuse_field("dict_type", "messages", "Input should be a valid dictionary");
        }
        const auto role = field_of(object, "role");
        if (!role) refuse_field("missing", "messages.role", "Field required");
        sink.special(kTokensOfAnswerHeader, text_of(*role, "messages.role"));
        if (const auto content = field_of(object, "content")) read_content(*content, sink);
        if (const auto calls = field_of(object, "tool_calls")) sink.text(simdjson::minify(*calls));
        sink.special(kTokensPerMessage - kTokensOfAnswerHeader, "end");
        any = true;
    }
    if (!any) refuse("At least one message is required.", "messages");
    if (answer_header) sink.special(kTokensOfAnswerHeader, "assistant");
}

void read_text_prompt(std::string_view text, bool add_special, TokenSink& sink) {
    if (add_special) sink.special(kTokensPerText, "begin");
    sink.text(text);
}

void read_id_prompt(const dom::array& ids, std::int64_t vocabulary, TokenSink& sink) {
    for (const dom::element element : ids) {
        std::int64_t id = 0;
        if (element.get(id) != simdjson::SUCCESS) {
            refuse_field("int_type", "prompt", "Input should be a valid integer");
        }
        if (id < 0 || id >= vocabulary) refuse(fmt::format("Token id {} is out of vocabulary", id), "prompt");
        sink.id(id);
    }
}

/// Reads a text, token ids, or a list of exactly one of them.
void read_prompt(const dom::element& prompt, const ServedModel& model, bool add_special, TokenSink& sink) {
    std::string_view text;
    if (prompt.get(text) == simdjson::SUCCESS) return read_text_prompt(text, add_special, sink);
    const dom::array list = list_of(prompt, "prompt");
    if (list.size() == 0) refuse("Either prompt or prompt_embeds must be provided and non-empty.", "prompt");
    const dom::element first = list.at(0).value_unsafe();
    if (first.is_int64()) return read_id_prompt(list, model.vocabulary, sink);
    if (list.size() != 1) refuse("This server takes one prompt per request.", "prompt");
    if (first.is_array()) return read_prompt(first, model, add_special, sink);
    read_text_prompt(text_of(first, "prompt"), add_special, sink);
}

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

void check_choices(const dom::object& object) {
    if (integer_of(object, "n").value_or(1) != 1)
        refuse("This server generates one choice per request (n=1).", "n");
}

/// Returns the requested limit, under any of its names. For llama.cpp a negative limit means none, and it
/// generates a token before it checks.
std::optional<std::int64_t> asked_tokens(const dom::object& object, Endpoint endpoint, Dialect dialect) {
    std::optional<std::int64_t> asked = integer_of(object, "max_tokens");
    if (endpoint == Endpoint::chat) {
        if (const auto tokens = integer_of(object, "max_completion_tokens")) asked = tokens;
    }
    if (traits_of(dialect).requests.any_limit) {
        if (!asked) asked = integer_of(object, "n_predict");
        if (asked && *asked < 0) return std::nullopt;
        if (asked == 0) return 1;
    }
    if (asked && *asked < 1)
        refuse(fmt::format("max_tokens must be at least 1, got {}.", *asked), "max_tokens");
    return asked;
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
    return request.endpoint == Endpoint::chat ? room : std::min(room, kDefaultCompletionTokens);
}

std::string_view name_of_tool(const dom::element& tool) {
    dom::object object;
    if (tool.get(object) != simdjson::SUCCESS)
        refuse_field("dict_type", "tools", "Input should be a valid dictionary");
    const auto function = field_of(object, "function");
    dom::object inner;
    if (!function || function->get(inner) != simdjson::SUCCESS)
        refuse_field("missing", "tools.function", "Field required");
    const auto name = field_of(inner, "name");
    if (!name) refuse_field("missing", "tools.function.name", "Field required");
    return text_of(*name, "tools.function.name");
}

/// Chooses the tool that the answer calls, if the request offers tools: the one of tool_choice, else the
/// first.
void read_tools(const dom::object& object, GenerationRequest& request) {
    const auto tools = field_of(object, "tools");
    if (!tools) return;
    const dom::array list = list_of(*tools, "tools");
    if (list.size() == 0) return;
    request.tool = name_of_tool(list.at(0).value_unsafe());
    const auto choice = field_of(object, "tool_choice");
    if (!choice) return;
    if (std::string_view word; choice->get(word) == simdjson::SUCCESS) {
        if (word == "none") request.tool.clear();
        return;
    }
    const std::string_view wanted = name_of_tool(*choice);
    const bool offered = std::any_of(list.begin(), list.end(),
                                     [&](dom::element tool) { return name_of_tool(tool) == wanted; });
    if (!offered)
        refuse(fmt::format("The tool specified in `tool_choice` ({}) does not match any of `tools`.", wanted),
               "tool_choice");
    request.tool = wanted;
    request.tool_was_named = true;
}

void read_stream_options(const dom::object& object, Dialect dialect, GenerationRequest& request) {
    const auto field = field_of(object, "stream_options");
    if (!field) return;
    if (!request.stream && traits_of(dialect).requests.stream_options_alone) return;
    if (!request.stream)
        refuse("Stream options can only be defined when `stream=True`. (parameter=stream_options)",
               "stream_options");
    dom::object options;
    if (field->get(options) != simdjson::SUCCESS) {
        refuse_field("dict_type", "stream_options", "Input should be a valid dictionary");
    }
    request.include_usage = flag_of(options, "include_usage", false);
    request.continuous_usage = request.include_usage && flag_of(options, "continuous_usage_stats", false);
}

/// Returns the salt of a prompt; prompts with different salts share no block.
std::uint64_t salt_of(const dom::object& object) {
    const auto field = field_of(object, "cache_salt");
    return field ? derived_seed(0, text_of(*field, "cache_salt")) : 0;
}

void read_generation_prompt(const dom::object& object, const ServedModel& model, GenerationRequest& request) {
    Counter counter(PromptTokens(model.vocabulary, model.block_tokens, salt_of(object)), model.vocabulary,
                    request.return_token_ids);
    counter.keep_text = model.recalls;
    const std::string_view name = request.endpoint == Endpoint::chat ? "messages" : "prompt";
    const auto prompt = field_of(object, name);
    if (!prompt) refuse_field("missing", name, "Field required");
    if (request.endpoint == Endpoint::chat) {
        if (const auto tools = field_of(object, "tools")) counter.text(simdjson::minify(*tools));
        read_messages(*prompt, flag_of(object, "add_generation_prompt", true), counter);
    } else {
        read_prompt(*prompt, model, flag_of(object, "add_special_tokens", true), counter);
    }
    request.prompt_tokens = counter.tokens.count();
    request.prompt_token_ids = std::move(counter.ids);
    request.prompt_blocks = counter.tokens.blocks();
    request.after_prompt = counter.tokens.hasher().value_or(BlockHasher());
    request.recalled = recalled_from(counter.words);
    if (request.prompt_tokens == 0) refuse("The prompt is empty.", name);
}

GenerationRequest read_generation(Endpoint endpoint, const dom::object& object, const ServedModel& model) {
    GenerationRequest request;
    request.endpoint = endpoint;
    request.return_token_ids = flag_of(object, "return_token_ids", false);
    request.stream = flag_of(object, "stream", false);
    request.ignore_eos = flag_of(object, "ignore_eos", false);
    request.min_tokens = integer_of(object, "min_tokens").value_or(0);
    request.timings_per_token = flag_of(object, "timings_per_token", false);
    const auto asked = asked_tokens(object, endpoint, model.dialect);
    read_stream_options(object, model.dialect, request);
    if (endpoint == Endpoint::chat) read_tools(object, request);
    read_generation_prompt(object, model, request);
    check_choices(object);
    check_model(object, model);
    request.max_tokens = resolved_max_tokens(asked, request, model);
    return request;
}

std::string read_tokenize(const dom::object& object, const ServedModel& model, PieceMemory& memory) {
    check_model(object, model);
    const DialectTraits& dialect = traits_of(model.dialect);
    const TokenizeKeys& keys = dialect.tokenize;
    Lister lister;
    lister.vocabulary = model.vocabulary;
    const auto messages = keys.messages ? field_of(object, "messages") : std::nullopt;
    const auto text = field_of(object, keys.text);
    if (messages) {
        if (const auto tools = field_of(object, "tools")) lister.text(simdjson::minify(*tools));
        read_messages(*messages, flag_of(object, "add_generation_prompt", true), lister);
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
        return read_generation(endpoint, parsed_object(parser, body), model);
    } catch (const Refused& refused) {
        return api_error(model.dialect, refused.refusal);
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
    if (request.endpoint == Endpoint::chat) {
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
