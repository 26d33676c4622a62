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

/// Whether --gpu may say what served the run: neither the run's own --gpu nor the server named a known GPU.
/// The hardware of such a run is empty, unknown, or the CPU of the client's host.
bool names_no_gpu(const RunResult& run);

/// Throws UsageError if --gpu is unknown, contradicts a run's number of GPUs, or names hardware of no run.
void check_gpu(const std::vector<LoadedRun>& runs, const JoinOptions& options);

Served served_by(const RunResult& run, const JoinOptions& options);

/// "h100-sxm" or "2 × h100-sxm"
std::string counted(const cards::PricedHardware& hardware);

std::string hardware_title(const Served& served, const Provenance& provenance);

}  // namespace paretoken::reports
