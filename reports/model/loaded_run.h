#pragma once
// A run as it was read, with its place in a sweep.
#include <map>
#include <string>

#include "core/result/result.h"

namespace paretoken::reports {

struct LoadedRun {
    std::string directory;
    RunResult result;
    std::string sweep = {};  ///< directory of the run's sweep; empty if the run is on its own
    std::map<std::string, std::string> cell = {};  ///< cell of that sweep: option → value
};

}  // namespace paretoken::reports
