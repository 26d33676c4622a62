#pragma once
// The conversations that one worker opens, in order: every workers-th entry of the run's schedule. An entry
// is a conversation, whose first turn is due at its time. Entry i is a function of (seed, i), so times are
// known before the clock starts and a run of any length takes no memory.
#include <cstdint>
#include <optional>
#include <vector>

#include "loadgen/arrival.h"
#include "loadgen/limits.h"

namespace paretoken::loadgen {

struct Planned {
    /// Among the measured requests, or among the warm-ups. A conversation takes as many as it has turns, also
    /// when it ends before its last.
    std::uint64_t index = 0;
    bool warmup = false;
    Duration at{};            ///< since the run's start; zero when arrivals are at once
    std::uint64_t place = 0;  ///< of its conversation in the dataset
    std::uint32_t part = 0;   ///< which class of the load it belongs to
    std::uint32_t turn = 0;   ///< of the conversation
    std::uint32_t turns = 1;  ///< that the conversation has

    bool operator==(const Planned&) const = default;
};

/// Which share of the schedule a worker takes.
struct Share {
    std::uint32_t worker = 0;
    std::uint32_t workers = 1;
};

/// Which indexes the schedules of a load's classes take: every count-th.
struct Numbering {
    std::uint32_t part = 0;
    std::uint32_t parts = 1;
};

class Schedule {
  public:
    /// `dataset`: whose conversations are opened, where they may have several turns; must outlive this.
    Schedule(const Arrivals& arrivals, const Limits& limits, std::uint64_t seed, Share share,
             const datasets::Dataset* dataset = nullptr, Numbering numbering = {});

    /// Nothing: the schedule has run dry.
    const std::optional<Planned>& next() const { return next_; }
    void pop();

    /// Arrivals at once with a warm-up time: entries are warm-ups until this is called.
    bool is_warming_up() const { return warming_up_; }
    void end_warmup();

    bool at_once() const { return at_once_; }
    /// From one turn of a conversation to the next, where its user sends at times of his own; nothing where
    /// a turn is due when the one before has ended.
    std::optional<Duration> turn_period() const { return turn_period_; }
    std::uint64_t seed() const { return seed_; }
    Share share() const { return share_; }

  private:
    void advance();
    bool is_time_of_a_turn();
    bool is_warmup(std::uint64_t position, Duration at) const;
    std::uint64_t place_of(std::uint64_t position, std::uint64_t number, bool warmup) const;

    bool at_once_;
    bool recorded_;
    ArrivalTimes times_;
    Limits limits_;
    std::uint64_t seed_;
    Share share_;
    bool warming_up_;
    const datasets::Dataset* dataset_ = nullptr;  ///< null: every conversation has one turn
    std::uint64_t position_ = 0;                  ///< of the next entry of the whole run's schedule
    Numbering numbering_;
    std::uint64_t next_index_ = 0;  ///< of the next measured request
    std::uint64_t next_warmup_index_ = 0;
    std::optional<Duration> turn_period_;
    /// For each user with conversations, how many of the next times belong to turns.
    std::vector<std::uint32_t> turns_to_come_;
    std::size_t user_ = 0;                         ///< whose time was taken last
    std::optional<std::uint64_t> first_measured_;  ///< position
    std::optional<Planned> next_;
};

}  // namespace paretoken::loadgen
