// Runs `paretoken baseline` on runs and verdicts of gates that are made up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "core/error.h"
#include "reports/files/file_io.h"
#include "reports/files/gate/baseline_store.h"
#include "reports/files/json/gate_file.h"
#include "reports/files/run_directory.h"
#include "tests/reports/analysis/gate/gate_runs.h"
#include "tests/reports/temporary_directory.h"
#include "tests/support/message_of.h"

namespace paretoken::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

class Baseline : public ::testing::Test {
  protected:
    fs::path run(const std::string& name) {
        fs::path directory = place_.path() / name;
        fs::create_directories(directory);
        RunResult result = reports::sample::gate_run({}).result;
        result.provenance.run_id = name;
        result.provenance.started_at = "2026-11-01T09:00:0" + name.substr(1) + "Z";
        reports::write_run(directory, result);
        std::ofstream(directory / reports::kRecordsFileName) << "";
        return directory;
    }

    /// A verdict on runs that were measured before.
    fs::path gate_of(const std::vector<fs::path>& candidate, const std::string& started_at) {
        reports::GateReport report{.verdict = reports::GateVerdict::pass};
        for (const fs::path& run : candidate)
            report.runs.push_back(
                {.of_candidate = true, .directory = run.string(), .started_at = started_at});
        fs::path directory = place_.path() / "gate";
        fs::create_directories(directory);
        reports::write_file_atomically(directory / reports::kGateFileName,
                                       reports::gate_json(report, std::nullopt));
        return directory;
    }

    /// Returns what `paretoken baseline WORDS` prints on both streams.
    std::string printed(std::vector<std::string> words) {
        CLI::App app;
        add_baseline(app);
        words.insert(words.begin(), "baseline");
        words.insert(words.end(), {"--store", (place_.path() / "store").string()});
        std::ranges::reverse(words);
        ::testing::internal::CaptureStdout();
        ::testing::internal::CaptureStderr();
        std::string text;
        try {
            app.parse(words);
        } catch (...) {
            (void)::testing::internal::GetCapturedStdout();
            (void)::testing::internal::GetCapturedStderr();
            throw;
        }
        text = ::testing::internal::GetCapturedStdout();
        return text + ::testing::internal::GetCapturedStderr();
    }

    std::size_t runs_of(const std::string& name) const {
        return reports::BaselineStore(place_.path() / "store").find(name).runs.size();
    }

    reports::TemporaryDirectory place_;
};

TEST_F(Baseline, with_a_damaged_run_is_listed_with_the_others_and_names_the_run) {
    printed({"save", "main", run("r1").string(), run("r2").string(), run("r3").string()});
    printed({"save", "other", run("r1").string()});
    const fs::path main = place_.path() / "store" / "main";
    fs::resize_file(main / "01" / reports::kRunFileName, 1000);
    fs::remove(main / "02" / reports::kRunFileName);
    const std::string listed = printed({"list"});
    EXPECT_THAT(listed, AllOf(ContainsRegex("main +1, 2 damaged +2026-11-01"), ContainsRegex("other +1 "),
                              HasSubstr("main/01 is damaged: "), HasSubstr("main/02 is damaged: ")));
    EXPECT_THAT(printed({"show", "main"}),
                AllOf(ContainsRegex("main/03  2026"), HasSubstr("main/01 is damaged")));
}

TEST_F(Baseline, takes_the_runs_that_were_measured_before_a_gate_that_passed) {
    printed({"save", "main", run("r1").string(), run("r2").string()});
    const std::vector<fs::path> candidate{run("r5")};
    const std::string when = "2026-11-01T09:00:05Z";
    EXPECT_THAT(printed({"update", "main", gate_of(candidate, when).string()}), HasSubstr("3 runs"));
    EXPECT_EQ(runs_of("main"), 3U);
    const auto refusal = [&](const fs::path& gate) {
        return message_of<UsageError>([&] { printed({"update", "main", gate.string()}); });
    };
    EXPECT_THAT(refusal(gate_of({run("r6")}, when)), HasSubstr("r6 cannot be read from this directory"))
        << "another run is in its place";
    EXPECT_THAT(refusal(gate_of({place_.path() / "r7"}, when)),
                HasSubstr("r7 cannot be read from this directory"));
    EXPECT_EQ(runs_of("main"), 3U);
}

}  // namespace
}  // namespace paretoken::cli
