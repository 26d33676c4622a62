#include "reports/analysis/plan/hours.h"

#include <algorithm>
#include <cmath>
#include <deque>

#include "cards/price.h"
#include "core/statistics.h"

namespace paretoken::reports {
namespace {

constexpr double kSecondsOfHour = 3600;
/// Servers that one decision may add, if there are not more already: then it may double them.
constexpr std::uint64_t kServersAtOnce = 4;

std::uint64_t servers_for(double rate, double load) {
    return static_cast<std::uint64_t>(std::max(1.0, std::ceil(rate / load - 1e-9)));
}

/// The number of servers that suffice in a share of the hours.
std::uint64_t enough_in(const std::vector<double>& sorted, double share) {
    return static_cast<std::uint64_t>(std::ceil(percentile(sorted, share) - 1e-9));
}

/// The rate at a time: linear between the middles of the hours.
double rate_at(const std::vector<double>& hours, double seconds) {
    const double at = std::clamp(seconds / kSecondsOfHour - .5, 0.0, static_cast<double>(hours.size() - 1));
    const auto before = static_cast<std::size_t>(at);
    const std::size_t after = std::min(before + 1, hours.size() - 1);
    return hours[before] + (at - static_cast<double>(before)) * (hours[after] - hours[before]);
}

/// The decisions of a rule over time.
class Autoscaler {
  public:
    Autoscaler(const ScalingRule& rule, std::uint64_t first) : rule_(rule), ready_(first) {}

    std::uint64_t ready() const { return ready_; }
    std::uint64_t paid() const { return ready_ + starting_.size(); }

    /// Servers whose start has ended are ready.
    void advance(double now) {
        while (!starting_.empty() && starting_.front() <= now) {
            starting_.pop_front();
            ++ready_;
        }
    }

    void decide(double now, double in_flight) {
        const double of_target = in_flight / rule_.in_flight_target;
        const auto have = static_cast<double>(paid());
        const double wanted = std::abs(of_target / have - 1) <= rule_.tolerance ? have : std::ceil(of_target);
        const auto bounded = static_cast<std::uint64_t>(
            std::clamp(wanted, static_cast<double>(rule_.least), static_cast<double>(rule_.most)));
        while (!wanted_.empty() && wanted_.front().at < now - rule_.stabilization_s) wanted_.pop_front();
        wanted_.push_back({now, bounded});
        std::uint64_t target = bounded;
        for (const Wanted& earlier : wanted_) target = std::max(target, earlier.servers);
        const std::uint64_t have_now = paid();
        target = std::min(target, have_now + std::max(have_now, kServersAtOnce));
        while (paid() < target) starting_.push_back(now + rule_.cold_start_s);
        while (paid() > target && !starting_.empty()) starting_.pop_back();
        ready_ = std::min(ready_, std::max(target, rule_.least));
    }

  private:
    struct Wanted {
        double at = 0;
        std::uint64_t servers = 0;
    };
    ScalingRule rule_;
    std::uint64_t ready_;
    std::deque<double> starting_;  ///< when each is ready
    std::deque<Wanted> wanted_;    ///< of the last stabilization_s
};

}  // namespace

Staircase staircase_of(const std::vector<double>& hours, double load, double target_utilization,
                       const ServerRates& rates) {
    Staircase stairs;
    for (const double rate : hours) stairs.servers.push_back(servers_for(rate, load * target_utilization));
    std::vector<double> sorted(stairs.servers.begin(), stairs.servers.end());
    std::sort(sorted.begin(), sorted.end());
    stairs.reserved = enough_in(sorted, .5);
    const std::uint64_t usual = enough_in(sorted, .95);
    stairs.on_demand = usual - stairs.reserved;
    const auto count = static_cast<double>(hours.size());
    for (const std::uint64_t servers : stairs.servers) {
        const std::uint64_t rented = std::clamp(servers, stairs.reserved, usual) - stairs.reserved;
        stairs.on_demand_per_hour += static_cast<double>(rented) / count;
        const std::uint64_t above = servers - std::min(servers, usual);
        stairs.spot = std::max(stairs.spot, above);
        stairs.spot_per_hour += static_cast<double>(above) / count;
    }
    const bool priced =
        rates.reserved && (stairs.on_demand == 0 || rates.on_demand) && (stairs.spot == 0 || rates.spot);
    if (priced)
        stairs.usd_per_month =
            cards::kHoursPerMonth * (static_cast<double>(stairs.reserved) * *rates.reserved +
                                     stairs.on_demand_per_hour * rates.on_demand.value_or(0) +
                                     stairs.spot_per_hour * rates.spot.value_or(0));
    if (rates.on_demand)
        stairs.usd_of_peak_per_month = cards::kHoursPerMonth * sorted.back() * *rates.on_demand;
    return stairs;
}

ScaledServers scaled_servers(const std::vector<double>& hours, double load, double target_utilization,
                             const ScalingRule& rule) {
    const std::uint64_t first = servers_for(rate_at(hours, 0), load * target_utilization);
    Autoscaler scaler(rule, std::clamp(first, rule.least, rule.most));
    ScaledServers result{.rule = rule};
    double waiting = 0;
    double all = 0;
    double missed = 0;
    double served = 0;
    double paid = 0;
    const double end = kSecondsOfHour * static_cast<double>(hours.size());
    double next_decision = 0;
    for (double now = 0; now < end; now += 1) {
        scaler.advance(now);
        const double arriving = rate_at(hours, now + .5);
        const double capacity = load * static_cast<double>(scaler.ready());
        const double done = std::min(waiting + arriving, capacity);
        waiting += arriving - done;
        all += arriving;
        served += done;
        if (waiting > 1e-9) missed += arriving;
        paid += static_cast<double>(scaler.paid());
        result.most_servers = std::max(result.most_servers, scaler.paid());
        result.longest_wait_s = std::max(result.longest_wait_s, waiting / capacity);
        if (now < next_decision) continue;
        next_decision += rule.interval_s;
        scaler.decide(now, waiting + done * rule.seconds_in_flight);
    }
    result.missed = all > 0 ? missed / all : 0;
    result.idle = 1 - served / (paid * load);
    result.servers_per_hour = paid / end;
    return result;
}

}  // namespace paretoken::reports
