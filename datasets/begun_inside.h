#pragma once
// Jobs that begin in their middle, so that a closed loop of jobs does not begin with all of them at their
// first turns. The turns before are left out, but for one primer turn of each agent that goes on, whose
// prompt a cache then has. Primers ask for one token.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/dataset.h"

namespace paretoken::datasets {

/// The shares of a job's turns between which it begins, drawn uniformly.
struct BeginShares {
    double low = .25;
    double high = .75;

    bool operator==(const BeginShares&) const = default;
};

/// Reads "0.25..0.75", or "0.5" for always the same. Throws UsageError unless 0 ≤ low ≤ high < 1.
BeginShares parse_begin_shares(std::string_view text);

/// A job without its first turns.
struct CutJob {
    JobGraph graph;
    std::vector<std::uint32_t> turns;  ///< the turn of the whole job that each turn is
};

/// Leaves out the first `before` turns of a job; at least one turn must be left. JobGraph::primers is the
/// number of primer turns, which come first and start together. A turn that waited for a turn that is left
/// out waits for its agent's primer instead, or for the first primer if it has none.
CutJob cut_job(const JobGraph& whole, std::uint32_t before);

/// Returns the dataset with its first `jobs` jobs begun inside. Throws UsageError
/// if the dataset states no jobs, or if turns of these jobs continue the server's answers.
std::unique_ptr<Dataset> begun_inside(std::unique_ptr<Dataset> dataset, const BeginShares& shares,
                                      std::uint64_t seed, std::uint64_t jobs);

}  // namespace paretoken::datasets
