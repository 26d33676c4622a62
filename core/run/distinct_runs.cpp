#include "core/run/distinct_runs.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/text/content_hash.h"

namespace paretoken {

std::string identity_of(const RunResult& run) {
    const Provenance& from = run.provenance;
    if (!from.run_id.empty()) return from.run_id;
    if (from.started_at.empty() || from.command.empty()) return {};
    ContentHash hash;
    const auto add = [&hash](const std::string& text) {
        hash.add(text);
        hash.add("\n");
    };
    for (const std::string& text :
         {from.started_at, from.host, from.command, from.url, run.workload.fingerprint, run.workload.salt})
        add(text);
    for (const auto& [name, value] : run.plan) add(fmt::format("{}={}", name, value));
    add(fmt::format("{} {}", run.counts.requests, run.counts.ok));
    for (const MetricSummary& metric : run.metrics)
        add(fmt::format("{} {} {}", metric.key, metric.n, metric.mean.value_or(0)));
    return hash.text();
}

void DistinctRuns::add(const RunResult& run, const std::string& directory) {
    const std::string identity = identity_of(run);
    if (identity.empty()) return;
    const auto [known, is_new] = directories_.emplace(identity, directory);
    if (is_new) return;
    if (known->second == directory)
        throw UsageError(
            fmt::format("{} is given more than once, but a run counts once; give it once", directory));
    throw UsageError(fmt::format(
        "{} is the same run as {}, perhaps a copy of it, but a run counts once; leave one of them "
        "out, or measure another run",
        directory, known->second));
}

bool DistinctRuns::holds(const RunResult& run) const {
    return directories_.contains(identity_of(run));
}

}  // namespace paretoken
