#include "experiments/sweep/cells.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "core/error.h"
#include "core/plan/plan_classes.h"

namespace paretoken::experiments {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class Action>
std::string refusal_of(Action action) {
    try {
        action();
    } catch (const UsageError& error) {
        return error.what();
    }
    return "(accepted)";
}

TEST(Cells, an_option_is_varied_by_any_of_its_names) {
    EXPECT_EQ(parse_variation("isl=512,2048"), (Variation{"isl", {"512", "2048"}}));
    EXPECT_EQ(parse_variation("--random-input-len=512"), (Variation{"isl", {"512"}}));
    EXPECT_EQ(parse_variation("random_input_len=512,512"), (Variation{"isl", {"512"}}));
    EXPECT_EQ(parse_variation("isl=lognormal:mean=512;cv=1"),
              (Variation{"isl", {"lognormal:mean=512;cv=1"}}));
}

TEST(Cells, what_cannot_be_varied_is_refused) {
    EXPECT_THAT(refusal_of([] { parse_variation("threads=1"); }),
                AllOf(HasSubstr("'threads' is not an option"), HasSubstr("no {threads}")));
    EXPECT_THAT(refusal_of([] { parse_variation("isl"); }), HasSubstr("expected NAME=VALUE"));
    EXPECT_THAT(refusal_of([] { parse_variation("isl=1,,2"); }), HasSubstr("a value is empty"));
    EXPECT_THAT(refusal_of([] { parse_variation("out=a,b"); }), HasSubstr("--out does not shape the load"));
    EXPECT_THAT(refusal_of([] { parse_variation("goodput=ttft:1"); }), HasSubstr("does not shape"));
    EXPECT_THAT(refusal_of([] { parse_variation("dataset_path=a,b"); }),
                AllOf(HasSubstr("--dataset-path"), HasSubstr("dataset=custom:path=")));
    EXPECT_THAT(refusal_of([] { parse_variation("header=x: y"); }), HasSubstr("secrets"));
}

TEST(Cells, are_the_product_of_all_values_and_the_first_changes_slowest) {
    EXPECT_THAT(product_of({}), ElementsAre(Cell{}));
    EXPECT_THAT(product_of({{"isl", {"1", "2"}}, {"osl", {"8", "9"}}}),
                ElementsAre(Cell{{"isl", "1"}, {"osl", "8"}}, Cell{{"isl", "1"}, {"osl", "9"}},
                            Cell{{"isl", "2"}, {"osl", "8"}}, Cell{{"isl", "2"}, {"osl", "9"}}));
    EXPECT_THAT(refusal_of([] { product_of({{"isl", {"1"}}, {"isl", {"2"}}}); }), HasSubstr("varied twice"));
}

TEST(Cells, are_refused_at_once_if_they_are_more_than_anybody_measures) {
    std::vector<Variation> variations;
    for (const char* const field : {"isl", "osl", "temperature", "seed", "spin", "timeout"})
        variations.push_back({field, {"1", "2", "3", "4", "5", "6", "7", "8", "9", "10"}});
    EXPECT_THAT(refusal_of([&] { product_of(variations); }),
                AllOf(HasSubstr("--grid: 1000000 cells"), HasSubstr("at most 10000")));
    variations.resize(4);
    EXPECT_EQ(product_of(variations).size(), 10'000U);
    EXPECT_THAT(refusal_of([] { resolved_cells(std::vector<Cell>(10'001), "f.json"); }),
                HasSubstr("f.json: 10001 cells"));
}

TEST(Cells, of_a_file_are_resolved_by_the_names_of_other_tools) {
    EXPECT_THAT(resolved_cells({{{"max_concurrency", "4"}, {"random-input-len", "32"}}}, "f.json"),
                ElementsAre(Cell{{"concurrency", "4"}, {"isl", "32"}}));
    EXPECT_THAT(refusal_of([] {
                    resolved_cells({{{"isl", "1"}}, {{"nope", "2"}}}, "f.json");
                }),
                AllOf(HasSubstr("f.json, cell 2"), HasSubstr("nope")));
    EXPECT_THAT(refusal_of([] {
                    resolved_cells({{{"isl", "1"}}, {{"isl", "1"}}}, "f.json");
                }),
                HasSubstr("the same as an earlier one"));
}

TEST(Cells, change_the_plan_and_nothing_else) {
    LoadPlan asked;
    asked.seed = 3;
    const LoadPlan changed = in_cell(asked, {{"temperature", "0.7"}, {"isl", "64"}});
    EXPECT_EQ(changed.sampling.temperature, 0.7);
    EXPECT_EQ(changed.classes.front().dataset.fields.at("isl"), "64");
    EXPECT_EQ(changed.seed, 3U);
    const LoadPlan lengths = plan_of({{"isl", {"512"}}, {"range_ratio", {"0.2"}}});
    const LoadPlan other = in_cell(lengths, {{"isl", "64"}, {"range_ratio", "0.5"}});
    EXPECT_EQ(other.classes.front().dataset.fields.at("isl"), "64");
    EXPECT_EQ(other.classes.front().dataset.fields.at("ratio"), "0.5");
    EXPECT_THAT(refusal_of([] {
                    in_cell(LoadPlan{}, {{"temperature", "hot"}});
                }),
                HasSubstr("--temperature"));
}

/// A file of prompts; the destructor removes it.
class PromptFile {
  public:
    explicit PromptFile(const std::string& name, const std::string& rows)
        : path_(::testing::TempDir() + "cells_" + name + ".jsonl") {
        std::ofstream(path_) << rows;
    }
    ~PromptFile() { std::remove(path_.c_str()); }
    PromptFile(const PromptFile&) = delete;
    PromptFile& operator=(const PromptFile&) = delete;
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

TEST(Cells, with_datasets_keep_the_lengths_that_were_given_and_take_no_defaults_of_others) {
    const std::vector<Cell> cells{{{"dataset", "synthetic"}}, {{"dataset", "multi_turn"}}};
    const LoadPlan asked = with_common_dataset(plan_of({{"osl", {"64"}}}), cells);
    EXPECT_EQ(text_of(in_cell(asked, cells[0]).classes.front().dataset), "synthetic:isl=512,osl=64");
    EXPECT_EQ(text_of(in_cell(asked, cells[1]).classes.front().dataset), "multi_turn:osl=64");
}

TEST(Cells, with_files_have_the_content_and_the_dataset_of_each) {
    const PromptFile one("one", R"({"prompt": "one"})");
    const PromptFile two("two", R"({"prompt": "two"})");
    const std::vector<Cell> cells{{{"dataset", "custom:path=" + one.path()}},
                                  {{"dataset", "custom:path=" + two.path()}}};
    for (const PlanTexts& texts : {PlanTexts{}, PlanTexts{{"dataset", {"custom:path=" + one.path()}}}}) {
        const LoadPlan asked = with_common_dataset(plan_of(texts), cells);
        const LoadPlan first = in_cell(asked, cells[0]);
        const LoadPlan second = in_cell(asked, cells[1]);
        EXPECT_EQ(second.classes.front().dataset.name, "custom");
        EXPECT_NE(first.classes.front().dataset_content, second.classes.front().dataset_content);
    }
}

TEST(Cells, do_not_replace_what_a_class_gives_itself) {
    const std::vector<Cell> cells{{{"isl", "128"}, {"concurrency", "2"}},
                                  {{"isl", "256"}, {"concurrency", "3"}}};
    const LoadPlan asked = with_common_dataset(
        plan_of({{"duration", {"1m"}}, {"class", {"chat:osl=8", "batch:concurrency=4,isl=8k"}}}), cells);
    const LoadPlan second = in_cell(asked, cells[1]);
    ASSERT_EQ(second.classes.size(), 2U);
    EXPECT_EQ(text_of(second.classes[0].dataset), "synthetic:isl=256,osl=8");
    EXPECT_EQ(second.classes[0].concurrency, 3U);
    EXPECT_EQ(text_of(second.classes[1].dataset), "synthetic:isl=8k,osl=128");
    EXPECT_EQ(second.classes[1].concurrency, 4U);
    EXPECT_TRUE(every_class_gives(plan_of({{"class", {"a:rate=1", "b:rate=2,isl=8"}}}),
                                  *plan_field_named("request_rate")));
    EXPECT_FALSE(
        every_class_gives(plan_of({{"class", {"a:rate=1", "b:rate=2,isl=8"}}}), *plan_field_named("isl")));
    EXPECT_FALSE(every_class_gives({}, *plan_field_named("isl")));
}

TEST(Cells, give_values_to_the_placeholders_of_a_servers_command) {
    EXPECT_EQ(parse_variation("max-num-seqs=8,16", {"max_num_seqs"}),
              (Variation{"max_num_seqs", {"8", "16"}}));
    LoadPlan asked;
    asked.server.command = "serve --port {port} -n {n} '{name}'";
    const LoadPlan changed = in_cell(asked, {{"n", "8"}, {"name", "a b"}, {"isl", "64"}});
    EXPECT_EQ(changed.server.command, "serve --port '{port}' -n 8 'a b'");
    EXPECT_EQ(changed.classes.front().dataset.fields.at("isl"), "64");
    EXPECT_THAT(resolved_cells({{{"n", "1"}, {"max_concurrency", "2"}}}, "f", {"n"}),
                ElementsAre(Cell{{"concurrency", "2"}, {"n", "1"}}));
    EXPECT_THAT(refusal_of([] { parse_variation("seed=1", {"seed"}); }),
                AllOf(HasSubstr("--seed"), HasSubstr("placeholder")));
    EXPECT_THAT(refusal_of([&] {
                    require_values(asked.server, {{{"n", "1"}, {"name", "x"}}, {{"n", "2"}}});
                }),
                AllOf(HasSubstr("{name}"), HasSubstr("n=2")));
    EXPECT_NO_THROW(require_values(asked.server, {{{"n", "1"}}}, {"name"}));
}

TEST(Cells, placeholders_may_follow_an_option) {
    EXPECT_EQ(parse_link("seqs=--max-concurrency", {"seqs"}),
              (std::pair<std::string, std::string>("seqs", "concurrency")));
    EXPECT_THAT(refusal_of([] { parse_link("seqs", {"seqs"}); }), HasSubstr("PLACEHOLDER=OPTION"));
    EXPECT_THAT(refusal_of([] { parse_link("other=seed", {"seqs"}); }), HasSubstr("no {other}"));
    EXPECT_THAT(refusal_of([] { parse_link("seqs=speed", {"seqs"}); }), HasSubstr("'speed'"));
    LoadPlan asked = plan_of({{"concurrency", {"12"}}});
    asked.server.command = "serve {port} -n {concurrency}";
    EXPECT_EQ(with_links(asked).server.command, "serve '{port}' -n 12");
}

TEST(Cells, have_names_that_every_file_system_takes) {
    EXPECT_EQ(text_of({{"isl", "uniform:min=1;max=8"}, {"osl", "8"}}), "isl=uniform:min=1;max=8,osl=8");
    EXPECT_EQ(directory_name_of({{"dataset_path", "/a b/c"}}), "dataset_path=_a_b_c");
    EXPECT_LE(directory_name_of({{"model", std::string(500, 'x')}}).size(), 80U);
}

}  // namespace
}  // namespace paretoken::experiments
