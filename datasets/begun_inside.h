#pragma once
// Jobs that begin in their middle, so that a closed loop of jobs does not begin with all of them at their
// first turns. Of the turns before, only primers and some turns without pauses are sent, for one token.
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "datasets/dataset.h"
#include "datasets/job.h"

namespace paretoken::datasets {

struct BeginShares {
    double low = .25;  ///< the share of a job's turns is drawn uniformly from `low` to `high`
    double high = .75;
    std::uint32_t further = 0;  ///< number of turns after the primers that only prepare the server's cache

    bool operator==(const BeginShares&) const = default;
};

/// Reads "0.25..0.75+10" or "0.5" (always, without further turns), 0 ≤ low ≤ high < 1. Throws UsageError.
BeginShares parse_begin_shares(std::string_view text);

struct CutJob {
    JobGraph graph;
    std::vector<std::uint32_t> turns;  ///< the turn of the whole job that each turn is
};

/// Leaves out the first `before` turns of a job, but not all. Primer turns start together; turns wait for
/// their agent's primer, or the first one, in place of turns that are left out. The next `further` turns, but
/// for the job's last, lose their pauses; JobGraph::primers counts these too.
CutJob cut_job(const JobGraph& whole, std::uint32_t before, std::uint32_t further = 0);

/// Returns the dataset with its first `jobs` jobs begun inside. Throws UsageError
/// if the dataset states no jobs, or if turns of these jobs continue the server's answers.
std::unique_ptr<Dataset> begun_inside(std::unique_ptr<Dataset> dataset, const BeginShares& shares,
                                      std::uint64_t seed, std::uint64_t jobs);

}  // namespace paretoken::datasets
