// Measures how often a search certifies a load that misses its limit: `paretoken-slo-search [SEARCHES]
// [THREADS]`. Every run is a generated closed loop with bursts of latency, folded and judged by the
// code for real runs. The true percentile of every level is known, because latencies are lognormal.
#include <fmt/format.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <queue>
#include <string>
#include <thread>
#include <vector>

#include "core/random.h"
#include "core/result/summary.h"
#include "experiments/sweep/knee_search.h"
#include "experiments/sweep/slo_search.h"

namespace {

using namespace paretoken;
using experiments::KneeSearch;
using experiments::SearchStep;

/// A server whose latency grows with the load. The common part of requests decays over `memory` requests.
struct Server {
    const char* name;
    double memory = 0;  ///< number of requests; 0: independent
    double growth = 1;  ///< exponent of latency with load: load^growth
};

constexpr double kCommon = 0.25;  ///< standard deviations of the logarithm of latency
constexpr double kOwn = 0.15;
constexpr double kQuantile90 = 1.2815515655;
constexpr std::uint64_t kRequests = 2000;

double median_at(const Server& server, double level) {
    return 0.05 * std::pow(level, server.growth);
}

double true_p90(const Server& server, double level) {
    return median_at(server, level) * std::exp(kQuantile90 * std::hypot(kCommon, kOwn));
}

std::vector<RequestRecord> run_of(const Server& server, const SearchStep& step, std::uint64_t seed) {
    Random random(seed);
    const auto slots = static_cast<std::size_t>(step.level);
    const std::uint64_t count = std::max<std::uint64_t>(kRequests, 20 * slots) * step.longer;
    std::priority_queue<TimePoint, std::vector<TimePoint>, std::greater<>> free;
    for (std::size_t i = 0; i < slots; ++i) free.push(TimePoint(std::chrono::milliseconds(i)));
    const double kept = server.memory > 0 ? std::exp(-1 / server.memory) : 0;
    double common = random.normal();
    std::vector<RequestRecord> records;
    records.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) {
        common = kept * common + std::sqrt(1 - kept * kept) * random.normal();
        const double ttft =
            median_at(server, step.level) * std::exp(kCommon * common + kOwn * random.normal());
        RequestRecord record;
        record.index = i;
        record.scheduled = record.started = record.ready = free.top();
        free.pop();
        record.sent = record.scheduled;
        record.first_event = record.first_answer = *record.sent + from_seconds(ttft);
        record.last_event = record.finished = *record.first_event + from_seconds(0.2);
        record.closed = *record.last_event;
        record.streamed_tokens = record.chunks = 10;
        record.first_group_tokens = 1;
        free.push(record.closed);
        records.push_back(std::move(record));
    }
    return records;
}

struct Told {
    SloVerdict verdict = SloVerdict::insufficient;
    double times_enough = 2;
};

Told told_of(const Server& server, const SearchStep& step, double limit, std::uint64_t seed) {
    const auto records = run_of(server, step, seed);
    const auto summary = summarize(RequestTable(records), NoEvents(),
                                   {.concurrency = static_cast<std::uint64_t>(step.level),
                                    .last_dispatch = records.back().scheduled,
                                    .slos = {}});
    RunResult result;
    static_cast<Scope&>(result) = summary;
    result.concurrency = static_cast<std::uint64_t>(step.level);
    const Slo slo{"ttft", limit, 0.9};
    return {finding_on(result, slo).verdict, times_enough(result, slo).value_or(2)};
}

struct Tally {
    std::atomic<std::uint64_t> certified = 0;
    std::atomic<std::uint64_t> wrongly = 0;  ///< certified although the true percentile is over the limit
    std::atomic<std::uint64_t> runs = 0;
    std::atomic<std::uint64_t> share = 0;        ///< Σ certified level in thousandths of the true knee
    std::atomic<std::uint64_t> within = 0;       ///< with a level that was measured within the limit
    std::atomic<std::uint64_t> within_over = 0;  ///< whose true percentile is over the limit
    std::atomic<std::uint64_t> within_share = 0;
};

void search_once(const Server& server, std::uint64_t seed, Tally& tally) {
    // The knee lies anywhere, even just below a level that will be measured.
    Random random(derived_seed(seed, server.name));
    const double knee = std::exp(std::log(4.0) + random.uniform() * std::log(32.0));
    const double limit = true_p90(server, knee);
    KneeSearch search({});
    std::uint64_t number = 0;
    while (const auto step = search.next()) {
        const std::uint64_t run_seed = derived_seed(seed, server.name, ++number);
        const Told told = told_of(server, *step, limit, run_seed);
        search.tell({told.verdict, step->level, told.times_enough});
    }
    tally.runs += search.runs();
    if (const auto within = search.within()) {
        ++tally.within;
        tally.within_over += true_p90(server, *within) > limit ? 1 : 0;
        tally.within_share += static_cast<std::uint64_t>(1000 * *within / knee);
    }
    if (!search.pass()) return;
    ++tally.certified;
    tally.wrongly += true_p90(server, *search.pass()) > limit ? 1 : 0;
    tally.share += static_cast<std::uint64_t>(1000 * *search.pass() / knee);
}

}  // namespace

int main(int argc, char** argv) {
    const std::uint64_t searches = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000;
    const std::uint64_t threads = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 2;
    fmt::print(
        "| server | searches | certified a load | over its limit | certified ÷ true knee, mean | measured a "
        "load within | over its limit | within ÷ true knee, mean | runs, mean |\n");
    fmt::print("|---|---|---|---|---|---|---|---|---|\n");
    for (const Server& server :
         {Server{"independent requests", 0, 1}, Server{"bursts of 20 requests", 20, 1},
          Server{"bursts of 100 requests", 100, 1}, Server{"bursts of 20 requests, steep", 20, 2}}) {
        Tally tally;
        std::vector<std::jthread> workers;
        for (std::uint64_t t = 0; t < threads; ++t)
            workers.emplace_back([&, t] {
                for (std::uint64_t seed = t; seed < searches; seed += threads)
                    search_once(server, seed, tally);
            });
        workers.clear();
        const auto certified = static_cast<double>(tally.certified.load());
        const auto within = static_cast<double>(tally.within.load());
        const auto of_searches = [&](double count) { return 100 * count / static_cast<double>(searches); };
        fmt::print("| {} | {} | {:.1f} % | {:.2f} % | {:.2f} | {:.1f} % | {:.1f} % | {:.2f} | {:.1f} |\n",
                   server.name, searches, of_searches(certified),
                   of_searches(static_cast<double>(tally.wrongly.load())),
                   static_cast<double>(tally.share.load()) / 1000 / std::max(1.0, certified),
                   of_searches(within), of_searches(static_cast<double>(tally.within_over.load())),
                   static_cast<double>(tally.within_share.load()) / 1000 / std::max(1.0, within),
                   static_cast<double>(tally.runs.load()) / static_cast<double>(searches));
        std::fflush(stdout);
    }
    return 0;
}
