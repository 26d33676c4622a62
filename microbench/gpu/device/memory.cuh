#pragma once
// Owners of device memory, streams, events and graphs, which free them on every path. They can be moved but
// not copied. Sizes are in elements. A failed allocation throws a RuntimeError that names the size.
#include <cuda_runtime.h>
#include <fmt/format.h>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "core/error.h"
#include "microbench/gpu/device/error.cuh"

namespace paretoken::microbench::gpu {

/// Converts a vector to a span explicitly, because nvcc's front end does not find the implicit conversion.
template <class Value>
std::span<const Value> span_of(const std::vector<Value>& values) {
    return {values.data(), values.size()};
}

struct FreeDeviceMemory {
    void operator()(void* at) const { cudaFree(at); }
};

/// `size` elements of device memory, not initialised.
template <class Value>
class DeviceBuffer {
  public:
    DeviceBuffer() = default;
    explicit DeviceBuffer(std::size_t size) : size_(size) {
        if (size == 0) return;
        void* at = nullptr;
        const cudaError_t status = cudaMalloc(&at, bytes());
        if (status == cudaErrorMemoryAllocation) {
            cudaGetLastError();  // clears the error; the CUDA context stays usable
            throw RuntimeError(
                fmt::format("the GPU has no {} MiB left: use a smaller shape, or end other programs on it",
                            (bytes() >> 20) + 1));
        }
        PARETOKEN_CUDA(status);
        memory_.reset(static_cast<Value*>(at));
    }
    explicit DeviceBuffer(std::span<const Value> values) : DeviceBuffer(values.size()) { upload(values); }
    explicit DeviceBuffer(const std::vector<Value>& values) : DeviceBuffer(span_of(values)) {}

    Value* data() const { return memory_.get(); }
    std::size_t size() const { return size_; }
    std::size_t bytes() const { return size_ * sizeof(Value); }

    void upload(std::span<const Value> values, std::size_t at = 0) {
        if (values.empty()) return;
        PARETOKEN_CUDA(cudaMemcpy(data() + at, values.data(), values.size_bytes(), cudaMemcpyHostToDevice));
    }
    void upload(const std::vector<Value>& values, std::size_t at = 0) { upload(span_of(values), at); }
    std::vector<Value> download(std::size_t at, std::size_t count) const {
        std::vector<Value> values(count);
        if (values.empty()) return values;
        PARETOKEN_CUDA(cudaMemcpy(values.data(), data() + at, count * sizeof(Value), cudaMemcpyDeviceToHost));
        return values;
    }
    std::vector<Value> download() const { return download(0, size_); }
    /// Sets every byte to `byte`, in stream order.
    void fill(int byte, cudaStream_t stream = nullptr) {
        if (size_ != 0) PARETOKEN_CUDA(cudaMemsetAsync(data(), byte, bytes(), stream));
    }

  private:
    std::unique_ptr<Value, FreeDeviceMemory> memory_;
    std::size_t size_ = 0;
};

struct DestroyStream {
    void operator()(CUstream_st* stream) const { cudaStreamDestroy(stream); }
};
using OwnedStream = std::unique_ptr<CUstream_st, DestroyStream>;

inline OwnedStream new_stream() {
    cudaStream_t stream = nullptr;
    PARETOKEN_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return OwnedStream(stream);
}

struct DestroyEvent {
    void operator()(CUevent_st* event) const { cudaEventDestroy(event); }
};
using OwnedEvent = std::unique_ptr<CUevent_st, DestroyEvent>;

inline OwnedEvent new_event() {
    cudaEvent_t event = nullptr;
    PARETOKEN_CUDA(cudaEventCreate(&event));
    return OwnedEvent(event);
}

struct DestroyGraph {
    void operator()(CUgraph_st* graph) const { cudaGraphDestroy(graph); }
};
using OwnedGraph = std::unique_ptr<CUgraph_st, DestroyGraph>;

struct DestroyGraphExec {
    void operator()(CUgraphExec_st* graph) const { cudaGraphExecDestroy(graph); }
};
using OwnedGraphExec = std::unique_ptr<CUgraphExec_st, DestroyGraphExec>;

}  // namespace paretoken::microbench::gpu
