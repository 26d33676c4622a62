#include "loadgen/power/sampler.h"

#include <algorithm>
#include <utility>

namespace paretoken::power {

Sampler::Sampler(std::unique_ptr<cards::PowerMeter> meter, OnReading on_reading)
    : meter_(std::move(meter)), on_reading_(std::move(on_reading)) {
    result_.source = meter_->source();
    read();
    thread_ = std::thread([this] { run(); });
}

Sampler::~Sampler() {
    if (thread_.joinable()) finish();
}

PowerReadings Sampler::finish() {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    wake_.notify_one();
    thread_.join();
    read();
    return std::move(result_);
}

void Sampler::run() {
    std::unique_lock lock(mutex_);
    TimePoint due = Clock::now() + kInterval;
    while (!wake_.wait_until(lock, due, [this] { return ending_; })) {
        lock.unlock();
        read();
        lock.lock();
        due = std::max(due + kInterval, Clock::now());  // one that took long is not made up for
    }
}

void Sampler::read() {
    const TimePoint asked = Clock::now();
    const auto sample = meter_->read();
    if (!sample) return;
    result_.readings.push_back({.at = asked + (Clock::now() - asked) / 2, .sample = *sample});
    if (on_reading_) on_reading_(result_.readings.back());
}

}  // namespace paretoken::power
