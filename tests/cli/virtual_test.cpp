// A run in virtual time, from the command line's values to the files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "cli/measure.h"
#include "core/error.h"
#include "reports/run_directory.h"
#include "tests/support/golden.h"

namespace paretoken::cli {
namespace {

namespace fs = std::filesystem;

class VirtualRun : public ::testing::Test {
  protected:
    void SetUp() override {
        directory_ =
            fs::path(::testing::TempDir()) / ::testing::UnitTest::GetInstance()->current_test_info()->name();
        fs::remove_all(directory_);
        options_.target.url = "sim:llama3-8b-h100-bf16?jitter=0";
        options_.target.virtual_time = true;
        options_.workload.isl = "uniform:min=16;max=64";
        options_.workload.osl = "8";
        options_.pace.num_prompts = "24";
    }
    void TearDown() override { fs::remove_all(directory_); }

    Target::Measured measured(const std::string& name) const {
        const InterruptWatch interrupt;
        return Target(options_).measure(load_level("3", options_.pace), directory_ / name, {"paretoken"},
                                        interrupt);
    }
    std::string records_of(const std::string& name) const {
        std::ifstream file(directory_ / name / reports::kRecordsFileName, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    fs::path directory_;
    MeasureOptions options_;
};

TEST_F(VirtualRun, LeavesTheSameRecordsEveryTime) {
    measured("one");
    measured("two");
    EXPECT_FALSE(records_of("one").empty());
    EXPECT_EQ(records_of("one"), records_of("two"));
}

// After an intended change: paretoken run 'sim:llama3-8b-h100-bf16?jitter=0' --virtual --isl
// 'uniform:min=16;max=64'
// --osl 8 --num-prompts 24 --concurrency 3 makes requests.jsonl anew.
TEST_F(VirtualRun, LeavesTheRecordsThatItAlwaysLeft) {
    measured("run");
    EXPECT_EQ(records_of("run"), paretoken::testing::golden("virtual/requests.jsonl"));
}

TEST_F(VirtualRun, SaysThatItIsSimulated) {
    const auto run = measured("run");
    EXPECT_EQ(run.result, reports::read_run_directory(run.directory));
    EXPECT_EQ(run.result.provenance.server_kind, "paretoken-sim in virtual time");
    EXPECT_EQ(run.result.provenance.clock, "virtual time");
    EXPECT_EQ(run.result.provenance.url, options_.target.url);
    EXPECT_EQ(run.result.provenance.hardware, "sim:llama3-8b-h100-bf16?jitter=0");
    EXPECT_EQ(run.result.counts.ok, 24U);
}

TEST_F(VirtualRun, IsForTheSimulatedServerOnly) {
    options_.target.url = "http://127.0.0.1:1";
    EXPECT_THROW(Target{options_}, UsageError);
    options_.target.url = "sim:ideal";
    options_.workload.isl = "200000";
    EXPECT_THROW(Target{options_}, UsageError) << "longer than the context";
}

}  // namespace
}  // namespace paretoken::cli
