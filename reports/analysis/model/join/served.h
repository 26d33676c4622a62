#pragma once
// The hardware that served a run, with what is known of it.
#include <optional>
#include <string>
#include <vector>

#include "cards/gpu.h"
#include "reports/analysis/micro/micro_results.h"
#include "reports/analysis/model/join.h"
#include "reports/analysis/model/loaded_run.h"

namespace paretoken::reports {

struct Served {
    std::string hardware;  ///< name given by the run, or by --gpu if the run names no known GPU
    bool simulated = false;
    std::optional<cards::PricedHardware> priced = {};  ///< absent for a simulated server of no known GPU
    std::optional<cards::GpuCard> datasheet = {};      ///< datasheet of real GPUs
    std::vector<const MicroResults*> micro = {};       ///< results that were measured on the same hardware
};

/// Throws UsageError when --gpu and the run name different numbers of GPUs.
void refuse_contradiction(const LoadedRun& run, const std::optional<cards::GpuSpec>& wanted,
                          const JoinOptions& options);

std::optional<cards::GpuSpec> wanted_gpu(const JoinOptions& options);

Served served_by(const Provenance& provenance, const JoinOptions& options);

std::string hardware_title(const Served& served, const Provenance& provenance);

}  // namespace paretoken::reports
