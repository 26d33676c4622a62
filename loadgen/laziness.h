#pragma once
// Computes how long a worker sleeps (its nap) before it reads ready sockets, so that one wake-up serves many.
// Event times stay exact, because the kernel stamps arriving bytes.
#include <cstddef>
#include <cstdint>

#include "core/units.h"

namespace paretoken::loadgen {

struct Traffic {
    TimePoint now;
    std::uint64_t reads = 0;     ///< reads from sockets since the start
    std::uint64_t finished = 0;  ///< requests finished since the start
    std::size_t streams = 0;     ///< streams in flight now
    Duration idle{};             ///< time spent waiting, polling or napping, since the start
};

/// The fewest reads that a nap should serve. With fewer, a wake-up per read costs hardly more.
inline constexpr double kFewestReads = 3;
/// The largest share of busy time at which a worker naps.
inline constexpr double kBusy = 0.8;
inline constexpr Duration kLongestNap = std::chrono::microseconds(500);

/// Returns the smallest of kLongestNap, 1/20 of a stream's mean gap between reads (streams ÷ reads_per_s)
/// and, if requests have finished, 1/200 of their mean time (streams ÷ finished_per_s). Zero if that is below
/// 40 µs, too short for a call to the kernel, serves fewer than kFewestReads, or if busy is above kBusy.
Duration nap_for(double reads_per_s, double finished_per_s, double streams, double busy);

/// The fewest sockets that a round may serve: a start waits for these at most, for about 80 µs.
inline constexpr int kFewestPerRound = 8;

/// Returns how many sockets a round may serve, at most `most`, so that it ends before the next start, which
/// is due after `left`. A round of kFewestPerRound sockets may end after it.
int sockets_before(Duration left, int most);

/// Decides when a worker may start a request although sockets are still ready. Writing a request of 2 MB
/// takes milliseconds, in which more events arrive than a round reads.
class Turns {
  public:
    /// Notes the time of a start, or of writing a request ahead. Reading then has as much time.
    void started(TimePoint began, TimePoint ended) { read_until_ = ended + (ended - began); }
    bool may_start(TimePoint now, bool more_to_read) const { return !more_to_read || now >= read_until_; }

  private:
    TimePoint read_until_;
};

/// Computes the naps of one worker from smoothed rates, which are updated at most every 5 ms.
class Laziness {
  public:
    /// Returns the length of the nap. If it is zero, the worker waits for the next ready socket instead.
    Duration nap(const Traffic& traffic);

  private:
    Traffic before_;
    double reads_per_s_ = 0;
    double finished_per_s_ = 0;
    double busy_ = 0;
    Duration nap_{};
};

}  // namespace paretoken::loadgen
