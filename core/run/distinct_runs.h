#pragma once
// Finds runs that a command was given more than once, as a copy or by another path.
#include <map>
#include <string>

#include "core/result/result.h"

namespace paretoken {

/// Returns a text that is equal for copies of one run only: the run's id, or a hash of its origin, plan and
/// figures. Empty if the result does not say when and by which command it was measured.
std::string identity_of(const RunResult& run);

/// The runs that a command was given.
class DistinctRuns {
  public:
    /// Adds the run in `directory`. Throws UsageError that names both directories if it was added before.
    void add(const RunResult& run, const std::string& directory);
    bool holds(const RunResult& run) const;

  private:
    std::map<std::string, std::string> directories_;  ///< identity of a run → its directory
};

}  // namespace paretoken
