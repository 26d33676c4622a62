#pragma once
// A run as it was read, and where it stands among others.
#include <map>
#include <string>

#include "core/result/result.h"

namespace paretoken::reports {

struct LoadedRun {
    std::string directory;
    RunResult result;
    std::string sweep = {};  ///< directory of the sweep that it is a point of; empty: a run on its own
    std::map<std::string, std::string> cell = {};  ///< of that sweep: option → value
};

}  // namespace paretoken::reports
