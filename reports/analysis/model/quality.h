#pragma once
// The quality of a configuration's answers, from --quality or --probe. Where number formats differ, qualities
// that were not measured are never assumed to be equal, because a faulty quantization would then win.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cards/model.h"
#include "reports/analysis/model/loaded_run.h"
#include "reports/analysis/model/report_model.h"

namespace paretoken::reports {

/// A score for the runs that have all labels of `selector`.
struct QualityScore {
    Labels selector;
    double score = 0;    ///< share of answers that were right, 0 to 1
    double n = 0;        ///< number of answers that were scored
    std::string source;  ///< file of the score

    bool operator==(const QualityScore&) const = default;
};

/// Reads quality scores: an array of {"label": "precision=q8_0", "score": 0.61, "n": 500}, with an empty
/// `selector`; or a result file of lm-evaluation-harness, whose score applies to the runs with the labels
/// `selector`. That is the mean over the tasks (acc, exact_match or acc_norm), weighted by their numbers of
/// answers. Throws a UsageError that names `where` and what is missing.
std::vector<QualityScore> parse_quality(std::string_view json, const std::string& where,
                                        const Labels& selector = {});

/// The measured quality for this run: the score in `scores` whose labels the run has, otherwise the score of
/// the run's own probe; nothing if there is neither. Throws UsageError when two scores are for the run.
std::optional<Quality> quality_of(const LoadedRun& run, const std::vector<QualityScore>& scores);

/// Whether two scores are shares of right answers to the same questions; other scores cannot be compared.
bool are_comparable(const std::optional<Quality>& a, const std::optional<Quality>& b);

/// Whether the scores can be compared and the interval of `a` ends below that of `b`.
bool is_certainly_worse(const std::optional<Quality>& a, const std::optional<Quality>& b);

/// "60.0 % right"
std::string right_text(const Quality& quality);

/// "60.0 % of its 1,000 answers are right (95 % interval 56.9 to 63.0 %). They are certainly worse than those
/// of weights=bf16 (80.0 % right)."; `worse_than` is Choice::worse_than, without which one sentence is left.
std::string quality_text(const Quality& quality, const std::string& worse_than);

/// Throws UsageError for a score whose labels none of the runs has.
void refuse_unmatched(const std::vector<LoadedRun>& runs, const std::vector<QualityScore>& scores);

/// The number formats that quality depends on, in words: the run's labels weights, kv, precision and
/// quantization. `card` replaces the labels weights and kv if it is not null.
std::string precision_of(const LoadedRun& run, const cards::ModelCard* card);

}  // namespace paretoken::reports
