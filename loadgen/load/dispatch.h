#pragma once
// Decides the next step of one class of a load without acting: start a request, wait, or be done. A worker
// with sockets and an engine in virtual time both act on it. In a closed loop all requests have arrived at
// the start, a cap limits how many are in flight, and a job keeps its slot until all of its turns have ended.
#include <cstdint>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <variant>
#include <vector>

#include "core/record/event_source.h"
#include "core/units.h"
#include "loadgen/load/pacing.h"
#include "loadgen/load/schedule.h"

namespace paretoken::loadgen {

struct Start {
    Planned planned;
    /// In an open loop, the time of the arrival; in a closed loop, the time since which the caps allow the
    /// start. For a further turn of a conversation, the time at which it is due.
    TimePoint scheduled;
    Duration slot_wait{};                         ///< time from `scheduled` until the caps allowed the start
    std::optional<Duration> hangs_up_after = {};  ///< time from the start until the user gives up
};
struct Wait {
    std::optional<TimePoint>
        until;  ///< absent means that the wait lasts until a request ends or has its first token
};
struct Done {};
using Step = std::variant<Start, Wait, Done>;

/// Slots that are taken one by one and come free at known times.
class Slots {
  public:
    Slots() = default;  ///< slots without a cap

    /// Makes worker `share.worker`'s part of `cap` slots, which open over `ramp_up`, or one by one without
    /// it; then the first slots of shards open at different times within a second.
    Slots(std::optional<std::uint64_t> cap, Share share, TimePoint begin, std::optional<Duration> ramp_up);

    bool capped() const { return capped_; }
    /// Returns the earliest time at which a slot is free, which may be in the past or in the future. Returns
    /// nothing while all slots are taken, and TimePoint::min() without a cap.
    std::optional<TimePoint> free_since() const;
    /// Takes the slot that free_since() refers to; there must be one.
    void take();
    void give_back(TimePoint free_since);

    /// Returns whether free_since() refers to one of the slots that open one by one, which opens then.
    bool is_opening_next() const { return unopened_ > 0 && (free_.empty() || opens_at_ <= free_.top()); }
    /// Opens the next of the slots that open one by one, unless its time has come before.
    void open_next(TimePoint at);
    /// Spreads the slots that have not opened yet evenly over a time that begins at `at`, the end of the
    /// first request, and is as long as that request was.
    void open_within_time_of_first(TimePoint at);

  private:
    bool capped_ = false;
    std::priority_queue<TimePoint, std::vector<TimePoint>, std::greater<>> free_;
    std::uint64_t unopened_ = 0;
    TimePoint first_opens_at_{};
    TimePoint opens_at_{};  ///< latest time at which the next of them opens
    Duration apart_{};      ///< longest time between two openings
};

class Dispatcher {
  public:
    /// `cap`: largest number of requests in flight; nothing: no cap (open loop only). Caps are those of the
    /// whole run; a worker takes its share of them.
    Dispatcher(Schedule schedule, const Limits& limits, std::optional<std::uint64_t> cap,
               const Pacing& pacing, TimePoint begin);

    /// Returns the step at `now`. A Start then counts as started; Done means that all requests have ended.
    Step next(TimePoint now);

    void on_first_token(const RequestKey& request, TimePoint at);

    /// Reports the end of a request. To `slot_free` think time is added in a closed loop, and after failures
    /// in a row a pause of 10 ms, doubled up to 1.28 s. `ended` has the turns that may start then.
    void finished(const RequestKey& request, TimePoint slot_free, bool failed, const Ended& ended = {});

    /// Adds a turn that starts with its job, which was due at `at`.
    void follow(const FollowUp& turn, TimePoint at);

    void stop() { stopped_ = true; }

    std::uint64_t in_flight() const { return in_flight_; }

    /// Returns the request of the probable next Start, if there is one.
    std::optional<Planned> next_planned() const;

    /// Returns whether it starts nothing more, whatever the requests in flight answer.
    bool has_started_all() const { return schedule_ended_ && follow_ups_.empty() && !has_conversations_; }

    /// Returns since when free slots are no longer filled, because the schedule ran out, the duration was
    /// over, or stop() was called; nothing before, and while open conversations of a closed loop fill slots.
    std::optional<TimePoint> ran_dry() const { return ran_dry_; }
    /// Returns the limit that ended the starts: `requests`, also if there are no more arrivals, or
    /// `duration`. Returns nothing while there is more to start, and if stop() came before a limit.
    std::optional<StopKind> ended_by() const { return ended_by_; }

  private:
    bool exhausted(TimePoint now);
    bool is_over(TimePoint due) const;
    TimePoint ended_at(TimePoint now) const;
    void shorten_idle_time(TimePoint now);
    void shorten_idle_time_of(const RequestKey& opening, TimePoint idle_since);
    void move_earlier(const std::multimap<TimePoint, Planned>& turns, Duration by);
    /// Returns since when a request that is due at `due` can start, given a free `slot` (nothing: all are
    /// taken) and the cap on prefills. Nothing while it must wait, at least until the lowered `wait_until`.
    std::optional<TimePoint> free_for(TimePoint due, const std::optional<TimePoint>& slot, TimePoint now,
                                      TimePoint& wait_until) const;
    std::optional<Start> start_opening(TimePoint now, TimePoint& wait_until);
    std::optional<Start> start_follow_up(TimePoint now, TimePoint& wait_until);
    Start start(const Planned& planned, TimePoint scheduled, Duration slot_wait, TimePoint now);
    void end_schedule(TimePoint at);
    std::optional<Duration> patience_for(const Planned& planned) const;
    Duration pause_of(const FollowUp& turn) const;
    TimePoint due_of(const FollowUp& turn, TimePoint possible) const;
    Duration thinking_after(const RequestKey& request) const;

    Schedule schedule_;
    std::optional<Duration> duration_;
    std::optional<Duration> warmup_duration_;
    Pacing pacing_;
    TimePoint begin_;
    std::optional<TimePoint> first_measured_;
    std::optional<TimePoint> ran_dry_;
    std::optional<StopKind> ended_by_;
    Slots slots_;
    Slots requests_;
    Slots prefills_;
    std::optional<RequestKey> opener_;              ///< request whose first token opens the next slot
    bool any_ended_ = false;                        ///< whether a request has ended
    std::set<RequestKey> without_first_token_;      ///< filled only while prefills are capped
    std::multimap<TimePoint, Planned> follow_ups_;  ///< follow-ups by the time when they are due
    bool has_conversations_ = false;                ///< whether a job with several turns was opened
    bool schedule_ended_ = false;
    std::uint64_t in_flight_ = 0;
    TimePoint last_end_ = TimePoint::min();  ///< when the last request to end has ended
    int failures_in_a_row_ = 0;
    bool stopped_ = false;
};

}  // namespace paretoken::loadgen
