#include "experiments/sweep/sweep.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "core/error.h"
#include "tests/experiments/virtual_sweep.h"

namespace paretoken::experiments {
namespace {

using reports::PointState;
using ::testing::HasSubstr;

class VirtualSweep : public VirtualExperiment {
  protected:
    PlanTexts salted() const {
        PlanTexts texts = small();
        texts["salt"] = {"s"};
        return texts;
    }

    /// Returns every file below the directory with its content.
    std::map<std::string, std::string> everything(const std::string& name) const {
        std::map<std::string, std::string> files;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_ / name)) {
            if (entry.is_regular_file())
                files[entry.path().string()] = bytes(std::filesystem::relative(entry.path(), directory_));
        }
        return files;
    }
};

TEST_F(VirtualSweep, measures_every_level_and_keeps_it) {
    const reports::SweepFile file = swept(salted(), {1, 2, 4}, "sweep");
    ASSERT_EQ(file.points.size(), 3U);
    for (const reports::SweepPoint& point : file.points) EXPECT_EQ(point.state, PointState::done);
    EXPECT_EQ(result("sweep/c0004").concurrency, 4U);
    EXPECT_EQ(file, reports::read_sweep(directory_ / "sweep"));
    EXPECT_NO_THROW(require_valid(file, directory_));
}

TEST(FreshSweep, hides_the_secrets_of_commands_bodies_and_labels) {
    SweepPlan plan{.asked = plan_of({}), .levels = {1}};
    plan.asked.server.command = "serve --api-key sk-server --hf-token hf_server";
    plan.asked.server.after_run_command = "tell --api-key sk-after";
    plan.asked.sampling.extra_body = R"({"auth": {"x": "sk-body"}})";
    plan.asked.metadata["api_key"] = "sk-label";
    const reports::SweepFile file =
        fresh_sweep(plan, {{"paretoken"}, "paretoken sk-server hf_server sk-after sk-body sk-label"});
    EXPECT_EQ(file.command, "paretoken *** *** *** *** ***");
    for (const auto& [name, text] : file.options) EXPECT_EQ(text.find("sk-"), std::string::npos) << name;
}

TEST_F(VirtualSweep, refuses_to_go_on_with_another_workload_load_or_way_of_measuring) {
    swept(salted(), {1, 2}, "sweep");
    const auto before = everything("sweep");
    const std::map<std::string, std::pair<std::string, std::string>> others = {
        {"temperature", {"0.7", "without --temperature"}},
        {"ignore_eos", {"false", "--ignore-eos true"}},
        {"range_ratio", {"0.2", "without --range-ratio"}},
        {"prompt_form", {"text", "--prompt-form auto"}},
        {"burstiness", {"0.5", "without --burstiness"}},
        {"num_warmups", {"4", "--num-warmups 0"}},
        {"max_completion_tokens", {"true", "--max-completion-tokens false"}},
        {"workers", {"2", "--workers 1"}},
        {"seed", {"7", "--seed 0"}},
        {"osl", {"9", "--osl 8"}},
        {"timeout", {"5s", "--timeout 600s"}},
        {"turnaround", {"1ms", "--turnaround 100us"}},
        {"gpu", {"h100", "without --gpu"}},
    };
    for (const auto& [name, values] : others) {
        PlanTexts texts = salted();
        texts[name] = {values.first};
        try {
            swept(texts, {1, 2, 4}, "sweep");
            ADD_FAILURE() << name << " was mixed into the sweep";
        } catch (const UsageError& error) {
            EXPECT_THAT(error.what(), HasSubstr(values.second));
            EXPECT_THAT(error.what(),
                        HasSubstr("with " + option_of(*plan_field_named(name)) + " " + values.first));
        }
        EXPECT_EQ(everything("sweep"), before) << name;
    }
}

TEST_F(VirtualSweep, judges_finished_points_anew_when_slos_change) {
    swept(salted(), {1, 4}, "sweep");
    PlanTexts texts = salted();
    texts["goodput"] = {"ttft:15"};
    const std::string measured = records("sweep/c0001");
    swept(texts, {1, 4, 8}, "sweep");
    swept(texts, {1, 4, 8}, "from_the_start");
    for (const std::string point : {"c0001", "c0004", "c0008"}) {
        const auto ratio = result("sweep/" + point).whole_run.at(figure::kGoodputRatio);
        ASSERT_TRUE(ratio) << point;
        EXPECT_EQ(ratio, result("from_the_start/" + point).whole_run.at(figure::kGoodputRatio)) << point;
    }
    EXPECT_EQ(records("sweep/c0001"), measured) << "nothing is measured twice";
}

TEST_F(VirtualSweep, what_is_kept_with_the_result_may_change) {
    swept(salted(), {1}, "sweep");
    PlanTexts texts = salted();
    texts["metadata"] = {"team=blue"};
    EXPECT_NO_THROW(swept(texts, {1, 2}, "sweep"));
}

TEST_F(VirtualSweep, adds_levels_to_those_that_were_measured) {
    swept(salted(), {1, 4}, "sweep");
    const std::string first = bytes("sweep/c0001/run.json");
    const reports::SweepFile file = swept(salted(), {2}, "sweep");
    ASSERT_EQ(file.points.size(), 3U);
    EXPECT_EQ(file.points[1].load, 2);
    EXPECT_EQ(bytes("sweep/c0001/run.json"), first);
}

TEST_F(VirtualSweep, stopped_half_way_and_resumed_has_the_records_of_an_uninterrupted_one) {
    swept(salted(), {1, 2, 4, 8}, "whole");
    swept(salted(), {1, 2}, "resumed");
    // A process that is killed within its third point leaves this file.
    reports::SweepFile file = reports::read_sweep(directory_ / "resumed");
    const SweepPlan plan{.asked = with_dataset(plan_of(salted())), .levels = {1, 2, 4, 8}};
    reports::SweepFile killed = resumed(fresh_sweep(plan, {}), directory_ / "resumed").file;
    ASSERT_EQ(killed.points[2].state, PointState::pending);
    killed.points[2].state = PointState::running;
    reports::write_sweep(directory_ / "resumed", killed);
    std::filesystem::create_directories(directory_ / "resumed/c0004");
    std::ofstream(directory_ / "resumed/c0004/requests.jsonl") << records("whole/c0004").substr(0, 1000);

    swept(salted(), {1, 2, 4, 8}, "resumed");
    for (const std::string point : {"c0001", "c0002", "c0004", "c0008"})
        EXPECT_EQ(records("resumed/" + point), records("whole/" + point)) << point;
}

TEST_F(VirtualSweep, another_axis_is_another_sweep) {
    swept(salted(), {1}, "sweep");
    const SweepPlan plan{.asked = with_dataset(plan_of(salted())), .axis = Axis::request_rate, .levels = {4}};
    EXPECT_THROW(resumed(fresh_sweep(plan, {}), directory_ / "sweep"), UsageError);
}

TEST_F(VirtualSweep, measures_its_ladder_in_every_cell_and_keeps_cells_apart) {
    SweepPlan plan{.asked = with_dataset(plan_of(small())), .levels = {1, 4}};
    plan.cells = product_of({parse_variation("osl=8,16")});
    const reports::SweepFile sweep = swept(plan, "grid");
    ASSERT_EQ(sweep.points.size(), 4U);
    std::set<std::string> directories;
    for (const reports::SweepPoint& point : sweep.points) {
        EXPECT_EQ(point.state, reports::PointState::done);
        directories.insert(point.directory);
        const RunResult result = reports::read_run_directory(directory_ / "grid" / point.directory);
        EXPECT_EQ(result.plan.at("osl"), point.cell.at("osl"));
        EXPECT_EQ(result.concurrency, static_cast<std::uint64_t>(point.load));
    }
    EXPECT_EQ(directories.size(), 4U);
    EXPECT_EQ(sweep.points[0].cell.at("osl"), "8");
    EXPECT_EQ(sweep.points[3].cell.at("osl"), "16");
    EXPECT_EQ(reports::read_sweep(directory_ / "grid"), sweep);

    plan.cells = product_of({parse_variation("osl=8,16,32")});  // adds the new cells
    const auto before =
        std::filesystem::last_write_time(directory_ / "grid" / sweep.points[0].directory / "run.json");
    EXPECT_EQ(swept(plan, "grid").points.size(), 6U);
    EXPECT_EQ(std::filesystem::last_write_time(directory_ / "grid" / sweep.points[0].directory / "run.json"),
              before);
}

TEST_F(VirtualSweep, takes_the_level_of_a_cell_that_names_the_axis) {
    SweepPlan plan{.asked = with_dataset(plan_of(small())), .levels = {1, 2, 4}};
    plan.cells = resolved_cells({{{"max_concurrency", "3"}, {"osl", "8"}}, {{"osl", "16"}}}, "cells.json");
    const reports::SweepFile sweep = swept(plan, "cells");
    ASSERT_EQ(sweep.points.size(), 4U);
    EXPECT_EQ(sweep.points[0].load, 3);
}

TEST_F(VirtualSweep, repeats_points_with_other_seeds_and_gives_their_spread) {
    SweepPlan plan{.asked = with_dataset(plan_of(small())), .levels = {2, 4}};
    plan.repeats = 3;
    const reports::SweepFile sweep = swept(plan, "repeats");
    ASSERT_EQ(sweep.points.size(), 6U);
    EXPECT_EQ(result("repeats/c0002").workload.seed, 0U);
    EXPECT_EQ(result("repeats/c0002-r3").workload.seed, 2U);
    ASSERT_EQ(sweep.repeats.size(), 2U);
    EXPECT_EQ(sweep.repeats[0].runs, 3U);
    const reports::RepeatSpread& spread = sweep.repeats[0].figures.at("output_tokens_per_s");
    double mean = 0;
    for (int i = 0; i < 3; ++i) mean += *sweep.points[static_cast<std::size_t>(i)].output_tokens_per_s / 3;
    EXPECT_NEAR(spread.mean, mean, 1e-9);
    ASSERT_TRUE(spread.ci95);
    EXPECT_NEAR(spread.ci95->high - spread.mean, 4.302653 * spread.standard_deviation / std::sqrt(3.0), 1e-5)
        << "Student's t with two degrees of freedom";
}

TEST_F(VirtualSweep, takes_rates_below_one) {
    PlanTexts texts = small();
    texts["num_prompts"] = {"12"};
    SweepPlan plan{.asked = with_dataset(plan_of(texts)), .axis = Axis::request_rate, .levels = {0.25, 2}};
    const reports::SweepFile sweep = swept(plan, "rates");
    ASSERT_EQ(sweep.points.size(), 2U);
    EXPECT_EQ(sweep.points[0].load_label, "0.25 req/s");
    EXPECT_EQ(result("rates/" + sweep.points[0].directory).request_rate, 0.25);
    EXPECT_NE(sweep.points[0].directory, sweep.points[1].directory);
}

TEST_F(VirtualSweep, abba_goes_up_and_down_in_turn) {
    struct Listening final : Watcher {
        void point_begins(std::size_t, std::size_t, const std::string& label, bool) override {
            labels.push_back(label);
        }
        std::vector<std::string> labels;
    };
    SweepPlan plan{.asked = with_dataset(plan_of(small())), .levels = {1, 2}};
    plan.repeats = 2;
    plan.order = order_named("abba");
    reports::SweepFile file = fresh_sweep(plan, {{"paretoken"}, "paretoken sweep"});
    Listening watcher;
    std::filesystem::create_directories(directory_ / "abba");
    ServerLauncher launcher({}, watcher_, stop_.get_token());
    measure_points(launcher, plan, file, directory_ / "abba",
                   {{{"paretoken"}, "paretoken sweep"}, watcher, stop_.get_token()});
    EXPECT_EQ(watcher.labels, (std::vector<std::string>{"c=1", "c=2", "c=2, repeat 2", "c=1, repeat 2"}));
    EXPECT_THROW(order_named("up"), UsageError);
}

TEST_F(VirtualSweep, with_other_options_is_added_as_cells_of_its_own) {
    swept(salted(), {1, 2}, "sweep");
    const std::string first = bytes("sweep/c0001/run.json");
    PlanTexts texts = salted();
    texts["osl"] = {"16"};
    texts["seed"] = {"7"};
    const SweepPlan plan{.asked = with_dataset(plan_of(texts)), .levels = {1, 2}};
    const reports::SweepFile fresh =
        extending(fresh_sweep(plan, {}), reports::read_sweep(directory_ / "sweep"));
    EXPECT_EQ(fresh.options.at("osl"), "8");
    reports::SweepFile file = resumed(fresh, directory_ / "sweep").file;
    ASSERT_EQ(file.points.size(), 4U);
    EXPECT_EQ(outline_of(plan, file).left, 2U);
    ServerLauncher launcher({}, watcher_, stop_.get_token());
    measure_points(launcher, plan, file, directory_ / "sweep", {{}, watcher_, stop_.get_token()});
    EXPECT_NO_THROW(require_valid(file, directory_));
    std::size_t added = 0;
    for (const reports::SweepPoint& point : file.points) {
        const RunResult run = reports::read_run_directory(directory_ / "sweep" / point.directory);
        EXPECT_EQ(run.plan.at("osl"), point.cell.contains("osl") ? "16" : "8");
        EXPECT_EQ(run.plan.at("seed"), point.cell.contains("seed") ? "7" : "0");
        added += point.cell.contains("osl") ? 1 : 0;
    }
    EXPECT_EQ(added, 2U);
    EXPECT_EQ(bytes("sweep/c0001/run.json"), first) << "what is there is not measured again";
    EXPECT_TRUE(nothing_to_measure(
        resumed(extending(fresh_sweep(plan, {}), reports::read_sweep(directory_ / "sweep")),
                directory_ / "sweep")
            .file));
    texts.erase("num_prompts");
    EXPECT_THAT(
        [&] {
            extending(fresh_sweep({.asked = with_dataset(plan_of(texts)), .levels = {1}}, {}),
                      reports::read_sweep(directory_ / "sweep"));
        },
        ::testing::ThrowsMessage<UsageError>(HasSubstr("--num-prompts 24")));
}

SweepPlan served(std::vector<Cell> cells, Restart restart = Restart::changed) {
    SweepPlan plan{.asked = with_dataset(LoadPlan{}), .levels = {1, 2}, .cells = std::move(cells)};
    plan.asked.server.command = "serve {port} {n}";
    plan.restart = restart;
    return plan;
}

/// Two servers that differ in speculation; when many requests are in flight, checking drafts gains nothing.
SweepPlan against(const PlanTexts& texts, std::vector<double> levels, std::vector<Cell> cells = {{}}) {
    SweepPlan plan{
        .asked = with_dataset(plan_of(texts)), .levels = std::move(levels), .cells = std::move(cells)};
    set_against(plan, "sim:llama3-8b-h100-bf16?jitter=0&speculative_tokens=4&acceptance=0.5");
    return plan;
}

TEST_F(VirtualSweep, over_two_servers_measures_both_and_goes_on_with_them) {
    const SweepPlan plan = against(salted(), {1, 4}, {{{"osl", "8"}}, {{"osl", "16"}}});
    const reports::SweepFile file = swept(plan, "sweep");
    ASSERT_EQ(file.points.size(), 8U);
    ASSERT_TRUE(file.comparison);
    EXPECT_EQ(file.comparison->servers, servers_of(plan));
    ASSERT_EQ(file.comparison->cells.size(), 2U);
    for (const reports::ComparedCell& cell : file.comparison->cells)
        for (const reports::ComparedFigure& figure : cell.figures)
            EXPECT_EQ(figure.loads, 2U) << figure.figure;
    EXPECT_EQ(file, reports::read_sweep(directory_ / "sweep"));
    for (const reports::SweepPoint& point : file.points) {
        const auto terms = result("sweep/" + point.directory).provenance.simulator;
        EXPECT_EQ(terms.contains("drafts") && terms.at("drafts") > 0,
                  point.cell.at("server") == file.comparison->servers[1])
            << point.directory;
    }
    EXPECT_EQ(file.comparison->cells[0].figures[2].better, file.comparison->servers[1])
        << "drafts shorten the time per token of few requests";

    const auto before = everything("sweep");
    EXPECT_EQ(swept(plan, "sweep"), file);
    EXPECT_EQ(everything("sweep"), before) << "nothing is measured twice";
    const reports::SweepFile more = swept(against(salted(), {2}, {{{"osl", "8"}}}), "sweep");
    EXPECT_EQ(more.points.size(), 10U);
    EXPECT_EQ(more.comparison->cells[0].figures[0].loads, 3U);
    EXPECT_THROW(swept(salted(), {1, 4}, "sweep"), UsageError) << "one server is another sweep";
    SweepPlan another = against(salted(), {1, 4});
    another.against = {"sim:llama3-8b-h100-fp8"};
    EXPECT_THROW(resumed(fresh_sweep(another, {}), directory_ / "sweep"), UsageError);
}

TEST_F(VirtualSweep, over_servers_of_different_models_is_refused_unless_asked_for) {
    SweepPlan plan{.asked = with_dataset(plan_of(salted())), .levels = {1}};
    set_against(plan, "sim:ideal");
    try {
        swept(plan, "sweep");
        ADD_FAILURE() << "another model was taken";
    } catch (const UsageError& error) {
        EXPECT_THAT(error.what(), ::testing::AllOf(HasSubstr("--against"), HasSubstr("--anyway")));
    }
    plan.anyway = true;
    EXPECT_EQ(swept(plan, "sweep").points.size(), 2U);
}

TEST_F(VirtualSweep, over_two_servers_must_have_two_that_are_there) {
    SweepPlan same{.asked = with_dataset(plan_of(salted()))};
    EXPECT_THROW(set_against(same, same.asked.targets.front()), UsageError);
    SweepPlan started{.asked = with_dataset(LoadPlan{})};
    started.asked.server.command = "serve {port}";
    EXPECT_THROW(set_against(started, "http://b"), UsageError);
    SweepPlan secret{.asked = with_dataset(LoadPlan{})};
    set_against(secret, "https://user:word@host/v1");
    EXPECT_THAT(secret.cells.back().at("server"), ::testing::Not(HasSubstr("word")));
}

TEST(Stretches, let_two_servers_take_turns_load_by_load) {
    SweepPlan plan{.asked = with_dataset(LoadPlan{}), .levels = {1, 2}, .repeats = 2};
    plan.cells = {{{"isl", "8"}}, {{"isl", "9"}}};
    plan.asked.targets = {"http://a"};
    set_against(plan, "http://b");
    const auto points = fresh_sweep(plan, {}).points;
    std::vector<std::string> turns;
    for (const Stretch& stretch : stretches_of(plan, points)) {
        std::string text;
        for (const std::size_t i : stretch.points) {
            const auto& p = points[i];
            text += fmt::format("{}{:g}{} ", p.cell.at("server").back(), p.load, p.repeat);
            EXPECT_EQ(plan_at(plan, p).targets,
                      std::vector<std::string>{p.cell.at("server") == "http://a" ? "http://a" : "http://b"});
        }
        turns.push_back(text);
    }
    EXPECT_EQ(turns, (std::vector<std::string>(2, "a11 b11 b21 a21 a12 b12 b22 a22 ")));
    plan.order = Order::random;
    for (const Stretch& stretch : stretches_of(plan, points)) {
        ASSERT_EQ(stretch.points.size(), 8U);
        for (std::size_t i = 0; i < 8; i += 2) {
            EXPECT_EQ(points[stretch.points[i]].load, points[stretch.points[i + 1]].load);
            EXPECT_NE(points[stretch.points[i]].cell, points[stretch.points[i + 1]].cell);
        }
    }
}

TEST(Stretches, put_the_points_of_one_servers_command_together) {
    const SweepPlan plan = served({{{"isl", "8"}, {"n", "1"}},
                                   {{"isl", "8"}, {"n", "2"}},
                                   {{"isl", "9"}, {"n", "1"}},
                                   {{"isl", "9"}, {"n", "2"}}});
    reports::SweepFile file = fresh_sweep(plan, {});
    const auto stretches = stretches_of(plan, file.points);
    std::vector<std::vector<std::size_t>> places;
    for (const Stretch& stretch : stretches) places.push_back(stretch.points);
    EXPECT_EQ(places, (std::vector<std::vector<std::size_t>>{{0, 1}, {4, 5}, {2, 3}, {6, 7}}));
    EXPECT_EQ(starts_of(stretches, file.points), 2U);
    EXPECT_EQ(stretches[0].server, stretches[1].server);
    for (const std::size_t i : {0, 1, 4, 5}) file.points[i].state = PointState::done;
    EXPECT_EQ(starts_of(stretches, file.points), 1U);
    EXPECT_EQ(text_of(outline_of(plan, file)),
              "8 runs in 4 cells, 4 of them measured already; 1 start of the server");
}

TEST(Stretches, begin_with_a_start_where_every_cell_or_repeat_is_to_have_one) {
    SweepPlan plan = served({{{"isl", "8"}, {"n", "1"}}, {{"isl", "9"}, {"n", "1"}}}, Restart::cell);
    plan.repeats = 2;
    const auto starts = [&] {
        const auto points = fresh_sweep(plan, {}).points;
        return starts_of(stretches_of(plan, points), points);
    };
    EXPECT_EQ(starts(), 2U);
    plan.restart = Restart::repeat;
    EXPECT_EQ(starts(), 4U);
    plan.restart = Restart::changed;
    EXPECT_EQ(starts(), 1U);
    plan.asked.server.command = "serve {port} {n} {concurrency}";
    EXPECT_EQ(starts(), 2U) << "a placeholder that follows the level changes with it";
    EXPECT_EQ(restart_named("repeat"), Restart::repeat);
    EXPECT_THROW(restart_named("never"), UsageError);
}

TEST(RequireValidSweep, names_what_could_not_be_measured) {
    reports::SweepFile file;
    file.points.resize(2);
    file.points[0].state = PointState::done;
    file.points[1] = {
        .load_label = "c=4", .cell = {{"n", "2"}}, .state = PointState::failed, .error = "no memory"};
    EXPECT_THAT([&] { require_valid(file, "runs"); },
                ::testing::ThrowsMessage<RuntimeError>(::testing::AllOf(
                    HasSubstr("1 of 2 points"), HasSubstr("c=4, n=2"), HasSubstr("no memory"))));
}

TEST(RequireValidSweep, throws_what_a_sweep_deserves) {
    reports::SweepFile file;
    file.points.resize(2);
    file.points[0].state = PointState::done;
    EXPECT_THAT([&] { require_valid(file, "paretoken sweep X --out runs/a"); },
                ::testing::ThrowsMessage<RuntimeError>(
                    HasSubstr("interrupted with 1 point to go; this command measures it: paretoken sweep X "
                              "--out runs/a")));
    file.options["rendezvous"] = "host:9000";
    file.points[1].error = "shard 1 of 2 is missing";
    EXPECT_THAT([&] { require_valid(file, "paretoken sweep X"); },
                ::testing::ThrowsMessage<RuntimeError>(HasSubstr(
                    "shard 1 of 2 is missing, with 1 point to go; this command, on every process with "
                    "its own --shard, measures it: paretoken sweep X")));
    file.points[1].error.clear();
    file.points[1].state = PointState::done;
    EXPECT_NO_THROW(require_valid(file, "runs"));
    file.points[1].load_label = "c=4";
    file.points[1].verdict = Verdict::invalid;
    file.points[1].note = "80 of 80 requests failed";
    try {
        require_valid(file, "runs");
        FAIL() << "one invalid point is enough";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::measurement_invalid);
        EXPECT_THAT(error.what(), ::testing::AllOf(HasSubstr("1 of 2 points"), HasSubstr("c=4"),
                                                   HasSubstr("80 of 80 requests failed")));
    }
}

}  // namespace
}  // namespace paretoken::experiments
