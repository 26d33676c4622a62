#include "core/plan/rows/rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/plan/rows/value.h"
#include "core/result/result.h"
#include "core/result/slo.h"

namespace paretoken::rows {
namespace {

using enum FieldKind;
using enum FieldType;

void known_rules(const std::string& text) {
    if (std::ranges::find(kBenchmarks, text) == kBenchmarks.end())
        throw UsageError(fmt::format("'{}': known are {}", text, fmt::join(kBenchmarks, ", ")));
}

void known_requirement(const std::string& text) {
    if (text != "met") throw UsageError(fmt::format("'{}': expected met", text));
}

void known_host_noise(const std::string& text) {
    if (text != "accept") throw UsageError(fmt::format("'{}': expected accept", text));
}

/// Sets SLOs. One text may hold several, as in other tools: "ttft:500 tpot:15".
void set_goodput(LoadPlan& plan, std::size_t request_class, const Texts& texts) {
    std::vector<std::string>& slos = plan.classes[request_class].goodput;
    slos.clear();
    for (const std::string& text : texts) {
        for (std::string& slo : slo_texts_in(text)) {
            (void)parse_goodput_slo(slo);
            slos.push_back(std::move(slo));
        }
    }
}

/// Sets limits. One text may hold several; the name of a preset means the limits in it.
void set_slos(LoadPlan& plan, std::size_t, const Texts& texts) {
    plan.slos.clear();
    for (const std::string& text : texts)
        for (std::string& slo : slo_texts(text)) plan.slos.push_back(std::move(slo));
}

/// Reads "10%" or 0.1.
void set_max_failed(LoadPlan& plan, std::size_t, const Texts& texts) {
    std::string_view text = only(texts);
    const bool percent = text.ends_with('%');
    if (percent) text.remove_suffix(1);
    const double share = parse_number(text) / (percent ? 100 : 1);
    if (!(share >= 0 && share <= 1)) {
        throw UsageError(fmt::format("'{}': expected a share of the requests, from 0% to 100% or from 0 to 1",
                                     texts.front()));
    }
    plan.max_failed = share;
}

constexpr std::array kResultRows = {
    PlanField{.name = "probe",
              .kind = measuring,
              .help = "Questions with known answers that are asked after the load at temperature 0: a file "
                      "of JSON lines ({\"prompt\": …, \"expect\": {\"contains\": …}}), or recall:ctx=4k,n=40 "
                      "for values to be found in long texts. The share of right answers is the run's quality",
              .value = member<&LoadPlan::probe>},
    PlanField{.name = "out",
              .synonyms = "--result-dir:vllm --artifact-dir:aiperf --output-artifact-dir:aiperf -o:aiperf",
              .help =
                  "Directory to save the result in, new or without a result: run and sweep do not replace a "
                  "result, and a sweep continues its own [runs/TIME]",
              .value = member<&LoadPlan::out>},
    PlanField{.name = "overwrite",
              .help = "Replace the result that --out holds",
              .value = member<&LoadPlan::overwrite>},
    PlanField{.name = "keep_answers",
              .help = "Keep the texts of the answers, in answers.jsonl",
              .value = member<&LoadPlan::keep_answers>},
    PlanField{.name = "metadata",
              .help = "NAME=VALUE to keep with the result; may be repeated",
              .value = member<&LoadPlan::metadata>},
    PlanField{.name = "gpu",
              .kind = measuring,
              .help = "Serving hardware, as NAME[xN] (h100, h200x2). A report chooses limits and prices by "
                      "it [for a local server: this machine's CPU]",
              .value = member<&LoadPlan::gpu>},
    PlanField{.name = "model_card",
              .kind = measuring,
              .help = "Served model: a known model, a config.json or a GGUF file. "
                      "llama-3.1-8b:weights=int4,kv=fp8 states number formats that differ from those of the "
                      "card. A report takes limits and labels from it",
              .value = member<&LoadPlan::model_card>},
    PlanField{.name = "goodput",
              .kind = judging,
              .words = true,
              .help = "Limits that a request must meet to count as good, in ms: ttft:500 tpot:15 e2e:2000, "
                      "and those of a job of agents: job:60s (--slo sets limits on percentiles)",
              .value = with_set(member<&RequestClass::goodput>, set_goodput)},
    PlanField{.name = "slo",
              .kind = judging,
              .help = "Limit on a percentile: ttft_p95:800 (ms), or in quotes 'ttft_p95<800ms' (p90 if no "
                      "percentile is given), job_p95:60s for jobs of agents, or a preset: @chat, "
                      "@mlperf:MODEL, @mlperf:MODEL:interactive; may be repeated",
              .value = with_set(member<&LoadPlan::slos>, set_slos)},
    PlanField{.name = "rules",
              .kind = judging,
              .help = "Benchmark whose rules the result is held against: agentx or mlperf-agentic; --recipe "
                      "sets the options that they ask for",
              .value = checked<known_rules, &LoadPlan::rules>},
    PlanField{.name = "require",
              .help = "met: end with exit code 5 if a limit (--slo) is not shown at 99 % to be met; without "
                      "it, a load that is measured within its limits is enough",
              .value = checked<known_requirement, &LoadPlan::require>},
    PlanField{.name = "max_failed",
              .kind = judging,
              .help = "Share of requests that may fail before a run is invalid: 10% or 0.1",
              .value = with_set(member<&LoadPlan::max_failed>, set_max_failed)},
    PlanField{.name = "host_noise",
              .kind = judging,
              .help = "accept: delays of the client and its host, which may have changed figures, make a run "
                      "warn instead of invalid",
              .value = checked<known_host_noise, &LoadPlan::host_noise>},
    PlanField{.name = "alerts",
              .kind = judging,
              .help = "JSON file of alerts that replace the default ones, which `paretoken export --format "
                      "alerts` prints",
              .value = member<&LoadPlan::alerts>},
    PlanField{.name = "baseline",
              .kind = judging,
              .help = "Runs with which alerts compare this one: a run directory, or a directory of several, "
                      "which `paretoken run` measured with the same options",
              .value = member<&LoadPlan::baseline>},
};

}  // namespace

std::span<const PlanField> result_rows() {
    return kResultRows;
}

}  // namespace paretoken::rows
