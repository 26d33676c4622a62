#pragma once
// Computes how long a worker sleeps (its nap) before it reads ready sockets, so that one wake-up serves many
// of them. The kernel stamps arriving bytes, so the times of events stay exact. A nap has two costs: a slot
// that became free is filled later, by at most the length of the nap, and two events of one stream may come
// in one read. nap_for() limits the nap so that both costs are small. A worker that is busy most of the time
// does not nap, because it would fall behind. Pure: the clock and the counters are passed in.
#include <cstddef>
#include <cstdint>

#include "core/units.h"

namespace paretoken::loadgen {

/// The traffic that a worker has seen so far.
struct Traffic {
    TimePoint now;
    std::uint64_t reads = 0;     ///< reads since the start
    std::uint64_t finished = 0;  ///< requests finished since the start
    std::size_t streams = 0;     ///< streams in flight now
    Duration idle{};             ///< time spent waiting, polling or napping, since the start
};

/// The least reads per second for a nap. Below it a wake-up mostly finds one socket, and a nap gains nothing.
inline constexpr double kLazyReadsPerSecond = 20'000;
/// The largest share of busy time for a nap. Above it a worker has no time to spare.
inline constexpr double kBusy = 0.8;
inline constexpr Duration kLongestNap = std::chrono::microseconds(200);

/// Returns the nap for rates per second, the number of streams in flight and the share of time that the
/// worker is busy. It is the smallest of kLongestNap, 1/50 of a stream's mean gap between reads, and 1/200 of
/// the mean time of a request. It is zero if that is too short to be worth a call to the kernel, below
/// kLazyReadsPerSecond, and above kBusy.
Duration nap_for(double reads_per_s, double finished_per_s, double streams, double busy);

/// Keeps smoothed rates, measured over intervals of 5 ms.
class Laziness {
  public:
    /// Returns the nap; zero: wait for the next socket that is ready.
    Duration nap(const Traffic& traffic);

  private:
    Traffic before_;
    double reads_per_s_ = 0;
    double finished_per_s_ = 0;
    double busy_ = 0;
    Duration nap_{};
};

}  // namespace paretoken::loadgen
