#include "loadgen/power/dcgm.h"

#include <algorithm>
#include <cmath>

#include "loadgen/http/fetch.h"

namespace paretoken::power {
namespace {

/// Sum, count and extremes of a metric over the GPUs that have it.
struct OverGpus {
    double sum = 0;
    double least = 0;
    double most = 0;
    std::size_t count = 0;
};

std::optional<OverGpus> over_gpus(const scrape::Scrape& scrape, std::string_view name) {
    OverGpus all;
    for (const scrape::Sample& sample : scrape.samples) {
        if (sample.name != name || !std::isfinite(sample.value)) continue;
        all.least = all.count == 0 ? sample.value : std::min(all.least, sample.value);
        all.most = all.count == 0 ? sample.value : std::max(all.most, sample.value);
        all.sum += sample.value;
        ++all.count;
    }
    if (all.count == 0) return std::nullopt;
    return all;
}

class DcgmPowerMeter final : public cards::PowerMeter {
  public:
    DcgmPowerMeter(const http::Url& url, const http::Address& address, const http::TlsContext* tls)
        : fetcher_(url, address, tls, {}) {}

    std::string_view source() const override { return "dcgm"; }

    std::optional<PowerSample> read() override {
        constexpr auto kPatience = std::chrono::seconds(2);
        const http::Fetched fetched = fetcher_.get("", kPatience);
        if (!fetched.ok()) return std::nullopt;
        return dcgm_sample_of(scrape::parse_prometheus(fetched.body));
    }

  private:
    http::Fetcher fetcher_;
};

}  // namespace

std::optional<PowerSample> dcgm_sample_of(const scrape::Scrape& scrape) {
    constexpr double kMilli = 1e-3;
    constexpr double kMega = 1e6;
    constexpr double kMebi = 1 << 20;
    constexpr double kPercent = 1e-2;
    const auto watts = over_gpus(scrape, "DCGM_FI_DEV_POWER_USAGE");
    if (!watts) return std::nullopt;
    PowerSample sample{.devices = static_cast<std::uint32_t>(watts->count), .watts = watts->sum};
    const auto energy = over_gpus(scrape, "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION");
    if (energy && energy->count == watts->count) sample.counter_j = energy->sum * kMilli;
    if (const auto busy = over_gpus(scrape, "DCGM_FI_DEV_GPU_UTIL"))
        sample.utilization = busy->sum / static_cast<double>(busy->count) * kPercent;
    if (const auto clock = over_gpus(scrape, "DCGM_FI_DEV_SM_CLOCK"))
        sample.sm_clock_hz = clock->least * kMega;
    if (const auto clock = over_gpus(scrape, "DCGM_FI_DEV_MEM_CLOCK"))
        sample.memory_clock_hz = clock->least * kMega;
    if (const auto heat = over_gpus(scrape, "DCGM_FI_DEV_GPU_TEMP")) sample.temperature_c = heat->most;
    if (const auto used = over_gpus(scrape, "DCGM_FI_DEV_FB_USED")) sample.memory_bytes = used->sum * kMebi;
    return sample;
}

std::unique_ptr<cards::PowerMeter> dcgm_power_meter(const http::Url& url, const http::Address& address,
                                                    const http::TlsContext* tls) {
    return std::make_unique<DcgmPowerMeter>(url, address, tls);
}

}  // namespace paretoken::power
