#include "experiments/server/resolve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>

#include "core/error.h"
#include "core/plan/plan_classes.h"
#include "core/plan/plan_fields.h"
#include "experiments/server/load.h"
#include "loadgen/load_options.h"
#include "loadgen/probe/endpoint.h"
#include "tests/support/message_of.h"

namespace paretoken::experiments {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

RequestClass loaded(const LoadPlan& plan) {
    return with_load(plan).classes.front();
}

TEST(WithLoad, is_one_at_a_time_when_nothing_is_said) {
    const LoadPlan plan = with_load({});
    EXPECT_EQ(plan.classes.front().arrivals, (Spec{"at_once", {}}));
    EXPECT_EQ(plan.classes.front().concurrency, 1U);
    EXPECT_EQ(plan.stop.requests, 100U);
}

TEST(WithLoad, a_rate_makes_an_open_loop_and_a_cap_is_its_most_in_flight) {
    LoadPlan plan = plan_of({{"request_rate", {"4"}}});
    EXPECT_EQ(text_of(*loaded(plan).arrivals), "poisson:rate=4");
    EXPECT_FALSE(loaded(plan).concurrency);
    EXPECT_FALSE(loaded(plan).request_rate) << "it is in the arrivals, and nowhere twice";
    plan.classes.front().concurrency = 8;
    EXPECT_EQ(loaded(plan).concurrency, 8U);
    plan.classes.front().burstiness = 0.5;
    EXPECT_EQ(text_of(*loaded(plan).arrivals), "gamma:burstiness=0.5,rate=4");
    plan.classes.front().burstiness = 1;
    EXPECT_EQ(text_of(*loaded(plan).arrivals), "poisson:rate=4");
}

TEST(WithLoad, an_infinite_rate_is_all_at_once) {
    LoadPlan plan = plan_of({{"request_rate", {"inf"}}});
    EXPECT_THROW(with_load(plan), UsageError);
    plan.stop.all_rows = true;
    EXPECT_FALSE(loaded(plan).concurrency) << "the rows are not counted yet";
    plan.stop.requests = 40;
    EXPECT_EQ(loaded(plan).concurrency, 40U);
    EXPECT_EQ(loaded(plan).arrivals->name, "at_once");
}

TEST(WithLoad, refuses_contradictions_and_arrivals_that_there_are_not) {
    EXPECT_THROW(with_load(plan_of({{"request_rate", {"4"}}, {"arrivals", {"poisson:rate=4"}}})), UsageError);
    EXPECT_THROW(with_load(plan_of({{"arrivals", {"tidal:rate=4"}}})), UsageError);
    EXPECT_THROW(with_load(plan_of({{"arrivals", {"poisson:rate=0"}}})), UsageError);
}

TEST(WithLoad, refuses_the_pace_of_slots_in_an_open_loop_and_names_the_option) {
    for (const auto& [name, text] : {std::pair{"ramp_up", "4s"}, std::pair{"think_time", "1s"}}) {
        EXPECT_NO_THROW(with_load(plan_of({{"concurrency", {"4"}}, {name, {text}}})));
        try {
            with_load(plan_of({{"request_rate", {"4"}}, {name, {text}}}));
            FAIL() << name;
        } catch (const UsageError& error) {
            EXPECT_THAT(error.what(), HasSubstr(option_of(*plan_field_named(name))));
        }
    }
}

TEST(WithLoad, refuses_a_burstiness_that_shapes_nothing) {
    EXPECT_THROW(with_load(plan_of({{"arrivals", {"poisson:rate=4"}}, {"burstiness", {"2"}}})), UsageError);
    EXPECT_NO_THROW(require_rate_for_burstiness(plan_of({{"request_rate", {"4"}}, {"burstiness", {"2"}}})));
    EXPECT_NO_THROW(require_rate_for_burstiness(plan_of({{"burstiness", {"2"}}, {"class", {"a:rate=1"}}})));
    for (const PlanTexts& texts : {PlanTexts{{"concurrency", {"4"}}, {"burstiness", {"2"}}},
                                   PlanTexts{{"request_rate", {"inf"}}, {"burstiness", {"2"}}},
                                   PlanTexts{{"burstiness", {"2"}}, {"class", {"a:concurrency=1"}}}}) {
        try {
            require_rate_for_burstiness(plan_of(texts));
            FAIL();
        } catch (const UsageError& error) {
            EXPECT_THAT(error.what(), HasSubstr("--burstiness 2"));
        }
    }
}

TEST(LoadOptions, hold_the_pace_and_no_more_workers_than_any_cap) {
    const auto load = load_options(with_load(plan_of({{"concurrency", {"8"}},
                                                      {"max_in_flight", {"3"}},
                                                      {"prefill_concurrency", {"2"}},
                                                      {"ramp_up", {"4s"}},
                                                      {"think_time", {"1s"}},
                                                      {"workers", {"4"}}})));
    EXPECT_EQ(load.workers, 2U) << "a worker without a share of a cap would never start anything";
    const loadgen::Pacing& pacing = load.classes.front().pacing;
    EXPECT_EQ(pacing.prefills, 2U);
    EXPECT_EQ(pacing.requests, 3U);
    EXPECT_EQ(pacing.ramp_up, std::chrono::seconds(4));
    EXPECT_EQ(pacing.think_time, RandomDuration("1s"));
}

TEST(LoadOptions, open_the_slots_of_a_closed_loop_one_by_one_unless_something_else_is_asked_for) {
    const auto ramp_up = [](const PlanTexts& texts) {
        return load_options(with_load(plan_of(texts))).classes.front().pacing.ramp_up;
    };
    EXPECT_FALSE(ramp_up({{"concurrency", {"8"}}}));
    EXPECT_FALSE(ramp_up({{"concurrency", {"8"}}, {"ramp_up", {"auto"}}}));
    EXPECT_EQ(ramp_up({{"concurrency", {"8"}}, {"ramp_up", {"0s"}}}), Duration{});
    EXPECT_EQ(ramp_up({{"concurrency", {"8"}}, {"think_time", {"1s"}}}), Duration{});
    EXPECT_EQ(ramp_up({{"request_rate", {"inf"}}, {"num_prompts", {"8"}}}), Duration{});
    EXPECT_EQ(ramp_up({{"request_rate", {"4"}}}), Duration{});
}

TEST(WithLoad, leaves_a_trace_its_rows_and_adds_none) {
    EXPECT_FALSE(with_load(plan_of({{"arrivals", {"trace:scale=2"}}})).stop.requests);
    EXPECT_THROW(with_load(plan_of({{"arrivals", {"trace"}}, {"num_warmups", {"5"}}})), UsageError);
}

TEST(WithLoad, takes_requests_and_durations_out_of_the_rules) {
    const LoadPlan plan =
        with_load(plan_of({{"num_prompts", {"50"}}, {"stop", {"requests=20", "duration=1m", "errors=5%"}}}));
    EXPECT_EQ(plan.stop.requests, 20U);
    EXPECT_EQ(plan.stop.duration, std::chrono::minutes(1));
    EXPECT_EQ(plan.stop.rules, Texts{"errors=5%"});
    EXPECT_FALSE(with_load(plan_of({{"stop", {"tokens=1M"}}})).stop.requests) << "it ends by its tokens";
    EXPECT_EQ(with_load(plan_of({{"stop", {"errors=5%"}}})).stop.requests, 100U) << "it might never end";
    EXPECT_EQ(load_options(plan).rules.front().kind, loadgen::StopKind::errors);
    EXPECT_THROW(with_load(plan_of({{"stop", {"boredom"}}})), UsageError);
    EXPECT_THROW(with_load(plan_of({{"num_warmups", {"5"}}, {"warmup_duration", {"5s"}}})), UsageError);
}

TEST(PlanFields, help_on_stop_names_every_rule) {
    for (const loadgen::StopRow& row : loadgen::stop_table())
        EXPECT_THAT(std::string(plan_field_named("stop")->help), HasSubstr(std::string(row.name)));
}

TEST(WithLoad, has_twenty_requests_for_every_slot_unless_they_or_a_duration_are_given) {
    EXPECT_EQ(with_load(plan_of({{"concurrency", {"32"}}})).stop.requests, 640U);
    EXPECT_EQ(with_load(plan_of({{"concurrency", {"4"}}})).stop.requests, 100U);
    EXPECT_EQ(with_load(plan_of({{"request_rate", {"4"}}})).stop.requests, 100U);
    EXPECT_EQ(with_load(plan_of({{"request_rate", {"45"}}})).stop.requests, 900U) << "arrivals of 20 s";
    EXPECT_EQ(with_load(plan_of({{"concurrency", {"32"}}, {"num_prompts", {"5"}}})).stop.requests, 5U);
    EXPECT_FALSE(with_load(plan_of({{"duration", {"5s"}}})).stop.requests);
}

TEST(WithDataset, gives_lengths_their_defaults) {
    EXPECT_EQ(text_of(with_dataset({}).classes.front().dataset), "synthetic:isl=512,osl=128");
    EXPECT_EQ(workload_fingerprint(with_dataset({})),
              workload_fingerprint(with_dataset(plan_of({{"isl", {"512"}}, {"dataset", {"synthetic"}}}))));
}

class CustomFile : public ::testing::Test {
  protected:
    void SetUp() override {
        std::filesystem::create_directories(directory_ / "a");
        std::filesystem::create_directories(directory_ / "b");
    }
    void TearDown() override { std::filesystem::remove_all(directory_); }

    LoadPlan of_file(const std::string& folder, const std::string& text) const {
        const std::filesystem::path path = directory_ / folder / "prompts.jsonl";
        std::ofstream(path) << text;
        return with_dataset(plan_of({{"dataset_path", {path.string()}}}));
    }

    std::filesystem::path directory_ =
        std::filesystem::path(::testing::TempDir()) /
        ("resolve_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
};

TEST_F(CustomFile, is_the_dataset_when_only_a_path_is_given) {
    const RequestClass of = of_file("a", R"({"prompt": "one"})").classes.front();
    EXPECT_EQ(of.dataset.name, "custom");
    EXPECT_EQ(of.dataset.fields.at("osl"), "128") << "answers of lines without a length would never end";
    EXPECT_THROW(with_dataset(plan_of({{"dataset", {"synthetic"}}, {"dataset_path", {"x"}}})), UsageError);
}

TEST_F(CustomFile, with_prompts_of_token_ids_needs_a_protocol_that_takes_them) {
    const std::string rows = "{\"prompt\": \"one\"}\n{\"prompt\": [1, 2, 3]}\n";
    EXPECT_THAT(message_of<UsageError>([&] { of_file("a", rows); }),
                AllOf(HasSubstr("prompts.jsonl:2: "), HasSubstr("token ids"), HasSubstr("completions")));
    const std::string path = (directory_ / "a" / "prompts.jsonl").string();
    EXPECT_NO_THROW(with_dataset(plan_of({{"dataset_path", {path}}, {"endpoint_type", {"completions"}}})));
}

TEST_F(CustomFile, replayed_at_its_times_is_told_to_end_before_the_limits) {
    const auto early_end = [&](const PlanTexts& limits) {
        of_file("a", "{\"prompt\": \"a\", \"at_s\": 0}\n{\"prompt\": \"b\", \"at_s\": 5}\n");
        PlanTexts texts = limits;
        texts.emplace("dataset_path", Texts{(directory_ / "a" / "prompts.jsonl").string()});
        texts.emplace("arrivals", Texts{"trace:scale=2"});
        return early_end_of(load_of(plan_of(texts), {}, "").options.classes.front());
    };
    EXPECT_THAT(early_end({{"num_prompts", {"5"}}}),
                AllOf(HasSubstr("5 requests are wanted"), HasSubstr("has 2 requests")));
    EXPECT_EQ(early_end({{"num_prompts", {"2"}}}), "");
    EXPECT_EQ(early_end({}), "");
    EXPECT_THAT(early_end({{"duration", {"20s"}}}),
                AllOf(HasSubstr("20 s are wanted"), HasSubstr("lasts 10 s")));
    EXPECT_EQ(early_end({{"duration", {"10s"}}}), "");
    EXPECT_EQ(early_end({{"arrivals", {"constant:rate=1"}}, {"duration", {"20s"}}}), "");
}

TEST_F(CustomFile, whose_rows_all_have_lengths_gets_none_by_default_and_refuses_one) {
    const std::string rows = R"({"prompt": "one", "output_tokens": 7})";
    const LoadPlan plan = of_file("a", rows);
    EXPECT_FALSE(plan.classes.front().dataset.fields.contains("osl"));
    EXPECT_EQ(with_dataset(plan), plan) << "a second application changes nothing";
    const std::string path = (directory_ / "a" / "prompts.jsonl").string();
    try {
        with_dataset(plan_of({{"dataset_path", {path}}, {"osl", {"64"}}}));
        FAIL();
    } catch (const UsageError& error) {
        EXPECT_THAT(error.what(), HasSubstr("--osl 64"));
    }
    try {
        with_dataset(plan_of({{"osl", {"64"}}, {"class", {"a:rate=1,path=" + path, "b:rate=1,isl=8"}}}));
        FAIL();
    } catch (const UsageError& error) {
        EXPECT_THAT(error.what(), ::testing::StartsWith("--class a: --osl 64"))
            << "the class that ignores it";
    }
}

TEST_F(CustomFile, without_a_second_turn_refuses_replies) {
    of_file("a", R"({"prompt": "one"})");
    const std::string path = (directory_ / "a" / "prompts.jsonl").string();
    for (const char* replies : {"live", "recorded"})
        EXPECT_THROW(with_dataset(plan_of({{"dataset_path", {path}}, {"replies", {replies}}})), UsageError);
    std::ofstream(path)
        << R"([{"conversations": [{"from": "human", "value": "u0"}, {"from": "gpt", "value": "r0"},
                                                  {"from": "human", "value": "u1"}]}])";
    const auto chats = [&](const char* dataset) {
        return with_dataset(
            plan_of({{"dataset", {dataset}}, {"dataset_path", {path}}, {"replies", {"recorded"}}}));
    };
    EXPECT_THROW(chats("sharegpt"), UsageError);
    EXPECT_NO_THROW(chats("sharegpt:turns=2"));
}

TEST_F(CustomFile, is_what_a_salt_for_prompts_needs) {
    of_file("a", R"({"prompt": "one"})");
    const std::string path = (directory_ / "a" / "prompts.jsonl").string();
    EXPECT_NO_THROW(with_dataset(plan_of({{"dataset_path", {path}}, {"salt_prompts", {"true"}}})));
    EXPECT_THROW(with_dataset(plan_of({{"salt_prompts", {"true"}}})), UsageError);
}

TEST(WithDataset, refuses_wrong_fields_of_generated_datasets_before_anything_starts) {
    EXPECT_THROW(with_dataset(plan_of({{"dataset", {"multi_turn:turn=3"}}})), UsageError);
    EXPECT_THROW(with_dataset(plan_of({{"dataset", {"multi_turn"}}, {"isl", {"64"}}})), UsageError);
    EXPECT_THROW(with_dataset(plan_of({{"osl", {"many"}}})), UsageError);
}

TEST_F(CustomFile, of_one_name_and_length_but_other_content_is_another_workload) {
    const LoadPlan one = of_file("a", R"({"prompt": "one"})");
    const LoadPlan other = of_file("b", R"({"prompt": "two"})");
    const LoadPlan same = of_file("b", R"({"prompt": "one"})");
    EXPECT_NE(workload_fingerprint(one), workload_fingerprint(other));
    EXPECT_EQ(workload_fingerprint(one), workload_fingerprint(same)) << "it is named by what it holds";
    EXPECT_EQ(
        difference(one, other, [](const PlanField& f) { return f.kind == FieldKind::workload; })->field->name,
        "dataset_content");
}

TEST_F(CustomFile, that_prompts_are_cut_from_is_part_of_the_workload) {
    std::string words;
    for (int i = 0; i < 1000; ++i) words += "word ";
    const auto with_text = [&](const std::string& text, PlanTexts texts) {
        std::ofstream(directory_ / "book.txt") << text;
        texts["text"] = {(directory_ / "book.txt").string()};
        return with_dataset(plan_of(texts));
    };
    const LoadPlan one = with_text(words, {});
    EXPECT_EQ(one.text_content.size(), 16U);
    EXPECT_NE(workload_fingerprint(one), workload_fingerprint(with_text(words + "more", {})));
    EXPECT_NE(workload_fingerprint(one), workload_fingerprint(with_dataset({})));
    EXPECT_THROW(with_text("few words", {}), UsageError);
    EXPECT_THROW(with_text(words, {{"prompt_form", {"token-ids"}}}), UsageError);
    std::ofstream(directory_ / "prompts.jsonl") << R"({"prompt": "one"})";
    EXPECT_THROW(with_text(words, {{"dataset_path", {(directory_ / "prompts.jsonl").string()}}}), UsageError)
        << "its prompts are there";
}

loadgen::EndpointFacts some_server() {
    loadgen::EndpointFacts facts;
    facts.body.model = "llama";
    facts.body.ignore_eos = false;
    facts.refused = {"ignore_eos"};
    return facts;
}

TEST(Resolved, is_what_the_server_takes) {
    const LoadPlan plan = resolved({}, some_server(), "fresh");
    EXPECT_EQ(plan.model, "llama");
    EXPECT_EQ(plan.prompt_form, "text");
    EXPECT_FALSE(plan.sampling.ignore_eos);
    EXPECT_EQ(plan.refused, Texts{"ignore_eos"});
    EXPECT_EQ(plan.salt, "fresh");
    EXPECT_EQ(resolved(plan_of({{"salt", {"mine"}}}), some_server(), "fresh").salt, "mine");
    EXPECT_THROW(resolved(plan_of({{"prompt_form", {"token-ids"}}}), some_server(), ""), UsageError);
}

TEST(Resolved, has_one_fingerprint_whatever_seed_salt_and_load) {
    const std::string fingerprint = workload_fingerprint(resolved({}, some_server(), "one"));
    for (const PlanTexts& texts : {PlanTexts{{"seed", {"7"}}}, PlanTexts{{"salt", {"two"}}},
                                   PlanTexts{{"concurrency", {"8"}}}, PlanTexts{{"request_rate", {"4"}}}}) {
        EXPECT_EQ(workload_fingerprint(resolved(plan_of(texts), some_server(), "")), fingerprint);
    }
    EXPECT_NE(workload_fingerprint(resolved(plan_of({{"isl", {"64"}}}), some_server(), "")), fingerprint);
}

TEST(AtLevel, is_the_plan_of_one_point_with_a_request_for_every_slot) {
    const LoadPlan asked = plan_of({{"num_prompts", {"24"}}});
    EXPECT_EQ(at_level(asked, Axis::concurrency, 8).classes.front().concurrency, 8U);
    EXPECT_EQ(at_level(asked, Axis::concurrency, 8).stop.requests, 24U);
    EXPECT_EQ(at_level(asked, Axis::concurrency, 64).stop.requests, 64U);
    EXPECT_EQ(at_level(asked, Axis::request_rate, 4).classes.front().request_rate, 4);
}

TEST(AtLevel, keeps_what_a_class_gives_itself) {
    const LoadPlan asked = with_classes(
        plan_of({{"duration", {"1m"}}, {"class", {"chat:isl=64", "batch:concurrency=4,isl=8k"}}}));
    const LoadPlan level = at_level(asked, Axis::concurrency, 16);
    EXPECT_EQ(level.classes.at(0).concurrency, 16U);
    EXPECT_EQ(level.classes.at(1).concurrency, 4U);
    const LoadPlan open = at_level(
        with_classes(plan_of({{"class", {"chat:isl=64", "batch:rate=0.5,isl=8k"}}})), Axis::concurrency, 16);
    EXPECT_EQ(open.classes.at(1).concurrency, std::nullopt);
    const LoadPlan rates = at_level(
        with_classes(plan_of({{"class", {"chat:isl=64", "batch:rate=0.5,isl=8k"}}})), Axis::request_rate, 3);
    EXPECT_EQ(rates.classes.at(0).request_rate, 3);
    EXPECT_EQ(rates.classes.at(1).request_rate, 0.5);
}

TEST(AClassToVary, is_required_of_a_sweep) {
    const LoadPlan fixed = plan_of({{"class", {"a:concurrency=1", "b:concurrency=4"}}});
    EXPECT_THROW(require_class_to_vary(fixed, Axis::concurrency), UsageError);
    EXPECT_THROW(require_class_to_vary(fixed, Axis::request_rate), UsageError);
    EXPECT_NO_THROW(
        require_class_to_vary(plan_of({{"class", {"a:concurrency=1", "b:isl=8"}}}), Axis::concurrency));
    EXPECT_NO_THROW(require_class_to_vary({}, Axis::concurrency));
}

TEST(MostInFlight, is_no_more_than_there_are_requests) {
    EXPECT_EQ(most_in_flight(with_load(plan_of({{"concurrency", {"64"}}, {"num_prompts", {"8"}}}))), 8U);
    EXPECT_EQ(most_in_flight(with_load(plan_of({{"concurrency", {"4"}}, {"num_prompts", {"8"}}}))), 4U);
    EXPECT_FALSE(most_in_flight(with_load(plan_of({{"request_rate", {"4"}}}))));
}

}  // namespace
}  // namespace paretoken::experiments
