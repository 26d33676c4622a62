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

/// The labels of a run: --metadata, the options that the sweep varied (lengths, dataset and endpoint
/// excepted, which the title of the workload tells), and facts of the run: model, hardware, gpus (if more
/// than one), engine, speculation, cancel, and the model card's weights and kv. A label without a value is
/// left out. --metadata takes precedence over the sweep's options, and these over facts of the run.
Labels labels_of(const LoadedRun& run);

/// The labels of all runs with their values, for messages: "model=a|b, threads=2".
std::string known_labels(const std::vector<LoadedRun>& runs);

/// A model card for the runs that have all of these labels, or for every run if there are no labels.
struct CardChoice {
    Labels selector = {};
    std::string text = {};  ///< text as the user wrote it, for messages
    cards::ModelCard card = {};
};

/// A parsed --model-card: "precision=q8_0:FILE", "precision=q8_0,threads=2:CARD" or a card alone. The text
/// before the first colon is a selector if it has an equals sign. parse_card_spec() throws UsageError for a
/// selector that is not a list of LABEL=VALUE, and if no card follows it.
struct CardSpec {
    Labels selector;
    std::string card;
};
CardSpec parse_card_spec(const std::string& text);

/// The card for this run among `choices`: the one whose selector fits the run, otherwise the one without a
/// selector; null if there is neither. Throws UsageError if two are equally good.
const cards::ModelCard* selected_card(const LoadedRun& run, const std::vector<CardChoice>& choices);

/// Throws a UsageError that lists the existing labels if a selector fits none of the runs. Does nothing
/// without runs.
void refuse_unmatched(const std::vector<LoadedRun>& runs, const std::vector<CardChoice>& choices);

/// The runs of one curve, and the labels that set the curve apart from others.
struct RunGroup {
    Labels labels;
    std::vector<LoadedRun> runs;
};

/// Groups runs into curves, in order of first appearance. `hardware_of` returns the same name for all
/// spellings of one GPU. The runs of a curve have the same hardware, model and workload, and equal values of
/// the labels in `by`. If `by` is absent, these are the labels that are constant within each sweep and differ
/// between sweeps. For this rule, each cell of a sweep and each run outside a sweep counts as a sweep. Throws
/// UsageError for a label in `by` that no run has.
std::vector<RunGroup> grouped_runs(std::vector<LoadedRun> runs,
                                   const std::optional<std::vector<std::string>>& by,
                                   std::string (*hardware_of)(std::string_view));

/// Labels as text: "precision=q8_0, threads=2". A label is left out if its value is a word of the text
/// `said`, which the reader sees beside the labels. A value without a letter (a number) is never left out.
std::string text_of(const Labels& labels, std::string_view said = {});

/// Sets the names of configurations: the parts (hardware, model, labels, workload) that are not equal in all
/// of them. The workload is only added if a name would not be unique without it. A single configuration gets
/// an empty name.
void name_configurations(std::vector<Configuration>& configurations);

}  // namespace paretoken::reports
