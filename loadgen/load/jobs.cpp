#include "loadgen/load/jobs.h"

#include <algorithm>
#include <utility>

namespace paretoken::loadgen {
namespace {

using datasets::JobGraph;
using datasets::JobTurn;

std::uint32_t heirs_of(const JobGraph& graph, std::uint32_t turn) {
    return static_cast<std::uint32_t>(
        std::count_if(graph.turns.begin() + turn, graph.turns.end(),
                      [turn](const JobTurn& other) { return other.history == turn; }));
}

/// Returns the index of the first request of a record's job or conversation, without which it is one itself.
std::uint64_t first_of(const RequestRecord& record) {
    if (record.job) return record.job->first;
    return record.turn ? record.turn->conversation : record.index;
}

std::uint32_t first_turn_of(const JobGraph& graph, std::uint32_t agent) {
    std::uint32_t turn = 0;
    while (graph.turns[turn].agent != agent) ++turn;
    return turn;
}

}  // namespace

Jobs::Graph Jobs::graph_of(const Planned& planned) const {
    const auto open = open_.find({planned.opening, planned.warmup});
    if (open == open_.end()) return dataset_->job(planned.place);
    return open->second.progress.shared_graph();
}

Request Jobs::request(const Planned& planned, bool outline) const {
    if (planned.turn == 0)
        return outline ? dataset_->outline(planned.place) : dataset_->request(planned.place);
    static const Kept kNothing;
    const Open& open = open_.at({planned.opening, planned.warmup});
    const auto history = open.progress.graph().turns[planned.turn].history;
    const auto kept = history ? open.kept.find(*history) : open.kept.end();
    const Kept& from = kept == open.kept.end() ? kNothing : kept->second;
    const datasets::Said said{.prompt = from.prompt, .reply = from.reply};
    return outline ? dataset_->outline_of_follow_up(planned.place, planned.turn, said)
                   : dataset_->follow_up(planned.place, planned.turn, said);
}

std::optional<Session> Jobs::session_of(const Planned& planned) const {
    if (!dataset_->has_conversations() && !dataset_->has_jobs()) return std::nullopt;
    const std::uint64_t opening = planned.opening;
    Session session{.conversation = opening, .job = opening, .is_final = planned.turn + 1 == planned.turns};
    if (!dataset_->has_jobs()) return session;
    const Graph graph = graph_of(planned);
    const auto index_of = [&](std::uint32_t turn) { return opening + std::uint64_t{step_} * turn; };
    const std::uint32_t first = first_turn_of(*graph, graph->turns[planned.turn].agent);
    session.conversation = index_of(first);
    session.is_final =
        std::none_of(graph->turns.begin() + planned.turn + 1, graph->turns.end(),
                     [&](const JobTurn& later) { return later.agent == graph->turns[planned.turn].agent; });
    // The agent was started by the turn that it waits for; of several, by the last one.
    const auto& after = graph->turns[first].after;
    if (!after.empty()) session.parent = index_of(first_turn_of(*graph, graph->turns[after.back()].agent));
    return session;
}

void Jobs::place(RequestRecord& record, const Planned& planned) const {
    const auto session = session_of(planned);
    if (!session) return;
    record.turn = Turn{.conversation = session->conversation, .number = planned.turn};
    if (!dataset_->has_jobs()) return;
    const Graph graph = graph_of(planned);
    const JobTurn& turn = graph->turns[planned.turn];
    record.turn->number = turn.number;
    record.job = JobPart{.first = session->job,
                         .turns = planned.turns,
                         .background = turn.background,
                         .inside = graph->primers > 0};
}

bool Jobs::is_primer(const Planned& planned) const {
    return planned.turns > 1 && dataset_->has_jobs() && planned.turn < graph_of(planned)->primers;
}

bool Jobs::needs_answer(const Planned& planned) const {
    if (planned.turns == 1 || !dataset_->needs_replies()) return false;
    return heirs_of(*graph_of(planned), planned.turn) > 0;
}

FollowUp Jobs::follow_up(const Open& open, std::uint32_t turn) const {
    const JobTurn& of = open.progress.graph().turns[turn];
    FollowUp next{.planned = open.first, .delay = of.delay, .tool = of.tool};
    next.planned.index += std::uint64_t{step_} * turn;
    next.planned.turn = turn;
    return next;
}

/// Forgets the prompt and answer that a started turn has inherited, if it was the last to need them.
void Jobs::release_history(Open& open, const Planned& planned) {
    const auto history = open.progress.graph().turns[planned.turn].history;
    const auto kept = history ? open.kept.find(*history) : open.kept.end();
    if (kept != open.kept.end() && --kept->second.heirs == 0) open.kept.erase(kept);
}

std::vector<FollowUp> Jobs::started(const Planned& planned, Prompt prompt) {
    if (planned.turns == 1) return {};
    const RequestKey key{planned.opening, planned.warmup};
    if (planned.turn == 0) open_.try_emplace(key, Open{planned, JobProgress(dataset_->job(planned.place))});
    Open& open = open_.at(key);
    ++open.in_flight;
    if (dataset_->needs_replies()) {
        const std::uint32_t heirs = heirs_of(open.progress.graph(), planned.turn);
        if (heirs > 0) open.kept[planned.turn] = {.prompt = std::move(prompt), .heirs = heirs};
        release_history(open, planned);
    }
    std::vector<FollowUp> others;
    if (planned.turn != 0) return others;
    const JobTurn& first = open.progress.graph().turns[0];
    for (const std::uint32_t turn : open.progress.with_the_first()) {
        others.push_back(follow_up(open, turn));
        others.back().delay -= first.delay;
        others.back().tool -= first.tool;
    }
    return others;
}

const std::string* Jobs::token_of(const Planned& planned, const TokenKey& key) const {
    const auto open = open_.find({planned.opening, planned.warmup});
    if (open == open_.end()) return nullptr;
    const auto token = open->second.tokens.find(key);
    return token == open->second.tokens.end() ? nullptr : &token->second;
}

void Jobs::keep_token(const RequestRecord& record, bool warmup, const TokenKey& key,
                      const std::string& token) {
    const auto open = open_.find({first_of(record), warmup});
    if (open != open_.end()) open->second.tokens[key] = token;
}

Ended Jobs::ended(RequestRecord& record, bool takes_answer) {
    if (!record.turn) return {};
    const std::uint64_t opening = first_of(record);
    const auto found = open_.find({.index = opening, .warmup = record.warmup});
    if (found == open_.end()) return {};
    Open& open = found->second;
    --open.in_flight;
    const auto turn = static_cast<std::uint32_t>((record.index - opening) / step_);
    const bool ok = record.outcome == Outcome::ok;
    const auto kept = open.kept.find(turn);
    if (kept != open.kept.end()) {
        if (ok)
            kept->second.reply = takes_answer ? std::exchange(record.answer, {}) : record.answer;
        else
            open.kept.erase(kept);
    }
    Ended ended;
    for (const std::uint32_t next : open.progress.ended(turn, ok, record.closed)) {
        ended.follow_ups.push_back(follow_up(open, next));
        ended.follow_ups.back().behind = open.progress.latest_end_before(next) - record.closed;
    }
    ended.job_is_over = open.progress.is_over();
    if (open.in_flight == 0) ended.idle_job = opening;
    if (ended.job_is_over) open_.erase(found);
    return ended;
}

}  // namespace paretoken::loadgen
