// Tests the GPU flags of the built program, on machines with and without a GPU.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/paths.h"

namespace paretoken::microbench::gpu {
namespace {

struct Ended {
    int code = -1;
    std::string output;
};

Ended run(const std::string& arguments) {
    const std::string command =
        paretoken::paths::binary_dir() + "/paretoken-microbench " + arguments + " 2>&1";
    Ended ended;
    FILE* const pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return ended;
    char bytes[4096];
    while (const std::size_t n = fread(bytes, 1, sizeof bytes, pipe)) ended.output.append(bytes, n);
    const int status = pclose(pipe);
    ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return ended;
}

nlohmann::json identity() {
    return nlohmann::json::parse(run("--gpu-identity").output);
}

TEST(GpuFlags, the_identity_is_one_json_object_that_names_a_gpu_or_says_why_there_is_none) {
    ASSERT_EQ(run("--gpu-identity").code, 0);
    const auto object = identity();
    ASSERT_TRUE(object.contains("gpu"));
    if (object.at("gpu").is_null()) {
        EXPECT_FALSE(object.at("because").get<std::string>().empty());
    } else {
        EXPECT_TRUE(object.contains("gpu_sm"));
    }
}

TEST(GpuFlags, without_a_gpu_there_is_nothing_to_verify_and_no_gpu_row_is_listed) {
    if (!identity().at("gpu").is_null()) GTEST_SKIP() << "this machine has a GPU";
    const Ended verified = run("--gpu-verify");
    EXPECT_EQ(verified.code, 3);
    EXPECT_NE(verified.output.find("nothing to verify"), std::string::npos) << verified.output;
    EXPECT_EQ(run("--gpu-profile").code, 3);
    EXPECT_EQ(run("--gpu-profile --gpu-verify").code, 2);
    EXPECT_EQ(run("--list").output.find("backend:gpu"), std::string::npos);
}

TEST(GpuFlags, with_a_gpu_every_kernel_agrees_with_fp64_on_small_shapes) {
    if (identity().at("gpu").is_null()) GTEST_SKIP() << "no GPU";
    const Ended verified = run("--gpu-verify");
    EXPECT_EQ(verified.code, 0) << verified.output;
}

TEST(GpuFlags, a_ring_is_enlarged_by_whole_numbers_above_zero) {
    EXPECT_EQ(run("--ring-scale=0 --list").code, 2);
    EXPECT_EQ(run("--ring-scale=twice --list").code, 2);
    EXPECT_EQ(run("--ring-scale=2 --list").code, 0);
}

}  // namespace
}  // namespace paretoken::microbench::gpu
