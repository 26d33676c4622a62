#include "microbench/suite.h"

#include <benchmark/benchmark.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "microbench/reporters.h"

namespace paretoken::microbench {
namespace {

std::vector<Row> rows_named(const std::vector<std::string>& names) {
    std::vector<Row> rows;
    for (const auto& name : names) rows.push_back({name, nullptr});
    return rows;
}

std::vector<std::string> names_matching(const std::string& filter) {
    std::vector<std::string> names;
    for (const Row& row :
         matching(rows_named({"ceiling/read/backend:cpu/threads:1", "ceiling/read/backend:cpu/threads:2",
                              "ceiling/cached_read/mib:32/backend:cpu/threads:2"}),
                  filter)) {
        names.push_back(row.name);
    }
    return names;
}

TEST(Suite, filters_see_the_name_as_people_do) {
    EXPECT_EQ(names_matching("").size(), 3u);
    EXPECT_EQ(names_matching("^ceiling/read").size(), 2u);
    EXPECT_EQ(names_matching("read/.*threads:1$"),
              std::vector<std::string>{"ceiling/read/backend:cpu/threads:1"});
    EXPECT_EQ(names_matching("-cached").size(), 2u);
    EXPECT_TRUE(names_matching("gpu").empty());
    EXPECT_THROW(names_matching("x("), UsageError);
}

TEST(Suite, counters_are_finite_and_absent_when_not_measured) {
    RowOutcome outcome;
    outcome.measurement.bytes_per_second = std::numeric_limits<double>::quiet_NaN();
    outcome.measurement.of_ceiling = std::numeric_limits<double>::infinity();
    outcome.measurement.median_s = 1e-4;
    const auto counters = counters_of(outcome);
    for (const auto& [name, value] : counters) EXPECT_TRUE(std::isfinite(value)) << name;
    const auto has = [&](const std::string& name) {
        return std::any_of(counters.begin(), counters.end(), [&](const auto& c) { return c.first == name; });
    };
    EXPECT_FALSE(has("bytes_per_second"));
    EXPECT_FALSE(has("of_ceiling"));
    EXPECT_TRUE(has("median_s"));
    EXPECT_TRUE(has("valid"));
}

TEST(Suite, a_reason_against_a_row_makes_it_invalid) {
    RowOutcome outcome;
    outcome.judgement.invalid_because = {"unsteady"};
    const auto counters = counters_of(outcome);
    const auto valid =
        std::find_if(counters.begin(), counters.end(), [](const auto& c) { return c.first == "valid"; });
    EXPECT_EQ(valid->second, 0);
}

/// Keeps the runs that a reporter receives.
class Heard : public benchmark::BenchmarkReporter {
  public:
    bool ReportContext(const Context&) override { return true; }
    void ReportRuns(const std::vector<Run>& told) override {
        runs.insert(runs.end(), told.begin(), told.end());
    }
    std::vector<Run> runs;
};

TEST(Suite, what_a_machine_lacks_is_said_by_its_row_and_is_no_failure) {
    std::size_t failed = 0;
    register_rows({{"lacks", []() -> RowOutcome { throw NotAvailable("w:nvfp4 needs sm_100"); }},
                   {"breaks", []() -> RowOutcome { throw RuntimeError("out of memory"); }}},
                  failed);
    Heard heard;
    benchmark::RunSpecifiedBenchmarks(&heard);
    benchmark::ClearRegisteredBenchmarks();
    ASSERT_EQ(heard.runs.size(), 2u);
    EXPECT_EQ(error_of(heard.runs[0]), std::nullopt);
    EXPECT_EQ(heard.runs[0].report_label, "w:nvfp4 needs sm_100");
    EXPECT_EQ(heard.runs[0].counters.at("valid").value, 0);
    EXPECT_FALSE(heard.runs[0].counters.contains("median_s")) << "nothing was timed";
    EXPECT_EQ(error_of(heard.runs[1]), "out of memory");
    EXPECT_EQ(failed, 1u);
}

}  // namespace
}  // namespace paretoken::microbench
