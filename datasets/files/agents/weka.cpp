#include "datasets/files/agents/weka.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/random.h"
#include "core/stable_sort.h"
#include "datasets/files/json_row.h"

namespace paretoken::datasets {
namespace {

namespace dom = simdjson::dom;
namespace ondemand = simdjson::ondemand;

constexpr double kSameTime = 1e-6;  // seconds within which two times are one

/// A request as it is recorded, with what follows from its time.
struct WekaTurn {
    double start = 0;  ///< seconds since the job began
    double end = 0;
    std::optional<double> think = {};
    bool tool_result = false;
    std::string model = {};
    Row row = {};
    std::vector<std::size_t> after = {};
};

/// An agent: its turns by their places among those of the job.
struct WekaAgent {
    std::vector<std::size_t> turns = {};
    double spawned = 0;  ///< seconds since the job began
    double end = 0;
    bool waited_for = true;  ///< whether the main agent waits for it
};

struct WekaJob {
    std::vector<WekaTurn> turns = {};
    std::vector<WekaAgent> agents = {};  ///< the main agent first
    bool inferred = false;               ///< whether agents were told apart by their prompts
};

double needed_number_in(const dom::element& object, std::string_view key, const RowPlace& place) {
    const auto number = number_in(object, key, place);
    if (!number) place.refuse(fmt::format("a request lacks \"{}\"", key));
    return *number;
}

bool has_tool_result(const dom::element& request) {
    dom::array types;
    if (request["input_types"].get(types)) return false;
    return std::ranges::any_of(types, [](const dom::element type) {
        std::string_view name;
        return !type.get(name) && name == "tool_result";
    });
}

WekaTurn turn_of(const dom::element& request, std::optional<std::vector<std::uint64_t>>&& blocks, double from,
                 const RowPlace& place) {
    WekaTurn turn{.start = from + needed_number_in(request, "t", place),
                  .think = number_in(request, "think_time", place),
                  .tool_result = has_tool_result(request),
                  .model = text_in(request, "model", place)};
    turn.end = turn.start + number_in(request, "api_time", place).value_or(0);
    turn.row.input_tokens = needed_tokens_in(request, "in", place);
    turn.row.output_tokens = needed_tokens_in(request, "out", place);
    if (!blocks) place.refuse("\"hash_ids\" is not a list");
    turn.row.blocks = std::move(*blocks);
    return turn;
}

simdjson::simdjson_result<std::string_view> raw_text_of(ondemand::value value) {
    ondemand::object object;
    ondemand::array array;
    if (!value.get_object().get(object)) return object.raw_json();
    if (!value.get_array().get(array)) return array.raw_json();
    return value.raw_json_token();
}

constexpr std::array<std::string_view, 13> kFacts = {
    "id",  "block_size",  "hash_id_scope", "t",          "type",        "model", "in",
    "out", "input_types", "api_time",      "think_time", "duration_ms", "status"};

/// A job, or one of its "requests", which may be a sub-agent with requests of its own.
struct WekaObject {
    std::string facts = "{";  ///< the fields that kFacts names, as a JSON object with padding behind it
    std::optional<std::vector<std::uint64_t>> blocks = {};  ///< "hash_ids"
    std::optional<std::vector<WekaObject>> requests = {};   ///< empty if they were visited
};

void check(simdjson::error_code error, const RowPlace& place) {
    if (error) place.refuse(fmt::format("not JSON ({})", simdjson::error_message(error)));
}

std::vector<std::uint64_t> ids_in(ondemand::array ids, const RowPlace& place) {
    thread_local std::vector<std::uint64_t> blocks;
    blocks.clear();
    for (auto id : ids)
        if (id.get_uint64().get(blocks.emplace_back()))
            place.refuse("\"hash_ids\" holds something that is not a whole number of at least 0");
    return {blocks.begin(), blocks.end()};
}

using VisitRequest = std::function<void(WekaObject request)>;

/// Reads an object. Most of a file consists of hash ids, which are taken from the text at once. Calls `visit`
/// with each of the object's requests, instead of keeping them, because those of a job may be very large.
WekaObject read_object(ondemand::object object, const RowPlace& place, const VisitRequest& visit = {}) {
    WekaObject found;
    for (auto read : object) {
        ondemand::field field;
        check(std::move(read).get(field), place);
        std::string_view key;
        check(field.unescaped_key().get(key), place);
        ondemand::array list;
        if (key == "hash_ids") {
            if (!field.value().get_array().get(list)) found.blocks = ids_in(list, place);
        } else if (key == "requests") {
            if (field.value().get_array().get(list)) place.refuse("\"requests\" is not a list");
            found.requests.emplace();
            for (auto value : list) {
                ondemand::object request;
                if (value.get_object().get(request)) place.refuse("a request is not an object");
                WekaObject inner = read_object(request, place);
                if (visit)
                    visit(std::move(inner));
                else
                    found.requests->push_back(std::move(inner));
            }
        } else if (std::ranges::find(kFacts, key) != kFacts.end()) {
            std::string_view raw;
            check(raw_text_of(field.value()).get(raw), place);
            found.facts += fmt::format("{}\"{}\":{}", found.facts.size() > 1 ? "," : "", key, raw);
        }
    }
    found.facts += "}";
    found.facts.reserve(found.facts.size() + RowFile::kPadding);
    return found;
}

/// Reads a job, calling `visit` with each of its requests.
WekaObject read_job(std::string_view text, const RowPlace& place, const VisitRequest& visit) {
    ondemand::parser parser;
    ondemand::document document;
    ondemand::object object;
    check(
        parser
            .iterate(simdjson::padded_string_view(text.data(), text.size(), text.size() + RowFile::kPadding))
            .get(document),
        place);
    if (document.get_object().get(object)) place.refuse("no JSON object");
    WekaObject job = read_object(object, place, visit);
    if (!job.requests) place.refuse("\"requests\" is not a list");
    return job;
}

bool is_sub_agent(const dom::element& entry) {
    std::string_view type;
    return !entry["type"].get(type) && type == "subagent";
}

/// `requests`: those of the sub-agent. `entry` has the memory that reading them overwrites.
void add_sub_agent(WekaJob& job, const dom::element& entry, std::optional<std::vector<WekaObject>>&& requests,
                   bool relative, const RowPlace& place) {
    WekaAgent agent{.spawned = needed_number_in(entry, "t", place)};
    const auto duration_ms = number_in(entry, "duration_ms", place);
    agent.waited_for = duration_ms && text_in(entry, "status", place) != "async_launched";
    agent.end = agent.spawned + duration_ms.value_or(0) / 1e3;
    if (!requests) place.refuse("\"requests\" is not a list");
    for (WekaObject& object : *requests) {
        const dom::element& request = object_of(object.facts, place);
        if (is_sub_agent(request)) place.refuse("a sub-agent holds another one; only one level is read");
        WekaTurn turn = turn_of(request, std::move(object.blocks), relative ? agent.spawned : 0, place);
        if (turn.start < agent.spawned - kSameTime)
            place.refuse(fmt::format(
                "a request of the sub-agent that starts at {} s has \"t\" {}, which counts from the start of "
                "the sub-agent; say so for all of them: --dataset weka:t=agent",
                agent.spawned, turn.start));
        agent.end = std::max(agent.end, turn.end);
        agent.turns.push_back(job.turns.size());
        job.turns.push_back(std::move(turn));
    }
    if (!agent.turns.empty()) job.agents.push_back(std::move(agent));
}

/// Returns the number of ids at the front that both have.
std::size_t common_front(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
    return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

/// Divides the turns of the main agent among agents, if some of them overlap in time, so that one agent
/// cannot have sent them all. A turn continues the agent with which its prompt has most in common, if it has
/// that agent's last prompt (but for a partial last block) and begins after its end.
void infer_agents(WekaJob& job) {
    const std::vector<std::size_t> turns = job.agents.front().turns;
    bool overlap = false;
    for (std::size_t i = 1; i < turns.size(); ++i)
        overlap |= job.turns[turns[i]].start < job.turns[turns[i - 1]].end - kSameTime;
    if (!overlap || job.agents.size() > 1) return;
    job.inferred = true;
    job.agents.clear();
    for (const std::size_t at : turns) {
        const WekaTurn& turn = job.turns[at];
        WekaAgent* best = nullptr;
        std::size_t most = 0;
        for (WekaAgent& agent : job.agents) {
            const WekaTurn& last = job.turns[agent.turns.back()];
            if (last.model != turn.model || agent.end > turn.start + kSameTime) continue;
            const std::size_t common = common_front(turn.row.blocks, last.row.blocks);
            if (common + 1 < last.row.blocks.size() || common <= most) continue;
            best = &agent;
            most = common;
        }
        if (best == nullptr) best = &job.agents.emplace_back(WekaAgent{.spawned = turn.start});
        best->turns.push_back(at);
        best->end = std::max(best->end, turn.end);
    }
}

/// Puts the turns of an agent in the order of their times.
void sort_by_time(WekaJob& job, WekaAgent& agent) {
    std::vector<WekaTurn> turns;
    for (const std::size_t at : agent.turns) turns.push_back(std::move(job.turns[at]));
    sort_stably(turns, {}, &WekaTurn::start);
    for (std::size_t i = 0; i < turns.size(); ++i) job.turns[agent.turns[i]] = std::move(turns[i]);
}

/// Sets the turns that each turn waits for. A sub-agent for which no turn of the main agent waits becomes one
/// of the background.
void connect(WekaJob& job) {
    const WekaAgent& main = job.agents.front();
    for (std::size_t number = 0; number < job.agents.size(); ++number) {
        WekaAgent& agent = job.agents[number];
        for (std::size_t i = 1; i < agent.turns.size(); ++i)
            job.turns[agent.turns[i]].after.push_back(agent.turns[i - 1]);
        if (number == 0) continue;
        std::optional<std::size_t> spawner;
        std::optional<std::size_t> join;
        for (const std::size_t turn : main.turns) {
            if (job.turns[turn].start < agent.spawned) spawner = turn;
            if (!join && job.turns[turn].start >= agent.end - kSameTime) join = turn;
        }
        if (spawner) job.turns[agent.turns.front()].after.push_back(*spawner);
        agent.waited_for = agent.waited_for && join;
        if (agent.waited_for) job.turns[*join].after.push_back(agent.turns.back());
    }
}

/// Returns the pause before a turn, from the end of the last turn that it waits for.
double pause_before(const WekaJob& job, const WekaTurn& turn, double begin) {
    if (turn.after.size() == 1 && turn.think) return *turn.think;
    double released = turn.after.empty() ? begin : 0;
    for (const std::size_t other : turn.after) released = std::max(released, job.turns[other].end);
    return std::max(0.0, turn.start - released);
}

/// Makes the rows of a job, whose first row holds the others.
Row row_of(WekaJob& job, const std::string& id, std::int64_t block_tokens, bool local) {
    const double begin = std::ranges::min_element(job.turns, {}, &WekaTurn::start)->start;
    for (std::size_t number = 0; number < job.agents.size(); ++number)
        for (const std::size_t at : job.agents[number].turns) {
            WekaTurn& turn = job.turns[at];
            Row& row = turn.row;
            row.conversation = fmt::format("{}", number);
            row.job.name = id;
            row.job.id = fmt::format("{}", at);
            for (const std::size_t other : turn.after) row.job.after.push_back(fmt::format("{}", other));
            (turn.tool_result ? row.job.tool_s : row.job.delay_s) = pause_before(job, turn, begin);
            row.job.background = !job.agents[number].waited_for;
            row.block_tokens = block_tokens;
            if (local) row.scope = derived_seed(1, id);
        }
    Row first = std::move(job.turns.front().row);
    for (std::size_t at = 1; at < job.turns.size(); ++at)
        first.further.push_back(std::move(job.turns[at].row));
    if (job.inferred)
        first.remarks = {
            "state no sub-agents, but their requests overlap: agents were told apart by the beginnings of "
            "their prompts, and their waits by the recorded times"};
    return first;
}

std::int64_t block_tokens_in(const dom::element& object, const RowPlace& place) {
    constexpr std::int64_t kUsual = 64;
    return tokens_in(object, "block_size", place).value_or(kUsual);
}

Row read_weka_row(std::string_view text, bool relative, const RowPlace& place) {
    WekaJob job{.agents = {WekaAgent{}}};
    const WekaObject read = read_job(text, place, [&](WekaObject request) {
        const dom::element& entry = object_of(request.facts, place);
        if (is_sub_agent(entry))
            return add_sub_agent(job, entry, std::move(request.requests), relative, place);
        job.agents.front().turns.push_back(job.turns.size());
        job.turns.push_back(turn_of(entry, std::move(request.blocks), 0, place));
    });
    const dom::element& object = object_of(read.facts, place);
    const std::string id = name_in(object, "id", place);
    if (id.empty()) place.refuse("\"id\" is missing");
    const std::string scope = text_in(object, "hash_id_scope", place);
    if (!scope.empty() && scope != "local" && scope != "global")
        place.refuse(fmt::format("\"hash_id_scope\" is '{}'; known are local and global", scope));
    std::erase_if(job.agents, [](const WekaAgent& agent) { return agent.turns.empty(); });
    if (job.agents.empty()) {
        Row none;
        none.unusable = "for they have no requests";
        return none;
    }
    for (WekaAgent& agent : job.agents) sort_by_time(job, agent);
    infer_agents(job);
    connect(job);
    return row_of(job, id, block_tokens_in(object, place), scope != "global");
}

/// Returns whether the times of a sub-agent's requests count from its start; nothing if it does not show it.
/// Times from the job's start are never before that of the sub-agent.
std::optional<bool> counts_from_agent(const WekaObject& object, const RowPlace& place) {
    const dom::element& entry = object_of(object.facts, place);
    if (!is_sub_agent(entry) || !object.requests) return std::nullopt;
    const double spawned = needed_number_in(entry, "t", place);
    const auto duration_ms = number_in(entry, "duration_ms", place);
    for (const WekaObject& request : *object.requests) {
        const double t = needed_number_in(object_of(request.facts, place), "t", place);
        if (t < spawned - kSameTime) return true;
        // A request that begins after the sub-agent's end would not be its own.
        if (duration_ms && t > *duration_ms / 1e3 + kSameTime) return false;
    }
    return std::nullopt;
}

/// What a file shows of the times of sub-agents' requests.
struct SubAgentTimes {
    bool any = false;                   ///< whether there are sub-agents
    std::optional<bool> relative = {};  ///< whether the times count from their starts
};

/// Reads the file until a sub-agent shows what its times count from.
SubAgentTimes look_for_times(const std::string& path) {
    SubAgentTimes times;
    struct Found {};
    try {
        const RowFile file(path, RowLayout::objects, [&](std::string_view text, const RowPlace& place) {
            read_job(text, place, [&](const WekaObject& request) {
                times.any |= request.requests.has_value();
                times.relative = counts_from_agent(request, place);
                if (times.relative) throw Found{};
            });
        });
    } catch (const Found&) {
    }
    return times;
}

void set_times(RowFormat& format, bool relative, std::string_view why) {
    format.read = [relative](std::string_view text, const std::string&, const RowPlace& place) {
        return read_weka_row(text, relative, place);
    };
    format.note = fmt::format("the times of sub-agents' requests count from the start of the {} ({})",
                              relative ? "sub-agent" : "job", why);
}

}  // namespace

RowFormat weka_format(const Spec& spec) {
    spec.expect_only({"path", "t"});
    RowFormat format{
        .name = "weka", .layout = RowLayout::objects, .fields = {.whole = "\"id\""}, .keeps_turns = true};
    const std::string t = spec.text_or("t", "");
    if (!t.empty() && t != "agent" && t != "job")
        throw UsageError(fmt::format("dataset 'weka': t={} is neither agent nor job", t));
    if (!t.empty()) {
        set_times(format, t == "agent", "as asked for");
        return format;
    }
    format.look = [](const std::string& path, RowFormat& own) {
        const SubAgentTimes times = look_for_times(path);
        set_times(own, times.relative.value_or(true),
                  times.relative ? "as the first that shows it does; t=agent or t=job says it"
                                 : "as the specification says; no sub-agent of the file shows it");
        if (!times.any) own.note.clear();
    };
    return format;
}

std::unique_ptr<Dataset> make_weka(const DatasetOptions& options) {
    return make_file_dataset(options, weka_format(options.spec));
}

}  // namespace paretoken::datasets
