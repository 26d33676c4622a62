#pragma once
// Fits a simulated server to one measured level of a real one, and predicts other levels with it, in virtual
// time. reports/analysis/plan/server_fit.h says what the figures are.
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "experiments/server/provenance.h"
#include "reports/analysis/plan/server_fit.h"
#include "simulator/engine/fitted_profile.h"

namespace paretoken::experiments {

/// Finds the factors with which `simulate` gives the inter-token latency and the figure `prompts` of `goal`
/// (without it arithmetic keeps factor 1). The rest is put on the fixed time of a step, first `step_s`.
sim::SpeedFactors fitted_factors(
    const std::function<reports::LoadFigures(const sim::SpeedFactors&)>& simulate,
    const reports::LoadFigures& goal, double least_memory, double most_memory, double step_s,
    reports::LoadFigure prompts = &reports::LoadFigures::ttft_p50_s);

struct FitOptions {
    std::filesystem::path run = {};  ///< a run, or a sweep
    std::string model_card = {};     ///< replaces the card that the run names
    std::string gpu = {};            ///< replaces the hardware that the run names
    std::vector<double> loads =
        {};  ///< levels to predict; empty: those of the sweep, else some around the run's
    std::filesystem::path directory = {};  ///< for the simulated runs and the profile
};

/// Throws UsageError naming what the run lacks: a model card, one class of requests, a time per token.
reports::ServerFit fit_server(const FitOptions& options, const Invocation& invocation,
                              const std::stop_token& stop);

}  // namespace paretoken::experiments
