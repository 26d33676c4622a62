#pragma once
// Joins runs, micro results, a model card and price cards into everything a report shows. Pure: reads no file
// and no clock. A limit is only ever held against runs of the hardware it describes; what is missing is said,
// with the flag that adds it.
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cards/model.h"
#include "cards/price.h"
#include "core/result/slo.h"
#include "reports/cache/picture.h"
#include "reports/micro/micro_results.h"
#include "reports/model/cost.h"
#include "reports/model/labels.h"
#include "reports/model/loaded_run.h"
#include "reports/model/quality.h"
#include "reports/model/report_model.h"
#include "reports/model/search.h"
#include "reports/model/what_if.h"

namespace paretoken::reports {

struct JoinOptions {
    std::string title = "Cost and performance";
    std::string generated_at;                 ///< UTC, "2026-11-21T09:38:00Z"
    std::vector<MicroResults> micro;          ///< --micro, one per device (read_micro_results)
    std::string micro_note;                   ///< how `micro` was found where --micro did not name it
    std::vector<LoadedSearch> searches = {};  ///< of the sweeps that runs are points of
    std::vector<LoadedCache> caches = {};     ///< experiments on prefix caching
    std::vector<CardChoice> models;           ///< --model-card
    std::map<std::string, cards::ModelCard>
        known_models;  ///< cards that runs name themselves (run --model-card), by content_hash_of
    /// Reads a card in other formats, for `what_ifs`; throws UsageError.
    std::function<cards::ModelCard(const std::string& spec, const cards::ModelCardOptions& formats)> card_of;
    std::vector<WhatIfSpec> what_ifs;                  ///< --what-if
    std::optional<std::vector<std::string>> group_by;  ///< --group-by; without: see grouped_runs()
    std::optional<std::string>
        gpu;  ///< --gpu NAME[xN]: what real runs ran on, what simulated ones are priced as
    std::vector<cards::PriceCard> prices;         ///< --price; the first card that knows the hardware is used
    std::optional<std::string> basis;             ///< --price-basis
    SplitRule split;                              ///< --split
    std::optional<double> target_usd_per_m;       ///< --target-usd-per-m, of output tokens
    std::map<std::string, cards::ApiPrice> apis;  ///< to compare with, by name
    std::vector<QualityScore> quality;            ///< --quality
    bool quality_equal = false;               ///< --quality same: the user says that all answer equally well
    bool anyway = false;                      ///< --anyway: hold against each other what differs
    std::size_t front_x = 0;                  ///< --x, place in front_xs()
    bool over_time = false;                   ///< --x date
    std::size_t front_y = 0;                  ///< --y, place in front_ys()
    std::vector<std::string> slo_texts = {};  ///< the limits below as they were written
    std::vector<Slo> slos;  ///< --slo, on a percentile (p90 unless said); a point that misses one leaves the
                            ///< front. Without: what the runs were judged by, where all have the same
};

/// Runs grouped into configurations in order of first appearance, points by load. Throws UsageError when a
/// card has no price on the basis asked for, or `gpu` cannot be read or contradicts a run's own number of
/// GPUs, and as labels.h does.
ReportModel build_report(std::vector<LoadedRun> runs, const JoinOptions& options);

}  // namespace paretoken::reports
