#pragma once
// The other processes that make parts of the same load. A run asks them for what all must do together; how
// they hear of each other is the matter of experiments/fleet.
#include <filesystem>
#include <map>
#include <vector>

#include "core/plan/plan.h"
#include "core/plan/shard.h"
#include "core/units.h"

namespace paretoken::loadgen {
struct Progress;
class StopMonitor;
}  // namespace paretoken::loadgen

namespace paretoken::experiments {

class Companions {
  public:
    virtual ~Companions() = default;

    /// Returns whether this process decides what is measured, and joins the results.
    virtual bool leads() const = 0;

    /// Tells the others to make their parts of this load, which must have a salt, and returns the part of
    /// this process: {0, 1} for a load with a single slot.
    virtual Shard divide(const LoadPlan& asked) = 0;

    /// Waits until all are ready, and returns when their loads begin, on this process's clock. Throws an
    /// Error that names the shard that is not.
    virtual TimePoint begin() = 0;

    /// Tells the others how far this part has come, and takes their news into `monitor` and `progress`.
    /// Called during the load by a thread of its own.
    virtual void exchange(loadgen::StopMonitor& monitor, loadgen::Progress& progress) = 0;

    // These pass an interruption on to the others. They may be called from any thread.
    virtual void stop_starting() = 0;
    virtual void cut_off() = 0;

    /// Tells the others that the load of this process has ended, and waits until theirs have.
    virtual void load_ends() = 0;

    struct Gathered {
        std::vector<std::filesystem::path> directories;  ///< run directories, one for each shard
        std::map<std::uint32_t, double> clock_errors_s;  ///< reports::ClockErrors
    };
    /// Receives the others' results into directories below `directory`, without lost shards.
    virtual Gathered gather(const std::filesystem::path& directory) = 0;

    /// Ends the load of divide(), if there is one, because this process cannot measure it.
    virtual void abandon() noexcept = 0;
};

}  // namespace paretoken::experiments
