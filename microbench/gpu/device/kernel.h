#pragma once
// What a GPU row times: one launch that streams one copy of an operand, and a ring of copies large enough
// that no launch finds its copy in a cache. A kernel is prepared, checked against fp64 and only then timed;
// `launch` only enqueues, so that a CUDA graph can hold many launches. Compiles without CUDA.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

struct CUstream_st;  // what cudaStream_t points to

namespace paretoken::microbench::gpu {

using Stream = CUstream_st*;

/// What one launch must move and compute at least. Bytes are those of the format, without padding.
struct Work {
    double read_bytes = 0;  ///< from device memory: streamed operand, inputs, tables
    double written_bytes = 0;
    double flops = 0;  ///< 2 per multiply-add

    bool operator==(const Work&) const = default;
};

/// One operation of a step that consists of several.
struct Part {
    std::string name;
    Work work;  ///< for itself: what it hands on is read and written
    std::function<void(std::size_t copy, Stream stream)> launch;
};

class GpuKernel {
  public:
    virtual ~GpuKernel() = default;

    /// Device memory of one copy of the streamed operand; known before `prepare`. 0: nothing is streamed.
    virtual std::uint64_t copy_bytes() const = 0;
    virtual Work work() const = 0;
    /// Allocates and fills `copies` ≥ 1 copies and everything else that launches use; the caller synchronises
    /// the device before the first launch. Throws RuntimeError when the device has too little memory.
    virtual void prepare(std::size_t copies, std::uint64_t seed) = 0;
    /// Poisons the output, launches, compares with the fp64 reference and demands the same bits of a second
    /// launch; nothing when right, else what was wrong. Synchronises.
    virtual std::optional<std::string> check(Stream stream) = 0;
    /// Enqueues the work of one step on copy `copy` (it may be several CUDA kernels). Nothing is allocated
    /// and nothing waits.
    virtual void launch(std::size_t copy, Stream stream) = 0;
    /// What `launch` enqueues, in its order, to be timed apart too; empty where that is one kernel.
    virtual std::vector<Part> parts() { return {}; }
};

/// graph: many launches in one CUDA graph. stream: one by one, for what a launch from the host costs.
enum class Launching { graph, stream };

/// A row before it is measured: a name that people filter by, without "/backend:gpu/mode:…".
struct GpuRow {
    std::string name;  ///< "weights/preset:llama3-8b/op:qkv/w:bf16/batch:1"
    std::function<std::unique_ptr<GpuKernel>()> make;
    Launching launching = Launching::graph;
};

}  // namespace paretoken::microbench::gpu
