#pragma once
// Runs a kernel of a PTX module on the host and reports its faults and its costs. The thread blocks run one
// after another, in a random order that a seed determines, because a kernel must not depend on the order. A
// fault ends the launch.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/virtual_gpu/memory.h"

namespace paretoken::virtual_gpu {

struct Module;  // tests/virtual_gpu/launch.cpp
struct Kernel;  // tests/virtual_gpu/program.h

/// The position of a parameter in the parameter memory of its kernel.
struct Parameter {
    std::size_t offset = 0;
    std::size_t bytes = 0;
};

/// The properties of a kernel that its PTX states.
struct KernelFacts {
    std::string name;               ///< mangled
    std::size_t static_shared = 0;  ///< bytes
    std::size_t parameter_bytes = 0;
    std::vector<Parameter> parameters = {};  ///< in the order of declaration
    int max_threads = 0;                     ///< threads per block, from .maxntid; 0: not stated
    int line = 0;                            ///< in the PTX
};

/// The kernels of one PTX file. The constructor throws a RuntimeError that names the file and the line if it
/// does not support a part of the PTX, such as an instruction.
class LoadedModule {
  public:
    LoadedModule(std::string_view ptx, std::string file);
    ~LoadedModule();
    LoadedModule(LoadedModule&&) noexcept;
    LoadedModule& operator=(LoadedModule&&) noexcept;

    std::vector<KernelFacts> kernels() const;
    /// Returns null if there is no such kernel.
    const Kernel* find(std::string_view mangled_name) const;
    /// The compute capability × 10 from .target in the PTX.
    int capability() const;

  private:
    std::unique_ptr<Module> module_;
};

KernelFacts facts_of(const Kernel& kernel);

struct LaunchShape {
    std::array<unsigned, 3> grid{1, 1, 1};
    std::array<unsigned, 3> block{1, 1, 1};
    std::size_t dynamic_shared = 0;  ///< bytes
};

enum class FaultKind {
    out_of_bounds,  ///< found by memcheck of compute-sanitizer
    misaligned,     ///< found by memcheck
    uninitialised,  ///< a read of memory that was never written; found by initcheck
    race,        ///< two threads access one address of shared memory without a barrier in between (found by
                 ///< racecheck); or a block loads from device memory what another block wrote, without a
                 ///< fence in between or with a load that L1 may serve
    divergence,  ///< lanes for which a barrier or an exchange of a warp waits have exited or wait elsewhere;
                 ///< found by synccheck
    endless,     ///< the launch executes more instructions than LaunchSettings allows
};

struct Fault {
    FaultKind kind = FaultKind::out_of_bounds;
    std::string message;  ///< names the kernel, block, thread, PTX line, instruction and error
};

struct LaunchSettings {
    std::uint64_t seed = 1;
    std::uint64_t most_instructions = 0;  ///< limit of the warp instructions of a launch; 0: no limit
    bool check_races = true;
    bool check_initialised = true;
};

/// The fault and the costs of a launch. Bytes are those of device memory.
struct LaunchReport {
    std::optional<Fault> fault = {};
    std::uint64_t warp_instructions = 0;
    std::uint64_t loaded_bytes = 0;     ///< sum over the loads of all lanes
    std::uint64_t stored_bytes = 0;     ///< sum over the stores of all lanes
    std::uint64_t read_bytes = 0;       ///< distinct 32-byte sectors × 32: the reads with an infinite cache
    std::uint64_t written_bytes = 0;    ///< distinct 32-byte sectors × 32
    std::uint64_t load_requests = 0;    ///< warp-wide loads from device memory
    std::uint64_t load_sectors = 0;     ///< sectors that each of these loads accessed, summed over the loads
    std::uint64_t shared_requests = 0;  ///< warp-wide accesses to shared memory
    std::uint64_t shared_wavefronts = 0;  ///< wavefronts of these accesses; more with bank conflicts
    std::uint64_t shared_least = 0;       ///< wavefronts that these accesses would need without conflicts
    std::uint64_t mma_flops = 0;
};

/// Runs a launch. `parameters` is the parameter memory of the kernel, laid out as in the PTX: it has
/// KernelFacts::parameter_bytes bytes.
LaunchReport run(const Kernel& kernel, const LaunchShape& shape, std::span<const std::byte> parameters,
                 Memory& memory, const LaunchSettings& settings = {});

}  // namespace paretoken::virtual_gpu
