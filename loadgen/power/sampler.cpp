#include "loadgen/power/sampler.h"

#include <utility>

#include "core/run/power_figures.h"

namespace paretoken::power {

Sampler::Sampler(std::unique_ptr<cards::PowerMeter> meter, OnReading on_reading)
    : meter_(std::move(meter)), on_reading_(std::move(on_reading)) {
    result_.source = meter_->source();
    read();
    periodic_.emplace(kInterval, [this] { read(); });
}

Sampler::~Sampler() {
    if (periodic_) finish();
}

PowerReadings Sampler::finish() {
    periodic_.reset();
    read();
    return std::move(result_);
}

void Sampler::read() {
    const TimePoint asked = Clock::now();
    const auto sample = meter_->read();
    if (!sample) return;
    const PowerReading reading{.at = asked + (Clock::now() - asked) / 2, .sample = *sample};
    add_reading(result_, reading);
    if (on_reading_) on_reading_(result_.source, reading);
}

}  // namespace paretoken::power
