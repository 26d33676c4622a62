// Tests of the functions of the runtime as a program calls them. The expected results are those of CUDA's
// documentation.
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "tests/virtual_gpu/runtime/test_kernels.h"

namespace paretoken::virtual_gpu {
namespace {

using namespace testing;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr int kCount = 100;
constexpr std::size_t kBytes = kCount * sizeof(int);

/// Device memory of kCount words.
class Words {
  public:
    Words() { EXPECT_EQ(cudaMalloc(reinterpret_cast<void**>(&at_), kBytes), cudaSuccess); }
    explicit Words(int value) : Words() {
        const std::vector<int> values(kCount, value);
        EXPECT_EQ(cudaMemcpy(at_, values.data(), kBytes, cudaMemcpyHostToDevice), cudaSuccess);
        EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    }
    ~Words() { cudaFree(at_); }
    Words(const Words&) = delete;
    Words& operator=(const Words&) = delete;

    int* at() const { return at_; }
    std::vector<int> read() const {
        std::vector<int> values(kCount);
        EXPECT_EQ(cudaMemcpy(values.data(), at_, kBytes, cudaMemcpyDeviceToHost), cudaSuccess);
        return values;
    }

  private:
    int* at_ = nullptr;
};

cudaStream_t new_stream(unsigned flags = cudaStreamNonBlocking) {
    cudaStream_t stream = nullptr;
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream, flags), cudaSuccess);
    return stream;
}

cudaEvent_t new_event() {
    cudaEvent_t event = nullptr;
    EXPECT_EQ(cudaEventCreate(&event), cudaSuccess);
    return event;
}

/// At the end of each test, all work is done and the last error is cleared, so that the next test does not
/// see it.
class Api : public ::testing::Test {
  protected:
    void TearDown() override {
        EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
        cudaGetLastError();
    }
};

// ---- results of kernels and copies

TEST_F(Api, kernels_get_their_parameters_and_their_results_come_back) {
    const Words words(40);
    EXPECT_EQ(add_to_words(words.at(), kCount, 3, -1.0, nullptr), cudaSuccess);
    EXPECT_THAT(words.read(), Each(42));
}

TEST_F(Api, bytes_that_nothing_wrote_are_told_when_they_are_copied_to_the_host) {
    const Words words;
    EXPECT_EQ(cudaMemset(words.at(), 0, kBytes - 1), cudaSuccess);
    ::testing::internal::CaptureStderr();
    words.read();
    EXPECT_THAT(::testing::internal::GetCapturedStderr(),
                HasSubstr("never written; the first is byte 399 of the copy"));
    const Words copied;
    EXPECT_EQ(cudaMemcpy(copied.at(), words.at(), kBytes, cudaMemcpyDeviceToDevice), cudaSuccess);
    ::testing::internal::CaptureStderr();
    copied.read();
    EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("byte 399 of the copy"));
}

// ---- order

TEST_F(Api, a_non_blocking_stream_does_not_wait_for_a_memset_of_the_legacy_stream) {
    const Words from(7);
    const Words to(1);
    const cudaStream_t stream = new_stream();
    EXPECT_EQ(cudaMemset(from.at(), 0, kBytes), cudaSuccess);
    EXPECT_EQ(copy_words(from.at(), to.at(), kCount, stream), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_THAT(to.read(), Each(7));
    EXPECT_EQ(cudaMemset(from.at(), 0, kBytes), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(copy_words(from.at(), to.at(), kCount, stream), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_THAT(to.read(), Each(0));
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST_F(Api, a_blocking_stream_waits_for_the_legacy_stream) {
    const Words from(7);
    const Words to(1);
    const cudaStream_t stream = new_stream(cudaStreamDefault);
    EXPECT_EQ(cudaMemset(from.at(), 0, kBytes), cudaSuccess);
    EXPECT_EQ(copy_words(from.at(), to.at(), kCount, stream), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_THAT(to.read(), Each(0));
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST_F(Api, a_pageable_copy_to_the_device_may_return_before_it_has_arrived) {
    const Words from(7);
    const Words to(1);
    const cudaStream_t stream = new_stream();
    std::vector<int> values(kCount, 5);
    EXPECT_EQ(cudaMemcpy(from.at(), values.data(), kBytes, cudaMemcpyHostToDevice), cudaSuccess);
    values.assign(kCount, 6);  // the copy has staged the old values
    EXPECT_EQ(copy_words(from.at(), to.at(), kCount, stream), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_THAT(to.read(), Each(7));
    EXPECT_THAT(from.read(), Each(5));
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST_F(Api, a_copy_to_the_host_does_not_wait_for_a_non_blocking_stream) {
    const Words words(1);
    const cudaStream_t stream = new_stream();
    EXPECT_EQ(add_to_words(words.at(), kCount, 1, 0, stream), cudaSuccess);
    EXPECT_THAT(words.read(), Each(1));
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_THAT(words.read(), Each(2));
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST_F(Api, pinned_memory_is_read_when_its_stream_comes_to_it) {
    const Words words(1);
    const cudaStream_t stream = new_stream();
    void* memory = nullptr;
    EXPECT_EQ(cudaMallocHost(&memory, kBytes), cudaSuccess);
    auto* const values = static_cast<int*>(memory);
    std::fill_n(values, kCount, 5);
    EXPECT_EQ(cudaMemcpyAsync(words.at(), values, kBytes, cudaMemcpyHostToDevice, stream), cudaSuccess);
    std::fill_n(values, kCount, 6);  // the copy has not read the values yet
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_THAT(words.read(), Each(6));
    EXPECT_EQ(cudaFreeHost(memory), cudaSuccess);
    EXPECT_EQ(cudaFreeHost(memory), cudaErrorInvalidValue);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

// ---- refusals

TEST_F(Api, launches_that_no_gpu_takes_are_refused_once) {
    EXPECT_EQ(nothing({.blocks = 0}), cudaErrorInvalidConfiguration);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);  // status_of has already cleared the error
    EXPECT_EQ(nothing({.threads = 0}), cudaErrorInvalidConfiguration);
    EXPECT_EQ(nothing({.threads = 1025}), cudaErrorInvalidConfiguration);
    EXPECT_EQ(nothing({.threads = 1024}), cudaSuccess);
    EXPECT_EQ(nothing_bounded({.threads = 64}), cudaSuccess);
    EXPECT_EQ(nothing_bounded({.threads = 65}), cudaErrorInvalidValue);
}

TEST_F(Api, much_shared_memory_must_be_asked_for) {
    constexpr std::size_t kMost = 227 << 10;  // the limit of sm_90
    EXPECT_EQ(nothing({.shared = 48 << 10}), cudaSuccess);
    EXPECT_EQ(nothing({.shared = (48 << 10) + 1}), cudaErrorInvalidValue);
    const auto allow = [](std::size_t bytes) {
        const auto status = cudaFuncSetAttribute(
            nothing_kernel(), cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
        cudaGetLastError();
        return status;
    };
    EXPECT_EQ(allow(kMost + 1), cudaErrorInvalidValue);
    EXPECT_EQ(allow(kMost), cudaSuccess);
    EXPECT_EQ(nothing({.shared = kMost}), cudaSuccess);
    EXPECT_EQ(allow(0), cudaSuccess);
    EXPECT_EQ(nothing({.shared = 1}), cudaErrorInvalidValue);
    EXPECT_EQ(allow(48 << 10), cudaSuccess);
    int blocks = -1;
    EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, with_static_shared(), 128, 44 << 10),
              cudaSuccess);
    EXPECT_EQ(blocks, 4);  // with 4 KiB of static shared memory, a block has 48 KiB
    EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, with_static_shared(), 128, 45 << 10),
              cudaSuccess);
    EXPECT_EQ(blocks, 0);
    EXPECT_EQ(cudaFuncSetAttribute(&kMost, cudaFuncAttributeMaxDynamicSharedMemorySize, 1),
              cudaErrorInvalidDeviceFunction);
}

TEST_F(Api, memory_is_given_back_once_and_used_within_its_bounds) {
    void* at = nullptr;
    EXPECT_EQ(cudaMalloc(&at, kBytes), cudaSuccess);
    std::vector<std::byte> host(kBytes + 1);
    EXPECT_EQ(cudaMemcpy(at, host.data(), kBytes + 1, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    EXPECT_EQ(cudaMemcpy(host.data(), static_cast<std::byte*>(at) + 1, kBytes, cudaMemcpyDeviceToHost),
              cudaErrorInvalidValue);
    EXPECT_EQ(cudaMemset(at, 0, kBytes + 1), cudaErrorInvalidValue);
    EXPECT_EQ(cudaMemcpy(at, host.data(), kBytes, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    EXPECT_EQ(cudaFree(static_cast<std::byte*>(at) + 4), cudaErrorInvalidValue);
    EXPECT_EQ(cudaFree(at), cudaSuccess);
    EXPECT_EQ(cudaFree(at), cudaErrorInvalidValue);
    EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
}

TEST_F(Api, memory_ends) {
    std::size_t free = 0;
    std::size_t total = 0;
    EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
    EXPECT_LE(free, total);
    void* at = nullptr;
    EXPECT_EQ(cudaMalloc(&at, total + 1), cudaErrorMemoryAllocation);
    EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(Api, what_was_destroyed_is_known_no_more) {
    const cudaStream_t stream = new_stream();
    const cudaEvent_t event = new_event();
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
    EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
    EXPECT_EQ(nothing({.stream = stream}), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(cudaEventRecord(event, nullptr), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(cudaEventSynchronize(event), cudaErrorInvalidResourceHandle);
    EXPECT_NE(new_stream(), stream);  // a handle is never used again
}

// ---- events

TEST_F(Api, events_tell_the_modelled_time_between_them) {
    const cudaStream_t stream = new_stream();
    const cudaEvent_t begin = new_event();
    const cudaEvent_t end = new_event();
    float milliseconds = -1;
    EXPECT_EQ(cudaEventElapsedTime(&milliseconds, begin, end), cudaErrorInvalidResourceHandle);
    // The event was never recorded, so that there is nothing to wait for.
    EXPECT_EQ(cudaEventSynchronize(end), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(begin, stream), cudaSuccess);
    for (int i = 0; i < 10; ++i) EXPECT_EQ(nothing({.stream = stream}), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(end, stream), cudaSuccess);
    EXPECT_EQ(cudaEventElapsedTime(&milliseconds, begin, end), cudaErrorNotReady);
    EXPECT_EQ(cudaEventSynchronize(end), cudaSuccess);
    EXPECT_EQ(cudaEventElapsedTime(&milliseconds, begin, end), cudaSuccess);
    EXPECT_FLOAT_EQ(milliseconds, 0.022F);
    EXPECT_EQ(cudaEventDestroy(begin), cudaSuccess);
    EXPECT_EQ(cudaEventDestroy(end), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

// ---- captures

class Captures : public Api {
  protected:
    void begin() { EXPECT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess); }
    cudaError_t ended() {
        const cudaError_t status = cudaStreamEndCapture(stream, &graph);
        EXPECT_EQ(graph == nullptr, status != cudaSuccess);
        return status;
    }
    void TearDown() override {
        EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
        Api::TearDown();
    }

    cudaStream_t stream = new_stream();
    cudaGraph_t graph = nullptr;
};

TEST_F(Captures, captured_work_is_done_by_every_launch_of_its_graph_and_not_before) {
    const Words words(0);
    begin();
    EXPECT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaErrorIllegalState);
    EXPECT_EQ(add_to_words(words.at(), kCount, 1, 0, stream), cudaSuccess);
    EXPECT_EQ(add_to_words(words.at(), kCount, 2, 0, stream), cudaSuccess);
    EXPECT_EQ(ended(), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_THAT(words.read(), Each(0));
    std::size_t nodes = 0;
    EXPECT_EQ(cudaGraphGetNodes(graph, nullptr, &nodes), cudaSuccess);
    EXPECT_EQ(nodes, 2U);
    cudaGraphExec_t executable = nullptr;
    EXPECT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaErrorInvalidValue);
    EXPECT_EQ(cudaGraphUpload(executable, stream), cudaSuccess);
    const cudaEvent_t from = new_event();
    const cudaEvent_t to = new_event();
    EXPECT_EQ(cudaEventRecord(from, stream), cudaSuccess);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(to, stream), cudaSuccess);
    EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);  // pending launches are still done
    EXPECT_EQ(cudaGraphLaunch(executable, stream), cudaErrorInvalidValue);
    EXPECT_EQ(cudaEventSynchronize(to), cudaSuccess);
    EXPECT_THAT(words.read(), Each(15));
    float milliseconds = 0;
    EXPECT_EQ(cudaEventElapsedTime(&milliseconds, from, to), cudaSuccess);
    EXPECT_FLOAT_EQ(milliseconds, 10 * 1.4e-3F);
    EXPECT_EQ(cudaEventDestroy(from), cudaSuccess);
    EXPECT_EQ(cudaEventDestroy(to), cudaSuccess);
}

TEST_F(Captures, what_waits_or_allocates_is_refused_and_spoils_the_capture) {
    const Words words(0);
    std::vector<int> host(kCount);
    void* at = nullptr;
    const std::vector<std::pair<const char*, std::function<cudaError_t()>>> forbidden{
        {"cudaMalloc", [&] { return cudaMalloc(&at, 16); }},
        {"cudaFree", [&] { return cudaFree(words.at()); }},
        {"cudaMemcpy", [&] { return cudaMemcpy(words.at(), host.data(), kBytes, cudaMemcpyHostToDevice); }},
        {"cudaMemset", [&] { return cudaMemset(words.at(), 0, kBytes); }},
        {"a launch on the legacy stream", [] { return nothing({}); }},
        {"cudaStreamSynchronize", [&] { return cudaStreamSynchronize(stream); }},
        {"cudaDeviceSynchronize", [] { return cudaDeviceSynchronize(); }},
    };
    for (const auto& [name, call] : forbidden) {
        begin();
        EXPECT_EQ(nothing({.stream = stream}), cudaSuccess) << name;
        EXPECT_EQ(call(), cudaErrorStreamCaptureUnsupported) << name;
        EXPECT_EQ(nothing({.stream = stream}), cudaErrorStreamCaptureInvalidated) << name;
        EXPECT_EQ(ended(), cudaErrorStreamCaptureInvalidated) << name;
        EXPECT_EQ(nothing({.stream = stream}), cudaSuccess) << name;
    }
    EXPECT_THAT(words.read(), Each(0));
}

TEST_F(Captures, the_legacy_stream_cannot_be_captured_nor_end_what_nobody_began) {
    EXPECT_EQ(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeThreadLocal),
              cudaErrorStreamCaptureUnsupported);
    EXPECT_EQ(ended(), cudaErrorIllegalState);
}

TEST_F(Captures, an_event_recorded_in_a_capture_cannot_be_waited_for) {
    const cudaEvent_t event = new_event();
    begin();
    EXPECT_EQ(cudaEventRecord(event, stream), cudaSuccess);
    EXPECT_EQ(ended(), cudaSuccess);
    EXPECT_EQ(cudaEventSynchronize(event), cudaErrorCapturedEvent);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
}

// ---- calls after a fault

TEST(ApiDeath, after_a_fault_every_call_tells_of_it) {
    // This runs in a separate process, because every call in that process fails after the fault.
    const auto act = [] {
        const Words words(0);
        int* const past = words.at();
        if (write_past(past, kCount, nullptr) != cudaSuccess) std::_Exit(1);
        if (cudaDeviceSynchronize() != cudaErrorIllegalAddress) std::_Exit(2);
        if (cudaGetLastError() != cudaErrorIllegalAddress) std::_Exit(3);
        if (cudaGetLastError() != cudaErrorIllegalAddress) std::_Exit(4);
        void* at = nullptr;
        if (cudaMalloc(&at, 4) != cudaErrorIllegalAddress) std::_Exit(5);
        if (cudaFree(past) != cudaErrorIllegalAddress) std::_Exit(6);
        cudaEvent_t event = nullptr;
        if (cudaEventCreate(&event) != cudaErrorIllegalAddress) std::_Exit(7);
        std::_Exit(0);
    };
    EXPECT_EXIT(act(), ::testing::ExitedWithCode(0), "past_kernel.*");
}

}  // namespace
}  // namespace paretoken::virtual_gpu
