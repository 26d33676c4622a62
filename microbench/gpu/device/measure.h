#pragma once
// How a GPU row is measured: copies in a ring, a check, one CUDA graph of many launches, replayed between
// events.
#include <memory>
#include <string>

#include "microbench/gpu/device/device.h"
#include "microbench/gpu/device/kernel.h"
#include "microbench/gpu/device/ring.h"
#include "microbench/gpu/rows.h"

namespace paretoken::microbench::gpu {

/// One GPU for the whole program: its stream, what the driver says of it, and its read ceiling, which is
/// measured when the first row needs it.
class GpuSession {
  public:
    GpuSession(DeviceFacts device, GpuSettings settings);
    ~GpuSession();
    GpuSession(const GpuSession&) = delete;
    GpuSession& operator=(const GpuSession&) = delete;

    /// Prepares, checks and times. A failed check is an outcome with an error.
    RowOutcome measured(const GpuRow& row);

  private:
    struct State;
    DeviceFacts device_;
    GpuSettings settings_;
    std::unique_ptr<State> state_;  // from the first row on: listing rows leaves the GPU alone
};

/// The GPU that CUDA calls device 0. `presence` other than present: nothing else is known.
struct DeviceQuery {
    Presence presence = Presence::none;
    std::string message = {};  ///< the runtime's, where it is broken
    DeviceFacts facts = {};
};
DeviceQuery queried_device();

}  // namespace paretoken::microbench::gpu
