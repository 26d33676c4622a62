#pragma once
// The virtual GPU with the objects of the CUDA runtime: memory, streams, events, captures and graphs. The
// calls return the status that CUDA documents and refuse what CUDA forbids. After a kernel has faulted, calls
// fail with the status of that fault.
#include <driver_types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/virtual_gpu/launch.h"
#include "tests/virtual_gpu/memory.h"
#include "tests/virtual_gpu/runtime/kernels.h"
#include "tests/virtual_gpu/runtime/model.h"
#include "tests/virtual_gpu/runtime/report.h"
#include "tests/virtual_gpu/runtime/streams.h"

namespace paretoken::virtual_gpu {

/// Identifies an event, a graph or an executable graph. A number is never used again.
using Number = std::uint64_t;

/// A kernel that the host has registered.
struct HostKernel {
    std::string name;                                        ///< mangled C++ name
    const FoundKernel* found = nullptr;                      ///< set when the kernel is first used
    std::size_t most_dynamic_shared = kSharedWithoutAsking;  ///< limit of the dynamic shared memory, in bytes
};

/// A launch of a kernel that waits in a stream or belongs to a graph.
struct Launch {
    HostKernel* kernel = nullptr;
    LaunchShape shape;
    std::vector<std::byte> parameters;  ///< contents of the kernel's parameter memory
};

/// The mode of a capture. `strict` stands for CUDA's modes "global" and "thread local", which are equal if
/// the program has one thread.
enum class Capturing { relaxed, strict };

class Device {
  public:
    /// `ptx` is the folder of the kernels' PTX files (KernelFolder in runtime/kernels.h).
    Device(const Settings& settings, const std::filesystem::path& ptx);

    const Settings& settings() const { return settings_; }
    const Limits& limits() const { return limits_; }
    Report& report() { return report_; }
    /// The status of the fault that stopped the device; cudaSuccess if there was none.
    cudaError_t death() const { return death_; }
    /// Free device memory, in bytes.
    std::size_t free_bytes() const { return memory_.capacity() - memory_.used(); }

    /// Finds the kernel in the PTX files and fills `found`.
    cudaError_t resolve(HostKernel& kernel);
    /// Raises or lowers the limit of the kernel's dynamic shared memory (the opt-in).
    cudaError_t allow_dynamic_shared(HostKernel& kernel, int bytes);
    /// Sets `blocks` to the number of blocks of the kernel that run at the same time on a multiprocessor.
    cudaError_t occupancy(HostKernel& kernel, int threads, std::size_t dynamic_shared, int& blocks);

    cudaError_t allocate(std::size_t bytes, void*& at);
    cudaError_t free(void* at);
    cudaError_t allocate_host(std::size_t bytes, void*& at);
    cudaError_t free_host(void* at);

    /// `arguments` holds the address of each argument.
    cudaError_t launch(HostKernel& kernel, const LaunchShape& shape, void** arguments, StreamNumber stream);
    /// Copies between host and device. `waits`: the call is a cudaMemcpy, which returns when the program may
    /// use the host memory again; otherwise it is a cudaMemcpyAsync.
    cudaError_t copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, StreamNumber stream,
                     bool waits);
    /// Sets bytes of device memory to a value.
    cudaError_t set(void* at, int value, std::size_t bytes, StreamNumber stream);

    cudaError_t create_stream(bool blocking, StreamNumber& stream);
    cudaError_t destroy_stream(StreamNumber stream);
    cudaError_t wait_for_stream(StreamNumber stream);
    cudaError_t wait_for_all();

    Number create_event();
    cudaError_t destroy_event(Number event);
    cudaError_t record(Number event, StreamNumber stream);
    cudaError_t wait_for_event(Number event);
    /// Sets `milliseconds` to the modelled time between two recorded events.
    cudaError_t elapsed(Number begin, Number end, float& milliseconds);

    cudaError_t begin_capture(StreamNumber stream, Capturing mode);
    /// Sets `graph` to the new graph, or to 0 if the call fails.
    cudaError_t end_capture(StreamNumber stream, Number& graph);
    /// Sets `nodes` to the number of nodes.
    cudaError_t nodes_of(Number graph, std::size_t& nodes) const;
    cudaError_t destroy_graph(Number graph);
    cudaError_t instantiate(Number graph, Number& executable);
    cudaError_t upload(Number executable, StreamNumber stream);
    cudaError_t launch_graph(Number executable, StreamNumber stream);
    cudaError_t destroy_executable(Number executable);

  private:
    /// A piece of work of a stream or a graph. It returns its duration in seconds.
    using Node = std::function<double(bool in_graph)>;
    struct Event {
        bool captured = false;  ///< it was last recorded in a stream that was being captured
        Place place;            ///< ticket 0: never recorded
        double at_s = 0;        ///< time on the device's clock, in seconds
    };
    struct Capture {
        Capturing mode = Capturing::strict;
        bool invalid = false;  ///< a forbidden call was made, so that end_capture fails
        std::vector<Node> nodes = {};
    };
    struct Executable {
        std::vector<Node> nodes;
        Place last = {};  ///< its last launch
    };
    struct Copy;

    /// Adds work to the stream, or to the graph that is being captured from it.
    cudaError_t issue(StreamNumber stream, Node node);
    /// Returns cudaSuccess, or an error if a kernel has faulted, if the stream does not exist, if its capture
    /// is invalid, or if it is the legacy stream while another stream is captured. The last case also
    /// invalidates all captures.
    cudaError_t ready_for_use(StreamNumber stream);
    /// For functions that wait or allocate. Captures with the mode `strict` forbid these functions: if there
    /// are such captures, they become invalid and an error is returned.
    cudaError_t refuse_while_capturing();
    /// Returns an error if the shape exceeds the limits of the GPU or of the kernel.
    cudaError_t checked_shape(const HostKernel& kernel, const LaunchShape& shape) const;
    bool is_pinned(const void* at, std::size_t bytes) const;

    /// Does a launch and returns its modelled duration in seconds, like run_copy and run_set.
    double run_launch(const Launch& launch, bool in_graph);
    /// A key that is equal for launches of equal work: it holds the kernel, the shape and the parameters, in
    /// which words that point to device memory count as 0.
    std::vector<std::uint64_t> likeness(const Launch& launch);
    double run_copy(const Copy& copy);
    double run_set(std::byte* at, int value, std::size_t bytes);
    /// Adds a line to the report's complaints and prints it. After 100 complaints it does neither.
    void complain(std::string text);
    /// Prints the text and stops the device with this status.
    void die(cudaError_t status, const std::string& text);

    Settings settings_;
    Limits limits_;
    Memory memory_;
    KernelFolder kernels_;
    Streams streams_;
    Report report_;
    cudaError_t death_ = cudaSuccess;
    std::map<std::uintptr_t, std::vector<std::byte>> pinned_;  ///< host memory; key: first address
    std::map<Number, std::shared_ptr<Event>> events_;
    std::map<StreamNumber, Capture> captures_;
    std::map<Number, std::vector<Node>> graphs_;
    std::map<Number, std::shared_ptr<Executable>> executables_;
    Number numbers_ = 0;          ///< the last number that was given
    std::uint64_t launches_ = 0;  ///< launches that were executed
    struct Repeats {
        std::uint64_t runs = 0;  ///< launches that were executed
        double seconds = 0;      ///< modelled time of the last of them
    };
    std::map<std::vector<std::uint64_t>, Repeats> repeats_;  ///< key: likeness; for Settings::graph_runs
};

}  // namespace paretoken::virtual_gpu
