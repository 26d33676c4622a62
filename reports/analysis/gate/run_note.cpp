#include "reports/analysis/gate/run_note.h"

#include <utility>

#include "core/units.h"
#include "reports/analysis/gate/shares.h"

namespace paretoken::reports {
namespace {

std::optional<double> value_in(const GateRun& run, const GateQuantity& quantity) {
    if (is_share(quantity.kind)) {
        const Failures counts = counted(std::span(&run, 1), quantity);
        return counts.requests > 0 ? std::optional(counts.share()) : std::nullopt;
    }
    const GateValue found = value_of(quantity, run.result);
    return found.among_failures ? std::optional(kInfinity) : found.value;
}

GateRunNote note_of(const GateRun& run, bool of_candidate, std::span<const GateRow> rows) {
    GateRunNote note{.of_candidate = of_candidate,
                     .directory = run.directory,
                     .started_at = run.result.provenance.started_at,
                     .verdict = run.result.validity.verdict};
    for (const GateRow& row : rows)
        if (const auto value = value_in(run, quantity_named(row.metric))) note.values[row.metric] = *value;
    return note;
}

}  // namespace

std::vector<GateRunNote> run_notes_of(std::span<const GateRun> baseline, std::span<const GateRun> candidate,
                                      std::span<const GateRow> rows) {
    std::vector<GateRunNote> notes;
    for (const auto& [runs, of_candidate] : {std::pair{baseline, false}, std::pair{candidate, true}})
        for (const GateRun& run : runs) notes.push_back(note_of(run, of_candidate, rows));
    return notes;
}

}  // namespace paretoken::reports
