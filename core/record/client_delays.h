#pragma once
// By how much the client's own delays may have changed the times and the load that it measured.
#include "core/record/record.h"

namespace paretoken {

/// A request with its times at the earliest that the client's delays allow: once with all of them, and once
/// with the first event as it was measured, which gives the shortest time between the events.
struct EarliestTimes {
    RequestRecord all;
    RequestRecord last_only;
    bool differ = false;  ///< whether they differ from what was measured by more than is normal on any host

    void set(const RequestRecord& request);
};

/// How late the client read events, as far as single requests do not tell.
struct LateReading {
    double share = 0;    ///< share of the gaps between events that may truly be shorter by any amount
    double delay_s = 0;  ///< seconds by which any gap may be too long, because events had no kernel stamp

    bool operator==(const LateReading&) const = default;
};

/// Sums over requests that say how much load the client held back: in a closed loop the time in which slots
/// stayed empty, in an open loop the requests that were sent only after the window.
class HeldBackLoad {
  public:
    explicit HeldBackLoad(TimeSpan window) : window_(window) {}

    void add(const RequestRecord& request);

    /// Returns by which share the rates of a load could be higher without this; 0 below what any host shows.
    double share(bool open_loop) const;

    /// Returns the requests handed to the kernel inside the window ÷ the requests due inside it. Waits that
    /// others caused do not count, and neither do requests without a connection. Nothing if none was due.
    std::optional<double> achieved_rate() const;

  private:
    TimeSpan window_;
    double due_ = 0;
    double sent_ = 0;
    // Over the successes of the window that were sent once:
    double answered_ = 0;
    double empty_s_ = 0;   ///< Σ delay of the client before sending
    double served_s_ = 0;  ///< Σ time from then until the end
};

}  // namespace paretoken
