#pragma once
// paretoken plan --from: what a measured run says about other loads of its server.
#include <string>
#include <vector>

namespace paretoken::cli {

struct PlanFrom {
    std::string run;  ///< a run or a sweep; empty: this form of the command is not used
    std::vector<std::string> levels;
    std::string model_card;
    std::string gpu;
    std::string out;
    bool json = false;
};

/// Throws UsageError, and RuntimeError when it is interrupted or a file cannot be written.
void plan_from(const PlanFrom& command);

}  // namespace paretoken::cli
