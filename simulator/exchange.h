#pragma once
// One request that a simulated server is answering, and what its injected faults have done so far.
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/units.h"
#include "simulator/answers/answer_writer.h"
#include "simulator/answers/telemetry.h"
#include "simulator/answers/wire.h"
#include "simulator/connection.h"
#include "simulator/engine/engine.h"
#include "simulator/faults.h"
#include "simulator/gzip.h"
#include "simulator/truth.h"

namespace paretoken::sim {

/// The tokens of one step in an answer with faults.
struct DueTokens {
    Emission emission;
    TimePoint due;
    bool ping = false;  ///< whether a comment precedes them
};

/// The part of an answer with faults that is written at one time. Its events are made only then, because an
/// event may state the time of its write.
struct Group {
    bool opening = false;
    std::vector<DueTokens> tokens = {};
    std::string last_events = {};  ///< events that end the answer in place of its regular end
    bool end = false;              ///< whether the body ends with the group

    std::int64_t count() const {
        std::int64_t count = 0;
        for (const DueTokens& due : tokens) count += due.emission.tokens;
        return count;
    }
};

/// The additional state of an answer with injected faults.
struct Affected {
    InjectedFaults injected;
    Group group;  ///< what waits to be written together with more
    LiteralGzip gzip;
    std::vector<Group> held_back;
    std::unique_ptr<boost::asio::steady_timer> hold;  ///< timer; nothing is written while it runs
    bool ended = false;                               ///< whether only held-back bytes are missing
};

/// One request that is being answered.
struct Exchange {
    Connection* connection = nullptr;
    GenerationRequest request;
    AnswerPlan plan = {};
    std::unique_ptr<AnswerWriter> writer;
    TruthEntry truth = {};
    bool wants_truth = false;
    bool keep_alive = true;
    Framing framing = Framing::chunked;
    std::string further_headers = {};  ///< lines of the answer's head
    bool head_sent = false;
    bool opened = false;                 ///< whether the opening is written, or is in a group
    std::unique_ptr<Affected> affected;  ///< null without faults
};

AnswerState state_of(const TruthEntry& truth, TimePoint end);
/// Returns whether token `after` is one of the emission.
bool strikes(std::optional<std::int64_t> after, const Emission& emission);
Emission rest_of(Emission emission, std::int64_t index);
/// Returns the first token inside the emission, but not its first one, before which a fault happens.
std::optional<std::int64_t> strike_inside(const InjectedFaults& how, const Emission& emission);
bool any_multiple(std::int64_t every, const Emission& emission);

}  // namespace paretoken::sim
