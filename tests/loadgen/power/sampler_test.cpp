#include "loadgen/power/sampler.h"

#include <gtest/gtest.h>

#include <atomic>

namespace paretoken::power {
namespace {

/// A meter whose value is the number of reads; every third read fails.
class CountingMeter final : public cards::PowerMeter {
  public:
    explicit CountingMeter(std::atomic<int>& reads) : reads_(reads) {}
    std::string_view source() const override { return "counting"; }
    std::optional<PowerSample> read() override {
        const int n = ++reads_;
        if (n % 3 == 0) return std::nullopt;
        return PowerSample{.watts = n};
    }

  private:
    std::atomic<int>& reads_;
};

TEST(Sampler, reads_before_it_begins_while_it_lives_and_at_its_end_and_leaves_out_what_failed) {
    std::atomic<int> reads = 0;
    std::atomic<int> told = 0;
    Sampler sampler(std::make_unique<CountingMeter>(reads),
                    [&](const std::string&, const PowerReading&) { ++told; });
    EXPECT_EQ(reads, 1) << "the first reading is made before the load begins";
    while (reads < 6) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const PowerReadings result = sampler.finish();
    EXPECT_EQ(result.source, "counting");
    EXPECT_EQ(static_cast<int>(result.readings.size()), reads - reads / 3);
    EXPECT_EQ(told, static_cast<int>(result.readings.size()));
    for (std::size_t i = 1; i < result.readings.size(); ++i)
        EXPECT_LT(result.readings[i - 1].at, result.readings[i].at);
}

TEST(Sampler, may_be_dropped_without_being_asked) {
    std::atomic<int> reads = 0;
    { const Sampler sampler(std::make_unique<CountingMeter>(reads), {}); }
    EXPECT_GE(reads, 2);
}

}  // namespace
}  // namespace paretoken::power
