#include "datasets/files/agents/agent_messages.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "datasets/files/json_row.h"

namespace paretoken::datasets {
namespace {

namespace dom = simdjson::dom;

constexpr std::array<std::string_view, 7> kSampling = {
    "temperature", "top_p", "top_k", "seed", "presence_penalty", "frequency_penalty", "repetition_penalty"};

/// Returns the fields of a row that go out with the requests of its conversation.
std::string body_of(const dom::element& object) {
    std::string body;
    const std::string tools = json_in(object, "tools");
    if (!tools.empty()) add_fields(body, "\"tools\":" + tools);
    for (const std::string_view name : kSampling) {
        const std::string value = json_in(object, name);
        if (!value.empty()) add_fields(body, fmt::format("\"{}\":{}", name, value));
    }
    return body;
}

Message answer_of(const dom::element& object, const RowPlace& place) {
    Message answer{.role = "assistant", .content = text_in(object, "content", place)};
    std::string fields;
    for (const std::string_view name : {"reasoning_content", "tool_calls"}) {
        const std::string value = json_in(object, name);
        if (!value.empty()) fields += fmt::format("{}\"{}\":{}", fields.empty() ? "" : ",", name, value);
    }
    answer.fields = fields;
    return answer;
}

Messages tool_results_in(const dom::element& object, const RowPlace& place) {
    dom::array results;
    if (object["tool_results"].get(results)) place.refuse("a row of tools lacks \"tool_results\"");
    Messages messages;
    for (const dom::element result : results) {
        const std::string id = json_in(result, "tool_call_id");
        if (id.empty()) place.refuse("a tool's result lacks \"tool_call_id\"");
        messages.push_back({.role = "tool",
                            .content = text_in(result, "content", place),
                            .fields = "\"tool_call_id\":" + id});
    }
    if (messages.empty()) place.refuse("\"tool_results\" is empty");
    return messages;
}

/// Returns the pause before a row; what is no number above 0 counts as none.
double delay_in(const dom::element& object) {
    double delay = 0;
    if (object["delay_seconds"].get(delay) || !(delay > 0) || delay > 1e9) return 0;
    return delay;
}

Row read_mlperf_row(std::string_view text, const std::string&, const RowPlace& place) {
    const dom::element& object = object_of(text, place);
    Row row;
    if (text_in(object, "_type", place) == "dataset_metadata") {
        row.unusable = "for they describe the dataset";
        return row;
    }
    row.conversation = row.job.name = name_in(object, "conversation_id", place);
    if (row.conversation.empty()) place.refuse("\"conversation_id\" is missing");
    row.stated_number = tokens_in(object, "turn", place, 0);
    const std::string role = text_in(object, "role", place);
    if (role == "assistant") {
        row.is_reply = true;
        row.prompt = Messages{answer_of(object, place)};
        return row;
    }
    if (role != "user" && role != "tool")
        place.refuse(fmt::format("\"role\" is '{}'; known are user, assistant and tool", role));
    Messages messages;
    const std::string system = text_in(object, "system", place);
    if (!system.empty()) messages.push_back({.role = "system", .content = system});
    if (role == "user")
        messages.push_back({.role = "user", .content = text_in(object, "content", place)});
    else
        messages = tool_results_in(object, place);
    row.prompt = std::move(messages);
    row.output_tokens = tokens_in(object, "max_new_tokens", place);
    row.body = body_of(object);
    (role == "tool" ? row.job.tool_s : row.job.delay_s) = delay_in(object);
    return row;
}

/// Follows the rows of each conversation, and tells where they break the rules of MLPerf's specification. A
/// run sends them nevertheless, but a server may refuse a prompt whose tool calls have no results.
class MlperfOrder {
  public:
    std::vector<std::string_view> remarks_on(const Row& row) {
        std::vector<std::string_view> remarks;
        if (!row.prompt) return remarks;
        Conversation& now = conversations_[row.conversation];
        if (row.stated_number && *row.stated_number != now.number + 1)
            remarks.emplace_back("have a \"turn\" that does not follow the one before by 1");
        now.number = row.stated_number.value_or(now.number + 1);
        const Messages& messages = std::get<Messages>(*row.prompt);
        const bool is_answered = std::exchange(now.is_answered, row.is_reply);
        if (row.is_reply) {
            now.open_calls = calls_of(messages.front().fields);
            return remarks;
        }
        if (!is_answered)
            remarks.emplace_back(
                "follow a row without an answer of the assistant's between them, which a run with recorded "
                "answers refuses");
        bool has_unknown = false;
        const bool any_results = messages.back().role == "tool";
        for (const Message& message : messages)
            if (message.role == "tool") has_unknown |= now.open_calls.erase(message.fields) == 0;
        if (has_unknown) remarks.emplace_back("have results of tools that no call before them asked for");
        if (!now.open_calls.empty())
            remarks.emplace_back(any_results ? "lack results of calls in the answer before them"
                                             : "are the user's, but follow an answer that calls tools");
        now.open_calls.clear();
        return remarks;
    }

  private:
    struct Conversation {
        std::int64_t number = 0;
        bool is_answered = true;  ///< whether a row of the user's or of tools may follow
        std::set<std::string> open_calls =
            {};  ///< calls without a result, by the field of the message with it
    };

    static std::set<std::string> calls_of(const std::string& fields) {
        std::set<std::string> calls;
        dom::parser parser;
        dom::array list;
        if (parser.parse(simdjson::padded_string("{" + fields + "}"))["tool_calls"].get(list)) return calls;
        for (const dom::element call : list)
            if (const std::string id = json_in(call, "id"); !id.empty())
                calls.insert("\"tool_call_id\":" + id);
        return calls;
    }

    std::map<std::string, Conversation> conversations_;
};

// ---- dag_jsonl

std::vector<dom::element> list_in(const dom::element& object, std::string_view key, const RowPlace& place) {
    dom::element value;
    dom::array list;
    std::vector<dom::element> elements;
    if (object[key].get(value) || value.is_null()) return elements;
    if (value.get(list)) place.refuse(fmt::format("\"{}\" is not a list", key));
    for (const dom::element element : list) elements.push_back(element);
    return elements;
}

/// Agents that a turn waits for, by the number of the turn.
using Joins = std::map<std::size_t, std::vector<std::string>>;

void add_fork(Row& turn, const dom::element& fork, const RowPlace& place) {
    std::string_view name;
    if (!fork.get(name)) {
        turn.job.starts.push_back({.agent = std::string(name), .fork = true});
        return;
    }
    if (!fork.is_object()) place.refuse("\"forks\" holds something that is neither an id nor an object");
    turn.job.starts.push_back({.agent = name_in(fork, "child", place),
                               .fork = true,
                               .background = flag_in(fork, "background", place)});
}

/// Adds the agents that turn `number` spawns, and the turn that waits for them.
void add_spawn(Row& turn, std::size_t number, Joins& joins, const dom::element& spawn,
               const RowPlace& place) {
    std::string_view name;
    std::vector<std::string> children;
    std::size_t join = number + 1;
    if (!spawn.get(name)) {
        children.emplace_back(name);
    } else if (spawn.is_object()) {
        children = names_in(spawn, "children", place);
        if (const auto at = tokens_in(spawn, "join_at", place)) join = static_cast<std::size_t>(*at);
    } else {
        place.refuse("\"spawns\" holds something that is neither an id nor an object");
    }
    if (join <= number)
        place.refuse(
            fmt::format("\"join_at\" is {}, which is not behind the turn that spawns ({})", join, number));
    for (const std::string& child : children) {
        turn.job.starts.push_back({.agent = child});
        joins[join].push_back(child);
    }
}

Row dag_turn_of(const dom::element& object, std::size_t number, Joins& joins, const RowPlace& place) {
    Row turn;
    const std::string text = text_in(object, "text", place);  // AIPerf's multi_turn
    turn.prompt =
        text.empty() ? messages_in(object, "messages", place) : Messages{{.role = "user", .content = text}};
    turn.output_tokens = tokens_in(object, "max_tokens", place);
    if (!turn.output_tokens) turn.output_tokens = tokens_in(object, "output_length", place);
    turn.model = text_in(object, "model", place);
    turn.body = object_in(object, "extra", place);
    const std::string tools = json_in(object, "tools");
    if (!tools.empty()) add_fields(turn.body, "\"tools\":" + tools);
    turn.job.delay_s = number_in(object, "delay", place).value_or(0) / 1e3;
    for (const dom::element& fork : list_in(object, "forks", place)) add_fork(turn, fork, place);
    for (const dom::element& spawn : list_in(object, "spawns", place))
        add_spawn(turn, number, joins, spawn, place);
    return turn;
}

bool ends_its_agent(const Row& turn) {
    for (const RowJob::Start& start : turn.job.starts)
        if (start.fork && !start.background) return true;
    return false;
}

Row read_dag_row(std::string_view text, const std::string&, const RowPlace& place) {
    const dom::element& object = object_of(text, place);
    for (const std::string_view name : {"pre_session_spawns", "orchestrator", "rounds", "context_mode"})
        if (!json_in(object, name).empty()) place.refuse(fmt::format("\"{}\" is not read", name));
    const std::string session = name_in(object, "session_id", place);
    if (session.empty()) place.refuse("\"session_id\" is missing");
    std::vector<Row> turns;
    Joins joins;
    Messages opening;
    for (const dom::element& turn : list_in(object, "turns", place)) {
        if (turns.empty() && opening.empty() && text_in(turn, "role", place) == "system") {
            opening.push_back({.role = "system", .content = text_in(turn, "text", place)});
            continue;  // it is said before the first turn, and is none itself
        }
        if (!turns.empty() && ends_its_agent(turns.back()))
            place.refuse(
                "a turn follows one with a fork, which ends its agent unless it is of the background");
        turns.push_back(dag_turn_of(turn, turns.size(), joins, place));
        if (turns.size() == 1 && !opening.empty()) {
            auto& messages = std::get<Messages>(*turns.front().prompt);
            messages.insert(messages.begin(), opening.begin(), opening.end());
        }
        turns.back().conversation = session;
        turns.back().job.id = fmt::format("{}#{}", session, turns.size() - 1);
    }
    if (turns.empty()) place.refuse("\"turns\" is missing or empty");
    for (auto& [turn, children] : joins) {
        if (turn < turns.size())
            turns[turn].job.after_agents = std::move(children);
        else if (turn > turns.size())
            place.refuse(fmt::format("\"join_at\" is {}, but the agent has {} turns", turn, turns.size()));
    }
    Row first = std::move(turns.front());
    turns.erase(turns.begin());
    first.further = std::move(turns);
    return first;
}

}  // namespace

RowFormat mlperf_agentic_format(const Spec& spec) {
    spec.expect_only({"path", "osl"});
    return {.name = "mlperf_agentic",
            .layout = RowLayout::lines,
            .read = read_mlperf_row,
            .look =
                [](const std::string&, RowFormat& own) {
                    own.follow = [order = std::make_shared<MlperfOrder>()](const Row& row) {
                        return order->remarks_on(row);
                    };
                },
            .body_of_opening = true};
}
RowFormat dag_jsonl_format(const Spec& spec) {
    spec.expect_only({"path", "osl"});
    return {.name = "dag_jsonl",
            .layout = RowLayout::lines,
            .read = read_dag_row,
            .jobs_by_edges = true,
            .fields = {.whole = "\"session_id\""}};
}

std::unique_ptr<Dataset> make_mlperf_agentic(const DatasetOptions& options) {
    return make_file_dataset(options, mlperf_agentic_format(options.spec));
}
std::unique_ptr<Dataset> make_dag_jsonl(const DatasetOptions& options) {
    return make_file_dataset(options, dag_jsonl_format(options.spec));
}

}  // namespace paretoken::datasets
