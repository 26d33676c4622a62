#pragma once
// The conversations that one worker has opened in one class of the load and that have turns to come.
// Conversations keeps the last answer of each of them and makes the request of its next turn. It also keeps
// the last prompt if the turns after the first continue from the server's answers
// (Dataset::needs_replies(), datasets/dataset.h). It does no I/O.
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/record/event_source.h"
#include "core/record/record.h"
#include "datasets/dataset.h"
#include "loadgen/load/schedule.h"

namespace paretoken::loadgen {

class Conversations {
  public:
    /// `dataset` must outlive this. `step`: distance between the indexes of a conversation's turns.
    explicit Conversations(const datasets::Dataset& dataset, std::uint32_t step = 1)
        : dataset_(&dataset), step_(step) {}

    /// Returns the request of an entry of the schedule (Planned, loadgen/load/schedule.h), which is a
    /// conversation's first turn or a further turn that ended() has returned. With `outline`, the prompt of
    /// a first turn may be empty if its length is known (Dataset::outline()).
    Request request(const Planned& planned, bool outline = false) const;

    /// Returns the position in the conversation for the request's record; nothing if the dataset has no
    /// conversations.
    std::optional<Turn> turn_of(const Planned& planned) const;

    /// Returns whether the next turn needs the answer's text.
    bool needs_answer(const Planned& planned) const;

    /// Notes that a request was started with this prompt.
    void started(const Planned& planned, Prompt prompt);

    /// Notes that a request has ended. Returns the conversation's next turn, if there is one. A request
    /// whose outcome is not `ok` ends its conversation. If a turn follows, the answer's text is moved out
    /// of `record` if `takes_answer`, otherwise it is copied.
    std::optional<Planned> ended(RequestRecord& record, bool takes_answer);

  private:
    struct Open {
        Planned planned;  ///< the last turn that was started
        Prompt prompt;
        std::string reply;
    };

    /// Returns the index of the first turn of the conversation.
    std::uint64_t opening_of(const Planned& planned) const {
        return planned.index - std::uint64_t{step_} * planned.turn;
    }

    const datasets::Dataset* dataset_;
    std::uint32_t step_;
    std::map<RequestKey, Open> open_;  ///< open conversations by their first request
};

}  // namespace paretoken::loadgen
