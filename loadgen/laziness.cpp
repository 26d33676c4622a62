#include "loadgen/laziness.h"

#include <algorithm>

namespace paretoken::loadgen {
namespace {

constexpr Duration kStretch = std::chrono::milliseconds(5);
constexpr double kNews = 0.25;  ///< weight of the latest interval
constexpr Duration kShortestNap = std::chrono::microseconds(40);
constexpr double kShareOfGap = 1.0 / 20;
constexpr double kShareOfRequest = 1.0 / 200;
constexpr Duration kPerSocket = std::chrono::microseconds(10);  ///< approximate time to serve a ready socket

}  // namespace

Duration nap_for(double reads_per_s, double finished_per_s, double streams, double busy) {
    if (reads_per_s <= 0 || busy > kBusy) return {};
    double nap = std::min(seconds(kLongestNap), kShareOfGap * streams / reads_per_s);
    if (finished_per_s > 0) nap = std::min(nap, kShareOfRequest * streams / finished_per_s);
    const bool pays = nap >= seconds(kShortestNap) && reads_per_s * nap >= kFewestReads;
    return pays ? from_seconds(nap) : Duration{};
}

int sockets_before(Duration left, int most) {
    return static_cast<int>(std::clamp<Duration::rep>(left / kPerSocket, kFewestPerRound, most));
}

Duration Laziness::nap(const Traffic& traffic) {
    const Duration passed = traffic.now - before_.now;
    if (passed < kStretch) return nap_;
    const auto per_second = [&](std::uint64_t after, std::uint64_t before) {
        return static_cast<double>(after - before) / seconds(passed);
    };
    reads_per_s_ += kNews * (per_second(traffic.reads, before_.reads) - reads_per_s_);
    finished_per_s_ += kNews * (per_second(traffic.finished, before_.finished) - finished_per_s_);
    const double busy = 1 - std::clamp(seconds(traffic.idle - before_.idle) / seconds(passed), 0.0, 1.0);
    busy_ += kNews * (busy - busy_);
    before_ = traffic;
    nap_ = nap_for(reads_per_s_, finished_per_s_, static_cast<double>(traffic.streams), busy_);
    return nap_;
}

}  // namespace paretoken::loadgen
