// The functions of the CUDA runtime that the project's programs call, for the virtual GPU. They are linked
// instead of libcudart. They only translate the C interface; device.cpp implements what they do. Environment
// variables:
//   PARETOKEN_VIRTUAL_GPU=sm:90,memory:2G     properties of the GPU (settings_of in runtime/model.h)
//   PARETOKEN_VIRTUAL_GPU_REPORT=FILE         file for the report in JSON, written when the program ends
//   PARETOKEN_VIRTUAL_GPU_PTX=FOLDER          folder with PTX files, instead of the folder of the build
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "core/error.h"
#include "tests/virtual_gpu/runtime/device.h"

namespace paretoken::virtual_gpu {
namespace {

const char* environment(const char* name, const char* otherwise) {
    const char* const value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : otherwise;
}

struct Configuration {
    dim3 grid;
    dim3 block;
    std::size_t shared = 0;
    cudaStream_t stream = nullptr;
};

/// The state of the runtime in a process. It lives until the process ends, because a program may release its
/// handles in destructors of static objects, whose order is not known.
struct Runtime {
    std::mutex mutex;
    std::map<const void*, HostKernel> kernels;  ///< key: address of the host function
    std::unique_ptr<Device> device;             ///< created by the first call that needs it

    Device& made() {
        if (device) return *device;
        try {
            device =
                std::make_unique<Device>(settings_of(environment("PARETOKEN_VIRTUAL_GPU", "")),
                                         environment("PARETOKEN_VIRTUAL_GPU_PTX", PARETOKEN_PTX_DIRECTORY));
        } catch (const Error& error) {
            fmt::print(stderr, "virtual GPU: {}\n", error.what());
            std::_Exit(static_cast<int>(error.code()));
        }
        return *device;
    }
};

Runtime& runtime() {
    static Runtime* const made = new Runtime;
    return *made;
}

thread_local cudaError_t last_error = cudaSuccess;
thread_local std::vector<Configuration> configurations;

void write_report() {
    const char* const path = environment("PARETOKEN_VIRTUAL_GPU_REPORT", nullptr);
    if (path == nullptr || !runtime().device) return;
    std::ofstream file(path, std::ios::trunc);
    file << json_of(runtime().device->report());
    if (!file.flush()) fmt::print(stderr, "virtual GPU: {}: cannot be written\n", path);
}

const char* name_of(cudaError_t status);

/// Performs a call of the API on the device. If it fails, its status is remembered for cudaGetLastError and
/// counted in the report.
template <class Act>
cudaError_t called(const char* name, Act act) {
    Runtime& rt = runtime();
    const std::lock_guard lock(rt.mutex);
    Device& device = rt.made();
    const cudaError_t status = act(device);
    if (status == cudaSuccess) return status;
    ++device.report().refusals[{name, name_of(status)}];
    last_error = status;
    return status;
}

// A handle is a number multiplied by kHandleStep. A number is not used again after its object was destroyed.
// CUDA uses the handles 1 and 2 for its own special streams.
constexpr Number kHandleStep = 256;

template <class Handle>
Handle handle_of(Number number) {
    return reinterpret_cast<Handle>(number * kHandleStep);
}
template <class Handle>
Number number_of(Handle handle) {
    const auto bits = reinterpret_cast<std::uintptr_t>(handle);
    return bits % kHandleStep == 0 ? bits / kHandleStep : ~Number{0};
}
StreamNumber stream_of(cudaStream_t stream) {
    return stream == cudaStreamLegacy ? kLegacyStream : number_of(stream);
}

HostKernel* kernel_of(const void* host_function) {
    const auto found = runtime().kernels.find(host_function);
    return found == runtime().kernels.end() ? nullptr : &found->second;
}

struct StatusText {
    cudaError_t status;
    const char* name;
    const char* text;
};
#define PARETOKEN_STATUS(status, text) \
    StatusText {                       \
        status, #status, text          \
    }
constexpr StatusText kStatuses[] = {
    PARETOKEN_STATUS(cudaSuccess, "no error"),
    PARETOKEN_STATUS(cudaErrorInvalidValue, "invalid argument"),
    PARETOKEN_STATUS(cudaErrorMemoryAllocation, "out of memory"),
    PARETOKEN_STATUS(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    PARETOKEN_STATUS(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    PARETOKEN_STATUS(cudaErrorInsufficientDriver,
                     "CUDA driver version is insufficient for CUDA runtime version"),
    PARETOKEN_STATUS(cudaErrorInvalidDeviceFunction, "invalid device function"),
    PARETOKEN_STATUS(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    PARETOKEN_STATUS(cudaErrorInvalidDevice, "invalid device ordinal"),
    PARETOKEN_STATUS(cudaErrorNoKernelImageForDevice,
                     "no kernel image is available for execution on the device"),
    PARETOKEN_STATUS(cudaErrorInvalidPtx, "a PTX JIT compilation failed"),
    PARETOKEN_STATUS(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    PARETOKEN_STATUS(cudaErrorIllegalState, "the operation cannot be performed in the present state"),
    PARETOKEN_STATUS(cudaErrorNotReady, "device not ready"),
    PARETOKEN_STATUS(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    PARETOKEN_STATUS(cudaErrorLaunchTimeout, "the launch timed out and was terminated"),
    PARETOKEN_STATUS(cudaErrorMisalignedAddress, "misaligned address"),
    PARETOKEN_STATUS(cudaErrorLaunchFailure, "unspecified launch failure"),
    PARETOKEN_STATUS(cudaErrorNotSupported, "operation not supported"),
    PARETOKEN_STATUS(cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"),
    PARETOKEN_STATUS(cudaErrorStreamCaptureInvalidated,
                     "operation failed due to a previous error during capture"),
    PARETOKEN_STATUS(cudaErrorStreamCaptureImplicit,
                     "operation would make the legacy stream depend on a capturing blocking stream"),
    PARETOKEN_STATUS(cudaErrorCapturedEvent,
                     "operation not permitted on an event last recorded in a capturing stream"),
};
#undef PARETOKEN_STATUS

const StatusText* find(cudaError_t status) {
    const auto* const found = std::find_if(std::begin(kStatuses), std::end(kStatuses),
                                           [&](const StatusText& row) { return row.status == status; });
    return found == std::end(kStatuses) ? nullptr : found;
}

const char* name_of(cudaError_t status) {
    const StatusText* const row = find(status);
    return row != nullptr ? row->name : "unrecognized error code";
}

/// Sets `value` to an attribute of the modelled GPU. The clock rate of the memory fits the modelled speed of
/// the memory. Returns false if the attribute is not supported.
bool attribute_of(const Device& device, cudaDeviceAttr attribute, int& value) {
    constexpr int kBusBits = 5120;
    const Settings& settings = device.settings();
    switch (attribute) {
        case cudaDevAttrMultiProcessorCount:
            value = settings.multiprocessors;
            return true;
        case cudaDevAttrMaxSharedMemoryPerBlockOptin:
            value = static_cast<int>(device.limits().shared_per_block);
            return true;
        case cudaDevAttrMaxSharedMemoryPerBlock:
            value = static_cast<int>(kSharedWithoutAsking);
            return true;
        case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
            value = static_cast<int>(device.limits().shared_per_multiprocessor);
            return true;
        case cudaDevAttrComputeCapabilityMajor:
            value = settings.capability / 10;
            return true;
        case cudaDevAttrComputeCapabilityMinor:
            value = settings.capability % 10;
            return true;
        case cudaDevAttrL2CacheSize:
            value = static_cast<int>(settings.l2_bytes);
            return true;
        case cudaDevAttrGlobalMemoryBusWidth:
            value = kBusBits;
            return true;
        case cudaDevAttrMemoryClockRate:
            value = static_cast<int>(settings.speeds.memory_bytes_per_s * 8 / 2 / kBusBits / 1e3);
            return true;
        case cudaDevAttrClockRate:
            value = 1'980'000;
            return true;
        default:
            return false;
    }
}

int value_of(const Device& device, cudaDeviceAttr attribute) {
    int value = 0;
    attribute_of(device, attribute, value);
    return value;
}

cudaError_t launched(HostKernel* kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                     cudaStream_t stream) {
    return called("a launch", [&](Device& device) {
        if (kernel == nullptr) return cudaErrorInvalidDeviceFunction;
        return device.launch(*kernel, {{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, shared},
                             arguments, stream_of(stream));
    });
}

cudaError_t for_device_0(int number, cudaError_t status) {
    return number == 0 ? status : cudaErrorInvalidDevice;
}

}  // namespace
}  // namespace paretoken::virtual_gpu

using namespace paretoken::virtual_gpu;

extern "C" {

// ---- functions that nvcc's host code calls

void** CUDARTAPI __cudaRegisterFatBinary(void*) {
    static void* registered = nullptr;
    static const int reported = std::atexit(write_report);
    static_cast<void>(reported);
    return &registered;
}
void CUDARTAPI __cudaRegisterFatBinaryEnd(void**) {}
void CUDARTAPI __cudaUnregisterFatBinary(void**) {}
char CUDARTAPI __cudaInitModule(void**) {
    return 1;
}

void CUDARTAPI __cudaRegisterFunction(void**, const char* host_function, char*, const char* device_name, int,
                                      uint3*, uint3*, dim3*, dim3*, int*) {
    const std::lock_guard lock(runtime().mutex);
    runtime().kernels[host_function].name = device_name;
}

unsigned CUDARTAPI __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, CUstream_st* stream) {
    configurations.push_back({grid, block, shared, stream});
    return 0;
}

cudaError_t CUDARTAPI __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
    if (configurations.empty()) return cudaErrorInvalidConfiguration;
    const Configuration configuration = configurations.back();
    configurations.pop_back();
    *grid = configuration.grid;
    *block = configuration.block;
    *shared = configuration.shared;
    *static_cast<cudaStream_t*>(stream) = configuration.stream;
    return cudaSuccess;
}

cudaError_t CUDARTAPI __cudaGetKernel(cudaKernel_t* kernel, const void* host_function) {
    const std::lock_guard lock(runtime().mutex);
    *kernel = reinterpret_cast<cudaKernel_t>(kernel_of(host_function));
    return *kernel == nullptr ? cudaErrorInvalidDeviceFunction : cudaSuccess;
}

cudaError_t CUDARTAPI __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                                         size_t shared, cudaStream_t stream) {
    return launched(reinterpret_cast<HostKernel*>(kernel), grid, block, arguments, shared, stream);
}

// ---- the device

cudaError_t CUDARTAPI cudaGetDeviceCount(int* count) {
    return called("cudaGetDeviceCount", [&](Device&) {
        *count = 1;
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaGetDevice(int* device) {
    *device = 0;
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaGetDeviceProperties(cudaDeviceProp* properties, int number) {
    return called("cudaGetDeviceProperties", [&](Device& device) {
        *properties = {};
        const Settings& settings = device.settings();
        settings.name().copy(properties->name, sizeof properties->name - 1);
        properties->totalGlobalMem = settings.memory_bytes;
        properties->sharedMemPerBlock = kSharedWithoutAsking;
        properties->sharedMemPerBlockOptin = device.limits().shared_per_block;
        properties->sharedMemPerMultiprocessor = device.limits().shared_per_multiprocessor;
        properties->reservedSharedMemPerBlock = kSharedReserved;
        properties->regsPerBlock = 65536;
        properties->regsPerMultiprocessor = 65536;
        properties->warpSize = 32;
        properties->maxThreadsPerBlock = static_cast<int>(kMostThreads);
        properties->maxThreadsPerMultiProcessor = device.limits().threads_per_multiprocessor;
        properties->maxBlocksPerMultiProcessor = device.limits().blocks_per_multiprocessor;
        properties->major = settings.capability / 10;
        properties->minor = settings.capability % 10;
        properties->multiProcessorCount = settings.multiprocessors;
        properties->l2CacheSize = static_cast<int>(settings.l2_bytes);
        properties->memoryBusWidth = value_of(device, cudaDevAttrGlobalMemoryBusWidth);
        properties->unifiedAddressing = 1;
        return for_device_0(number, cudaSuccess);
    });
}

cudaError_t CUDARTAPI cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int number) {
    return called("cudaDeviceGetAttribute", [&](Device& device) {
        return for_device_0(number,
                            attribute_of(device, attribute, *value) ? cudaSuccess : cudaErrorInvalidValue);
    });
}

cudaError_t CUDARTAPI cudaDeviceGetPCIBusId(char* text, int length, int number) {
    return called("cudaDeviceGetPCIBusId", [&](Device&) {
        std::snprintf(text, static_cast<std::size_t>(std::max(0, length)), "0000:00:00.0");
        return for_device_0(number, cudaSuccess);
    });
}

cudaError_t CUDARTAPI cudaDriverGetVersion(int* version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaRuntimeGetVersion(int* version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaDeviceSynchronize() {
    return called("cudaDeviceSynchronize", [](Device& device) { return device.wait_for_all(); });
}

// These functions do nothing, because no profiler supports the virtual GPU; a program may call them.
cudaError_t CUDARTAPI cudaProfilerStart() {
    return called("cudaProfilerStart", [](Device&) { return cudaSuccess; });
}
cudaError_t CUDARTAPI cudaProfilerStop() {
    return called("cudaProfilerStop", [](Device&) { return cudaSuccess; });
}

// ---- errors

const char* CUDARTAPI cudaGetErrorName(cudaError_t status) {
    return name_of(status);
}

const char* CUDARTAPI cudaGetErrorString(cudaError_t status) {
    const StatusText* const row = find(status);
    return row != nullptr ? row->text : "unrecognized error code";
}

cudaError_t CUDARTAPI cudaGetLastError() {
    Runtime& rt = runtime();
    const std::lock_guard lock(rt.mutex);
    const cudaError_t status = std::exchange(last_error, cudaSuccess);
    // The status of a kernel's fault is returned by every call, not only by the first one.
    return rt.device && rt.device->death() != cudaSuccess ? rt.device->death() : status;
}

// ---- memory

cudaError_t CUDARTAPI cudaMalloc(void** at, size_t bytes) {
    return called("cudaMalloc", [&](Device& device) { return device.allocate(bytes, *at); });
}
cudaError_t CUDARTAPI cudaFree(void* at) {
    return called("cudaFree", [&](Device& device) { return device.free(at); });
}
cudaError_t CUDARTAPI cudaMallocHost(void** at, size_t bytes) {
    return called("cudaMallocHost", [&](Device& device) { return device.allocate_host(bytes, *at); });
}
cudaError_t CUDARTAPI cudaFreeHost(void* at) {
    return called("cudaFreeHost", [&](Device& device) { return device.free_host(at); });
}
cudaError_t CUDARTAPI cudaMemGetInfo(size_t* free, size_t* total) {
    return called("cudaMemGetInfo", [&](Device& device) {
        *free = device.free_bytes();
        *total = device.settings().memory_bytes;
        return device.death();
    });
}
cudaError_t CUDARTAPI cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    return called("cudaMemcpy",
                  [&](Device& device) { return device.copy(to, from, bytes, kind, kLegacyStream, true); });
}
cudaError_t CUDARTAPI cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                                      cudaStream_t stream) {
    return called("cudaMemcpyAsync", [&](Device& device) {
        return device.copy(to, from, bytes, kind, stream_of(stream), false);
    });
}
cudaError_t CUDARTAPI cudaMemset(void* at, int value, size_t bytes) {
    return called("cudaMemset", [&](Device& device) { return device.set(at, value, bytes, kLegacyStream); });
}
cudaError_t CUDARTAPI cudaMemsetAsync(void* at, int value, size_t bytes, cudaStream_t stream) {
    return called("cudaMemsetAsync",
                  [&](Device& device) { return device.set(at, value, bytes, stream_of(stream)); });
}

// ---- kernels

cudaError_t CUDARTAPI cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
    return called("cudaFuncSetAttribute", [&](Device& device) {
        HostKernel* const kernel = kernel_of(function);
        if (kernel == nullptr) return cudaErrorInvalidDeviceFunction;
        if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize)
            return device.allow_dynamic_shared(*kernel, value);
        if (attribute != cudaFuncAttributePreferredSharedMemoryCarveout) return cudaErrorInvalidValue;
        return value >= -1 && value <= 100 ? device.resolve(*kernel) : cudaErrorInvalidValue;
    });
}

cudaError_t CUDARTAPI cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks,
                                                                             const void* function,
                                                                             int threads, size_t shared,
                                                                             unsigned) {
    return called("cudaOccupancyMaxActiveBlocksPerMultiprocessor", [&](Device& device) {
        HostKernel* const kernel = kernel_of(function);
        return kernel == nullptr ? cudaErrorInvalidDeviceFunction
                                 : device.occupancy(*kernel, threads, shared, *blocks);
    });
}

cudaError_t CUDARTAPI cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function,
                                                                    int threads, size_t shared) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared, 0);
}

// ---- streams and events

cudaError_t CUDARTAPI cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
    return called("cudaStreamCreateWithFlags", [&](Device& device) {
        if (flags != cudaStreamDefault && flags != cudaStreamNonBlocking) return cudaErrorInvalidValue;
        StreamNumber number = 0;
        const cudaError_t status = device.create_stream(flags == cudaStreamDefault, number);
        if (status == cudaSuccess) *stream = handle_of<cudaStream_t>(number);
        return status;
    });
}
cudaError_t CUDARTAPI cudaStreamDestroy(cudaStream_t stream) {
    return called("cudaStreamDestroy",
                  [&](Device& device) { return device.destroy_stream(stream_of(stream)); });
}
cudaError_t CUDARTAPI cudaStreamSynchronize(cudaStream_t stream) {
    return called("cudaStreamSynchronize",
                  [&](Device& device) { return device.wait_for_stream(stream_of(stream)); });
}
cudaError_t CUDARTAPI cudaEventCreate(cudaEvent_t* event) {
    return called("cudaEventCreate", [&](Device& device) {
        if (device.death() != cudaSuccess) return device.death();
        *event = handle_of<cudaEvent_t>(device.create_event());
        return cudaSuccess;
    });
}
cudaError_t CUDARTAPI cudaEventDestroy(cudaEvent_t event) {
    return called("cudaEventDestroy", [&](Device& device) { return device.destroy_event(number_of(event)); });
}
cudaError_t CUDARTAPI cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    return called("cudaEventRecord",
                  [&](Device& device) { return device.record(number_of(event), stream_of(stream)); });
}
cudaError_t CUDARTAPI cudaEventSynchronize(cudaEvent_t event) {
    return called("cudaEventSynchronize",
                  [&](Device& device) { return device.wait_for_event(number_of(event)); });
}
cudaError_t CUDARTAPI cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
    return called("cudaEventElapsedTime", [&](Device& device) {
        return device.elapsed(number_of(begin), number_of(end), *milliseconds);
    });
}

// ---- captures and graphs

cudaError_t CUDARTAPI cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
    return called("cudaStreamBeginCapture", [&](Device& device) {
        return device.begin_capture(
            stream_of(stream), mode == cudaStreamCaptureModeRelaxed ? Capturing::relaxed : Capturing::strict);
    });
}
cudaError_t CUDARTAPI cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
    return called("cudaStreamEndCapture", [&](Device& device) {
        Number number = 0;
        const cudaError_t status = device.end_capture(stream_of(stream), number);
        *graph = handle_of<cudaGraph_t>(number);
        return status;
    });
}
cudaError_t CUDARTAPI cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
    return called("cudaGraphGetNodes", [&](Device& device) {
        return nodes != nullptr ? cudaErrorNotSupported : device.nodes_of(number_of(graph), *count);
    });
}
cudaError_t CUDARTAPI cudaGraphDestroy(cudaGraph_t graph) {
    return called("cudaGraphDestroy", [&](Device& device) { return device.destroy_graph(number_of(graph)); });
}
cudaError_t CUDARTAPI cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                           unsigned long long flags) {
    return called("cudaGraphInstantiate", [&](Device& device) {
        if (flags != 0) return cudaErrorNotSupported;
        Number number = 0;
        const cudaError_t status = device.instantiate(number_of(graph), number);
        if (status == cudaSuccess) *executable = handle_of<cudaGraphExec_t>(number);
        return status;
    });
}
cudaError_t CUDARTAPI cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream) {
    return called("cudaGraphUpload",
                  [&](Device& device) { return device.upload(number_of(executable), stream_of(stream)); });
}
cudaError_t CUDARTAPI cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
    return called("cudaGraphLaunch", [&](Device& device) {
        return device.launch_graph(number_of(executable), stream_of(stream));
    });
}
cudaError_t CUDARTAPI cudaGraphExecDestroy(cudaGraphExec_t executable) {
    return called("cudaGraphExecDestroy",
                  [&](Device& device) { return device.destroy_executable(number_of(executable)); });
}

}  // extern "C"
