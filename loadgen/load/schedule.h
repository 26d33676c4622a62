#pragma once
// The jobs of one class that one worker of n opens, in order: every n-th entry of the schedule. An entry is a
// job (datasets/job.h), whose first turn is due at its time, and a function of (seed, i).
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "loadgen/load/arrival.h"
#include "loadgen/load/limits.h"

namespace paretoken::loadgen {

struct Planned {
    /// The index among the measured requests, or among the warm-ups. A job has an index for each of its
    /// turns, even if some of them are never sent.
    std::uint64_t index = 0;
    std::uint64_t opening = 0;  ///< index of the first turn of its job
    bool warmup = false;
    Duration at{};            ///< when the first turn is due, since the run's start; zero for at_once
    std::uint64_t place = 0;  ///< index of its job in the dataset
    std::uint32_t part = 0;   ///< number of its class in the load
    std::uint32_t turn = 0;   ///< number of the turn in the job
    std::uint32_t turns = 1;  ///< number of turns of the job

    bool operator==(const Planned&) const = default;
};

/// Returns "PREFIX7", and for a warm-up request "PREFIXw7".
std::string request_id(const std::string& prefix, std::uint64_t index, bool warmup);

/// A turn of a job that may start, and its pause from that moment on.
struct FollowUp {
    Planned planned;
    Duration delay{};   ///< may be negative if `tool` is longer: turns that start with their job
    Duration tool{};    ///< time that tools take, in addition to `delay`
    Duration behind{};  ///< time from the end that was reported last to the latest end that it waits for
};

struct Ended {
    std::vector<FollowUp> follow_ups = {};
    bool job_is_over = true;
    std::optional<std::uint64_t> idle_job = {};  ///< first index of the job, if nothing of it is in flight
};

struct Share {
    std::uint32_t worker = 0;
    std::uint32_t workers = 1;  ///< those of all shards together
    std::uint32_t shards = 1;   ///< number of processes, which are dealt the workers one by one
};

/// The indexes of the requests of one class: `part`, `part` + `parts`, `part` + 2·`parts`, …; and the places
/// of its jobs in the dataset.
struct Numbering {
    std::uint32_t part = 0;
    std::uint32_t parts = 1;
    std::uint64_t first_place = 0;  ///< place of the first measured job in the dataset
};

class Schedule {
  public:
    /// `dataset`: set if its conversations may have several turns; it must outlive this. `cap`: slots of a
    /// closed loop; each worker gets as large a part of the jobs as of the slots, so that all end together.
    Schedule(const Arrivals& arrivals, const Limits& limits, std::uint64_t seed, Share share,
             const datasets::Dataset* dataset = nullptr, Numbering numbering = {},
             std::optional<std::uint64_t> cap = {});

    /// Returns the next entry; nothing when the schedule has run out.
    const std::optional<Planned>& next() const { return next_; }
    void pop();

    /// For arrivals at once with a warm-up time: entries are warm-ups until end_warmup() is called.
    bool is_warming_up() const { return warming_up_; }
    void end_warmup();

    bool at_once() const { return at_once_; }
    /// Returns when the first measured entry of all workers is due; nothing before it was reached.
    std::optional<Duration> first_measured_at() const { return first_measured_at_; }
    /// Returns when the latest entry of the whole schedule that was reached is due. Entries after
    /// Limits::duration do not count. When the schedule has run out, or next() is after that, it is the last.
    Duration latest_at() const { return latest_at_; }
    /// Returns the time between a conversation's turns if users send at fixed times (Arrivals::users);
    /// nothing if a turn is due when the one before has ended.
    std::optional<Duration> turn_period() const { return turn_period_; }
    std::uint64_t seed() const { return seed_; }
    Share share() const { return share_; }

  private:
    void advance();
    bool is_time_of_a_turn();
    bool is_taken(std::uint64_t position) const;
    bool is_warmup(std::uint64_t position, Duration at) const;
    std::uint64_t place_of(std::uint64_t position, std::uint64_t number, bool warmup) const;

    bool at_once_;
    bool recorded_;
    ArrivalTimes times_;
    Limits limits_;
    std::uint64_t seed_;
    Share share_;
    std::optional<std::uint64_t> slots_;  ///< slots of a closed loop
    bool warming_up_;
    const datasets::Dataset* dataset_ =
        nullptr;                  ///< dataset; null means that every conversation has one turn
    std::uint64_t position_ = 0;  ///< position of the next entry in the whole run's schedule
    Numbering numbering_;
    std::uint64_t next_index_ = 0;  ///< index of the next measured request
    std::uint64_t next_warmup_index_ = 0;
    std::optional<Duration> turn_period_;
    /// For each user (Arrivals::users, loadgen/load/arrival.h): how many of the user's next times belong to
    /// further turns of the conversation that the user opened last.
    std::vector<std::uint32_t> turns_to_come_;
    std::size_t user_ = 0;                         ///< user whose time was taken last
    std::optional<std::uint64_t> first_measured_;  ///< position of the first measured entry
    std::optional<Duration> first_measured_at_;
    Duration latest_at_{};
    std::optional<Planned> next_;
};

}  // namespace paretoken::loadgen
