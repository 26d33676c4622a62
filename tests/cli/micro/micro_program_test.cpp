#include "cli/micro/micro_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "core/error.h"
#include "core/version.h"

namespace paretoken::cli {
namespace {

namespace fs = std::filesystem;

class MicroProgram : public testing::Test {
  protected:
    MicroProgram() { fs::create_directories(bin()); }
    ~MicroProgram() override { fs::remove_all(prefix_); }
    fs::path bin() const { return prefix_ / "bin"; }
    fs::path libexec() const {
        return (bin() / libexec_from_bin() / "paretoken" / "paretoken-microbench").lexically_normal();
    }
    static void make(const fs::path& file) {
        fs::create_directories(file.parent_path());
        std::ofstream(file) << "program";
    }

  private:
    fs::path prefix_ = fs::temp_directory_path() / ("paretoken-micro-program-" + std::to_string(getpid()));
};

TEST_F(MicroProgram, is_found_in_libexec_of_the_prefix) {
    make(libexec());
    EXPECT_EQ(microbench_program(bin()), libexec());
}

TEST_F(MicroProgram, beside_paretoken_comes_first) {
    make(libexec());
    make(bin() / "paretoken-microbench");
    EXPECT_EQ(microbench_program(bin()), bin() / "paretoken-microbench");
}

TEST_F(MicroProgram, a_missing_one_is_an_error_that_names_both_places) {
    fs::create_directories(bin() / "paretoken-microbench");  // a directory is no program
    try {
        microbench_program(bin());
        FAIL() << "no error";
    } catch (const RuntimeError& error) {
        EXPECT_THAT(error.what(), testing::HasSubstr((bin() / "paretoken-microbench").string()));
        EXPECT_THAT(error.what(), testing::HasSubstr(libexec().string()));
    }
}

}  // namespace
}  // namespace paretoken::cli
