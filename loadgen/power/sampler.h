#pragma once
// Reads a power meter ten times a second on a thread of its own, so that no load thread ever waits for a
// driver. A failed reading is left out; the computation of energy checks the gap.
#include <functional>
#include <memory>
#include <optional>

#include "cards/power_meter.h"
#include "loadgen/periodic.h"

namespace paretoken::power {

class Sampler {
  public:
    /// `source`: PowerReadings::source.
    using OnReading = std::function<void(const std::string& source, const PowerReading& reading)>;
    static constexpr Duration kInterval = std::chrono::milliseconds(100);

    /// Makes the first reading. `on_reading`, which may be empty, is called for each: the first by the
    /// constructor, the last by finish(), the others on the sampler's thread.
    Sampler(std::unique_ptr<cards::PowerMeter> meter, OnReading on_reading);
    ~Sampler();
    Sampler(const Sampler&) = delete;
    Sampler& operator=(const Sampler&) = delete;

    /// Ends the thread and makes the last reading, at most once; else the destructor does.
    PowerReadings finish();

  private:
    void read();

    std::unique_ptr<cards::PowerMeter> meter_;
    OnReading on_reading_;
    PowerReadings result_;                       ///< used by the thread only, until it is joined
    std::optional<loadgen::Periodic> periodic_;  ///< last, so that it ends before the members it uses
};

}  // namespace paretoken::power
