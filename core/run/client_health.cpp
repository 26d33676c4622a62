#include "core/run/client_health.h"

#include <algorithm>

#include "core/record/client_delays.h"
#include "core/statistics.h"

namespace paretoken {
namespace {

constexpr double kBusyLoop = 0.85;

std::optional<double> percentile_of(std::vector<double> values, double p) {
    if (values.empty()) return std::nullopt;
    std::ranges::sort(values);
    return percentile(values, p);
}

std::optional<double> ratio(double part, double whole) {
    if (whole <= 0) return std::nullopt;
    return part / whole;
}

RequestRows sent_in(const RequestTable& records, const TimeSpan& window) {
    return RequestRows(records).filtered(
        [&](const RequestRecord& r) { return !r.warmup && r.sent && window.contains(r.scheduled); });
}

void add_lateness(ClientHealth& health, const RequestRows& records, bool open_loop) {
    std::vector<double> loop;
    std::vector<double> connection;
    std::vector<double> slot;
    records.for_each([&](const RequestRecord& r) {
        if (r.resent) return;  // the server caused its second sending
        loop.push_back(seconds(*loop_lag_of(r)));
        connection.push_back(seconds(r.ready - r.started));
        slot.push_back(seconds(r.slot_wait));
    });
    health.loop_lag_p50_s = percentile_of(loop, .5);
    health.loop_lag_p99_s = percentile_of(loop, .99);
    health.connection_wait_p99_s = percentile_of(connection, .99);
    if (open_loop) {
        health.slot_wait_p99_s = percentile_of(slot, .99);
    } else if (!loop.empty()) {
        health.refill_lag_mean_s = moments_of(loop).mean;
    }
}

/// Returns HeldBackLoad::achieved_rate() of all requests.
std::optional<double> achieved_rate(const RequestTable& records, const TimeSpan& window) {
    HeldBackLoad load(window);
    for (const RequestRecord& record : records) load.add(record);
    return load.achieved_rate();
}

void add_reading(ClientHealth& health, const ClientReport& client) {
    const ClientCounters& counters = client.chunks;
    const Histogram& delay = client.read_delay;
    const auto chunks = static_cast<double>(counters.chunks);
    health.timing = counters.stamped_chunks * 2 >= counters.chunks ? "kernel" : "user";
    health.kernel_stamp_share = ratio(static_cast<double>(counters.stamped_chunks), chunks);
    health.grouped_share = ratio(static_cast<double>(counters.grouped_chunks), chunks);
    health.late_grouped_share = ratio(static_cast<double>(counters.late_grouped_chunks), chunks);
    if (client.unstamped_delay.count() > 0 && counters.stamped_chunks < counters.chunks)
        health.unstamped_delay_p99_s = seconds(client.unstamped_delay.percentile(.99));
    if (delay.count() == 0) return;
    health.user_delay_p50_s = seconds(delay.percentile(.5));
    health.user_delay_p99_s = seconds(delay.percentile(.99));
}

void add_processor(ClientHealth& health, const ClientReport& client, const TimeSpan& window) {
    double samples = 0;
    double busy = 0;
    for (const std::vector<CpuSample>& worker : client.cpu) {
        std::vector<double> shares;
        for (const CpuSample& sample : worker)
            if (window.contains(sample.at)) shares.push_back(sample.share);
        if (shares.empty()) continue;
        health.cpu_share = std::max(health.cpu_share.value_or(0), moments_of(shares).mean);
        samples += static_cast<double>(shares.size());
        busy += static_cast<double>(std::ranges::count_if(shares, [](double s) { return s > kBusyLoop; }));
    }
    health.cpu_windows_above_85 = ratio(busy, samples);
}

void add_network(ClientHealth& health, const ClientReport& client) {
    health.connections_opened = client.connections.opened;
    health.connections_opened_ahead = client.connections.opened_ahead;
    health.opening_ahead_s = seconds(client.connections.opening_ahead);
    health.retransmit_share = ratio(static_cast<double>(client.connections.retransmitted),
                                    static_cast<double>(client.connections.segments_sent));
    health.clock_jump_max_s = seconds(client.largest_clock_jump);
}

}  // namespace

ClientHealth health_of(const RequestTable& requests, const ClientReport& client, bool open_loop,
                       const TimeSpan& window) {
    ClientHealth health;
    health.workers = static_cast<std::uint32_t>(client.cpu.size());
    health.hiccup_share = client.host_lost_share;
    add_lateness(health, sent_in(requests, window), open_loop);
    if (open_loop) health.achieved_rate_ratio = achieved_rate(requests, window);
    add_reading(health, client);
    add_processor(health, client, window);
    add_network(health, client);
    return health;
}

}  // namespace paretoken
