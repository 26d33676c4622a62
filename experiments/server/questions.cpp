#include "experiments/server/questions.h"

#include <fmt/format.h>

#include "core/error.h"
#include "datasets/catalog.h"
#include "datasets/questions.h"

namespace paretoken::experiments {

bool probe_makes_prompts(const LoadPlan& asked) {
    return !asked.probe.empty() && datasets::makes_prompts(datasets::questions_of(asked.probe).dataset);
}

void check_probe(const LoadPlan& asked, std::optional<std::int64_t> context) {
    if (asked.probe.empty()) return;
    const datasets::Questions questions = datasets::questions_of(asked.probe);
    const auto dataset = datasets::make_dataset({.spec = questions.dataset, .path = questions.path});
    const double tokens =
        dataset->mean_input_tokens().value_or(0) + dataset->mean_output_tokens().value_or(0);
    if (!context || tokens <= static_cast<double>(*context)) return;
    throw UsageError(
        fmt::format("--probe {}: a prompt and its answer have {:.0f} tokens together, but the server's "
                    "context for a request has {}; use shorter questions, or recall with a smaller ctx",
                    asked.probe, tokens, *context));
}

}  // namespace paretoken::experiments
