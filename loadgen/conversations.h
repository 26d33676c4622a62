#pragma once
// The conversations of one worker that have turns to come: what each said so far, and which request goes on
// with it. Texts are kept only where follow-ups go on from the server's answers. Does no I/O.
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/record/event_source.h"
#include "core/record/record.h"
#include "datasets/dataset.h"
#include "loadgen/schedule.h"

namespace paretoken::loadgen {

class Conversations {
  public:
    /// `dataset` must outlive this. `step`: between the indexes of a conversation's turns.
    explicit Conversations(const datasets::Dataset& dataset, std::uint32_t step = 1)
        : dataset_(&dataset), step_(step) {}

    /// The request of an opening, or of a follow-up that ended() gave. `outline`: its prompt is needed only
    /// where its length is not known otherwise.
    Request request(const Planned& planned, bool outline = false) const;

    /// The position in the conversation that the request's record states.
    std::optional<Turn> turn_of(const Planned& planned) const;

    /// Whether the answer's text is needed for what follows.
    bool needs_answer(const Planned& planned) const;

    /// It was started with this prompt.
    void started(const Planned& planned, Prompt prompt);

    /// The next turn, when there is one: none follows a failure. Takes the answer's text out of `record` if
    /// `takes_answer`, else copies it.
    std::optional<Planned> ended(RequestRecord& record, bool takes_answer);

  private:
    struct Open {
        Planned planned;  ///< the last turn that was started
        Prompt prompt;
        std::string reply;
    };

    std::uint64_t opening_of(const Planned& planned) const {
        return planned.index - std::uint64_t{step_} * planned.turn;
    }

    const datasets::Dataset* dataset_;
    std::uint32_t step_;
    std::map<RequestKey, Open> open_;  ///< by the conversation's first request
};

}  // namespace paretoken::loadgen
