#pragma once
// The result of a run as it was read from its directory, and its place in a sweep.
#include <map>
#include <string>

#include "core/result/result.h"

namespace paretoken::reports {

struct LoadedRun {
    std::string directory;  ///< directory of the run
    RunResult result;
    std::string sweep = {};  ///< directory of the run's sweep; empty if it belongs to none
    std::map<std::string, std::string> cell = {};  ///< cell of that sweep: option → value
};

}  // namespace paretoken::reports
