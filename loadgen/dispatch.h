#pragma once
// Decides what happens next and does nothing: start a request, wait, or be done. Arrivals × in-flight cap ×
// limits are three values and this is the one loop over them; a worker with sockets and an engine in virtual
// time both act on it. Closed loop: arrivals at once and a cap. Open loop: timed arrivals, usually without
// one.
#include <cstdint>
#include <optional>
#include <queue>
#include <variant>
#include <vector>

#include "core/units.h"
#include "loadgen/schedule.h"

namespace paretoken::loadgen {

struct Start {
    std::uint64_t index = 0;
    bool warmup = false;
    TimePoint scheduled;   ///< open loop: the arrival; closed loop: when the slot came free
    Duration slot_wait{};  ///< open loop: of the time since then, spent waiting for the cap
};
struct Wait {
    std::optional<TimePoint> until;  ///< nothing: until a request ends
};
struct Done {};
using Step = std::variant<Start, Wait, Done>;

class Dispatcher {
  public:
    /// `cap`: most requests in flight at once; nothing: no cap (open loop only).
    Dispatcher(const Schedule& schedule, const Limits& limits, std::optional<std::uint64_t> cap,
               TimePoint begin);

    Step next(TimePoint now);

    /// A request ended; its slot is free from `slot_free` on. After a failure the slot rests a while, longer
    /// with every failure in a row, so that a dead server does not become the whole sample.
    void finished(TimePoint slot_free, bool failed);

    /// No further starts.
    void stop() { stopped_ = true; }

    std::uint64_t in_flight() const { return in_flight_; }

    /// What a Start will be for, when there is one.
    const std::optional<Planned>& next_planned() const { return schedule_.next(); }

    /// When the schedule ran dry or the time was up; nothing while there is more to start.
    std::optional<TimePoint> ran_dry() const { return ran_dry_; }

  private:
    bool exhausted(TimePoint now);
    Step start(TimePoint scheduled, Duration slot_wait, TimePoint now);

    Schedule schedule_;
    std::optional<Duration> duration_;
    bool capped_;
    TimePoint begin_;
    std::optional<TimePoint> first_measured_;
    std::optional<TimePoint> ran_dry_;
    std::priority_queue<TimePoint, std::vector<TimePoint>, std::greater<>> free_slots_;  ///< since when
    std::uint64_t in_flight_ = 0;
    int failures_in_a_row_ = 0;
    bool stopped_ = false;
};

}  // namespace paretoken::loadgen
