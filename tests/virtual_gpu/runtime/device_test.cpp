#include "tests/virtual_gpu/runtime/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

namespace paretoken::virtual_gpu {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

constexpr int kCount = 64;

/// A kernel of test_kernels.cu.
HostKernel kernel_named(const std::string& name) {
    std::ifstream file(PARETOKEN_PTX_DIRECTORY "/sm_90/test_kernels.ptx");
    const std::string ptx{std::istreambuf_iterator<char>(file), {}};
    for (const std::string& entry : entries_of(ptx)) {
        if (entry.find(name) != std::string::npos) return {.name = entry};
    }
    ADD_FAILURE() << "test_kernels.ptx has no kernel " << name;
    return {};
}

class DeviceTest : public ::testing::Test {
  protected:
    Device& make(const Settings& settings) {
        device = std::make_unique<Device>(settings, PARETOKEN_PTX_DIRECTORY);
        add.found = nullptr;  // it belongs to the previous device
        EXPECT_EQ(device->allocate(kCount * sizeof(int), memory), cudaSuccess);
        EXPECT_EQ(device->set(memory, 0, kCount * sizeof(int), kLegacyStream), cudaSuccess);
        EXPECT_EQ(device->create_stream(false, stream), cudaSuccess);
        EXPECT_EQ(device->wait_for_all(), cudaSuccess);
        return *device;
    }
    /// Adds 1 to `count` words.
    void add_one(int count) {
        short by = 1;
        double unused = 0;
        std::array<void*, 4> arguments{&memory, &count, &by, &unused};
        EXPECT_EQ(device->launch(add, {.block = {kCount, 1, 1}}, arguments.data(), stream), cudaSuccess);
    }
    std::vector<int> words() {
        std::vector<int> values(kCount);
        EXPECT_EQ(device->copy(values.data(), memory, kCount * sizeof(int), cudaMemcpyDeviceToHost,
                               kLegacyStream, true),
                  cudaSuccess);
        return values;
    }
    /// The totals of the only kernel that was launched.
    const KernelTotals& totals() const { return device->report().kernels.begin()->second; }

    std::unique_ptr<Device> device;
    HostKernel add = kernel_named("add_kernel");
    void* memory = nullptr;
    StreamNumber stream = 0;
};

TEST_F(DeviceTest, work_is_late_unless_the_order_is_eager) {
    make({.lazy = true});
    add_one(kCount);
    EXPECT_THAT(words(), Each(0));
    make({.lazy = false});
    add_one(kCount);
    EXPECT_THAT(words(), Each(1));
}

TEST_F(DeviceTest, launches_of_equal_work_in_graphs_may_take_their_time_only) {
    make({.graph_runs = 2});
    add_one(kCount);  // this launch is not in a graph and does not count
    EXPECT_EQ(device->begin_capture(stream, Capturing::strict), cudaSuccess);
    for (int i = 0; i < 5; ++i) add_one(kCount);
    add_one(1);  // this launch does other work
    Number graph = 0;
    Number executable = 0;
    EXPECT_EQ(device->end_capture(stream, graph), cudaSuccess);
    EXPECT_EQ(device->instantiate(graph, executable), cudaSuccess);
    EXPECT_EQ(device->launch_graph(executable, stream), cudaSuccess);
    EXPECT_EQ(device->wait_for_stream(stream), cudaSuccess);
    const std::vector<int> values = words();
    EXPECT_EQ(values.front(), 1 + 2 + 1);
    EXPECT_EQ(values.back(), 1 + 2);
    EXPECT_EQ(totals().launches, 7U);
    EXPECT_EQ(totals().timed_only, 3U);
    const Speeds speeds;
    EXPECT_DOUBLE_EQ(totals().seconds, speeds.launch_s + 6 * speeds.node_s);
}

TEST_F(DeviceTest, totals_say_what_a_kernel_asked_for_and_what_it_moved) {
    make({});
    add_one(kCount);
    EXPECT_EQ(device->wait_for_all(), cudaSuccess);
    EXPECT_EQ(totals().sum.loaded_bytes, kCount * sizeof(int));
    EXPECT_EQ(totals().sum.stored_bytes, kCount * sizeof(int));
    EXPECT_EQ(totals().sum.read_bytes, kCount * sizeof(int));
    EXPECT_EQ(totals().sum.load_requests, 2U);
    EXPECT_EQ(totals().sum.load_sectors, 8U);
    const std::string json = json_of(device->report());
    EXPECT_THAT(json, HasSubstr("\"sectors_per_request\": 4.0"));
    EXPECT_THAT(json, HasSubstr("add_kernel(int*, int, short, double)"));
    EXPECT_THAT(json, HasSubstr("\"gpu\": \"virtual GPU (sm_90)\""));
}

TEST_F(DeviceTest, a_kernel_that_no_file_has_is_refused_by_name) {
    make({});
    HostKernel missing{.name = "_Z7missingv"};
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(device->launch(missing, {}, nullptr, stream), cudaErrorNoKernelImageForDevice);
    EXPECT_THAT(::testing::internal::GetCapturedStderr(),
                HasSubstr("missing(): no PTX file has this kernel"));
}

}  // namespace
}  // namespace paretoken::virtual_gpu
