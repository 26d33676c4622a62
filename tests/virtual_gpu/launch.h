#pragma once
// Runs a kernel of a PTX module on the host, thread block by thread block, and tells what it did wrong and
// what it cost. Blocks run one after another in an order drawn from a seed; nothing in a kernel may depend on
// it. A fault ends the launch.
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

struct Module;  // tests/virtual_gpu/ptx.h
struct Kernel;

/// Where a parameter lies among all of a kernel.
struct Parameter {
    std::size_t offset = 0;
    std::size_t bytes = 0;
};

/// Of one kernel, as far as its PTX says.
struct KernelFacts {
    std::string name;               ///< mangled
    std::size_t static_shared = 0;  ///< bytes
    std::size_t parameter_bytes = 0;
    std::vector<Parameter> parameters = {};  ///< in order
    int max_threads = 0;                     ///< of .maxntid; 0: not stated
    int line = 0;                            ///< in the PTX
};

/// The kernels of one PTX file. RuntimeError names the file, the line and the instruction that is not known.
class LoadedModule {
  public:
    LoadedModule(std::string_view ptx, std::string file);
    ~LoadedModule();
    LoadedModule(LoadedModule&&) noexcept;
    LoadedModule& operator=(LoadedModule&&) noexcept;

    std::vector<KernelFacts> kernels() const;
    /// Null: no such kernel.
    const Kernel* find(std::string_view mangled_name) const;
    /// Compute capability × 10 of the PTX's .target.
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
    out_of_bounds,  ///< memcheck
    misaligned,     ///< memcheck
    uninitialised,  ///< initcheck
    race,           ///< racecheck: two threads, one address of shared memory, no barrier between; or two
                    ///< blocks, one address of device memory, no fence between or a load that L1 may answer
    divergence,     ///< synccheck: lanes that a barrier or a warp's exchange waits for have left or wait
                    ///< elsewhere
    endless,        ///< more instructions than LaunchSettings allows
};

struct Fault {
    FaultKind kind = FaultKind::out_of_bounds;
    std::string message;  ///< kernel, block, thread, PTX line, address, what
};

struct LaunchSettings {
    std::uint64_t seed = 1;
    std::uint64_t most_instructions = 0;  ///< of warps; 0: no limit
    bool check_races = true;
    bool check_initialised = true;
};

/// What a launch did. Bytes are of global memory.
struct LaunchReport {
    std::optional<Fault> fault = {};
    std::uint64_t warp_instructions = 0;
    std::uint64_t loaded_bytes = 0;     ///< as asked for by lanes
    std::uint64_t stored_bytes = 0;     ///< as asked for by lanes
    std::uint64_t read_bytes = 0;       ///< of distinct sectors of 32 bytes: what an endless cache would read
    std::uint64_t written_bytes = 0;    ///< of distinct sectors
    std::uint64_t load_requests = 0;    ///< warp-wide loads of global memory
    std::uint64_t load_sectors = 0;     ///< that these touched
    std::uint64_t shared_requests = 0;  ///< warp-wide accesses to shared memory
    std::uint64_t shared_wavefronts = 0;  ///< that these take: more where banks conflict
    std::uint64_t shared_least = 0;       ///< that these would take without conflicts
    std::uint64_t mma_flops = 0;
};

/// `parameters`: the kernel's parameters, laid out as in the PTX (KernelFacts::parameter_bytes).
LaunchReport run(const Kernel& kernel, const LaunchShape& shape, std::span<const std::byte> parameters,
                 Memory& memory, const LaunchSettings& settings = {});

}  // namespace paretoken::virtual_gpu
