#pragma once
// Labels say what distinguishes one server from another where the model's name and the hardware do not: what
// the user said with --metadata, and what the run knows. Runs that agree in hardware, model, workload and the
// labels that are grouped by are points of one curve. Pure.
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cards/model.h"
#include "reports/model/loaded_run.h"
#include "reports/model/report_model.h"

namespace paretoken::reports {

/// --metadata, what the sweep varied besides the workload, and what the run knows: model, hardware, gpus,
/// engine, speculation, and the model card's weights and kv. What the user said goes before what is known.
Labels labels_of(const LoadedRun& run);

/// Every label of the runs with its values, in words.
std::string known_labels(const std::vector<LoadedRun>& runs);

/// A model card for the runs that have all of these labels; for every run where there are none.
struct CardChoice {
    Labels selector = {};
    std::string text = {};  ///< as it was given, for messages
    cards::ModelCard card = {};
};

/// "precision=q8_0:FILE", "precision=q8_0,threads=2:CARD" or a card alone; text before the first colon that
/// has an equals sign selects.
struct CardSpec {
    Labels selector;
    std::string card;
};
CardSpec parse_card_spec(const std::string& text);

/// The card among `choices` that selects this run; nothing when none does. Throws UsageError when two do.
const cards::ModelCard* selected_card(const LoadedRun& run, const std::vector<CardChoice>& choices);

/// Throws UsageError for a selector that selects none of the runs, with the labels that there are.
void refuse_unmatched(const std::vector<LoadedRun>& runs, const std::vector<CardChoice>& choices);

/// Runs of one curve, and the labels that set it apart.
struct RunGroup {
    Labels labels;
    std::vector<LoadedRun> runs;
};

/// In order of first appearance. `hardware_of` names hardware so that spellings of one GPU are the same.
/// Without `by`: every label that differs between sweeps and is constant within each (a cell of a sweep, and
/// a run on its own, count as a sweep). Throws UsageError for a label in `by` that no run has.
std::vector<RunGroup> grouped_runs(std::vector<LoadedRun> runs,
                                   const std::optional<std::vector<std::string>>& by,
                                   std::string (*hardware_of)(std::string_view));

/// "precision=q8_0, threads=2"; labels whose value stands as a word in the text `said` are left out, but for
/// numbers.
std::string text_of(const Labels& labels, std::string_view said = {});

/// Gives every configuration the shortest name that tells it from the others: nothing when it is alone.
void name_configurations(std::vector<Configuration>& configurations);

}  // namespace paretoken::reports
