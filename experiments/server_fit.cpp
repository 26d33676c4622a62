#include "experiments/server_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "cards/deployment.h"
#include "cards/gpu.h"
#include "cards/model.h"
#include "core/error.h"
#include "core/plan/plan_arguments.h"
#include "core/plan/plan_fields.h"
#include "core/result/figures.h"
#include "core/stable_sort.h"
#include "experiments/run.h"
#include "experiments/server/resolve.h"
#include "experiments/server/target.h"
#include "experiments/session.h"
#include "experiments/watcher.h"
#include "reports/analysis/sweep/sweep.h"
#include "reports/files/file_io.h"
#include "reports/files/run_directory.h"
#include "simulator/engine/card_profile.h"
#include "simulator/engine/model.h"

namespace paretoken::experiments {
namespace {

using reports::LoadFigures;
using reports::PredictedLevel;

constexpr const char* kProfileName = "profile.json";

struct MeasuredLevel {
    std::filesystem::path directory;
    double load = 0;
    LoadPlan plan = {};
    RunResult result = {};
};

std::vector<MeasuredLevel> measured_levels(const std::filesystem::path& path) {
    std::vector<MeasuredLevel> levels;
    for (const auto& directory : reports::find_run_directories(path)) {
        MeasuredLevel level{.directory = directory, .result = reports::read_run_directory(directory)};
        if (!level.result.provenance.measured_by.empty())
            throw UsageError(fmt::format("{}: {} does not say enough about its load; give a run of paretoken",
                                         directory.string(), level.result.provenance.measured_by));
        level.plan = plan_of(texts_of(level.result.plan));
        level.load = reports::load_of(level.result);
        levels.push_back(std::move(level));
    }
    sort_stably(levels, [](const auto& a, const auto& b) { return a.load < b.load; });
    return levels;
}

void require_one_configuration(const std::vector<MeasuredLevel>& levels, const std::filesystem::path& path) {
    const RunResult& first = levels.front().result;
    for (const MeasuredLevel& level : levels) {
        const RunResult& other = level.result;
        if (other.workload.fingerprint != first.workload.fingerprint ||
            other.provenance.hardware != first.provenance.hardware ||
            other.provenance.model != first.provenance.model)
            throw UsageError(fmt::format(
                "{}: it has runs of several servers or loads; give the directory of one run", path.string()));
        if (level.plan.class_specs.size() > 1)
            throw UsageError(
                fmt::format("{}: it has several classes of requests; only runs with one can be fitted",
                            level.directory.string()));
    }
}

/// The engine to plan for; vLLM if it is none of those that plans know.
cards::Engine planned_engine(const RunResult& result) {
    return cards::find_engine(engine_of(result)).value_or(cards::Engine::vllm);
}

/// The most sequences of a step by the server's own settings; many if it does not say.
std::uint64_t sequences_of(const RunResult& result) {
    constexpr std::uint64_t kMany = 256;
    if (!result.server) return kMany;
    const auto slots = result.server->config.find("total_slots");
    if (slots == result.server->config.end()) return kMany;
    return std::max<std::uint64_t>(1, std::strtoull(slots->second.c_str(), nullptr, 10));
}

/// A server before the fit, and what its speeds are held against.
struct Server {
    cards::ModelCard model;
    std::optional<cards::GpuCard> gpu = {};
    std::uint32_t ranks = 1;
    sim::Profile profile = {};
};

/// Returns the card that a run names: by its spec, or for a simulated server by a shipped card's name and the
/// number formats, if that card still has the values of then.
cards::ModelCard card_of_run(const FitOptions& options, const Provenance& from) {
    if (!options.model_card.empty()) return cards::model_card(options.model_card);
    if (from.model_card && !from.model_card->spec.empty()) return cards::model_card(from.model_card->spec);
    if (from.model_card && std::ranges::count(cards::known_models(), from.model_card->name) > 0) {
        cards::ModelCard card =
            cards::model_card(from.model_card->name,
                              {.weight_dtype = from.model_card->weights, .kv_dtype = from.model_card->kv});
        if (cards::content_hash_of(card) == from.model_card->hash) return card;
    }
    throw UsageError(
        fmt::format("{}: the run names no model card; add --model-card (a known model, a config.json "
                    "or a GGUF file)",
                    options.run.string()));
}

Server server_of_run(const FitOptions& options, const RunResult& result) {
    const Provenance& from = result.provenance;
    Server server{.model = card_of_run(options, from)};
    const cards::GpuSpec spec = cards::parse_gpu_spec(options.gpu.empty() ? from.hardware : options.gpu);
    server.gpu = cards::find_gpu(spec.name);
    server.ranks = options.gpu.empty() ? std::max(1U, from.hardware_count) : spec.count;
    if (!options.gpu.empty() && !server.gpu)
        (void)cards::gpu_card(spec.name);  // throws, naming the known ones
    if (server.gpu)
        server.profile = sim::gpu_profile(
            server.model, *server.gpu, server.ranks,
            {.engine = planned_engine(result), .reached = sim::usual_efficiencies(*server.gpu)});
    else
        server.profile = sim::machine_profile(server.model, sequences_of(result));
    return server;
}

reports::FittedSpeeds speeds_of(const Server& server, const sim::Profile& profile) {
    reports::FittedSpeeds speeds{.memory_bytes_per_s = profile.weight_bytes_per_s, .step_s = profile.step_s};
    const double routed = server.model.moe ? cards::routed_flops_per_token(server.model) : 0;
    const double flops =
        cards::linear_flops_per_token(server.model) - cards::output_head_flops(server.model) - routed;
    if (profile.linear_s_per_token > 0) speeds.linear_flops_per_s = flops / profile.linear_s_per_token;
    if (profile.row_s > 0) speeds.row_s = profile.row_s;
    if (!server.gpu) return speeds;
    speeds.memory_share = speeds.memory_bytes_per_s / (server.gpu->memory_bytes_per_s * server.ranks);
    if (const auto known = cards::flops_for_weights(*server.gpu, server.model.weight_dtype))
        speeds.linear_share = speeds.linear_flops_per_s / (known->per_s * server.ranks);
    return speeds;
}

bool is_closed(const MeasuredLevel& level) {
    return level.plan.classes.front().concurrency.has_value();
}

/// The load of a measured level for a simulated server.
LoadPlan simulated_load(const MeasuredLevel& level, const std::string& target) {
    const RequestClass& of = level.plan.classes.front();
    LoadPlan asked;
    asked.targets = {target};
    asked.virtual_time = true;
    asked.seed = level.plan.seed;
    asked.salt = "plan";
    asked.sampling.ignore_eos = level.plan.sampling.ignore_eos;
    RequestClass& simulated = asked.classes.front();
    simulated.dataset = of.dataset;
    simulated.dataset_path = of.dataset_path;
    simulated.replies = of.replies;
    simulated.think_time = of.think_time;
    return asked;
}

/// Simulates loads on profiles, each in a directory of its own.
class Simulation {
  public:
    Simulation(const MeasuredLevel& level, std::filesystem::path directory, const Invocation& invocation,
               const std::stop_token& stop)
        : level_(level), directory_(std::move(directory)), invocation_(invocation), stop_(stop) {}

    RunResult of(const sim::Profile& profile, double load) {
        const std::filesystem::path directory = directory_ / fmt::format("{}", number_++);
        reports::ensure_directory(directory);
        const std::filesystem::path file = directory / kProfileName;
        reports::write_file_atomically(file, sim::profile_text(profile));
        LoadPlan at = at_level(simulated_load(level_, "sim:" + file.string()),
                               is_closed(level_) ? Axis::concurrency : Axis::request_rate, load);
        constexpr double kRounds = 24;
        constexpr std::uint64_t kLeast = 120;
        constexpr std::uint64_t kMost = 4000;
        at.stop.requests = std::clamp(static_cast<std::uint64_t>(load * kRounds), kLeast, kMost);
        Watcher silent;
        const auto target = open_target(at, {}, silent, stop_);
        const Measured run = measure(*target, at, directory / "run", {invocation_, silent, {stop_, stop_}});
        require_whole(run, *target, "nothing was predicted");
        return run.result;
    }

  private:
    const MeasuredLevel& level_;
    std::filesystem::path directory_;
    const Invocation& invocation_;
    std::stop_token stop_;
    int number_ = 0;
};

/// The levels to predict: those asked for, else the other measured ones, else some around the run's.
std::vector<double> loads_to_predict(const FitOptions& options, const std::vector<MeasuredLevel>& levels,
                                     const MeasuredLevel& fitted) {
    if (!options.loads.empty()) return options.loads;
    std::vector<double> loads;
    for (const MeasuredLevel& level : levels)
        if (level.load != fitted.load && (loads.empty() || loads.back() != level.load))
            loads.push_back(level.load);
    if (!loads.empty()) return loads;
    for (const double factor : {0.25, 0.5, 2.0, 4.0, 8.0}) {
        const double load = fitted.load * factor;
        if (!is_closed(fitted) || (load >= 1 && load == std::floor(load))) loads.push_back(load);
    }
    return loads;
}

/// The server and the options of a run for a sweep over other loads, each with as many requests as it needs.
std::vector<std::string> words_without_load(PlanEcho plan) {
    for (const char* name : {"concurrency", "request_rate", "arrivals", "num_prompts"}) plan.erase(name);
    return arguments_of(plan);
}

std::optional<LoadFigures> measured_at(const std::vector<MeasuredLevel>& levels, double load) {
    for (const MeasuredLevel& level : levels)
        if (level.load == load) return reports::load_figures_of(level.result);
    return {};
}

/// Smallest and largest of three values of each figure.
PredictedLevel level_of(double load, const LoadFigures& predicted, const LoadFigures& fast,
                        const LoadFigures& slow) {
    PredictedLevel level{.load = load, .predicted = predicted, .low = predicted, .high = predicted};
    for (const auto figure :
         {&LoadFigures::output_tokens_per_s, &LoadFigures::ttft_p50_s, &LoadFigures::itl_p50_s})
        for (const LoadFigures& other : {fast, slow}) {
            if (!(predicted.*figure) || !(other.*figure)) continue;
            *(level.low.*figure) = std::min(*(level.low.*figure), *(other.*figure));
            *(level.high.*figure) = std::max(*(level.high.*figure), *(other.*figure));
        }
    return level;
}

double log_ratio(const std::optional<double>& simulated, const std::optional<double>& goal) {
    return simulated && goal && *simulated > 0 && *goal > 0 ? std::log(*simulated / *goal) : 0;
}

/// The logarithms of the factors, and how far off the simulated times are.
using Pair = std::array<double, 2>;

class Fitter {
  public:
    Fitter(const std::function<LoadFigures(const sim::SpeedFactors&)>& simulate, const LoadFigures& goal,
           reports::LoadFigure prompts)
        : simulate_(simulate), goal_(goal), prompts_(prompts) {}

    Pair missed(const Pair& logs, std::optional<double> step_s) {
        const LoadFigures figures =
            simulate_({.memory = std::exp(logs[0]), .arithmetic = std::exp(logs[1]), .step_s = step_s});
        return {log_ratio(figures.itl_p50_s, goal_.itl_p50_s), log_ratio(figures.*prompts_, goal_.*prompts_)};
    }

    /// Newton's method with differences. Memory stays within its bounds.
    Pair solve(Pair at, const Pair& bounds, std::optional<double> step_s) {
        constexpr int kSteps = 12;
        constexpr double kEnough = 0.005;
        constexpr double kLongest = 1.5;
        for (int i = 0; i < kSteps; ++i) {
            const Pair off = missed(at, step_s);
            // What memory cannot explain at its bound, it leaves to the fixed time of a step.
            const bool at_bound = (at[0] <= bounds[0] && off[0] < 0) || (at[0] >= bounds[1] && off[0] > 0);
            if ((at_bound || std::abs(off[0]) < kEnough) && std::abs(off[1]) < kEnough) break;
            const auto step = !(goal_.*prompts_) ? step_of_one(0, at, off, step_s)
                              : at_bound         ? step_of_one(1, at, off, step_s)
                                                 : step_of_both(at, off, step_s);
            if (!step) break;  // nothing that these factors change explains the rest
            const Pair before = at;
            at[0] = std::clamp(at[0] + std::clamp((*step)[0], -kLongest, kLongest), bounds[0], bounds[1]);
            at[1] += std::clamp((*step)[1], -kLongest, kLongest);
            if (at == before) break;
        }
        return at;
    }

  private:
    static constexpr double kDifference = 0.1;
    static constexpr double kLeastSlope = 1e-6;

    /// The step of memory (0) or of arithmetic (1) alone.
    std::optional<Pair> step_of_one(std::size_t which, const Pair& at, const Pair& off,
                                    std::optional<double> step_s) {
        Pair other = at;
        other[which] += kDifference;
        const double slope = (missed(other, step_s)[which] - off[which]) / kDifference;
        if (std::abs(slope) < kLeastSlope) return {};
        Pair step{};
        step[which] = -off[which] / slope;
        return step;
    }

    std::optional<Pair> step_of_both(const Pair& at, const Pair& off, std::optional<double> step_s) {
        const Pair by_memory = missed({at[0] + kDifference, at[1]}, step_s);
        const Pair by_arithmetic = missed({at[0], at[1] + kDifference}, step_s);
        const double a = (by_memory[0] - off[0]) / kDifference;
        const double b = (by_arithmetic[0] - off[0]) / kDifference;
        const double c = (by_memory[1] - off[1]) / kDifference;
        const double d = (by_arithmetic[1] - off[1]) / kDifference;
        const double determinant = a * d - b * c;
        if (std::abs(determinant) < kLeastSlope) return {};
        return Pair{-(off[0] * d - b * off[1]) / determinant, -(a * off[1] - c * off[0]) / determinant};
    }

    const std::function<LoadFigures(const sim::SpeedFactors&)>& simulate_;
    const LoadFigures& goal_;
    reports::LoadFigure prompts_;
};

/// The least share of the usual speed at which memory is read. With a card, a server reaches a third of the
/// datasheet; without one, any main memory gives 20 GB/s.
double least_memory_share(const Server& server, double reached) {
    constexpr double kLeastBytesPerS = 20e9;
    return server.gpu ? 1.0 / 3 / reached : kLeastBytesPerS / server.profile.weight_bytes_per_s;
}

/// The profile of a machine of which reading the weights cannot explain the time of a step with `rows`
/// tokens: its kernels compute few rows one by one.
sim::Profile with_lone_rows(sim::Profile profile, double rows) {
    const auto count = static_cast<std::int64_t>(
        std::clamp(std::round(rows), 1.0, static_cast<double>(profile.max_num_seqs)));
    profile.row_s = sim::step_seconds(profile, {.tokens = count}) / static_cast<double>(count);
    return profile;
}

/// Whether the throughput of a fit contradicts the measured one. With a rate of arrivals it does not depend
/// on the server.
bool contradicts(const LoadFigures& after, const LoadFigures& measured, bool closed) {
    return closed && std::abs(log_ratio(after.output_tokens_per_s, measured.output_tokens_per_s)) >
                         std::log1p(reports::kLargestMiss);
}

}  // namespace

sim::SpeedFactors fitted_factors(const std::function<LoadFigures(const sim::SpeedFactors&)>& simulate,
                                 const LoadFigures& goal, double least_memory, double most_memory,
                                 double step_s, reports::LoadFigure prompts) {
    constexpr int kRounds = 6;
    constexpr double kEnough = 0.01;
    const Pair bounds{std::log(least_memory), std::log(most_memory)};
    Fitter fitter(simulate, goal, prompts);
    Pair logs{std::clamp(0.0, bounds[0], bounds[1]), 0};
    for (int round = 0; round < kRounds; ++round) {
        logs = fitter.solve(logs, bounds, step_s);
        const Pair off = fitter.missed(logs, step_s);
        if (std::abs(off[0]) < kEnough || !goal.itl_p50_s) break;
        // Memory is at a bound: the fixed time of a step takes the rest.
        step_s = std::max(0.0, step_s + *goal.itl_p50_s * (1 - std::exp(off[0])));
    }
    return {.memory = std::exp(logs[0]), .arithmetic = std::exp(logs[1]), .step_s = step_s};
}

reports::ServerFit fit_server(const FitOptions& options, const Invocation& invocation,
                              const std::stop_token& stop) {
    const std::vector<MeasuredLevel> levels = measured_levels(options.run);
    require_one_configuration(levels, options.run);
    const MeasuredLevel& fitted = levels[levels.size() > 1 ? 1 : 0];
    const Server server = server_of_run(options, fitted.result);
    Simulation simulation(fitted, options.directory / "simulated", invocation, stop);
    const auto figures_at = [&](const sim::Profile& profile, double load) {
        return reports::load_figures_of(simulation.of(profile, load));
    };
    const auto fit = [&](const LoadFigures& goal, reports::LoadFigure prompts) {
        const double reached =
            server.gpu ? server.profile.weight_bytes_per_s / (server.gpu->memory_bytes_per_s * server.ranks)
                       : 1;
        const double least = least_memory_share(server, reached);
        const double most = server.gpu ? 1 / reached : 1e4;
        const auto fit_to = [&](const sim::Profile& base) {
            return fitted_factors(
                [&](const sim::SpeedFactors& tried) {
                    return figures_at(sim::with_speeds(base, tried), fitted.load);
                },
                goal, least, most, base.step_s, prompts);
        };
        auto factors = fit_to(server.profile);
        sim::Profile profile = sim::with_speeds(server.profile, factors);
        if (server.gpu && profile.request_s > 0 && speeds_of(server, profile).linear_share > 1.0) {
            // No GPU computes prompts so fast: this server begins a request at once.
            sim::Profile at_once = server.profile;
            at_once.request_s = 0;
            factors = fit_to(at_once);
            profile = sim::with_speeds(at_once, factors);
        }
        constexpr double kAtBound = 1.001;
        if (server.gpu || factors.memory > least * kAtBound) return profile;
        return with_lone_rows(std::move(profile),
                              fitted.result.throughput.at(figure::kMeanInFlight).value_or(fitted.load));
    };

    reports::ServerFit result{.run = fitted.directory.string(),
                              .axis = is_closed(fitted) ? "c" : "req/s",
                              .load = fitted.load,
                              .measured = reports::load_figures_of(fitted.result)};
    if (!result.measured.itl_p50_s)
        throw UsageError(
            fmt::format("{}: the run has no inter-token latency, to which speeds could be fitted",
                        fitted.directory.string()));
    const Provenance& from = fitted.result.provenance;
    const std::string engine = engine_of(fitted.result);
    result.again = shell_line(words_without_load(fitted.result.plan));
    result.equal_lengths = is_closed(fitted) && reports::has_equal_lengths(fitted.result);
    result.server = fmt::format("{}{}, {} on {}", server.model.name, engine.empty() ? "" : " on " + engine,
                                server.model.weight_dtype, server.gpu ? server.gpu->title : from.hardware);
    if (server.gpu) {
        result.usual = speeds_of(server, server.profile);
        result.before = figures_at(server.profile, fitted.load);
    }
    reports::LoadFigure prompts = &LoadFigures::ttft_p50_s;
    sim::Profile profile = fit(result.measured, prompts);
    result.after = figures_at(profile, fitted.load);
    if (contradicts(result.after, result.measured, is_closed(fitted))) {
        // The median depends on how many prompts happen to begin together; the throughput has all of them.
        prompts = &LoadFigures::output_tokens_per_s;
        profile = fit(result.measured, prompts);
        result.after = figures_at(profile, fitted.load);
        result.by_throughput = true;
    }
    // Without intervals, the ends are the fitted server itself.
    const auto fit_to_end = [&](bool slow) {
        const LoadFigures goal = reports::at_interval_end(fitted.result, slow);
        return goal == result.measured ? profile : fit(goal, prompts);
    };
    const sim::Profile fast = fit_to_end(false);
    const sim::Profile slow = fit_to_end(true);
    result.speeds = speeds_of(server, profile);
    for (const double load : loads_to_predict(options, levels, fitted)) {
        const LoadFigures predicted = figures_at(profile, load);
        const auto figures_of = [&](const sim::Profile& end) {
            return end == profile ? predicted : figures_at(end, load);
        };
        result.levels.push_back(level_of(load, predicted, figures_of(fast), figures_of(slow)));
        result.levels.back().measured = measured_at(levels, load);
    }
    for (const MeasuredLevel& level : levels) {
        const auto is_of_this = [&](const PredictedLevel& one) { return one.load == level.load; };
        if (level.load == fitted.load || std::ranges::any_of(result.levels, is_of_this) ||
            std::ranges::any_of(result.others, is_of_this))
            continue;
        result.others.push_back({.load = level.load,
                                 .predicted = figures_at(profile, level.load),
                                 .measured = reports::load_figures_of(level.result)});
    }
    reports::widen_ranges(result);
    const std::filesystem::path file = options.directory / kProfileName;
    reports::write_file_atomically(file, sim::profile_text(profile));
    result.profile = file.string();
    return result;
}

}  // namespace paretoken::experiments
