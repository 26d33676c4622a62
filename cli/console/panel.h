#pragma once
// The panel that shows a load in progress, as values and lines of text, which live_panel.h writes.
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/units.h"

namespace paretoken::cli {

/// Returns a duration as text: "3:05", "1:02:05".
std::string clock_text(double seconds);

struct Reading {
    double at_s = 0;  ///< time since the load began
    std::uint64_t requests = 0;
    std::uint64_t output_tokens = 0;
};

/// The rates of a load over its last seconds, from readings in the order of their times.
class RecentRates {
  public:
    void add(const Reading& reading);

    /// Returns the rates of the last 10 s, or of a younger load; nothing before the second reading.
    std::optional<double> requests_per_s() const;
    std::optional<double> tokens_per_s() const;
    /// Returns the output tokens per second of each of the last seconds, at most `most` of them.
    std::vector<double> history(std::size_t most) const;

  private:
    std::deque<Reading> recent_;      ///< those of the last 10 s, and one before them
    std::vector<double> per_second_;  ///< output tokens per second of each whole second
    Reading second_;                  ///< reading at the begin of the current second
};

struct LatencySoFar {
    Duration p50{};
    Duration p95{};
};

/// How well the client itself keeps up.
enum class Light { green, yellow, red };

/// What the panel shows of one moment. Values that are not known are absent or empty.
struct PanelState {
    std::string load = {};   ///< "c=16"
    std::string place = {};  ///< place in a sweep or a gate: "3/8"
    std::string phase = {};  ///< "warming up", "measuring" or "last answers"
    double elapsed_s = 0;
    std::optional<double> share = {};       ///< share of the load that is done, from 0 to 1
    std::optional<double> left_s = {};      ///< time left of this load
    std::optional<double> all_left_s = {};  ///< time left of the sweep or the gate
    std::uint64_t in_flight = 0;
    std::string ended = {};  ///< "290/500 requests"
    std::optional<double> requests_per_s = {};
    std::optional<double> tokens_per_s = {};
    std::vector<double> history = {};
    std::optional<LatencySoFar> ttft = {};
    std::optional<LatencySoFar> itl = {};
    std::vector<std::pair<std::string, std::uint64_t>> failures = {};
    std::optional<Duration> lag_p95 = {};  ///< the client's own delay of its requests
};

/// Returns green up to a delay of 1 ms, yellow up to 10 ms, and red above.
Light light_of(Duration lag_p95);

/// Returns a line of block characters, one for each value, whose height is the value's share of the largest.
std::string sparkline(const std::vector<double>& values);

/// Returns the lines of the panel, none wider than `columns`, with ANSI colours if `colour` is set.
std::vector<std::string> panel_lines(const PanelState& state, std::size_t columns, bool colour);

}  // namespace paretoken::cli
