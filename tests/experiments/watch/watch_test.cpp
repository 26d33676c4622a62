#include "experiments/watch/watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "tests/experiments/virtual_sweep.h"

namespace paretoken::experiments {
namespace {

using namespace std::chrono_literals;

class VirtualWatch : public VirtualExperiment {
  protected:
    static PlanTexts probes(const std::string& url = "sim:llama3-8b-h100-bf16") {
        return {{"url", {url}},
                {"virtual", {"true"}},
                {"request_rate", {"0.2"}},
                {"isl", {"64"}},
                {"osl", {"16"}}};
    }
    std::vector<WatchState> watched(const PlanTexts& texts, Duration duration) {
        const LoadPlan asked = with_dataset(plan_of(texts));
        const auto target = open_target(asked, {}, watcher_, stop_.get_token());
        std::vector<WatchState> states;
        (void)watch(*target, {.asked = asked, .every = 60s, .duration = duration}, directory_, watcher_,
                    [&](const WatchState& state) { states.push_back(state); }, {stop_.get_token(), {}});
        return states;
    }
    std::size_t lines() const {
        const std::string text = bytes(reports::kWatchFileName);
        return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    }
};

TEST_F(VirtualWatch, has_a_line_per_interval_and_counts_over_all_of_them) {
    const auto states = watched(probes(), 10min);
    ASSERT_EQ(states.size(), 10U);
    EXPECT_EQ(lines(), 10U);
    std::uint64_t requests = 0;
    for (const WatchState& state : states) requests += state.line.requests;
    EXPECT_EQ(states.back().requests, requests);
    EXPECT_GT(requests, 60U);
    EXPECT_EQ(states.back().line.begin_s, 540);
    EXPECT_EQ(states.back().line.end_s, 600);
    EXPECT_GT(states.back().line.figures.at("itl_p95_s"), 0);
    std::set<std::string> ends;
    for (const WatchState& state : states) ends.insert(state.line.at);
    EXPECT_EQ(ends.size(), 10U) << "each interval ends a minute after the one before";
}

TEST_F(VirtualWatch, ends_its_last_interval_with_its_duration) {
    const auto states = watched(probes(), 90s);
    ASSERT_EQ(states.size(), 2U);
    EXPECT_EQ(states.back().line.begin_s, 60);
    EXPECT_EQ(states.back().line.end_s, 90);
}

TEST_F(VirtualWatch, has_rates_over_the_length_of_the_interval) {
    for (const char* const url : {"sim:llama3-8b-h100-bf16", "sim:ideal"}) {
        for (const WatchState& state : watched(probes(url), 5min)) {
            const auto requests = static_cast<double>(state.line.requests);
            EXPECT_NEAR(state.line.figures.at("requests_per_s"), requests / 60, 1e-9) << url;
            EXPECT_NEAR(state.line.figures.at("output_tokens_per_s"), 16 * requests / 60, 1e-9) << url;
        }
    }
}

class Warnings final : public Watcher {
  public:
    void warn(const std::string& text) override { texts.push_back(text); }
    std::vector<std::string> texts;
};

TEST_F(VirtualWatch, sends_the_rows_of_a_file_one_after_the_other_over_its_intervals) {
    constexpr std::uint64_t kRows = 20;
    const std::filesystem::path file = directory_ / "rows.jsonl";
    std::ofstream rows(file);
    for (std::uint64_t i = 0; i < kRows; ++i)
        rows << R"({"prompt": "a row with the number )" << i << R"(", "output_tokens": )" << i + 1 << "}\n";
    rows.close();
    const LoadPlan asked = with_dataset(plan_of({{"url", {"sim:llama3-8b-h100-bf16"}},
                                                 {"virtual", {"true"}},
                                                 {"request_rate", {"0.2"}},
                                                 {"dataset_path", {file.string()}}}));
    Warnings warnings;
    const auto target = open_target(asked, {}, warnings, stop_.get_token());
    std::uint64_t sent = 0;
    (void)watch(*target, {.asked = asked, .every = 60s, .duration = 5min}, directory_, warnings,
                [&](const WatchState& state) {
                    double tokens = 0;
                    for (std::uint64_t i = 0; i < state.line.requests; ++i)
                        tokens += static_cast<double>(sent++ % kRows + 1);
                    EXPECT_NEAR(state.line.figures.at("output_tokens_per_s") * 60, tokens, 1e-6);
                    const bool is_repeated = sent > kRows;
                    EXPECT_EQ(warnings.texts.size(), is_repeated ? 1U : 0U) << state.line.interval;
                },
                {stop_.get_token(), {}});
    EXPECT_GT(sent, kRows);
    ASSERT_FALSE(warnings.texts.empty());
    EXPECT_THAT(warnings.texts.front(), testing::HasSubstr("requests=20 are sent, and then sent again"));
}

TEST_F(VirtualWatch, has_other_arrivals_in_every_interval) {
    const auto states = watched(probes(), 5min);
    std::set<double> latencies;
    for (const WatchState& state : states) latencies.insert(state.line.figures.at("ttft_p95_s"));
    EXPECT_GT(latencies.size(), 1U);
}

TEST_F(VirtualWatch, ends_where_it_is_interrupted) {
    const LoadPlan asked = with_dataset(plan_of(probes()));
    const auto target = open_target(asked, {}, watcher_, stop_.get_token());
    std::stop_source stop;
    const WatchState last = watch(*target, {.asked = asked, .every = 60s}, directory_, watcher_,
                                  [&](const WatchState& state) {
                                      if (state.line.interval == 3) stop.request_stop();
                                  },
                                  {stop.get_token(), {}});
    EXPECT_EQ(last.line.interval, 3U);
    EXPECT_EQ(lines(), 3U);
}

TEST_F(VirtualWatch, tells_a_slower_server_from_its_baseline_in_the_first_intervals) {
    PlanTexts before = probes();
    before["duration"] = {"20m"};
    measured(before, "before");
    PlanTexts slow = probes("sim:llama3-8b-h100-bf16?step_s=.05");
    slow["baseline"] = {(directory_ / "before").string()};
    const auto states = watched(slow, 3min);
    bool named = false;
    for (const WatchState& state : states)
        for (const reports::DriftLine& drift : state.line.drift) named = named || drift.drifted;
    EXPECT_TRUE(named);
    EXPECT_THAT(states.back().line.firing, testing::Contains("itl_high"));
    const auto families = states.back().alerts;
    EXPECT_TRUE(std::any_of(families.begin(), families.end(), [](const AlertResult& alert) {
        return alert.name == "itl_high" && alert.state == AlertState::firing;
    }));
}

}  // namespace
}  // namespace paretoken::experiments
