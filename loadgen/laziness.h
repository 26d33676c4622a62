#pragma once
// How long a worker may leave ready sockets alone and then serve many of them per wake-up. The kernel stamps
// what arrives, so events lose nothing by it; the price is that a freed slot is used again that much later
// and that two events of one stream may end up in one read. Both are kept far below what a run is judged by.
// A worker that is nearly always busy does not nap at all: it would only fall behind. Pure: the clock and the
// counters are passed in.
#include <cstddef>
#include <cstdint>

#include "core/units.h"

namespace paretoken::loadgen {

/// The traffic that a worker has seen so far.
struct Traffic {
    TimePoint now;
    std::uint64_t reads = 0;     ///< since the start
    std::uint64_t finished = 0;  ///< requests, since the start
    std::size_t streams = 0;     ///< in flight now
    Duration idle{};             ///< time spent waiting, polling or napping, since the start
};

/// Nothing to gain below this many reads per second: a wake-up mostly finds one socket.
inline constexpr double kLazyReadsPerSecond = 20'000;
/// Above this share of its time at work a worker has none to spare.
inline constexpr double kBusy = 0.8;
inline constexpr Duration kLongestNap = std::chrono::microseconds(200);

/// For rates per second, streams in flight and the share of its time that the worker is busy: at most
/// kLongestNap, 1/50 of a stream's mean gap between reads and 1/200 of the mean time of a request; zero when
/// that is too little to be worth a call to the kernel, and when it is too busy.
Duration nap_for(double reads_per_s, double finished_per_s, double streams, double busy);

/// Keeps the rates, over stretches of 5 ms, smoothed.
class Laziness {
  public:
    /// Zero: wait for the next socket that is ready.
    Duration nap(const Traffic& traffic);

  private:
    Traffic before_;
    double reads_per_s_ = 0;
    double finished_per_s_ = 0;
    double busy_ = 0;
    Duration nap_{};
};

}  // namespace paretoken::loadgen
