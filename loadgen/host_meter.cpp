#include "loadgen/host_meter.h"

namespace paretoken::loadgen {
namespace {

constexpr Duration kNap = std::chrono::milliseconds(2);
constexpr Duration kUsual =
    std::chrono::milliseconds(1);  ///< a longer delay is a pause, a shorter one the scheduler's slack

}  // namespace

HostMeter::HostMeter() : began_(Clock::now()), thread_([this] { watch(); }) {}

HostMeter::~HostMeter() {
    if (thread_.joinable()) lost_share();
}

void HostMeter::watch() {
    while (!stop_.load(std::memory_order_relaxed)) {
        const TimePoint due = Clock::now() + kNap;
        std::this_thread::sleep_until(due);
        const Duration late = Clock::now() - due;
        if (late > kUsual) lost_ += late;
    }
}

double HostMeter::lost_share() {
    stop_ = true;
    thread_.join();
    const Duration all = Clock::now() - began_;
    return all > Duration{} ? seconds(lost_) / seconds(all) : 0;
}

}  // namespace paretoken::loadgen
