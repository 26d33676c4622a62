#pragma once
// Groups runs into curves. The runs of a curve have the same hardware, model and workload, and equal values
// of some labels (name=value), which come from the user (--metadata) and from the run.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cards/model.h"
#include "reports/analysis/model/loaded_run.h"
#include "reports/analysis/model/report_model.h"

namespace paretoken::reports {

/// The labels of a run that have a value: --metadata, then the options that the sweep varied (but lengths,
/// dataset and endpoint), then facts: model, hardware, gpus, engine, speculation, cancel, weights and kv.
Labels labels_of(const LoadedRun& run);

/// The labels of all runs with their values, for messages: "model=a|b, threads=2".
std::string known_labels(const std::vector<LoadedRun>& runs);

/// A model card for the runs that have all of these labels, or for every run if there are no labels.
struct CardChoice {
    Labels selector = {};
    std::string text = {};  ///< text as the user wrote it, for messages
    cards::ModelCard card = {};
};

/// A parsed --model-card: "precision=q8_0,threads=2:CARD" or a card alone. parse_card_spec() throws
/// UsageError for a selector that is no list of LABEL=VALUE, and without a card.
struct CardSpec {
    Labels selector;
    std::string card;
};
CardSpec parse_card_spec(const std::string& text);

/// The card for this run among `choices`: the one whose selector fits the run, otherwise the one without a
/// selector; null if there is neither. Throws UsageError if two are equally good.
const cards::ModelCard* selected_card(const LoadedRun& run, const std::vector<CardChoice>& choices);

/// Throws a UsageError that lists the labels if a selector fits none of the runs.
void refuse_unmatched(const std::vector<LoadedRun>& runs, const std::vector<CardChoice>& choices);

/// The runs of one curve, and the labels that set the curve apart from others.
struct RunGroup {
    Labels labels;
    std::vector<LoadedRun> runs;
};

/// Groups runs into curves in order of first appearance, with equal hardware (by `hardware_of`), model,
/// workload and labels in `by`; if that is absent, the labels that are constant within each sweep (or cell)
/// and differ between them. Throws UsageError for a label in `by` that no run has.
std::vector<RunGroup> grouped_runs(std::vector<LoadedRun> runs,
                                   const std::optional<std::vector<std::string>>& by,
                                   std::string (*hardware_of)(std::string_view));

/// Labels as text: "precision=q8_0, threads=2". A label is left out if its value is a word of the text
/// `said`, which the reader sees beside the labels. A value without a letter (a number) is never left out.
std::string text_of(const Labels& labels, std::string_view said = {});

/// Names configurations by the parts that differ (the workload if needed); one alone: empty.
void name_configurations(std::vector<Configuration>& configurations);

}  // namespace paretoken::reports
