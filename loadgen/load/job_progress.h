#pragma once
// How far a job has come. Invariant: every turn is released once or skipped once. A turn is skipped if the
// turn before it in its agent, or the turn whose history it inherits, failed or was skipped, or if all turns
// that it waits for did; it counts as ended for those that wait for it.
#include <cstdint>
#include <memory>
#include <vector>

#include "core/units.h"
#include "datasets/job.h"

namespace paretoken::loadgen {

class JobProgress {
  public:
    /// `graph` must have at least one turn.
    explicit JobProgress(std::shared_ptr<const datasets::JobGraph> graph);

    const datasets::JobGraph& graph() const { return *graph_; }
    const std::shared_ptr<const datasets::JobGraph>& shared_graph() const { return graph_; }

    /// Returns the turns that start with the job besides the first.
    std::vector<std::uint32_t> with_the_first() const;

    /// Notes that a turn, which was released, has ended at `at`. Returns the turns that may start now,
    /// ascending. Ends may be reported in another order than that of their times.
    std::vector<std::uint32_t> ended(std::uint32_t turn, bool ok, TimePoint at = {});

    /// Returns the latest end of the turns that a turn waits for, of those that were reported.
    TimePoint latest_end_before(std::uint32_t turn) const { return latest_end_[turn]; }

    bool is_over() const { return left_ == 0; }

  private:
    enum class State : std::uint8_t { waiting, released, ended, lost };
    void leave(std::uint32_t turn, bool ok, TimePoint at);
    bool is_lost_by(std::uint32_t turn, std::uint32_t lost) const;

    std::shared_ptr<const datasets::JobGraph> graph_;
    std::vector<std::vector<std::uint32_t>> waiting_;  ///< turns that wait for each turn
    std::vector<std::uint32_t> unended_;               ///< number of turns that each turn still waits for
    std::vector<State> states_;
    std::vector<TimePoint> latest_end_;  ///< latest reported end of the turns that each turn waits for
    std::vector<bool> has_cause_;        ///< whether a turn that it waits for has ended well
    std::vector<bool> is_lost_;          ///< whether it is to be skipped in any case
    std::vector<std::uint32_t> freed_;
    std::size_t left_;
};

}  // namespace paretoken::loadgen
