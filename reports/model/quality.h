#pragma once
// How well a configuration answers, as the user measured or states it. A configuration only dominates another
// one where it is not certainly worse, and quality that nobody stated is never taken to be equal where number
// formats differ: otherwise a broken quantization would win. Pure.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cards/model.h"
#include "core/units.h"
#include "reports/model/loaded_run.h"
#include "reports/model/report_model.h"

namespace paretoken::reports {

/// A score for the runs that have all of the labels.
struct QualityScore {
    Labels selector;
    double score = 0;  ///< share of answers that were right
    double n = 0;      ///< answers that were scored
    std::string source;

    bool operator==(const QualityScore&) const = default;
};

/// A JSON array of {"label": "precision=q8_0", "score": 0.61, "n": 500}, or what lm-evaluation-harness wrote
/// of one model, which is for the runs that `selector` names. Throws UsageError naming what is missing.
std::vector<QualityScore> parse_quality(std::string_view json, const std::string& where,
                                        const Labels& selector = {});

/// Wilson's 95 % interval of a share.
Interval quality_interval(double score, double n);

/// The quality that was measured of this run's configuration: a score of `scores`, else that of the run's own
/// probe. Throws UsageError when two scores are for it.
std::optional<Quality> quality_of(const LoadedRun& run, const std::vector<QualityScore>& scores);

/// Throws UsageError for a score that is for none of the runs.
void refuse_unmatched(const std::vector<LoadedRun>& runs, const std::vector<QualityScore>& scores);

/// Number formats that quality depends on: the labels weights, kv, precision and quantization, in words.
std::string precision_of(const LoadedRun& run, const cards::ModelCard* card);

}  // namespace paretoken::reports
