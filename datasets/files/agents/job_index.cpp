#include "datasets/files/agents/job_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "core/stable_sort.h"
#include "core/text/printable.h"

namespace paretoken::datasets {
namespace {

constexpr std::size_t kMostTurns = std::numeric_limits<std::uint16_t>::max();
constexpr std::size_t kLongestName = 60;

bool has_token_ids(const Row& row) {
    return row.prompt && std::holds_alternative<TokenIds>(*row.prompt);
}

/// Returns whether the row states a part of a job with names.
bool has_names(const Row& row) {
    return !row.conversation.empty() || row.job != RowJob{};
}

std::string shown(const std::string& name) {
    return printable_line(name, kLongestName);
}

}  // namespace

Messages messages_of(Prompt prompt) {
    if (auto* messages = std::get_if<Messages>(&prompt)) return std::move(*messages);
    return {{.role = "user", .content = std::move(std::get<std::string>(prompt))}};
}

std::size_t recorded_replies(const Messages& messages) {
    std::size_t count = 0;
    while (count < messages.size() && messages[count].role == "assistant") ++count;
    return count;
}

struct JobIndex::Item {
    TurnPlace at;
    std::uint32_t agent = 0;
    bool whole_prompt = false;
    bool left_out = false;
    std::size_t line = 0;
    std::optional<double> at_s = {};  ///< if it waits for no turn, nor for one before it in its agent
    RowJob job = {};
};

struct JobIndex::Draft {
    std::string conversation;  ///< of its first turn, for messages
    std::vector<Item> items = {};
    std::unordered_map<std::string, std::uint32_t> ids = {};  ///< item by id
    std::size_t kept = 0;                                     ///< items that are not left out
    std::optional<double> at_s = {};                          ///< recorded time
    /// Its agents by their names, with their numbers and their last items.
    struct Agent {
        std::uint32_t number = 0;
        std::uint32_t first = 0;
        std::uint32_t last = 0;
        std::size_t turns = 0;
        std::uint32_t reply = TurnPlace::kNone;  ///< row with the reply to the last item
        std::optional<double> at_s = {};         ///< recorded time of the last item
    };
    std::unordered_map<std::string, Agent> agents = {};

    /// Returns an agent; null if it has no turn yet.
    Agent* agent_named(const std::string& name) {
        const auto found = agents.find(name);
        return found == agents.end() ? nullptr : &found->second;
    }
    /// Adds an item, which must be later in the file than the others. If it starts at its time, it begins a
    /// new agent, which has the name from then on.
    void add(Item item, const std::string& agent_name) {
        const auto at = static_cast<std::uint32_t>(items.size());
        if (item.job.starts_at_time && agents.contains(agent_name)) {
            auto ended = agents.extract(agent_name);
            ended.key() += fmt::format("\n{}", at);
            agents.insert(std::move(ended));
        }
        Agent& agent =
            agents.try_emplace(agent_name, Agent{static_cast<std::uint32_t>(agents.size()), at, at})
                .first->second;
        agent.last = at;
        if (agent.reply != TurnPlace::kNone) item.at.reply = std::exchange(agent.reply, TurnPlace::kNone);
        ++agent.turns;
        kept += item.left_out ? 0 : 1;
        item.agent = agent.number;
        if (!item.job.id.empty() && (!item.left_out || !ids.contains(item.job.id))) ids[item.job.id] = at;
        items.push_back(std::move(item));
    }
};

JobIndex::JobIndex(const RowFormat& format)
    : by_edges_(format.jobs_by_edges),
      pauses_from_times_(format.pauses_from_times),
      fields_(format.fields),
      has_jobs_(format.jobs_by_edges) {}
JobIndex::~JobIndex() = default;

bool JobIndex::add(const Row& row, bool with_replies, const RowPlace& place) {
    const bool named = has_names(row) || (!row.further.empty() && has_names(row.further.front()));
    const bool is_kept = holds_request(row);
    if (!is_kept && !named) return false;
    if (rows_ == std::numeric_limits<std::uint32_t>::max()) place.refuse("there are more than 4G rows");
    const auto number = static_cast<std::uint32_t>(rows_);
    rows_ += is_kept ? 1 : 0;
    if (row.is_reply) {
        add_reply(row, number, place);
        return false;
    }
    if (!named) {
        const std::size_t turns = 1 + row.further.size();
        if (turns > kMostTurns)
            place.refuse(fmt::format("a conversation has more than {} turns", kMostTurns));
        ++jobs_;
        if (turns > 1 && slots_.empty()) begin_slots(number);
        if (turns > 1 || !slots_.empty()) slots_.push_back({number, static_cast<std::uint32_t>(turns)});
        return true;
    }
    if (slots_.empty()) begin_slots(number);
    if (!fields_.whole.empty()) refuse_second(row, place);
    bool begins = add_turn(row, {number, 0}, with_replies, place);
    for (std::size_t part = 0; part < row.further.size(); ++part)
        begins |=
            add_turn(row.further[part], {number, static_cast<std::uint32_t>(part + 1)}, with_replies, place);
    return begins;
}

/// Makes a slot for each row before the current one, all of which are jobs by themselves.
void JobIndex::begin_slots(std::size_t rows) {
    slots_.resize(rows, {0, 1});
    for (std::size_t row = 0; row < slots_.size(); ++row) slots_[row].at = static_cast<std::uint32_t>(row);
}

std::string JobIndex::key_of(const Row& turn) const {
    return turn.job.name.empty() || by_edges_ ? "c" + turn.conversation : "j" + turn.job.name;
}

bool JobIndex::add_turn(const Row& turn, TurnPlace at, bool with_replies, const RowPlace& place) {
    if (turn.job.name.empty() && turn.conversation.empty())
        place.refuse(
            "the row has fields of a job, but neither \"job\" nor \"conversation\" says which turns belong "
            "together");
    bool begins = false;
    Draft& draft = draft_of(turn, begins);
    RowJob job = turn.job;
    if (turn.at_s) read_time(turn, draft, begins, job, place);
    const bool left_out = !turn.unusable.empty();
    if (!left_out) check_turn(turn, draft, with_replies, place);
    has_jobs_ = has_jobs_ || !job.name.empty() || job.delay_s > 0 || job.tool_s > 0;
    const bool is_root =
        job.starts_at_time || (draft.agent_named(turn.conversation) == nullptr && job.after.empty());
    draft.add({.at = at,
               .whole_prompt = turn.whole_prompt || !turn.prompt,
               .left_out = left_out,
               .line = place.line,
               .at_s = is_root ? turn.at_s : std::nullopt,
               .job = std::move(job)},
              turn.conversation);
    draft.agent_named(turn.conversation)->at_s = turn.at_s;
    return begins;
}

/// Returns the draft to which a turn belongs, which it begins if no turn before it did.
JobIndex::Draft& JobIndex::draft_of(const Row& turn, bool& begins) {
    const auto [found, is_new] = names_.try_emplace(key_of(turn), static_cast<std::uint32_t>(drafts_.size()));
    begins = is_new;
    if (is_new) {
        slots_.push_back({found->second, 0});
        drafts_.push_back(std::make_unique<Draft>(Draft{.conversation = turn.conversation}));
        drafts_.back()->at_s = turn.at_s;
    }
    return *drafts_[found->second];
}

/// Reads the time of a turn: that of its job, or a pause after the turn before it in its agent.
void JobIndex::read_time(const Row& turn, const Draft& draft, bool begins, RowJob& job,
                         const RowPlace& place) {
    if (begins) return;
    if (!pauses_from_times_) {
        ++unused_times_;
        return;
    }
    const auto before = draft.agents.find(turn.conversation);
    if (before == draft.agents.end() || job.states_pause || job.starts_at_time || !job.after.empty()) return;
    const auto earlier = before->second.at_s;
    if (!earlier)
        place.refuse(
            "the time of a later turn counts from that of the turn before it, which has none; state a pause");
    if (*turn.at_s < *earlier)
        place.refuse(fmt::format("the time goes back from {} s to {} s in conversation '{}'", *earlier,
                                 *turn.at_s, shown(turn.conversation)));
    job.delay_s += std::max(0.0, *turn.at_s - *earlier - job.tool_s);
    ++pauses_;
}

/// Refuses a row that names the job or agent of an earlier one, where a row holds a whole one.
void JobIndex::refuse_second(const Row& row, const RowPlace& place) const {
    const auto found = names_.find(key_of(row));
    if (found == names_.end()) return;
    place.refuse(fmt::format("{} '{}' is that of line {} too", fields_.whole,
                             shown(by_edges_ ? row.conversation : row.job.name),
                             drafts_[found->second]->items.front().line));
}

/// Adds a row with the reply to the turn before it in its conversation.
void JobIndex::add_reply(const Row& reply, std::uint32_t row, const RowPlace& place) {
    const auto found = names_.find(key_of(reply));
    Draft::Agent* const agent =
        found == names_.end() ? nullptr : drafts_[found->second]->agent_named(reply.conversation);
    if (agent == nullptr)
        place.refuse(
            fmt::format("an answer of the assistant's opens conversation '{}'; the first row is the "
                        "user's",
                        shown(reply.conversation)));
    if (agent->reply != TurnPlace::kNone)
        place.refuse(
            fmt::format("a second answer to one turn of conversation '{}'", shown(reply.conversation)));
    agent->reply = row;
}

/// Checks the next turn of its agent.
void JobIndex::check_turn(const Row& turn, const Draft& draft, bool with_replies,
                          const RowPlace& place) const {
    const std::string& name = turn.conversation;
    const auto agent = draft.agents.find(name);
    const std::size_t number = agent == draft.agents.end() ? 0 : agent->second.turns;
    const bool has_reply = number > 0 && agent->second.reply != TurnPlace::kNone;
    if (draft.items.size() == kMostTurns)
        place.refuse(fmt::format("a job or conversation has more than {} turns", kMostTurns));
    const auto same = draft.ids.find(turn.job.id);
    if (same != draft.ids.end() && !draft.items[same->second].left_out)
        place.refuse(fmt::format("\"{}\" '{}' is that of an earlier turn too (line {})", fields_.id,
                                 shown(turn.job.id), draft.items[same->second].line));
    if (!turn.job.fork_of.empty() && number > 0)
        place.refuse(
            fmt::format("\"fork_of\" is for the first turn of an agent; conversation '{}' has turns before",
                        shown(name)));
    if (turn.whole_prompt || !turn.prompt) return;
    if (has_token_ids(turn)) place.refuse("a conversation is made of texts or messages, not of token ids");
    const Messages messages = messages_of(*turn.prompt);
    const std::size_t replies = recorded_replies(messages);
    const bool goes_on = number > 0 || !turn.job.fork_of.empty();
    if (!goes_on && (turn.turn.value_or(0) > 0 || replies > 0))
        place.refuse(
            fmt::format("a follow-up of conversation '{}' without an opening before it", shown(name)));
    if (!goes_on) return;
    if (turn.turn && *turn.turn != static_cast<std::int64_t>(number))
        place.refuse(fmt::format("turn {} of conversation '{}' comes where its turn {} is due", *turn.turn,
                                 shown(name), number));
    if (replies == messages.size())
        place.refuse(
            fmt::format("a follow-up of conversation '{}' without a message of the user's", shown(name)));
    if (with_replies && replies == 0 && !has_reply)
        place.refuse(
            "--replies recorded: the row does not begin with the assistant's message, the reply to the turn "
            "before");
}

/// Joins the drafts, each of which is one agent, whose turns wait for each other.
void JobIndex::join_by_edges(const std::string& path) {
    std::unordered_map<std::string, std::uint32_t> draft_of_id;
    for (std::uint32_t draft = 0; draft < drafts_.size(); ++draft)
        for (const auto& [id, at] : drafts_[draft]->ids) {
            const auto [found, is_new] = draft_of_id.try_emplace(id, draft);
            if (is_new) continue;
            const std::size_t line = drafts_[draft]->items[at].line;
            const std::size_t other = drafts_[found->second]->items[drafts_[found->second]->ids.at(id)].line;
            RowPlace{path, std::max(line, other)}.refuse(
                fmt::format("\"{}\" '{}' is that of an earlier turn too (line {})", fields_.id, shown(id),
                            std::min(line, other)));
        }
    std::vector<std::uint32_t> joined(drafts_.size());
    std::iota(joined.begin(), joined.end(), 0U);
    const auto root_of = [&](std::uint32_t draft) {
        while (joined[draft] != draft) draft = joined[draft] = joined[joined[draft]];
        return draft;
    };
    const auto join = [&](std::uint32_t a, std::uint32_t b) {
        joined[std::max(root_of(a), root_of(b))] = std::min(root_of(a), root_of(b));
    };
    for (std::uint32_t draft = 0; draft < drafts_.size(); ++draft)
        for (const Item& item : drafts_[draft]->items) {
            for (const std::string& id : item.job.after)
                if (const auto found = draft_of_id.find(id); found != draft_of_id.end())
                    join(draft, found->second);
            for (const std::string& agent : item.job.after_agents)
                if (const auto found = names_.find("c" + agent); found != names_.end())
                    join(draft, found->second);
            for (const RowJob::Start& start : item.job.starts)
                if (const auto found = names_.find("c" + start.agent); found != names_.end())
                    join(draft, found->second);
        }
    std::vector<std::vector<std::pair<Item, std::string>>> jobs(drafts_.size());
    for (std::uint32_t draft = 0; draft < drafts_.size(); ++draft)
        for (Item& item : drafts_[draft]->items)
            jobs[root_of(draft)].emplace_back(std::move(item), drafts_[draft]->conversation);
    drafts_.clear();
    slots_.clear();
    for (auto& items : jobs) {
        if (items.empty()) continue;
        sort_stably(items, [](const auto& a, const auto& b) {
            return std::pair(a.first.at.row, a.first.at.part) < std::pair(b.first.at.row, b.first.at.part);
        });
        slots_.push_back({static_cast<std::uint32_t>(drafts_.size()), 0});
        drafts_.push_back(std::make_unique<Draft>(Draft{.conversation = items.front().second}));
        for (auto& [item, agent] : items) drafts_.back()->add(std::move(item), agent);
        set_times(*drafts_.back());
    }
    // A row that waits may stand before the one that starts its job.
    sort_stably(drafts_, {}, [](const auto& draft) { return draft->at_s.value_or(0); });
}

/// Sets the time of a job, and the pauses of the agents that start with it: each starts at its own time.
void JobIndex::set_times(Draft& draft) {
    for (const Item& item : draft.items)
        if (item.at_s) draft.at_s = std::min(*item.at_s, draft.at_s.value_or(*item.at_s));
    for (Item& item : draft.items)
        if (item.at_s) item.job.delay_s += *item.at_s - *draft.at_s;
}

void JobIndex::keep(Draft& draft, const std::string& path) {
    std::vector<StatedTurn> turns;
    std::vector<std::uint32_t> firsts(draft.agents.size());
    for (const auto& [name, agent] : draft.agents) firsts[agent.number] = agent.first;
    const auto agent_named = [&](const Item& item, const std::string& name) -> const Draft::Agent& {
        const auto found = draft.agents.find(name);
        if (found == draft.agents.end())
            RowPlace{path, item.line}.refuse(
                fmt::format("the turn names the agent '{}', of which the job has no turn", shown(name)));
        return found->second;
    };
    const auto turn_named = [&](const Item& item, const std::string& id, std::string_view field) {
        const auto found = draft.ids.find(id);
        if (found == draft.ids.end())
            RowPlace{path, item.line}.refuse(
                fmt::format("\"{}\" names '{}', which is no \"{}\" of a turn of this {}", field, shown(id),
                            fields_.id, by_edges_ ? "file" : "job"));
        return found->second;
    };
    for (const Item& item : draft.items) {
        StatedTurn turn{.agent = item.agent,
                        .delay = from_seconds(item.job.delay_s),
                        .tool = from_seconds(item.job.tool_s),
                        .background = item.job.background,
                        .whole_prompt = item.whole_prompt};
        for (const std::string& id : item.job.after)
            turn.after.push_back(turn_named(item, id, fields_.after));
        for (const std::string& name : item.job.after_agents)
            turn.after.push_back(agent_named(item, name).last);
        if (!item.job.fork_of.empty()) turn.fork_of = turn_named(item, item.job.fork_of, "fork_of");
        turns.push_back(std::move(turn));
    }
    for (std::uint32_t at = 0; at < draft.items.size(); ++at)
        for (const RowJob::Start& start : draft.items[at].job.starts) {
            StatedTurn& first = turns[agent_named(draft.items[at], start.agent).first];
            first.after.push_back(at);
            if (start.fork) first.fork_of = at;
            first.background |= start.background;
        }
    OrderedJob job = ordered_job(turns, [&](std::uint32_t turn, const std::string& why) {
        RowPlace{path, draft.items[turn].line}.refuse(why);
    });
    if (draft.kept < draft.items.size()) {
        std::vector<bool> left_out;
        for (const Item& item : draft.items) left_out.push_back(item.left_out);
        job = without_turns(job, left_out);
    }
    for (const std::uint32_t position : job.positions) places_.push_back(draft.items[position].at);
    has_conversations_ |= job.graph.turns.size() > 1;
    if (job.graph == conversation_of(static_cast<std::uint32_t>(job.graph.turns.size()))) return;
    graphs_.emplace(begins_.size() - 1, std::make_shared<const JobGraph>(std::move(job.graph)));
}

void JobIndex::finish(const std::string& path) {
    if (by_edges_) join_by_edges(path);
    std::erase_if(slots_, [&](const Slot& slot) { return slot.turns == 0 && drafts_[slot.at]->kept == 0; });
    if (!slots_.empty()) jobs_ = slots_.size();
    for (const Slot& slot : slots_) {
        begins_.push_back(static_cast<std::uint32_t>(places_.size()));
        times_.push_back(slot.turns == 0 ? drafts_[slot.at]->at_s : std::nullopt);
        if (slot.turns == 0) {
            keep(*drafts_[slot.at], path);
            drafts_[slot.at].reset();
        } else {
            for (std::uint32_t part = 0; part < slot.turns; ++part) places_.push_back({slot.at, part});
            has_conversations_ |= slot.turns > 1;
        }
    }
    if (!slots_.empty()) begins_.push_back(static_cast<std::uint32_t>(places_.size()));
    std::exchange(slots_, {});
    std::exchange(drafts_, std::vector<std::unique_ptr<Draft>>());
    std::exchange(names_, {});
}

std::uint32_t JobIndex::turns(std::size_t job) const {
    return begins_.empty() ? 1 : begins_[job + 1] - begins_[job];
}

std::shared_ptr<const JobGraph> JobIndex::graph(std::size_t job) const {
    if (const auto found = graphs_.find(job); found != graphs_.end()) return found->second;
    return std::make_shared<const JobGraph>(conversation_of(turns(job)));
}

TurnPlace JobIndex::place_of(std::size_t job, std::uint32_t turn) const {
    if (begins_.empty()) return {.row = static_cast<std::uint32_t>(job)};
    return places_[begins_[job] + turn];
}

std::optional<double> JobIndex::time_of(std::size_t job) const {
    return times_.empty() ? std::nullopt : times_[job];
}

std::vector<std::string> JobIndex::notes() const {
    std::vector<std::string> notes;
    if (pauses_ > 0)
        notes.push_back(fmt::format(
            "{} later turn{} a time and no pause: each waits, after the answer before it, for as long as "
            "lies between the times of both rows",
            pauses_, pauses_ == 1 ? " has" : "s have"));
    if (unused_times_ > 0)
        notes.push_back(fmt::format(
            "{} turns have a time that has no effect, because they are not the first of their job or "
            "conversation; \"delay_s\" states a pause",
            unused_times_));
    return notes;
}

}  // namespace paretoken::datasets
