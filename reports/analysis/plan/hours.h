#pragma once
// A demand that changes by the hour: how many servers each hour needs, what they cost if they are rented for
// as long as they are needed, and what an autoscaler makes of it in virtual time. The functions are pure.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace paretoken::reports {

/// Dollars per hour of one server by price basis; absent if the price card has none.
struct ServerRates {
    std::optional<double> reserved = {};
    std::optional<double> on_demand = {};
    std::optional<double> spot = {};

    bool operator==(const ServerRates&) const = default;
};

/// The servers by hour. Up to the median of the hours they are reserved, up to the 95th percentile rented on
/// demand, and above it spot, which can be taken away, for requests that can wait.
struct Staircase {
    std::vector<std::uint64_t> servers = {};  ///< by hour
    std::uint64_t reserved = 0;
    std::uint64_t on_demand = 0;    ///< most at once, beside the reserved ones
    std::uint64_t spot = 0;         ///< most at once, beside all others
    double on_demand_per_hour = 0;  ///< mean over the hours
    double spot_per_hour = 0;
    std::optional<double> usd_per_month = {};          ///< nothing if a basis that is used has no price
    std::optional<double> usd_of_peak_per_month = {};  ///< all servers of the busiest hour, always on demand

    bool operator==(const Staircase&) const = default;
};

/// `hours` are requests per second by hour, at least one; `load` is the highest that one server carries
/// within the limits, of which the share `target_utilization` is used.
Staircase staircase_of(const std::vector<double>& hours, double load, double target_utilization,
                       const ServerRates& rates);

/// When an autoscaler adds and removes servers, as the HorizontalPodAutoscaler of Kubernetes does: every
/// `interval_s` it wants requests in flight ÷ `in_flight_target` servers, unless that is within `tolerance`.
/// It adds at most as many as there are, or 4; fewer are wanted only after `stabilization_s`.
struct ScalingRule {
    double in_flight_target = 1;   ///< of one server
    double seconds_in_flight = 0;  ///< of a request that does not wait for a server
    std::uint64_t least = 1;
    std::uint64_t most = 1;
    double cold_start_s = 0;  ///< from the decision to the first request
    double interval_s = 15;
    double tolerance = .1;
    double stabilization_s = 300;

    bool operator==(const ScalingRule&) const = default;
};

/// What a rule makes of a demand.
struct ScaledServers {
    ScalingRule rule = {};
    double missed = 0;  ///< share of the requests that come while there is more than the servers carry
    double idle = 0;    ///< share of the paid capacity that is not used
    double servers_per_hour = 0;  ///< mean number that is paid
    std::uint64_t most_servers = 0;
    double longest_wait_s = 0;  ///< for a server
    std::optional<double> usd_per_month = {};
    std::optional<double> kw = {};  ///< mean

    bool operator==(const ScaledServers&) const = default;
};

/// Steps of a second in which requests come evenly; between the middles of the hours their rate is linear. A
/// server carries `load` requests per second within the limits, and what the servers do not carry waits. At
/// first there are as many as carry the first hour at the share `target_utilization`.
ScaledServers scaled_servers(const std::vector<double>& hours, double load, double target_utilization,
                             const ScalingRule& rule);

}  // namespace paretoken::reports
