#pragma once
// The interface of the kernels that GPU rows time. One launch reads one copy of an operand, such as the
// weights. The copies form a ring that is so large that no launch finds its copy in a cache. A kernel is
// prepared, its output is checked, and only then is it timed. `launch` only enqueues work, so that a
// CUDA graph can hold many launches. This header compiles without CUDA.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

struct CUstream_st;  // cudaStream_t is a pointer to this struct

namespace paretoken::microbench::gpu {

using Stream = CUstream_st*;

/// The least memory traffic and arithmetic that one launch needs. Bytes are counted as the format defines
/// them, without padding.
struct Work {
    double read_bytes = 0;  ///< from device memory: the streamed operand, inputs and tables
    double written_bytes = 0;
    double flops = 0;  ///< 2 for each multiply-add

    bool operator==(const Work&) const = default;
};

/// One operation of a step that consists of several operations.
struct Part {
    std::string name;
    Work work;  ///< work of this operation alone, with the intermediate results that it reads and writes
    std::function<void(std::size_t copy, Stream stream)> launch;  ///< as GpuKernel::launch
};

class GpuKernel {
  public:
    virtual ~GpuKernel() = default;

    /// Device memory of one copy of the streamed operand in bytes, known before `prepare`. It is 0 if the
    /// kernel streams no operand.
    virtual std::uint64_t copy_bytes() const = 0;
    /// The work of one launch.
    virtual Work work() const = 0;
    /// Allocates and fills `copies` ≥ 1 copies of the operand and all other memory that launches use. The
    /// caller synchronises the device before the first launch. Throws RuntimeError if the device has too
    /// little memory, and NotAvailable if the row cannot run on this GPU or with its libraries.
    virtual void prepare(std::size_t copies, std::uint64_t seed) = 0;
    /// Overwrites the output with invalid values, launches, compares the output with an fp64 reference, and
    /// requires that a second launch gives the same bits. Kernels that only move or read data compare words
    /// instead, and an empty launch has no output. Returns a description of the error, or nothing if the
    /// output is right. Synchronises with the stream.
    virtual std::optional<std::string> check(Stream stream) = 0;
    /// Enqueues the work of one step on copy `copy`, which may be several CUDA kernels. It allocates nothing
    /// and does not wait.
    virtual void launch(std::size_t copy, Stream stream) = 0;
    /// The operations that `launch` enqueues, in the same order, so that each can also be timed alone. Empty
    /// if `launch` enqueues a single kernel.
    virtual std::vector<Part> parts() { return {}; }
};

/// `graph` puts many launches into one CUDA graph. `stream` launches them one by one from the host, which
/// measures the cost of a launch.
enum class Launching { graph, stream };

/// A row that is not measured yet. Users filter rows by their names; the suffix "/backend:gpu/mode:…" is
/// added to the name later.
struct GpuRow {
    std::string name;  ///< "weights/preset:llama3-8b/op:qkv/w:bf16/batch:1"
    std::function<std::unique_ptr<GpuKernel>()> make;
    Launching launching = Launching::graph;
};

}  // namespace paretoken::microbench::gpu
