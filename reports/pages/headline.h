#pragma once
// The closing summary of a run: at most 12 entries, the verdict first, in lines of 80 columns. run_summary()
// (reports/pages/console.h) has everything else. The functions are pure.
#include <optional>
#include <string>
#include <vector>

#include "cards/price.h"
#include "core/result/result.h"
#include "reports/pages/console.h"

namespace paretoken::reports {

/// What a million output tokens costs on a run's hardware, by the first price card that has this hardware.
struct HeadlineCost {
    double usd_per_m_output = 0;
    std::string hardware;      ///< entry of the card, with the number of devices: "2 × h100-sxm"
    double usd_per_h = 0;      ///< of all devices
    std::string basis;         ///< "on_demand"
    std::string card;          ///< "2026-11-cloud"
    double earning_share = 1;  ///< share of the time in which the devices earn, by the card

    bool operator==(const HeadlineCost&) const = default;
};

/// Returns whether it is known how many requests failed; a summary of another program may not tell.
bool tells_failures(const RunResult& result);

/// Nothing if the hardware is not known, no card has it, or no token came.
std::optional<HeadlineCost> headline_cost(
    const RunResult& result, const std::vector<cards::PriceCard>& prices = cards::default_price_cards());

/// "2 × h100-sxm at $5.90/h, 2026-11-cloud", and earning_text().
std::string price_text(const HeadlineCost& cost);

/// The summary. `next` is the command to use next, which stands on a line of its own and is not broken.
std::string run_headline(const RunResult& result, const std::optional<HeadlineCost>& cost,
                         const std::string& next, const ConsoleStyle& style = {});

/// The first line of run_headline(): the verdict, the model, the load, the requests and the time.
std::string verdict_line(const RunResult& result, const ConsoleStyle& style = {});

std::string coloured(const std::string& text, Verdict verdict, const ConsoleStyle& style);

/// "after 12.3 s by --stop tokens: 5000 output tokens came"; empty if no rule ended the run before its
/// requests and its duration, or if a reason of its validity says it.
std::string stop_text(const RunResult& result);

/// "40 ok, 2 failed, 30 good · p50 12.3 s, p95 40.2 s · 71 % outside tools · 120 jobs/h", of a run with jobs.
std::string jobs_text(const RunResult& result);

/// "agentx: all kept", or "agentx: not kept: duration (at least 900 s; it lasted 12 s); seed (…)".
std::string rules_text(const BenchmarkRules& rules);

/// "E2E-normalized p90 61.2 tok/s (InferenceX) · E2E 83.4 tok/s (MLPerf)"; empty if neither is known.
std::string interactivity_text(const JobResults& jobs);

}  // namespace paretoken::reports
