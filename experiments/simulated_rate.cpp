#include "experiments/simulated_rate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "core/error.h"
#include "core/plan/plan.h"
#include "core/result/figures.h"
#include "core/result/overload.h"
#include "experiments/run.h"
#include "experiments/server/resolve.h"
#include "experiments/server/target.h"
#include "experiments/session.h"
#include "experiments/watcher.h"
#include "reports/files/file_io.h"
#include "simulator/engine/card_profile.h"

namespace paretoken::experiments {
namespace {

sim::Profile profile_of(const reports::SimulatedLoad& load) {
    sim::CardChoices choices{.reached = sim::usual_efficiencies(load.gpu)};
    if (load.max_sequences)
        choices.sequences = static_cast<std::uint64_t>(std::max(1.0, *load.max_sequences));
    return sim::gpu_profile(load.model, load.gpu, load.gpus, choices);
}

/// Prompts of one length, of which the share of hits is a text that all of them begin with. Answers differ in
/// length, so that the requests do not run in step.
Spec requests_of(const reports::SimulatedLoad& load) {
    const double tokens = std::max(2.0, std::round(load.input_tokens));
    const double shared = std::min(std::round(load.hit * tokens), tokens - 1);
    const double output = std::max(2.0, load.output_tokens);
    const std::string osl =
        fmt::format("uniform:min={:.0f};max={:.0f}", std::ceil(output * 0.75), std::floor(output * 1.25));
    if (shared < 1) return {"synthetic", {{"isl", fmt::format("{:.0f}", tokens)}, {"osl", osl}}};
    return {"shared_prefix",
            {{"groups", "1"},
             {"levels", fmt::format("{:.0f}", shared)},
             {"unique", fmt::format("{:.0f}", tokens - shared)},
             {"osl", osl}}};
}

/// Enough requests for a steady state, and fewer rounds of very many requests in flight. In an open loop, a
/// queue has ten minutes to grow, or at high rates the time of the largest number of requests.
std::uint64_t enough_requests(double in_flight, std::optional<double> arrivals_per_s) {
    constexpr double kRounds = 16;
    constexpr double kFewRounds = 4;
    constexpr double kLeast = 160;
    constexpr double kMany = 4000;
    constexpr double kLongS = 600;
    const double most = std::max(kMany, kFewRounds * in_flight);
    const double wanted = std::max(kRounds * in_flight, kLongS * arrivals_per_s.value_or(0));
    return static_cast<std::uint64_t>(std::clamp(wanted, kLeast, most));
}

}  // namespace

std::optional<reports::SimulatedSpeed> simulated_rate(const reports::SimulatedLoad& load,
                                                      const std::filesystem::path& directory,
                                                      const Invocation& invocation) {
    reports::ensure_directory(directory);
    const std::filesystem::path file = directory / "profile.json";
    const double in_flight = std::max(1.0, std::round(load.in_flight));
    LoadPlan asked;
    asked.targets = {"sim:" + file.string()};
    asked.virtual_time = true;
    asked.salt = "report";
    asked.classes.front().dataset = requests_of(load);
    if (load.pause_s > 0) asked.classes.front().think_time = fmt::format("{:.6f}s", load.pause_s);
    asked = load.arrivals_per_s ? at_level(std::move(asked), Axis::request_rate, *load.arrivals_per_s)
                                : at_level(std::move(asked), Axis::concurrency, in_flight);
    asked.stop.requests = enough_requests(in_flight, load.arrivals_per_s);
    Watcher silent;
    try {
        reports::write_file_atomically(file, sim::profile_text(profile_of(load)));
        const auto target = open_target(asked, {}, silent, {});
        const Measured run = measure(*target, asked, directory / "run", {invocation, silent, {{}, {}}});
        const Figures& figures = run.result.throughput;
        const auto rate = figures.at(figure::kOutputTokens);
        if (!rate) return {};
        return reports::SimulatedSpeed{.output_tokens_per_s = *rate,
                                       .in_flight = figures.at(figure::kMeanInFlight).value_or(0),
                                       .interactivity = run.result.percentile("interactivity_tok_per_s", .9),
                                       .keeps_up = kept_up(run.result)};
    } catch (const UsageError&) {
        return {};
    }
}

}  // namespace paretoken::experiments
