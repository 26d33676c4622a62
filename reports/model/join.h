#pragma once
// Joins runs, micro results, a model card and price cards into everything a report shows. Pure: reads no file
// and no clock. A limit is only ever held against runs of the hardware it describes; what is missing is said,
// with the flag that adds it.
#include <optional>
#include <string>
#include <vector>

#include "cards/model.h"
#include "cards/price.h"
#include "core/slo.h"
#include "reports/micro/micro_results.h"
#include "reports/model/report_model.h"

namespace paretoken::reports {

struct LoadedRun {
    std::string directory;
    RunResult result;
};

struct JoinOptions {
    std::string title = "Cost and performance";
    std::string generated_at;               ///< UTC, "2026-11-21T09:38:00Z"
    std::vector<MicroResults> micro;        ///< --micro, one per device (read_micro_results)
    std::string micro_note;                 ///< how `micro` was found where --micro did not name it
    std::optional<cards::ModelCard> model;  ///< --model-card
    std::optional<std::string>
        gpu;  ///< --gpu NAME[xN]: what real runs ran on, what simulated ones are priced as
    std::vector<cards::PriceCard> prices;  ///< --price; the first card that knows the hardware is used
    std::optional<std::string> basis;      ///< --price-basis
    std::optional<double> split_ratio;     ///< --split-ratio: an output token costs this many input tokens
    double cached_ratio = 0.1;             ///< in that split, a cached input token costs this many fresh ones
    std::vector<std::string> slo_texts = {};  ///< the limits below as they were written
    std::vector<Slo>
        slos;  ///< --slo, on a percentile (p90 unless said); a point that misses one leaves the front
};

/// Runs grouped into configurations in order of first appearance, points by load. Throws UsageError when a
/// card has no price on the basis asked for, or `gpu` cannot be read or contradicts a run's own number of
/// GPUs.
ReportModel build_report(std::vector<LoadedRun> runs, const JoinOptions& options);

}  // namespace paretoken::reports
