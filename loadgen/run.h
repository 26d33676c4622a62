#pragma once
// One run: workers make the load side by side, then their records are folded into a RunResult. Measuring
// prints nothing; folding is pure.
#include <optional>
#include <stop_token>
#include <vector>

#include "core/event_source.h"
#include "core/record_sink.h"
#include "core/request_table.h"
#include "core/result.h"
#include "core/slo.h"
#include "core/validity.h"
#include "loadgen/progress.h"
#include "loadgen/worker.h"

namespace paretoken::loadgen {

struct LoadOptions {
    Arrivals arrivals;
    std::optional<std::uint64_t>
        concurrency;  ///< in-flight cap over all workers; needed when arrivals are at once
    Pacing pacing;
    Limits limits;
    std::uint32_t workers = 1;
    std::uint64_t seed = 0;
    std::optional<TimePoint> began;  ///< the zero of the schedule; now, when not given
    WorkerOptions worker;            ///< what all workers have in common; `number` is set for each
};

/// What the workers brought back.
struct LoadOutcome {
    RequestTable records;
    std::vector<WorkerReport> workers;  ///< their records moved into `records`
    TimePoint began;
    std::optional<TimePoint> ran_dry;  ///< of the first worker that had nothing more to start
    double host_lost_share = 0;
    bool interrupted = false;
};

/// Blocks until the load has been made or `stop` was requested (then what is in flight is cancelled). Every
/// finished record goes to `sink` at once. Throws RuntimeError when this host cannot make it (no threads, no
/// descriptors).
LoadOutcome make_load(const LoadOptions& options, const datasets::Dataset& dataset, RecordSink& sink,
                      Progress& progress, const std::stop_token& stop);

struct FoldOptions {
    std::vector<Slo> slos;
    ValidityOptions validity = {};
};

/// `events`: of the requests in `outcome`. Fills counts, window, metrics, throughput, series, client,
/// validity, the load axis and achieved lengths of `result`; what only the command knows (provenance,
/// options, workload) is left as it is.
void fold_into(RunResult& result, const LoadOutcome& outcome, const EventSource& events,
               const LoadOptions& load, const FoldOptions& options);

}  // namespace paretoken::loadgen
