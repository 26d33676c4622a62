#include "loadgen/load/dispatch.h"

#include <algorithm>
#include <utility>

namespace paretoken::loadgen {
namespace {

constexpr Duration kFirstRest = std::chrono::milliseconds(10);
constexpr int kMostDoublings = 7;  // up to 1.28 s
constexpr Duration kLongestBetweenOpenings = std::chrono::seconds(1);

}  // namespace

Slots::Slots(std::optional<std::uint64_t> cap, Share share, TimePoint begin, std::optional<Duration> ramp_up)
    : capped_(cap.has_value()) {
    if (!ramp_up) {
        for (std::uint64_t slot = share.worker; slot < cap.value_or(0); slot += share.workers) ++unopened_;
        first_opens_at_ = opens_at_ =
            begin + kLongestBetweenOpenings * (share.worker % share.shards) / share.shards;
        apart_ = kLongestBetweenOpenings;
        return;
    }
    for (std::uint64_t slot = share.worker; slot < cap.value_or(0); slot += share.workers) {
        const double opened = static_cast<double>(slot) / static_cast<double>(*cap);
        free_.push(begin + from_seconds(seconds(*ramp_up) * opened));
    }
}

std::optional<TimePoint> Slots::free_since() const {
    if (!capped_) return TimePoint::min();
    if (is_opening_next()) return opens_at_;
    if (free_.empty()) return std::nullopt;
    return free_.top();
}

void Slots::take() {
    if (!capped_) return;
    if (!is_opening_next()) return free_.pop();
    --unopened_;
    opens_at_ += apart_;
}

void Slots::open_next(TimePoint at) {
    opens_at_ = std::min(opens_at_, at);
}

void Slots::open_within_time_of_first(TimePoint at) {
    if (unopened_ == 0) return;
    apart_ = std::min(apart_, (at - first_opens_at_) / static_cast<std::int64_t>(unopened_));
    open_next(at + apart_);
}

void Slots::give_back(TimePoint free_since) {
    if (capped_) free_.push(free_since);
}

Dispatcher::Dispatcher(Schedule schedule, const Limits& limits, std::optional<std::uint64_t> cap,
                       const Pacing& pacing, TimePoint begin)
    : schedule_(std::move(schedule)),
      duration_(limits.duration),
      warmup_duration_(limits.warmup_duration),
      pacing_(pacing),
      begin_(begin),
      slots_(cap, schedule_.share(), begin, pacing.ramp_up),
      requests_(pacing.requests, schedule_.share(), begin, Duration{}),
      prefills_(pacing.prefills, schedule_.share(), begin, Duration{}) {}

/// Ends the opening of jobs. A closed loop with jobs of several turns keeps its slots filled until the first
/// of them ends.
void Dispatcher::end_schedule(TimePoint at) {
    schedule_ended_ = true;
    const bool stays_filled = schedule_.at_once() && has_conversations_ && ended_by_ == StopKind::requests;
    if (!stays_filled) ran_dry_ = at;
}

bool Dispatcher::is_over(TimePoint due) const {
    return duration_ && first_measured_ && due >= *first_measured_ + *duration_;
}

/// Returns the time of the last arrival, which may be that of another worker or of another shard. `now`: when
/// this worker has nothing more to start.
TimePoint Dispatcher::ended_at(TimePoint now) const {
    return schedule_.at_once() ? now : std::max(now, begin_ + schedule_.latest_at());
}

bool Dispatcher::exhausted(TimePoint now) {
    if (schedule_ended_) return true;
    if (schedule_.is_warming_up() && now >= begin_ + *warmup_duration_) schedule_.end_warmup();
    if (stopped_) {
        end_schedule(now);
    } else if (!schedule_.next()) {
        ended_by_ = StopKind::requests;
        end_schedule(ended_at(now));
    } else {
        // An arrival before the end is started even if it is late; a closed loop starts nothing after the
        // end.
        const TimePoint would_start = schedule_.at_once() ? now : begin_ + schedule_.next()->at;
        if (is_over(would_start)) {
            ended_by_ = StopKind::duration;
            end_schedule(std::min(ended_at(now), *first_measured_ + *duration_));
        }
    }
    return schedule_ended_;
}

/// Moves all turns to come earlier, if nothing is in flight and nothing would start for too long.
void Dispatcher::shorten_idle_time(TimePoint now) {
    if (!pacing_.idle_system_cap || in_flight_ > 0 || follow_ups_.empty()) return;
    TimePoint next = follow_ups_.begin()->first;
    if (!schedule_ended_ && schedule_.next())  // a job of an open loop starts when it arrives
        next = std::min(
            next, schedule_.at_once() ? slots_.free_since().value_or(next) : begin_ + schedule_.next()->at);
    const Duration excess = next - (std::max(now, last_end_) + *pacing_.idle_system_cap);
    if (excess > Duration{}) move_earlier(std::exchange(follow_ups_, {}), excess);
}

/// Moves the turns to come of a job earlier, if none of them would start for too long after `idle_since`.
void Dispatcher::shorten_idle_time_of(const RequestKey& opening, TimePoint idle_since) {
    std::multimap<TimePoint, Planned> of_job;
    for (const auto& [due, planned] : follow_ups_)
        if (RequestKey{planned.opening, planned.warmup} == opening)
            of_job.emplace_hint(of_job.end(), due, planned);
    if (of_job.empty()) return;
    const Duration excess = of_job.begin()->first - (idle_since + *pacing_.idle_job_cap);
    if (excess <= Duration{}) return;
    std::erase_if(follow_ups_, [&](const auto& turn) {
        return RequestKey{turn.second.opening, turn.second.warmup} == opening;
    });
    move_earlier(of_job, excess);
}

void Dispatcher::move_earlier(const std::multimap<TimePoint, Planned>& turns, Duration by) {
    for (const auto& [due, planned] : turns) follow_ups_.emplace(due - by, planned);
}

Step Dispatcher::next(TimePoint now) {
    if (stopped_) {
        follow_ups_.clear();
        if (schedule_ended_ && !ran_dry_) ran_dry_ = now;
    }
    shorten_idle_time(now);
    TimePoint wait_until = TimePoint::max();
    if (auto started = start_follow_up(now, wait_until)) return *started;
    if (!exhausted(now)) {
        if (auto started = start_opening(now, wait_until)) return *started;
    } else if (in_flight_ == 0 && follow_ups_.empty()) {
        if (!ran_dry_) ran_dry_ = now;
        return Done{};
    }
    if (wait_until != TimePoint::max()) return Wait{wait_until};
    // Every slot may be kept by a user who would send the next turn after the end only.
    if (in_flight_ == 0 && duration_ && first_measured_) return Wait{*first_measured_ + *duration_};
    return Wait{};
}

std::optional<TimePoint> Dispatcher::free_for(TimePoint due, const std::optional<TimePoint>& slot,
                                              TimePoint now, TimePoint& wait_until) const {
    TimePoint free_since = due;
    for (const auto& since : {slot, requests_.free_since(), prefills_.free_since()}) {
        if (due <= now && !since) return std::nullopt;
        free_since = std::max(free_since, since.value_or(TimePoint::min()));
    }
    if (due <= now && free_since <= now) return free_since;
    wait_until = std::min(wait_until, due > now ? due : free_since);
    return std::nullopt;
}

std::optional<Start> Dispatcher::start_opening(TimePoint now, TimePoint& wait_until) {
    const TimePoint due = begin_ + schedule_.next()->at;
    const auto free_since = free_for(due, slots_.free_since(), now, wait_until);
    if (!free_since) return std::nullopt;
    const Planned planned = *schedule_.next();
    schedule_.pop();
    if (slots_.is_opening_next()) opener_ = RequestKey{planned.index, planned.warmup};
    slots_.take();
    has_conversations_ |= planned.turns > 1;
    if (schedule_.at_once()) return start(planned, *free_since, {}, now);
    return start(planned, due, *free_since - due, now);
}

/// Starts a follow-up, which has priority over openings. In a closed loop it uses its job's slot.
std::optional<Start> Dispatcher::start_follow_up(TimePoint now, TimePoint& wait_until) {
    if (!follow_ups_.empty() && is_over(follow_ups_.begin()->first)) follow_ups_.clear();
    if (follow_ups_.empty()) return std::nullopt;
    const auto [due, planned] = *follow_ups_.begin();
    const bool closed = schedule_.at_once();
    const auto slot = closed ? std::optional(TimePoint::min()) : slots_.free_since();
    const auto free_since = free_for(due, slot, now, wait_until);
    if (!free_since) return std::nullopt;
    follow_ups_.erase(follow_ups_.begin());
    if (!closed) slots_.take();
    return start(planned, due, *free_since - due, now);
}

Start Dispatcher::start(const Planned& planned, TimePoint scheduled, Duration slot_wait, TimePoint now) {
    requests_.take();
    prefills_.take();
    ++in_flight_;
    if (prefills_.capped()) without_first_token_.insert({planned.index, planned.warmup});
    if (!planned.warmup && !first_measured_)
        first_measured_ = schedule_.at_once() ? now : begin_ + *schedule_.first_measured_at();
    return Start{.planned = planned,
                 .scheduled = scheduled,
                 .slot_wait = slot_wait,
                 .hangs_up_after = patience_for(planned)};
}

std::optional<Planned> Dispatcher::next_planned() const {
    if (follow_ups_.empty()) return schedule_ended_ ? std::nullopt : schedule_.next();
    const auto& [due, planned] = *follow_ups_.begin();
    const auto slot = slots_.free_since();
    const bool opens_first =
        !schedule_ended_ && schedule_.next() && slot && std::max(begin_ + schedule_.next()->at, *slot) < due;
    return opens_first ? schedule_.next() : planned;
}

void Dispatcher::on_first_token(const RequestKey& request, TimePoint at) {
    if (opener_ == request) {
        opener_.reset();
        slots_.open_next(at);
    }
    if (without_first_token_.erase(request) > 0) prefills_.give_back(at);
}

void Dispatcher::finished(const RequestKey& request, TimePoint slot_free, bool failed, const Ended& ended) {
    on_first_token(request, slot_free);
    requests_.give_back(slot_free);
    last_end_ = std::max(last_end_, slot_free);
    if (!std::exchange(any_ended_, true)) slots_.open_within_time_of_first(slot_free);
    --in_flight_;
    failures_in_a_row_ = failed ? failures_in_a_row_ + 1 : 0;
    // The pause keeps a dead server from filling the sample with failures.
    const Duration rest =
        failed ? kFirstRest * (1 << std::min(failures_in_a_row_ - 1, kMostDoublings)) : Duration{};
    const bool closed = schedule_.at_once();
    const Duration thinking = closed || !ended.follow_ups.empty() ? thinking_after(request) : Duration{};
    for (const FollowUp& turn : ended.follow_ups) follow(turn, slot_free + turn.behind + rest + thinking);
    if (pacing_.idle_job_cap && ended.idle_job)
        shorten_idle_time_of({*ended.idle_job, request.warmup}, slot_free);
    if (closed && !ended.job_is_over) return;
    if (slots_.capped()) slots_.give_back(slot_free + rest + (closed ? thinking : Duration{}));
    if (schedule_ended_ && !ran_dry_) ran_dry_ = slot_free;
}

void Dispatcher::follow(const FollowUp& turn, TimePoint at) {
    follow_ups_.emplace(due_of(turn, at + pause_of(turn)), turn.planned);
}

Duration Dispatcher::pause_of(const FollowUp& turn) const {
    Duration tool = turn.tool;
    if (pacing_.tool_time && tool > Duration{}) {
        const Planned& planned = turn.planned;
        Random random(
            derived_seed(schedule_.seed(), planned.warmup ? "tools, warm-up" : "tools", planned.index));
        tool = pacing_.tool_time->draw(random);
    }
    const Duration pause = turn.delay + from_seconds(seconds(tool) * pacing_.tool_scale);
    return std::max(Duration{}, std::min(pause, pacing_.idle_cap.value_or(pause)));
}

/// Returns when a follow-up is due. A user with times of their own sends a turn at its time, but never before
/// the end of the turn before.
TimePoint Dispatcher::due_of(const FollowUp& turn, TimePoint possible) const {
    const auto period = schedule_.turn_period();
    if (!period) return possible;
    return std::max(possible, begin_ + turn.planned.at + turn.planned.turn * *period);
}

std::optional<Duration> Dispatcher::patience_for(const Planned& planned) const {
    if (!pacing_.hang_up) return std::nullopt;
    Random random(
        derived_seed(schedule_.seed(), planned.warmup ? "hang up, warm-up" : "hang up", planned.index));
    if (random.uniform() >= pacing_.hang_up->share) return std::nullopt;
    return pacing_.hang_up->after.draw(random);
}

Duration Dispatcher::thinking_after(const RequestKey& request) const {
    if (!pacing_.think_time) return {};
    Random random(derived_seed(schedule_.seed(), request.warmup ? "think warm-up" : "think", request.index));
    return pacing_.think_time->draw(random);
}

}  // namespace paretoken::loadgen
