#pragma once
// The fixture for tests of experiments. It makes small runs and sweeps on a simulated server in virtual time
// (the clock is simulated too, so that nothing waits), which take milliseconds and are reproducible. Every
// test has an empty directory of its own.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "core/plan/plan_fields.h"
#include "experiments/server/launch.h"
#include "experiments/session.h"
#include "experiments/sweep/sweep.h"
#include "reports/files/file_io.h"
#include "reports/files/run_directory.h"

namespace paretoken::experiments {

class VirtualExperiment : public ::testing::Test {
  protected:
    void SetUp() override {
        directory_ =
            std::filesystem::path(::testing::TempDir()) /
            ("experiments_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
        std::filesystem::remove_all(directory_);
        std::filesystem::create_directories(directory_);
    }
    void TearDown() override { std::filesystem::remove_all(directory_); }

    /// The options of a small load, for measured() and swept().
    static PlanTexts small() {
        return {{"url", {"sim:llama3-8b-h100-bf16?jitter=0"}},
                {"virtual", {"true"}},
                {"isl", {"uniform:min=16;max=64"}},
                {"osl", {"8"}},
                {"num_prompts", {"24"}}};
    }

    /// Measures one run, whose files go to the folder `name` of the test's directory.
    Measured measured(const PlanTexts& texts, const std::string& name) {
        const LoadPlan asked = with_dataset(plan_of(texts));
        return measure(*open_target(asked, {}, watcher_, stop_.get_token()), asked, directory_ / name,
                       {{{"paretoken"}, "paretoken"}, watcher_, stop_.get_token()});
    }

    /// Begins a sweep in the folder `name` of the test's directory, or resumes the one that is there, like
    /// `paretoken sweep`.
    reports::SweepFile swept(const PlanTexts& texts, const std::vector<double>& levels,
                             const std::string& name) {
        return swept({.asked = with_dataset(plan_of(texts)), .levels = levels}, name);
    }
    reports::SweepFile swept(const SweepPlan& plan, const std::string& name) {
        const Invocation invocation{{"paretoken"}, "paretoken sweep"};
        Resumed sweep = resumed(fresh_sweep(plan, invocation), directory_ / name);
        if (sweep.judged_otherwise) judge_points_anew(sweep.file, plan.asked, directory_ / name);
        ServerLauncher launcher({}, watcher_, stop_.get_token());
        if (!nothing_to_measure(sweep.file))
            measure_points(launcher, plan, sweep.file, directory_ / name,
                           {invocation, watcher_, stop_.get_token()});
        return sweep.file;
    }

    std::string bytes(const std::filesystem::path& file) const {
        std::ifstream stream(directory_ / file, std::ios::binary);
        return {std::istreambuf_iterator<char>(stream), {}};
    }
    std::string records(const std::string& name) const {
        return bytes(std::filesystem::path(name) / reports::kRecordsFileName);
    }
    RunResult result(const std::string& name) const { return reports::read_run_directory(directory_ / name); }

    std::filesystem::path directory_;
    Watcher watcher_;
    std::stop_source stop_;
};

}  // namespace paretoken::experiments
