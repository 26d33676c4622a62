#pragma once
// One finished run with the data that a gate needs.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/result/result.h"
#include "reports/analysis/gate/answers.h"

namespace paretoken::reports {

struct GateRun {
    std::string directory;
    RunResult result;
    std::map<std::string, std::uint64_t> finish_reasons =
        {};                               ///< counts of successful answers by finish reason
    AnswerFaults answers = {};            ///< faults in the answer texts that were kept
    std::vector<ProbeAnswer> probe = {};  ///< answers to the questions that are asked after the load
};

}  // namespace paretoken::reports
