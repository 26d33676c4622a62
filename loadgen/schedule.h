#pragma once
// What one worker is to start, in order: every workers-th entry of the run's schedule. Entry i is a function
// of (seed, i), so times are known before the clock starts and a run of any length takes no memory.
#include <cstdint>
#include <optional>

#include "loadgen/arrival.h"
#include "loadgen/limits.h"

namespace paretoken::loadgen {

struct Planned {
    std::uint64_t index = 0;  ///< among the measured requests, or among the warm-ups
    bool warmup = false;
    Duration at{};            ///< since the run's start; zero when arrivals are at once
    std::uint64_t place = 0;  ///< of its request in the dataset

    bool operator==(const Planned&) const = default;
};

/// Which share of the schedule a worker takes.
struct Share {
    std::uint32_t worker = 0;
    std::uint32_t workers = 1;
};

class Schedule {
  public:
    Schedule(const Arrivals& arrivals, const Limits& limits, std::uint64_t seed, Share share);

    /// Nothing: the schedule has run dry.
    const std::optional<Planned>& next() const { return next_; }
    void pop();

    /// Arrivals at once with a warm-up time: entries are warm-ups until this is called.
    bool is_warming_up() const { return warming_up_; }
    void end_warmup();

    bool at_once() const { return at_once_; }
    std::uint64_t seed() const { return seed_; }
    Share share() const { return share_; }

  private:
    void advance();
    bool is_warmup(std::uint64_t position, Duration at) const;
    std::uint64_t place_of(std::uint64_t position, std::uint64_t index, bool warmup) const;

    bool at_once_;
    bool recorded_;
    ArrivalTimes times_;
    Limits limits_;
    std::uint64_t seed_;
    Share share_;
    bool warming_up_;
    std::uint64_t position_ = 0;                   ///< of the next entry of the whole run's schedule
    std::optional<std::uint64_t> first_measured_;  ///< position
    std::optional<Planned> next_;
};

}  // namespace paretoken::loadgen
