#include "loadgen/load/conversations.h"

#include <utility>

namespace paretoken::loadgen {
namespace {

bool has_next(const Planned& planned) {
    return planned.turn + 1 < planned.turns;
}

}  // namespace

Request Conversations::request(const Planned& planned, bool outline) const {
    if (planned.turn == 0)
        return outline ? dataset_->outline(planned.place) : dataset_->request(planned.place);
    const Open& open = open_.at({opening_of(planned), planned.warmup});
    return dataset_->follow_up(planned.place, planned.turn, {.prompt = open.prompt, .reply = open.reply});
}

std::optional<Turn> Conversations::turn_of(const Planned& planned) const {
    if (!dataset_->has_conversations()) return std::nullopt;
    return Turn{.conversation = opening_of(planned), .number = planned.turn};
}

bool Conversations::needs_answer(const Planned& planned) const {
    return has_next(planned) && dataset_->needs_replies();
}

void Conversations::started(const Planned& planned, Prompt prompt) {
    if (planned.turns == 1) return;
    if (!has_next(planned)) {
        open_.erase({opening_of(planned), planned.warmup});
        return;
    }
    Open& open = open_[{opening_of(planned), planned.warmup}];
    open.planned = planned;
    open.reply.clear();
    if (dataset_->needs_replies()) open.prompt = std::move(prompt);
}

std::optional<Planned> Conversations::ended(RequestRecord& record, bool takes_answer) {
    if (!record.turn) return std::nullopt;
    const auto found = open_.find({.index = record.turn->conversation, .warmup = record.warmup});
    if (found == open_.end()) return std::nullopt;
    if (record.outcome != Outcome::ok) {
        open_.erase(found);
        return std::nullopt;
    }
    Open& open = found->second;
    open.reply = takes_answer ? std::exchange(record.answer, {}) : record.answer;
    Planned next = open.planned;
    next.index += step_;
    ++next.turn;
    return next;
}

}  // namespace paretoken::loadgen
