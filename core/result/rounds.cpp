#include "core/result/rounds.h"

#include <algorithm>
#include <cmath>

#include "core/result/window.h"

namespace paretoken {
namespace {

constexpr std::uint64_t kFewestThatCount = 10;
constexpr std::uint64_t kFewestAtStart = 2;

/// Returns how many requests a round has. A request that is in flight at any moment takes Σ time² ÷ Σ time on
/// average: one long request is in flight while many short ones come and go. Requests after the window count
/// too, because a short window may have none of the long ones.
std::uint64_t requests_of_round(const RequestTable& records, TimePoint from, std::uint64_t in_flight) {
    constexpr double kLeast = 0.5;  // part of that time which a round lasts
    double count = 0;
    double times = 0;
    double squares = 0;
    for (const RequestRecord& request : records) {
        if (!is_counted(request) || request.scheduled < from) continue;
        const double time = seconds(end_of(request) - request.started);
        ++count;
        times += time;
        squares += time * time;
    }
    if (!(times > 0)) return in_flight;
    const double rounds = squares / times / (times / count);
    return std::max(in_flight, static_cast<std::uint64_t>(kLeast * rounds * static_cast<double>(in_flight)));
}

}  // namespace

std::uint64_t requests_for_rounds(std::uint64_t requests) {
    return (kFewestAtStart + kFewestThatCount) * requests;
}

Rounds rounds_of(const RequestRows& measured, TimeSpan window, std::uint64_t in_flight) {
    constexpr std::uint64_t kShareAtStart = 10;  // one in ten
    Rounds rounds{.requests = requests_of_round(measured.table(), window.begin, in_flight)};
    const std::uint64_t whole = measured.size() / rounds.requests;
    const std::uint64_t at_start = std::max(kFewestAtStart, whole / kShareAtStart);
    if (measured.size() < requests_for_rounds(rounds.requests)) return rounds;
    rounds.count = whole - at_start;
    const std::uint64_t first = measured.size() - rounds.count * rounds.requests;
    rounds.share = static_cast<double>(rounds.count * rounds.requests) / static_cast<double>(measured.size());
    const std::uint64_t groups = std::min(rounds.count, Rounds::kMostGroups);
    std::uint64_t group = 0;
    std::uint64_t place = 0;
    measured.for_each([&](const RequestRecord& request) {
        if (group < groups && place == first + group * rounds.count / groups * rounds.requests) {
            rounds.edges.push_back(request.scheduled);
            ++group;
        }
        ++place;
    });
    rounds.edges.push_back(window.end);
    return rounds;
}

double samples_of(const Rounds& rounds) {
    constexpr std::uint64_t kFewestRequests = 4;
    return std::floor(static_cast<double>(rounds.count * rounds.requests) /
                      static_cast<double>(std::max(rounds.requests, kFewestRequests)));
}

namespace {

/// Returns how many requests without a first token a new request meets on average.
double waiting_met(const RequestRows& measured) {
    std::vector<TimePoint> sent;
    std::vector<TimePoint> first;
    measured.for_each([&](const RequestRecord& request) {
        if (!request.sent || !request.first_event) return;
        sent.push_back(*request.sent);
        first.push_back(*request.first_event);
    });
    if (sent.empty()) return 0;
    std::ranges::sort(sent);
    std::ranges::sort(first);
    double met = 0;
    std::size_t answered = 0;
    for (std::size_t i = 0; i < sent.size(); ++i) {
        while (answered < first.size() && first[answered] <= sent[i]) ++answered;
        met += static_cast<double>(i - std::min(i, answered));
    }
    return met / static_cast<double>(sent.size());
}

}  // namespace

// The mean, over the whole rounds, of the longest time without a dispatch as a part of the round's time,
// rescaled from what is expected of in_flight independent dispatches (their harmonic number ÷ their number)
// to 1.
std::optional<double> in_step(const RequestRows& measured, std::uint64_t in_flight) {
    constexpr std::uint64_t kFewestInFlight = 4;
    constexpr std::uint64_t kFewestRounds = 3;
    if (in_flight < kFewestInFlight || measured.size() < kFewestRounds * in_flight + 1) return std::nullopt;
    double longest_shares = 0;  // sum over the rounds
    double rounds = 0;
    std::uint64_t place = 0;
    TimePoint begin;   // of the round
    TimePoint before;  // the dispatch before
    Duration longest{};
    measured.for_each([&](const RequestRecord& request) {
        const TimePoint at = request.scheduled;
        if (place > 0) longest = std::max(longest, at - before);
        if (place % in_flight == 0) {
            if (place > 0 && at > begin) {
                longest_shares += seconds(longest) / seconds(at - begin);
                ++rounds;
            }
            begin = at;
            longest = {};
        }
        before = at;
        ++place;
    });
    if (rounds == 0) return std::nullopt;
    if (waiting_met(measured) < 1) return 0;
    double by_chance = 0;
    for (std::uint64_t k = 1; k <= in_flight; ++k)
        by_chance += 1 / static_cast<double>(k) / static_cast<double>(in_flight);
    return std::max(0.0, (longest_shares / rounds - by_chance) / (1 - by_chance));
}

}  // namespace paretoken
