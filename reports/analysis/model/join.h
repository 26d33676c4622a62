#pragma once
// Computes everything that a report shows from runs, results of `paretoken micro`, a model card and price
// cards. A limit is compared only with runs on the hardware that it describes. If an input is missing, the
// report names it and the option that adds it. The functions are pure: they read no file and no clock.
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cards/model.h"
#include "cards/price.h"
#include "core/result/slo.h"
#include "reports/analysis/cache/picture.h"
#include "reports/analysis/cost/cost.h"
#include "reports/analysis/micro/micro_results.h"
#include "reports/analysis/model/labels.h"
#include "reports/analysis/model/loaded_run.h"
#include "reports/analysis/model/quality.h"
#include "reports/analysis/model/report_model.h"
#include "reports/analysis/model/search.h"
#include "reports/analysis/model/what_if.h"

namespace paretoken::reports {

struct JoinOptions {
    std::string title = {};           ///< of the page; if it is empty, answer_title() (answer.h)
    std::string generated_at;         ///< time in UTC: "2026-11-21T09:38:00Z"
    std::vector<MicroResults> micro;  ///< --micro, one per device (read_micro_results)
    std::string micro_note;           ///< sentence on how `micro` was found; empty if --micro named it
    std::vector<LoadedSearch> searches = {};  ///< searches of the sweeps whose points the runs are
    std::vector<LoadedCache> caches = {};     ///< experiments on prefix caching
    std::vector<CardChoice> models;           ///< --model-card
    std::map<std::string, cards::ModelCard>
        known_models;  ///< cards that the runs name (run --model-card), by content_hash_of
    /// Reads a card with other number formats, for `what_ifs`. Throws UsageError.
    std::function<cards::ModelCard(const std::string& spec, const cards::ModelCardOptions& formats)> card_of;
    std::vector<WhatIfSpec> what_ifs;  ///< --what-if
    /// Simulates deployments of `what_ifs` on GPUs with a card; if it is empty, nothing is simulated.
    SimulatedRate simulated_rate = {};
    std::optional<std::vector<std::string>> group_by;  ///< --group-by; if absent, grouped_runs() chooses
    std::optional<std::string> gpu;        ///< --gpu NAME[xN]: hardware of runs that name no known GPU
    std::vector<cards::PriceCard> prices;  ///< --price; the first card with a price for the hardware is used
    std::optional<std::string> basis;      ///< --price-basis
    SplitRule split;                       ///< --split
    std::optional<AskedDemand> demand = {};       ///< --demand, --target-utilization
    std::optional<double> target_usd_per_m;       ///< --target-usd-per-m: target price of output tokens
    std::map<std::string, cards::ApiPrice> apis;  ///< API prices to compare with, by name
    std::vector<QualityScore> quality;            ///< --quality
    bool quality_equal = false;               ///< --quality same: the user says that all answer equally well
    bool anyway = false;                      ///< --anyway: compare configurations although they differ
    std::size_t front_x = 0;                  ///< --x: index in front_xs()
    bool over_time = false;                   ///< --x date
    std::size_t front_y = 0;                  ///< --y: index in front_ys()
    std::vector<std::string> slo_texts = {};  ///< limits in `slos` as the user wrote them
    /// --slo: limits on percentiles. A point that is not shown to meet all is on no front. Otherwise those of
    /// --goodput, or those of the searches, if all have the same ones.
    std::vector<Slo> slos;
};

/// Groups runs into configurations in order of first appearance, with their points by load, closed loops
/// first. Throws UsageError when a card has no price on the basis, `gpu` is wrong or contradicts a run, or
/// model cards, `--split mixes`, labels or quality scores do not fit.
ReportModel build_report(std::vector<LoadedRun> runs, const JoinOptions& options);

}  // namespace paretoken::reports
