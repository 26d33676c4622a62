#pragma once
// Measures GPU rows. Measuring a row prepares a ring of copies of the operand, checks the output, captures
// many launches in one CUDA graph, and times replays of that graph with CUDA events.
#include <memory>
#include <string>

#include "microbench/gpu/device/device.h"
#include "microbench/gpu/device/kernel.h"
#include "microbench/gpu/device/ring.h"
#include "microbench/gpu/rows.h"

namespace paretoken::microbench::gpu {

/// The one GPU of the program: its stream, its connection to the driver's management library, and its read
/// ceiling, which is measured before the first row that is timed.
class GpuSession {
  public:
    GpuSession(DeviceFacts device, GpuSettings settings);
    ~GpuSession();
    GpuSession(const GpuSession&) = delete;
    GpuSession& operator=(const GpuSession&) = delete;

    /// Prepares, checks and times a row, unless the settings leave out the check or the timing. If the
    /// check fails, the outcome holds an error. Throws RuntimeError if the device has too little memory or
    /// a call of CUDA fails, and NotAvailable if the row cannot run on this GPU or with its libraries.
    /// A fault in a kernel makes the GPU unusable for the process; each later row then throws RuntimeError.
    RowOutcome measured(const GpuRow& row);

  private:
    struct State;
    RowOutcome outcome_of(const GpuRow& row);
    DeviceFacts device_;
    GpuSettings settings_;
    std::unique_ptr<State> state_;  // created for the first row, so that listing rows does not use the GPU
    std::string lost_by_;           ///< row whose kernel had a fault; empty as long as there was none
};

/// The GPU that CUDA calls device 0. `facts` are filled in only if `presence` is `present`.
struct DeviceQuery {
    Presence presence = Presence::none;
    std::string message = {};  ///< message of the CUDA runtime, if no GPU can be used
    DeviceFacts facts = {};
};
DeviceQuery queried_device();

}  // namespace paretoken::microbench::gpu
