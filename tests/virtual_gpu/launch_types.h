#pragma once
// Plain values that describe a kernel, the shape and the settings of a launch, and what a launch reported.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace paretoken::virtual_gpu {

/// The position of a parameter in the parameter memory of its kernel, in bytes.
struct Parameter {
    std::size_t offset = 0;
    std::size_t bytes = 0;
};

/// The properties of a kernel that its PTX states.
struct KernelFacts {
    std::string name;               ///< mangled C++ name
    std::size_t static_shared = 0;  ///< bytes of shared memory per block that the kernel itself declares
    std::size_t parameter_bytes = 0;
    std::vector<Parameter> parameters = {};  ///< in the order of declaration
    int max_threads = 0;                     ///< threads per block, from .maxntid; 0: not stated
    int line = 0;                            ///< line of the PTX in which the kernel begins
};

struct LaunchShape {
    std::array<unsigned, 3> grid{1, 1, 1};   ///< number of blocks along x, y and z
    std::array<unsigned, 3> block{1, 1, 1};  ///< number of threads of a block along x, y and z
    std::size_t dynamic_shared = 0;  ///< bytes of shared memory per block, in addition to the kernel's own
};

/// The kinds of faults. The comments name the tool of NVIDIA's compute-sanitizer that finds them on a GPU.
enum class FaultKind {
    out_of_bounds,  ///< memcheck
    misaligned,     ///< an address is not a multiple of the size of the access; memcheck
    uninitialised,  ///< a read of device or shared memory that was never written; initcheck, in device memory
    race,           ///< two threads access one address of shared memory, at least one of them writes, and no
                    ///< barrier lies in between (racecheck); or a block loads from device memory what another
                    ///< block wrote, without a fence in between or with a load that L1 may serve (no tool)
    divergence,  ///< lanes for which a barrier or an exchange of a warp waits have exited or wait elsewhere;
                 ///< synccheck
    endless,     ///< the launch executes more instructions than LaunchSettings allows; no tool
};

struct Fault {
    FaultKind kind = FaultKind::out_of_bounds;
    std::string message;  ///< names the kernel, block, thread, PTX line, instruction and error
};

struct LaunchSettings {
    std::uint64_t seed = 1;               ///< determines the order of the blocks and of the warps of a block
    std::uint64_t most_instructions = 0;  ///< limit of the warp instructions of a launch; 0: no limit
    bool check_races = true;
    bool check_initialised = true;
};

/// The fault and the costs of a launch. Bytes are those of device memory. A sector is an aligned piece of 32
/// bytes, and a wavefront is one pass in which shared memory serves a part of an access. Atomic accesses are
/// not counted.
struct LaunchReport {
    std::optional<Fault> fault = {};
    std::uint64_t warp_instructions = 0;  ///< instructions, counted once for all lanes that execute together
    std::uint64_t loaded_bytes = 0;       ///< sum over the loads of all lanes
    std::uint64_t stored_bytes = 0;       ///< sum over the stores of all lanes
    std::uint64_t read_bytes = 0;       ///< distinct sectors × 32: the reads of a GPU with an infinite cache
    std::uint64_t written_bytes = 0;    ///< distinct sectors × 32
    std::uint64_t load_requests = 0;    ///< warp-wide loads from device memory
    std::uint64_t load_sectors = 0;     ///< sectors that each of these loads accessed, summed over the loads
    std::uint64_t shared_requests = 0;  ///< warp-wide accesses to shared memory
    std::uint64_t shared_wavefronts = 0;  ///< wavefronts of these accesses; more with bank conflicts
    std::uint64_t shared_least = 0;       ///< wavefronts that these accesses would need without conflicts
    std::uint64_t mma_flops = 0;          ///< operations of matrix instructions, 2 for each multiply-add
};

}  // namespace paretoken::virtual_gpu
