#include "loadgen/sim/wire.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/random.h"
#include "core/version.h"
#include "loadgen/sim/prompt_tokens.h"
#include "loadgen/sim/tokenizer.h"

namespace paretoken::sim {
namespace {

namespace dom = simdjson::dom;

constexpr std::int64_t kDefaultCompletionTokens = 16;  // as vLLM and OpenAI

// Thrown inside this file only, to leave a half-read body.
struct Refused {
    ApiError error;
};

ApiError api_error(int status, std::string_view type, std::string_view message, std::string_view param) {
    const std::string where = param.empty() ? "null" : json_string(param);
    return {status, fmt::format(R"({{"error":{{"message":{},"type":{},"param":{},"code":{}}}}})",
                                json_string(message), json_string(type), where, status)};
}

/// vLLM's words for a field that does not validate.
[[noreturn]] void refuse_field(std::string_view type, std::string_view field, std::string_view message) {
    const std::string where = fmt::format("body.{}", field);
    throw Refused{api_error(400, "Bad Request",
                            fmt::format("1 validation error:\n  {{'type': '{}', 'loc': '{}', 'msg': '{}'}}",
                                        type, where, message),
                            where)};
}

[[noreturn]] void refuse(std::string_view message, std::string_view param) {
    throw Refused{api_error(400, "BadRequestError", message, param)};
}

dom::object parsed_object(dom::parser& parser, std::string_view body) {
    dom::element root;
    if (parser.parse(body.data(), body.size()).get(root) != simdjson::SUCCESS) {
        throw Refused{api_error(400, "Bad Request",
                                "1 validation error:\n  {'type': 'json_invalid', 'loc': 'body', "
                                "'msg': 'JSON decode error'}",
                                "body")};
    }
    dom::object object;
    if (root.get(object) != simdjson::SUCCESS) {
        throw Refused{api_error(400, "Bad Request",
                                "1 validation error:\n  {'type': 'model_attributes_type', 'loc': "
                                "'body', 'msg': 'Input should be a valid dictionary'}",
                                "body")};
    }
    return object;
}

/// The field, unless it is absent or null.
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

/// What the tokens of a prompt are: called once per piece, `special` for those of the template.
struct TokenSink {
    virtual ~TokenSink() = default;
    virtual void special(std::int64_t count, std::string_view name) = 0;
    virtual void text(std::string_view text) = 0;
    virtual void id(std::int64_t id) = 0;
};

struct Counter final : TokenSink {
    explicit Counter(PromptTokens empty, bool keep) : tokens(std::move(empty)), keep_ids(keep) {}

    PromptTokens tokens;
    bool keep_ids = false;
    TokenIds ids;

    void special(std::int64_t number, std::string_view name) override { tokens.add_special(number, name); }
    void text(std::string_view text) override { tokens.add_text(text); }
    void id(std::int64_t id) override {
        tokens.add_id(id);
        if (keep_ids) ids.push_back(static_cast<std::int32_t>(id));
    }
};

/// The tokens themselves, as /tokenize shows them.
struct Lister final : TokenSink {
    std::int64_t vocabulary = 0;
    std::int64_t count = 0;
    std::string ids;
    std::string pieces;

    void add(std::string_view piece) {
        const std::string_view comma = count++ == 0 ? "" : ",";
        fmt::format_to(std::back_inserter(ids), "{}{}", comma, token_id_of(piece, vocabulary));
        pieces += comma;
        pieces += json_string(piece);
    }
    void special(std::int64_t number, std::string_view name) override {
        for (std::int64_t i = 0; i < number; ++i) add(fmt::format("<|{}_{}|>", name, i));
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

/// A text, token ids, or a list of exactly one of them.
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
    if (name == model.name) return;
    throw Refused{api_error(
        404, "NotFoundError",
        fmt::format("The model `{}` does not exist. Valid aliases: {}.", name, model.name), "model")};
}

void check_choices(const dom::object& object) {
    if (integer_of(object, "n").value_or(1) != 1)
        refuse("This server generates one choice per request (n=1).", "n");
}

/// The limit asked for, under any of its names.
std::optional<std::int64_t> asked_tokens(const dom::object& object, Endpoint endpoint) {
    if (endpoint == Endpoint::chat) {
        if (const auto tokens = integer_of(object, "max_completion_tokens")) return tokens;
    }
    return integer_of(object, "max_tokens");
}

std::int64_t resolved_max_tokens(std::optional<std::int64_t> asked, const GenerationRequest& request,
                                 std::int64_t limit) {
    if (asked && *asked < 1)
        refuse(fmt::format("max_tokens must be at least 1, got {}.", *asked), "max_tokens");
    const std::int64_t room = limit - request.prompt_tokens;
    if (room < 1) {
        refuse(
            fmt::format(
                "This model's maximum context length is {} tokens. However, your prompt contains at least {} "
                "input tokens, which exceeds this limit even without any output tokens. Please reduce the "
                "length of the input prompt. (parameter=input_tokens, value={})",
                limit, request.prompt_tokens, request.prompt_tokens),
            "input_tokens");
    }
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

void read_stream_options(const dom::object& object, GenerationRequest& request) {
    const auto field = field_of(object, "stream_options");
    if (!field) return;
    if (!request.stream) refuse("Stream options can only be defined when `stream=True`.", "stream_options");
    dom::object options;
    if (field->get(options) != simdjson::SUCCESS) {
        refuse_field("dict_type", "stream_options", "Input should be a valid dictionary");
    }
    request.include_usage = flag_of(options, "include_usage", true);
    request.continuous_usage = request.include_usage && flag_of(options, "continuous_usage_stats", false);
}

/// Prompts of different salts share no block.
std::uint64_t salt_of(const dom::object& object) {
    const auto field = field_of(object, "cache_salt");
    return field ? derived_seed(0, text_of(*field, "cache_salt")) : 0;
}

void read_generation_prompt(const dom::object& object, const ServedModel& model, GenerationRequest& request) {
    Counter counter(PromptTokens(model.vocabulary, model.block_tokens, salt_of(object)),
                    request.return_token_ids);
    const std::string_view name = request.endpoint == Endpoint::chat ? "messages" : "prompt";
    const auto prompt = field_of(object, name);
    if (!prompt) refuse_field("missing", name, "Field required");
    if (request.endpoint == Endpoint::chat) {
        read_messages(*prompt, flag_of(object, "add_generation_prompt", true), counter);
    } else {
        read_prompt(*prompt, model, flag_of(object, "add_special_tokens", true), counter);
    }
    request.prompt_tokens = counter.tokens.count();
    request.prompt_token_ids = std::move(counter.ids);
    request.prompt_blocks = counter.tokens.blocks();
    request.after_prompt = counter.tokens.hasher().value_or(BlockHasher());
    if (request.prompt_tokens == 0) refuse("The prompt is empty.", name);
}

GenerationRequest read_generation(Endpoint endpoint, const dom::object& object, const ServedModel& model) {
    GenerationRequest request;
    request.endpoint = endpoint;
    request.return_token_ids = flag_of(object, "return_token_ids", false);
    request.stream = flag_of(object, "stream", false);
    request.ignore_eos = flag_of(object, "ignore_eos", false);
    request.min_tokens = integer_of(object, "min_tokens").value_or(0);
    const auto asked = asked_tokens(object, endpoint);
    read_stream_options(object, request);
    read_generation_prompt(object, model, request);
    check_choices(object);
    check_model(object, model);
    request.max_tokens = resolved_max_tokens(asked, request, model.context_limit);
    return request;
}

std::string read_tokenize(const dom::object& object, const ServedModel& model) {
    check_model(object, model);
    Lister tokens;
    tokens.vocabulary = model.vocabulary;
    if (const auto messages = field_of(object, "messages")) {
        read_messages(*messages, flag_of(object, "add_generation_prompt", true), tokens);
    } else if (const auto prompt = field_of(object, "prompt")) {
        read_text_prompt(text_of(*prompt, "prompt"), flag_of(object, "add_special_tokens", true), tokens);
    } else {
        refuse_field("missing", "prompt", "Field required");
    }
    const bool with_pieces = flag_of(object, "return_token_strs", false);
    return fmt::format(R"({{"count":{},"max_model_len":{},"tokens":[{}],"token_strs":{}}})", tokens.count,
                       model.context_limit, tokens.ids,
                       with_pieces ? fmt::format("[{}]", tokens.pieces) : "null");
}

std::string_view reason_phrase(int status) {
    switch (status) {
        case 200:
            return "OK";
        case 400:
            return "Bad Request";
        case 401:
            return "Unauthorized";
        case 404:
            return "Not Found";
        case 405:
            return "Method Not Allowed";
        case 413:
            return "Content Too Large";
        case 429:
            return "Too Many Requests";
        case 503:
            return "Service Unavailable";
        default:
            return "Error";
    }
}

std::string prompt_details(std::int64_t cached_tokens) {
    return fmt::format(R"(,"prompt_tokens_details":{{"cached_tokens":{}}})", cached_tokens);
}

constexpr std::size_t kSizeDigits = 6;  // room for a chunk's size, which is known after its content

}  // namespace

std::variant<GenerationRequest, ApiError> parse_generation(Endpoint endpoint, std::string_view body,
                                                           const ServedModel& model) {
    dom::parser parser;
    try {
        return read_generation(endpoint, parsed_object(parser, body), model);
    } catch (const Refused& refused) {
        return refused.error;
    }
}

std::variant<std::string, ApiError> tokenize_answer(std::string_view body, const ServedModel& model) {
    dom::parser parser;
    try {
        return read_tokenize(parsed_object(parser, body), model);
    } catch (const Refused& refused) {
        return refused.error;
    }
}

std::int64_t answer_length(const GenerationRequest& request, double median_tokens, std::uint64_t seed) {
    if (request.ignore_eos) return request.max_tokens;
    Random random(derived_seed(seed, "answer length"));
    const double drawn = median_tokens * std::exp(0.5 * random.normal());
    const auto natural = std::max<std::int64_t>(1, std::llround(drawn));
    return std::min(request.max_tokens, std::max(natural, request.min_tokens));
}

std::string models_answer(const ServedModel& model, std::int64_t created) {
    const std::string name = json_string(model.name);
    return fmt::format(
        R"({{"object":"list","data":[{{"id":{},"object":"model","created":{},"owned_by":"paretoken",)"
        R"("root":{},"parent":null,"max_model_len":{},"permission":[]}}]}})",
        name, created, name, model.context_limit);
}

std::string profile_answer(const std::string& name, const std::map<std::string, double>& limit_terms) {
    std::string terms;
    for (const auto& [key, value] : limit_terms) {
        fmt::format_to(std::back_inserter(terms), "{}\"{}\":{}", terms.empty() ? "" : ",", key, value);
    }
    return fmt::format(R"({{"profile":{},"limit_terms":{{{}}}}})", json_string(name), terms);
}

ApiError unauthorized() {
    return {401, R"({"error":"Unauthorized"})"};
}
ApiError not_found() {
    return {404, R"({"detail":"Not Found"})"};
}
ApiError method_not_allowed() {
    return {405, R"({"detail":"Method Not Allowed"})"};
}
ApiError body_too_large() {
    return api_error(413, "BadRequestError", "The request body is too large.", "");
}
ApiError malformed_http(std::string_view reason) {
    return api_error(400, "BadRequestError", fmt::format("Invalid HTTP request received: {}.", reason), "");
}

ApiError overloaded(int status) {
    return status == 429
               ? api_error(429, "TooManyRequestsError", "Too many requests; try again later.", "")
               : api_error(503, "ServiceUnavailableError", "The server is overloaded or not ready yet.", "");
}
std::string error_event() {
    return fmt::format("data: {}\n\n", api_error(500, "InternalServerError", "The engine failed.", "").body);
}

std::string json_string(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        switch (c) {
            case '"':
                out += "\\\"";
                break;
            case '\\':
                out += "\\\\";
                break;
            case '\n':
                out += "\\n";
                break;
            case '\r':
                out += "\\r";
                break;
            case '\t':
                out += "\\t";
                break;
            default:
                if (static_cast<unsigned char>(c) < 0x20) {
                    fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
                } else {
                    out += c;
                }
        }
    }
    return out += '"';
}

std::string http_head(int status, std::string_view content_type, Framing framing, std::size_t length,
                      bool keep_alive) {
    std::string head = fmt::format("HTTP/1.1 {} {}\r\nserver: paretoken\r\ncontent-type: {}\r\n", status,
                                   reason_phrase(status), content_type);
    if (status == 429) head += "retry-after: 1\r\n";
    if (framing == Framing::chunked) head += "transfer-encoding: chunked\r\n";
    if (framing == Framing::length)
        fmt::format_to(std::back_inserter(head), "content-length: {}\r\n", length);
    if (!keep_alive) head += "connection: close\r\n";
    return head += "\r\n";
}

std::string http_answer(int status, std::string_view content_type, std::string_view body, bool keep_alive) {
    std::string answer = http_head(status, content_type, Framing::length, body.size(), keep_alive);
    return answer += body;
}

AnswerWriter::AnswerWriter(const GenerationRequest& request, std::string_view id, std::int64_t created,
                           std::string_view model, std::int64_t vocabulary, std::uint64_t seed,
                           Framing framing)
    : endpoint_(request.endpoint),
      include_usage_(request.include_usage),
      continuous_usage_(request.continuous_usage),
      token_ids_(request.return_token_ids),
      framing_(framing),
      prompt_tokens_(request.prompt_tokens),
      vocabulary_(vocabulary),
      seed_(seed),
      prompt_token_ids_(request.prompt_token_ids) {
    const bool chat = endpoint_ == Endpoint::chat;
    const std::string_view object = !chat            ? "text_completion"
                                    : request.stream ? "chat.completion.chunk"
                                                     : "chat.completion";
    head_ = fmt::format(R"({{"id":{},"object":"{}","created":{},"model":{},"choices":[)",
                        json_string(fmt::format("{}-{}", chat ? "chatcmpl" : "cmpl", id)), object, created,
                        json_string(model));
}

std::size_t AnswerWriter::open_chunk(std::string& out) const {
    if (framing_ == Framing::chunked) out.append(kSizeDigits, '0').append("\r\n");
    const std::size_t begin = out.size();
    out += "data: ";
    return begin;
}

void AnswerWriter::close_chunk(std::string& out, std::size_t begin) const {
    out += "\n\n";
    if (framing_ != Framing::chunked) return;
    std::size_t digit = begin - 2;
    for (std::size_t size = out.size() - begin; size > 0; size /= 16)
        out[--digit] = "0123456789abcdef"[size % 16];
    out += "\r\n";
    const std::size_t first = begin - 2 - kSizeDigits;
    out.erase(first, digit - first);
}

void AnswerWriter::append_usage(std::string& out, std::int64_t tokens, std::string_view details) const {
    fmt::format_to(std::back_inserter(out),
                   R"(,"usage":{{"prompt_tokens":{},"total_tokens":{},"completion_tokens":{}{}}})",
                   prompt_tokens_, prompt_tokens_ + tokens, tokens, details);
}

void AnswerWriter::append_opening(std::string& out) const {
    if (endpoint_ != Endpoint::chat) return;
    const std::size_t begin = open_chunk(out);
    out += head_;
    out += R"({"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}])";
    if (continuous_usage_) append_usage(out, 0, R"(,"completion_tokens_details":null)");
    out += R"(,"prompt_token_ids":null,"prompt_text":null})";
    close_chunk(out, begin);
}

void AnswerWriter::append_token(std::string& out, std::int64_t k, std::string_view finish_reason) const {
    const bool chat = endpoint_ == Endpoint::chat;
    const std::string_view word = answer_word(seed_, k);
    const auto append_reason = [&] {
        if (finish_reason.empty()) {
            out += "null";
        } else {
            out.append("\"").append(finish_reason).append("\"");
        }
    };
    const std::size_t begin = open_chunk(out);
    out += head_;
    out.append(chat ? R"({"index":0,"delta":{"content":")" : R"({"index":0,"text":")").append(word);
    out += chat ? R"("},"logprobs":null,"finish_reason":)" : R"(","logprobs":null,"finish_reason":)";
    append_reason();
    if (!chat || !finish_reason.empty()) out += R"(,"stop_reason":null)";
    if (!chat && k == 0 && !prompt_token_ids_.empty()) {
        fmt::format_to(std::back_inserter(out), R"(,"prompt_token_ids":[{}])",
                       fmt::join(prompt_token_ids_, ","));
    } else if (!chat) {
        out += R"(,"prompt_token_ids":null)";
    }
    if (token_ids_) {
        fmt::format_to(std::back_inserter(out), R"(,"token_ids":[{}])", token_id_of(word, vocabulary_));
    } else {
        out += R"(,"token_ids":null)";
    }
    out += "}]";
    if (continuous_usage_) append_usage(out, k + 1, R"(,"completion_tokens_details":null)");
    out += "}";
    close_chunk(out, begin);
}

void AnswerWriter::append_closing(std::string& out, std::int64_t tokens,
                                  std::optional<std::int64_t> cached_tokens) const {
    if (include_usage_) {
        const std::size_t begin = open_chunk(out);
        out += head_;
        out += "]";
        append_usage(out, tokens, cached_tokens ? prompt_details(*cached_tokens) : "");
        fmt::format_to(std::back_inserter(out), R"(,"system_fingerprint":"paretoken-{}"}})", version());
        close_chunk(out, begin);
    }
    const std::size_t begin = open_chunk(out);
    out += "[DONE]";
    close_chunk(out, begin);
    if (framing_ == Framing::chunked) out += "0\r\n\r\n";
}

std::string AnswerWriter::whole(std::int64_t tokens, std::string_view finish_reason,
                                std::optional<std::int64_t> cached_tokens) const {
    std::string text;
    for (std::int64_t k = 0; k < tokens; ++k) text += answer_word(seed_, k);
    const bool chat = endpoint_ == Endpoint::chat;
    std::string body = head_;
    body += chat ? R"({"index":0,"message":{"role":"assistant","content":")" : R"({"index":0,"text":")";
    body += text;
    body += chat ? R"(","refusal":null,"tool_calls":[],"reasoning":null},)" : R"(",)";
    fmt::format_to(std::back_inserter(body), R"("logprobs":null,"finish_reason":"{}","stop_reason":null)",
                   finish_reason);
    if (!chat && !prompt_token_ids_.empty()) {
        fmt::format_to(std::back_inserter(body), R"(,"prompt_token_ids":[{}])",
                       fmt::join(prompt_token_ids_, ","));
    }
    if (token_ids_) {
        body += R"(,"token_ids":[)";
        for (std::int64_t k = 0; k < tokens; ++k) {
            fmt::format_to(std::back_inserter(body), "{}{}", k == 0 ? "" : ",",
                           token_id_of(answer_word(seed_, k), vocabulary_));
        }
        body += "]";
    } else {
        body += R"(,"token_ids":null)";
    }
    body += "}]";
    append_usage(body, tokens,
                 cached_tokens ? prompt_details(*cached_tokens) : R"(,"prompt_tokens_details":null)");
    fmt::format_to(std::back_inserter(body), R"(,"system_fingerprint":"paretoken-{}"}})", version());
    return body;
}

}  // namespace paretoken::sim
