#include "experiments/sweep/rate_span.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/plan/plan_arguments.h"
#include "core/text/number_text.h"
#include "experiments/session.h"
#include "experiments/watcher.h"
#include "reports/files/run_directory.h"

namespace paretoken::experiments {
namespace {

namespace fs = std::filesystem;

constexpr double kMostInFlight = 4096;

/// Returns the plan of a short closed loop. Its result is only used to choose the levels.
LoadPlan pilot_at(const SweepPlan& plan, double in_flight) {
    constexpr std::uint64_t kFewest = 30;
    constexpr std::uint64_t kPerSlot = 4;
    LoadPlan asked = in_cell(plan.asked, plan.cells.front());
    const auto slots = static_cast<std::uint64_t>(in_flight);
    for (RequestClass& of : asked.classes) {
        of.request_rate.reset();
        of.burstiness.reset();
        of.concurrency = slots;
    }
    asked.stop = {.requests = std::max(kFewest, kPerSlot * slots)};
    asked.slos.clear();
    asked.require.clear();
    return asked;
}

/// Measures in a directory below that of the sweep, and adds the time that this takes to `spent`.
RunResult pilot(const Target& target, const LoadPlan& asked, const fs::path& sweep, const std::string& name,
                const Session& session, Duration& spent) {
    const fs::path directory = sweep / name;
    if (reports::has_result(directory)) {
        RunResult before = reports::read_run_directory(directory);
        if (!before.partial) return before;
    }
    const TimePoint began = Clock::now();
    Measured measured = measure(target, asked, directory, session);
    spent += time_of_run(target, measured.result, began);
    if (!measured.not_written.empty()) throw RuntimeError(measured.not_written);
    if (measured.result.partial)
        throw RuntimeError(
            fmt::format("interrupted during the search for saturation; this command continues it: {}",
                        shell_line(words_to_continue(session.invocation, sweep))));
    return std::move(measured.result);
}

/// Returns the arrivals of an open loop ÷ its requests: an arrival begins a conversation, which may have
/// several turns.
double arrivals_per_request(const RunResult& result) {
    if (result.turns.empty() || result.counts.requests == 0) return 1;
    return static_cast<double>(result.turns.front().counts.requests) /
           static_cast<double>(result.counts.requests);
}

}  // namespace

std::vector<double> spread_rates(double lowest, double highest, std::size_t count) {
    std::vector<double> rates;
    for (std::size_t i = 0; i < count; ++i) {
        const double share = count < 2 ? 1 : static_cast<double>(i) / static_cast<double>(count - 1);
        const double rate = lowest * std::pow(highest / lowest, share);
        const double step = std::pow(10, std::floor(std::log10(rate)) - 2);
        // A division avoids long decimals: 0.01 is not exact in binary, so its multiples are not round.
        const double rounded =
            step < 1 ? std::round(rate / step) / std::round(1 / step) : std::round(rate / step) * step;
        if (rates.empty() || rounded > rates.back()) rates.push_back(rounded);
    }
    return rates;
}

// The pilot runs are closed loops of 1, 2, 4, … requests in flight, at most 4096, in the first cell of
// `plan`, until two doublings in a row gave less than 3.5 % (2^0.05) more requests per second.
RatesToSaturation rates_to_saturation(const Target& target, const SweepPlan& plan, std::size_t count,
                                      const fs::path& directory, const Session& session) {
    constexpr double kFlat = 0.05;
    double alone = 0;
    double most = 0;
    double at_most = 0;
    double before = 0;
    Duration spent{};
    for (double in_flight = 1, flat = 0; in_flight <= kMostInFlight && flat < 2; in_flight *= 2) {
        session.watcher.wait(fmt::format("looking for saturation: {:.0f} in flight", in_flight));
        const RunResult result = pilot(target, pilot_at(plan, in_flight), directory,
                                       fmt::format("pilot/c{:04.0f}", in_flight), session, spent);
        // The rate of the whole run is used, because a pilot is too short to have a steady window.
        const double rate = result.whole_run.at(figure::kRequests).value_or(0) * arrivals_per_request(result);
        if (!(rate > 0))
            throw RuntimeError(
                fmt::format("--request-rate auto: with {:.0f} requests in flight none succeeded; see {}",
                            in_flight, (directory / "pilot").string()));
        if (in_flight == 1) alone = rate;
        flat = in_flight > 1 && std::log2(rate / before) < kFlat ? flat + 1 : 0;
        if (rate > most) at_most = in_flight;
        most = std::max(most, rate);
        before = rate;
    }
    session.watcher.wait(fmt::format("throughput saturates at about {} requests/s, with {:.0f} in flight",
                                     number_text(most), at_most));
    return {spread_rates(alone, most, count), spent};
}

}  // namespace paretoken::experiments
