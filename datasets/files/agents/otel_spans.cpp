#include "datasets/files/agents/otel_spans.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/stable_sort.h"
#include "core/text/letter_case.h"
#include "datasets/files/csv_row.h"
#include "datasets/files/json_row.h"

namespace paretoken::datasets {
namespace {

namespace dom = simdjson::dom;

/// A chat, a call of a tool or an agent, as it was recorded.
struct Span {
    std::string id = {};
    std::string parent = {};
    double start = 0;
    double end = 0;
    bool is_chat = false;
    std::string call = {};  ///< of a tool: the id of its call
};

/// A chat with what connects it with others.
struct Chat {
    std::size_t span = 0;                  ///< its place among the spans of the session
    std::vector<std::size_t> around = {};  ///< places of the spans around it, the innermost first
    Row row = {};
    std::set<std::string> calls = {};    ///< ids of the tool calls in its answer
    std::string answer = {};             ///< text of its answer; empty if it has none
    std::set<std::string> results = {};  ///< ids of the calls whose results its prompt holds
    std::set<std::string> said = {};     ///< texts of the assistant's messages in its prompt
    std::vector<std::size_t> after = {};
    double tool_s = 0;
    bool parts_left_out = false;
};

struct Session {
    std::vector<Span> spans = {};
    std::map<std::string, std::size_t> by_id = {};
    std::vector<Chat> chats = {};  ///< by their starts
    std::size_t by_time = 0;       ///< chats that only their times connect with others
    bool parts_left_out = false;   ///< whether a prompt has parts that are neither texts nor tool calls
    std::vector<std::string_view> left_out = {};  ///< reasons for chats that are left out
};

/// Reads JSON that is a value, or a text with the value in it.
class Nested {
  public:
    explicit Nested(const RowPlace& place) : place_(place) {}

    /// Returns the list; nothing if there is none. Refuses a text that begins a list and is no JSON.
    std::optional<dom::array> list(const dom::element& object, std::string_view key) {
        dom::element value;
        if (object[key].get(value)) return {};
        std::string_view text;
        if (!value.get(text)) {
            parsers_.push_back(std::make_unique<dom::parser>());
            const auto error = parsers_.back()->parse(text.data(), text.size()).get(value);
            if (error && text.starts_with('['))
                place_.refuse(fmt::format(
                    "\"{}\" of a span is not JSON ({}); was it cut off? Exporters have a limit on "
                    "the length of attributes",
                    key, simdjson::error_message(error)));
            if (error) return {};
        }
        dom::array list;
        if (value.get(list)) return {};
        return list;
    }

  private:
    const RowPlace& place_;
    std::vector<std::unique_ptr<dom::parser>> parsers_;  ///< which own the values
};

std::string string_in(const dom::element& object, std::string_view key) {
    std::string_view text;
    return object[key].get(text) ? std::string() : std::string(text);
}

/// The text of a value: a string as it is, everything else as JSON.
std::string text_or_json(const dom::element& object, std::string_view key) {
    dom::element value;
    if (object[key].get(value) || value.is_null()) return {};
    std::string_view text;
    return value.get(text) ? simdjson::minify(value) : std::string(text);
}

/// A value as a JSON string: the value itself if it is one, else its JSON text.
std::string json_string_of(const dom::element& object, std::string_view key) {
    dom::element value;
    if (object[key].get(value) || value.is_null()) return "\"\"";
    const std::string json = simdjson::minify(value);  // which has no control characters
    if (value.is_string()) return json;
    std::string text = "\"";
    for (const char c : json) {
        if (c == '"' || c == '\\') text += '\\';
        text += c;
    }
    return text + '"';
}

/// A message in parts, as the semantic conventions write it, in the form that servers accept. Results of
/// tools become messages of their own. Returns whether a part of another kind was left out.
bool add_message_of_parts(Messages& messages, const std::string& role, const dom::array& parts) {
    Message message{.role = role};
    std::string calls;
    bool has_text = false;
    bool left_out = false;
    for (const dom::element part : parts) {
        const std::string type = string_in(part, "type");
        if (type == "text") {
            message.content += string_in(part, "content");
            has_text = true;
        } else if (type == "tool_call") {
            calls += fmt::format(
                "{}{{\"id\":{},\"type\":\"function\",\"function\":{{\"name\":{},\"arguments\":{}}}}}",
                calls.empty() ? "" : ",", json_string_of(part, "id"), json_string_of(part, "name"),
                json_string_of(part, "arguments"));
        } else if (type == "tool_call_response") {
            const bool newer = part["response"].error() == simdjson::SUCCESS;
            messages.push_back({.role = "tool",
                                .content = text_or_json(part, newer ? "response" : "result"),
                                .fields = "\"tool_call_id\":" + json_string_of(part, "id")});
        } else {
            left_out = true;
        }
    }
    if (!calls.empty()) message.fields = fmt::format("\"tool_calls\":[{}]", calls);
    if (!calls.empty() && !has_text) message.parts = "null";
    if (has_text || !calls.empty()) messages.push_back(std::move(message));
    return left_out;
}

/// The messages of a list, in the conventions' form or in OpenAI's.
struct ListedMessages {
    Messages messages = {};
    bool parts_left_out = false;
};
ListedMessages messages_of_list(const dom::array& list, const RowPlace& place) {
    ListedMessages found;
    for (const dom::element element : list) {
        dom::array parts;
        if (element["parts"].get(parts))
            found.messages.push_back(message_in(element, place));
        else if (add_message_of_parts(found.messages, string_in(element, "role"), parts))
            found.parts_left_out = true;
    }
    return found;
}

/// The ids of tool calls (or, for messages of tools, of the calls that they answer) in a message's fields.
void collect_ids(const std::string& fields, std::string_view key, std::set<std::string>& ids) {
    dom::parser parser;
    dom::element object;
    if (parser.parse(fmt::format("{{{}}}", fields)).get(object)) return;
    if (key == "tool_call_id") {
        if (const std::string id = string_in(object, key); !id.empty()) ids.insert(id);
        return;
    }
    dom::array calls;
    if (object[key].get(calls)) return;
    for (const dom::element call : calls)
        if (const std::string id = string_in(call, "id"); !id.empty()) ids.insert(id);
}

std::optional<dom::array> output_in(Nested& nested, const dom::element& attributes) {
    for (const std::string_view key : {"gen_ai.output.messages", "gen_ai.output", "gen_ai.completion"})
        if (const auto list = nested.list(attributes, key)) return list;
    return {};
}

std::optional<std::int64_t> first_tokens_in(const dom::element& object,
                                            std::initializer_list<std::string_view> keys,
                                            const RowPlace& place) {
    for (const std::string_view key : keys)
        if (const auto tokens = tokens_in(object, key, place, 0)) return tokens;
    return {};
}

/// Refuses a chat whose messages do not stand where the conventions of today want them.
[[noreturn]] void refuse_contents(const dom::element& attributes, const RowPlace& place) {
    constexpr std::string_view kWanted = "write them as a list in \"gen_ai.input.messages\"";
    if (attributes.is_array())
        place.refuse("\"attributes\" of a span is OTLP's list of keys and values; write an object of them");
    for (const std::string_view key : {"gen_ai.prompt.0.role", "gen_ai.prompt.0.content",
                                       "llm.input_messages.0.message.role", "llm.prompts.0.content"})
        if (dom::element value; !attributes[key].get(value))
            place.refuse(
                fmt::format("a chat span has its messages in attributes such as \"{}\"; {}", key, kWanted));
    place.refuse("a chat span lacks \"gen_ai.input.messages\"; its exporter must record contents");
}

Chat chat_of(const dom::element& attributes, std::size_t span, const RowPlace& place) {
    Nested nested(place);
    Chat chat{.span = span};
    const auto input = nested.list(attributes, "gen_ai.input.messages");
    if (!input) refuse_contents(attributes, place);
    ListedMessages listed = messages_of_list(*input, place);
    chat.parts_left_out = listed.parts_left_out;
    Messages prompt = std::move(listed.messages);
    if (prompt.empty()) place.refuse("\"gen_ai.input.messages\" of a chat span is empty");
    if (const auto system = nested.list(attributes, "gen_ai.system_instructions")) {
        Messages instructions;
        chat.parts_left_out |= add_message_of_parts(instructions, "system", *system);
        prompt.insert(prompt.begin(), instructions.begin(), instructions.end());
    } else if (std::string text = string_in(attributes, "gen_ai.system_instructions"); !text.empty()) {
        prompt.insert(prompt.begin(), Message{"system", std::move(text)});
    }
    for (const Message& message : prompt) {
        if (message.role == "tool") collect_ids(message.fields, "tool_call_id", chat.results);
        if (message.role == "assistant" && !message.content.empty()) chat.said.insert(message.content);
    }
    if (const auto output = output_in(nested, attributes))
        for (const Message& message : messages_of_list(*output, place).messages) {
            collect_ids(message.fields, "tool_calls", chat.calls);
            chat.answer += message.content;
        }
    if (chat.answer.empty()) chat.answer = string_in(attributes, "gen_ai.output.text");
    chat.row.prompt = std::move(prompt);
    chat.row.whole_prompt = true;
    chat.row.output_tokens = first_tokens_in(
        attributes,
        {"gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "gen_ai.request.max_tokens"}, place);
    if (const auto tools = nested.list(attributes, "gen_ai.tool.definitions"); tools && tools->size() > 0)
        add_fields(chat.row.body, "\"tools\":" + simdjson::minify(*tools));
    const std::string temperature = json_in(attributes, "gen_ai.request.temperature");
    if (!temperature.empty()) add_fields(chat.row.body, "\"temperature\":" + temperature);
    return chat;
}

double seconds_in(const dom::element& span, std::string_view key, const RowPlace& place) {
    const auto time = seconds_of_time(text_or_json(span, key));
    if (!time) place.refuse(fmt::format("\"{}\" of a span is no time such as 2026-08-01T10:00:00Z", key));
    return *time;
}

/// Returns whether a span's status is an error, as OpenTelemetry's exporters write it: 2, "ERROR" or
/// "STATUS_CODE_ERROR", by itself or in an object.
bool has_failed(const dom::element& span) {
    dom::element status;
    if (span["status"].get(status)) return false;
    for (const char* const key : {"code", "status_code"})
        if (dom::element code; status.is_object() && !status[key].get(code)) {
            status = code;
            break;
        }
    std::string_view name;
    std::int64_t number = 0;
    constexpr std::int64_t kError = 2;
    if (!status.get(name)) return lower_case(name).ends_with("error");
    return !status.get(number) && number == kError;
}

/// Returns whether an operation of the conventions asks a model for text.
bool asks_for_text(std::string_view operation) {
    return operation == "chat" || operation == "generate_content" || operation == "text_completion";
}

/// The spans around a span, the innermost first. A circle of parents ends the list.
std::vector<std::size_t> around(const Session& session, std::size_t span) {
    std::vector<std::size_t> found;
    for (auto parent = session.by_id.find(session.spans[span].parent); parent != session.by_id.end();
         parent = session.by_id.find(session.spans[parent->second].parent)) {
        if (std::ranges::find(found, parent->second) != found.end()) break;
        found.push_back(parent->second);
    }
    return found;
}

Session session_of(const dom::element& object, const RowPlace& place) {
    Session session;
    dom::array spans;
    if (object["spans"].get(spans)) place.refuse("\"spans\" is not a list");
    for (const dom::element span : spans) {
        dom::element attributes;
        const bool has_attributes = !span["attributes"].get(attributes);
        const std::string operation = has_attributes ? string_in(attributes, "gen_ai.operation.name") : "";
        Span one{.id = string_in(span, "span_id"),
                 .parent = string_in(span, "parent_span_id"),
                 .start = seconds_in(span, "start_time", place),
                 .end = seconds_in(span, "end_time", place)};
        one.is_chat =
            asks_for_text(operation) || (operation.empty() && string_in(span, "name").starts_with("chat "));
        if (has_attributes) one.call = string_in(attributes, "gen_ai.tool.call.id");
        if (one.id.empty()) place.refuse("a span lacks \"span_id\"");
        const std::string_view why_not = session.by_id.contains(one.id)
                                             ? "for their spans were exported twice"
                                         : one.end < one.start ? "for they end before they start"
                                         : has_failed(span)    ? "for they failed"
                                         : !has_attributes     ? "for they have no attributes"
                                                               : "";
        if (one.is_chat && !why_not.empty()) session.left_out.push_back(why_not);
        if (!session.by_id.emplace(one.id, session.spans.size()).second) continue;
        if (one.is_chat && why_not.empty())
            session.chats.push_back(chat_of(attributes, session.spans.size(), place));
        if (!session.chats.empty()) session.parts_left_out |= session.chats.back().parts_left_out;
        session.spans.push_back(std::move(one));
    }
    for (Chat& chat : session.chats) chat.around = around(session, chat.span);
    sort_stably(session.chats, [&](const Chat& a, const Chat& b) {
        return session.spans[a.span].start < session.spans[b.span].start;
    });
    return session;
}

const Span& span_of(const Session& session, std::size_t chat) {
    return session.spans[session.chats[chat].span];
}

bool share_any(const std::set<std::string>& a, const std::set<std::string>& b) {
    return std::ranges::any_of(a, [&](const std::string& one) { return b.contains(one); });
}

/// Returns whether chat `a` is what `b` goes on from: its calls or its answer are in the prompt of `b`.
bool content_connects(const Session& session, std::size_t a, std::size_t b) {
    const Chat& before = session.chats[a];
    const Chat& later = session.chats[b];
    if (span_of(session, a).end > span_of(session, b).start) return false;
    return share_any(before.calls, later.results) ||
           (!before.answer.empty() && later.said.contains(before.answer));
}

/// Returns the chat that made the call of the innermost tool around chat `b`, if one did.
std::optional<std::size_t> caller_of(const Session& session, std::size_t b) {
    for (const std::size_t outer : session.chats[b].around) {
        const std::string& call = session.spans[outer].call;
        if (call.empty()) continue;
        for (std::size_t a = 0; a < session.chats.size(); ++a)
            if (a != b && session.chats[a].calls.contains(call)) return a;
    }
    return {};
}

/// Returns whether chat `a` ran inside a tool whose result is in the prompt of `b`.
bool ran_for(const Session& session, std::size_t a, std::size_t b) {
    for (const std::size_t outer : session.chats[a].around)
        if (session.chats[b].results.contains(session.spans[outer].call) &&
            span_of(session, a).end <= span_of(session, b).start)
            return true;
    return false;
}

/// The chat that ended last before chat `b` began, if one did.
std::optional<std::size_t> latest_before(const Session& session, std::size_t b) {
    std::optional<std::size_t> latest;
    for (std::size_t a = 0; a < session.chats.size(); ++a)
        if (a != b && span_of(session, a).end <= span_of(session, b).start &&
            (!latest || span_of(session, a).end > span_of(session, *latest).end))
            latest = a;
    return latest;
}

void connect(Session& session) {
    for (std::size_t b = 0; b < session.chats.size(); ++b) {
        std::set<std::size_t> after;
        for (std::size_t a = 0; a < session.chats.size(); ++a)
            if (a != b && (content_connects(session, a, b) || ran_for(session, a, b))) after.insert(a);
        if (after.empty())
            if (const auto caller = caller_of(session, b)) after.insert(*caller);
        if (after.empty())
            if (const auto latest = latest_before(session, b)) {
                after.insert(*latest);
                ++session.by_time;
            }
        session.chats[b].after.assign(after.begin(), after.end());
    }
}

/// The time of [from, until] that the tools whose results a prompt holds took, counted once where they
/// overlap.
double tool_seconds(const Session& session, const Chat& chat, double from, double until) {
    std::vector<std::pair<double, double>> times;
    for (const Span& span : session.spans)
        if (!span.is_chat && chat.results.contains(span.call))
            times.emplace_back(std::max(from, span.start), std::min(until, span.end));
    std::ranges::sort(times);
    double total = 0;
    double counted = from;
    for (const auto& [start, end] : times) {
        total += std::max(0.0, end - std::max(start, counted));
        counted = std::max(counted, end);
    }
    return total;
}

/// Gives each chat an agent: that of the latest chat that it waits for and that no other one goes on from, or
/// else a new one.
std::vector<std::size_t> agents_of(const Session& session) {
    std::vector<std::size_t> agents(session.chats.size());
    std::vector<bool> continued(session.chats.size(), false);
    std::size_t count = 0;
    for (std::size_t b = 0; b < session.chats.size(); ++b) {
        std::optional<std::size_t> from;
        for (const std::size_t a : session.chats[b].after)
            if (a < b && !continued[a] && session.chats[a].around == session.chats[b].around) from = a;
        agents[b] = from ? agents[*from] : count++;
        if (from) continued[*from] = true;
    }
    return agents;
}

Row row_of(Session& session, const std::string& name) {
    const std::vector<std::size_t> agents = agents_of(session);
    const double begin = span_of(session, 0).start;
    for (std::size_t b = 0; b < session.chats.size(); ++b) {
        Chat& chat = session.chats[b];
        Row& row = chat.row;
        row.conversation = fmt::format("{}", agents[b]);
        row.job.name = name;
        row.job.id = fmt::format("{}", b);
        double released = chat.after.empty() ? begin : 0;
        for (const std::size_t a : chat.after) {
            row.job.after.push_back(fmt::format("{}", a));
            released = std::max(released, span_of(session, a).end);
        }
        const double start = span_of(session, b).start;
        const double pause = std::max(0.0, start - released);
        row.job.tool_s = std::min(pause, tool_seconds(session, chat, released, start));
        row.job.delay_s = pause - row.job.tool_s;
    }
    Row first = std::move(session.chats.front().row);
    for (std::size_t b = 1; b < session.chats.size(); ++b)
        first.further.push_back(std::move(session.chats[b].row));
    first.left_out = std::move(session.left_out);
    if (session.by_time > 0)
        first.remarks.emplace_back(
            "have chats that no tool call, answer or span connects with others: they follow the chat that "
            "ended last before them");
    if (session.parts_left_out)
        first.remarks.emplace_back(
            "have parts of messages that are neither texts nor tool calls, such as images or reasoning, and "
            "that are not sent");
    return first;
}

Row read_session(std::string_view text, const std::string&, const RowPlace& place) {
    const dom::element& object = object_of(text, place);
    Session session = session_of(object, place);
    if (session.chats.empty()) {
        Row none;
        none.unusable = "for they have no chat spans that succeeded";
        none.left_out = std::move(session.left_out);
        return none;
    }
    connect(session);
    std::string name = string_in(object, "session_id");
    if (name.empty()) name = string_in(object, "trace_id");
    if (name.empty()) name = fmt::format("line {}", place.line);
    return row_of(session, name);
}

}  // namespace

RowFormat otel_spans_format(const Spec& spec) {
    spec.expect_only({"path", "osl"});
    return {.name = "otel_spans",
            .layout = RowLayout::objects,
            .read = read_session,
            .fields = {.whole = "the \"session_id\" or \"trace_id\""},
            .keeps_turns = true};
}

std::unique_ptr<Dataset> make_otel_spans(const DatasetOptions& options) {
    return make_file_dataset(options, otel_spans_format(options.spec));
}

}  // namespace paretoken::datasets
