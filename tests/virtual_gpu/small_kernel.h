#pragma once
// Kernels of a few lines of PTX that tests run on memory that they fill. The registers are %p (predicates),
// %rs (16 bits), %r (32 bits), %f (fp32), %rd (64 bits) and %fd (fp64). At the start of the body, %rd1 and
// %rd2 hold the two pointers that are the kernel's parameters, %r1 holds %tid.x and %r2 holds %ctaid.x.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "tests/virtual_gpu/launch.h"

namespace paretoken::virtual_gpu {

/// Returns the PTX of a kernel named "small". `body` are its instructions, and `shared` are declarations
/// outside of the kernel, such as that of shared memory.
inline std::string small_kernel(std::string_view body, std::string_view shared = "", int capability = 90) {
    return fmt::format(R"(
.version 8.0
.target sm_{}
.address_size 64
{}
.visible .entry small(
	.param .u64 small_param_0,
	.param .u64 small_param_1
)
{{
	.reg .pred %p<32>;
	.reg .b16 %rs<64>;
	.reg .b32 %r<128>;
	.reg .f32 %f<64>;
	.reg .b64 %rd<64>;
	.reg .f64 %fd<16>;
	ld.param.u64 %rd1, [small_param_0];
	ld.param.u64 %rd2, [small_param_1];
	mov.u32 %r1, %tid.x;
	mov.u32 %r2, %ctaid.x;
{}
	ret;
}}
)",
                       capability, shared, body);
}

/// The line in the PTX of a line of the body; the first line of the body is 1. `shared` must have no line
/// break.
inline int line_of_body(int line) {
    return 20 + line;
}

/// The device memory of a test, and launches on it.
struct Device {
    Memory memory{std::size_t{256} << 20};

    /// Allocates memory that holds these values.
    template <class Value>
    Value* holding(const std::vector<Value>& values) {
        auto* const at = reinterpret_cast<Value*>(memory.allocate(values.size() * sizeof(Value)));
        std::memcpy(static_cast<void*>(at), values.data(), values.size() * sizeof(Value));
        memory.mark_written(at, values.size() * sizeof(Value));
        return at;
    }
    /// Allocates memory that is not initialised.
    template <class Value>
    Value* room(std::size_t count) {
        return reinterpret_cast<Value*>(memory.allocate(count * sizeof(Value)));
    }
    /// Runs the kernel "small" of this PTX. `first` and `second` become %rd1 and %rd2.
    LaunchReport run(std::string_view ptx, const void* first, const void* second,
                     const LaunchShape& shape = {}, const LaunchSettings& settings = {}) {
        const LoadedModule module(ptx, "small.ptx");
        std::array<std::byte, 16> parameters;
        std::memcpy(parameters.data(), &first, 8);
        std::memcpy(parameters.data() + 8, &second, 8);
        return virtual_gpu::run(*module.find("small"), shape, parameters, memory, settings);
    }
};

/// Runs one block and returns the words that its threads store at %rd2 + 4 · %tid.x. %rd1 points to the words
/// `in`. A fault fails the test.
inline std::vector<std::uint32_t> words_of_block(std::string_view body, unsigned threads = 32,
                                                 std::string_view shared = "",
                                                 std::vector<std::uint32_t> in = {0}) {
    Device device;
    auto* const out = device.holding(std::vector<std::uint32_t>(threads, 0xdeadbeef));
    const LaunchReport report =
        device.run(small_kernel(body, shared), device.holding(in), out, {.block = {threads, 1, 1}});
    EXPECT_EQ(report.fault ? report.fault->message : "", "");
    return {out, out + threads};
}

/// Runs a launch with this number of threads per block and returns its fault, if it has one. Both pointers
/// point to 64 words, which are 0.
inline std::optional<Fault> fault_of_block(std::string_view body, unsigned threads = 32,
                                           std::string_view shared = "", LaunchShape shape = {}) {
    Device device;
    shape.block = {threads, 1, 1};
    auto* const in = device.holding(std::vector<std::uint32_t>(64));
    auto* const out = device.holding(std::vector<std::uint32_t>(64));
    return device.run(small_kernel(body, shared), in, out, shape).fault;
}

}  // namespace paretoken::virtual_gpu
