// Makes loads in virtual time in one process and in shards, and joins the shards.
#include "reports/files/shards.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/validity/validity.h"
#include "reports/files/json/run_json.h"
#include "reports/files/records.h"
#include "tests/experiments/virtual_sweep.h"
#include "tests/support/message_of.h"

namespace paretoken::experiments {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// Returns a result without what tells who made it.
json comparable(const RunResult& result) {
    json all = json::parse(reports::run_json(result));
    all.erase("provenance");
    all.erase("shards");
    all["client"].erase("workers");
    all["plan"].erase("out");
    return all;
}

struct Shards : VirtualExperiment {
    static PlanTexts load(PlanTexts texts) {
        texts.insert({{"virtual", {"true"}}, {"url", {"sim:ideal"}}, {"salt", {"s"}}});
        if (!texts.contains("dataset")) texts.insert({{"isl", {"64"}}, {"osl", {"uniform:min=4;max=16"}}});
        return texts;
    }
    std::vector<fs::path> shards_of(const PlanTexts& texts, int count, const std::string& name) {
        std::vector<fs::path> directories;
        for (int number = 0; number < count; ++number) {
            PlanTexts own = texts;
            own["shard"] = {fmt::format("{}/{}", number, count)};
            directories.push_back(directory_ / fmt::format("{}-{}", name, number));
            measured(own, directories.back().filename());
        }
        return directories;
    }
};

TEST_F(Shards, of_an_open_loop_give_the_result_of_one_process_bit_by_bit) {
    const std::vector<PlanTexts> loads = {
        {{"request_rate", {"50"}}, {"num_prompts", {"400"}}, {"num_warmups", {"10"}}},
        {{"request_rate", {"50"}}, {"duration", {"6s"}}, {"warmup_duration", {"1s"}}},
        {{"dataset", {"multi_turn:turns=4,first=100,next=30,osl=20"}},
         {"request_rate", {"20"}},
         {"num_prompts", {"100"}}},
        {{"dataset", {"shared_prefix:groups=5"}}, {"request_rate", {"20"}}, {"num_prompts", {"100"}}},
        {{"dataset", {"agents:jobs=12,turns=3,fanout=2,subturns=2,osl=8,tool=200ms"}},
         {"request_rate", {"5"}},
         {"num_prompts", {"40"}}},
        {{"dataset", {"multi_turn:turns=4,first=100,next=30,osl=20"}},
         {"arrivals", {"users:n=6,rate=4"}},
         {"num_prompts", {"30"}}},
        {{"class", {"a:request_rate=5,isl=64,osl=8", "b:request_rate=9,isl=128,osl=4"}},
         {"num_prompts", {"200"}}}};
    int number = 0;
    for (const PlanTexts& texts : loads) {
        const std::string name = fmt::format("load{}", ++number);
        const PlanTexts asked = load(texts);
        const RunResult whole = measured(asked, name).result;
        for (const int count : {2, 3, 7}) {
            const std::string joined = fmt::format("{}-of-{}", name, count);
            reports::join_shards(shards_of(asked, count, joined), directory_ / joined);
            EXPECT_EQ(records(joined), records(name)) << joined;
            EXPECT_EQ(json::diff(comparable(whole), comparable(result(joined))).dump(), "[]") << joined;
        }
    }
}

TEST_F(Shards, of_a_closed_loop_share_its_slots_and_its_requests) {
    const PlanTexts asked = load({{"concurrency", {"10"}}, {"num_prompts", {"403"}}});
    const RunResult joined =
        reports::join_shards(shards_of(asked, 4, "closed"), directory_ / "closed-joined");
    EXPECT_EQ(joined.counts.ok, 403U);
    EXPECT_EQ(joined.concurrency, 10U);
    ASSERT_EQ(joined.shards.size(), 4U);
    std::vector<std::uint64_t> requests;
    for (const ShardResult& shard : joined.shards) requests.push_back(shard.requests);
    EXPECT_EQ(requests, (std::vector<std::uint64_t>{121, 121, 81, 80})) << "as 3, 3, 2 and 2 slots";
    EXPECT_THAT(message_of<UsageError>([&] {
                    PlanTexts few = asked;
                    few["concurrency"] = {"3"};
                    few["shard"] = {"0/4"};
                    measured(few, "few");
                }),
                AllOf(HasSubstr("--concurrency 3"), HasSubstr("4 shards")));
}

TEST_F(Shards, with_one_missing_or_killed_give_a_partial_result_that_names_it) {
    const PlanTexts asked = load({{"request_rate", {"50"}}, {"num_prompts", {"400"}}});
    auto directories = shards_of(asked, 3, "part");
    const RunResult without = reports::join_shards({directories[0], directories[2]}, directory_ / "without");
    EXPECT_TRUE(without.partial);
    EXPECT_THAT(gravest_reason(without.validity), HasSubstr("shard 1 of 3 is missing"));

    // A process that is killed leaves no end, and a last line that is cut off.
    fs::remove(directories[1] / "run.json");
    fs::remove(directories[1] / "ended.json");
    const fs::path lines = reports::record_files_in(directories[1]).lines;
    fs::resize_file(lines, fs::file_size(lines) / 2);
    const auto left = reports::read_requests(lines).size();
    const RunResult killed = reports::join_shards(directories, directory_ / "killed");
    EXPECT_TRUE(killed.partial);
    EXPECT_THAT(gravest_reason(killed.validity), AllOf(HasSubstr("shard 1 of 3"), HasSubstr("was killed")));
    EXPECT_EQ(killed.shards.at(1).requests, left);
    EXPECT_FALSE(killed.shards.at(1).ended);
    EXPECT_EQ(killed.counts.requests, without.counts.requests + left);
    EXPECT_EQ(json::diff(comparable(killed), comparable(result("killed"))).dump(), "[]") << "on the disk";

    fs::remove(lines);
    const RunResult none = reports::join_shards(directories, directory_ / "none");
    EXPECT_THAT(gravest_reason(none.validity),
                AllOf(HasSubstr("shard 1 of 3 on"), HasSubstr("was killed before one of its requests"),
                      Not(HasSubstr("missing"))));
    EXPECT_EQ(none.shards.size(), 3U);
    EXPECT_EQ(none.counts.requests, without.counts.requests);
    PlanTexts other = asked;
    other["seed"] = {"9"};
    directories[1] = shards_of(other, 3, "other")[1];
    for (const auto& file : fs::directory_iterator(directories[1]))
        if (file.path().filename() != "begun.json") fs::remove(file.path());
    EXPECT_THAT(message_of<UsageError>([&] { reports::join_shards(directories, directory_ / "refused"); }),
                AllOf(HasSubstr("--seed"), HasSubstr("'9'")));
    EXPECT_THAT(message_of<UsageError>([&] { reports::join_shards({directories[1]}, directory_ / "empty"); }),
                HasSubstr("no shard has recorded a request"));
}

TEST_F(Shards, with_other_contents_of_a_file_of_the_same_name_are_refused) {
    const fs::path dataset = directory_ / "dataset.jsonl";
    const PlanTexts asked = load({{"dataset", {"custom"}},
                                  {"dataset_path", {dataset.string()}},
                                  {"request_rate", {"50"}},
                                  {"num_prompts", {"40"}}});
    std::vector<fs::path> directories;
    for (const char* const prompt : {"Count to ten.", "Count to nine."}) {
        std::ofstream(dataset) << json{{"prompt", prompt}, {"output_tokens", 8}} << "\n";
        const std::size_t number = directories.size();
        directories.push_back(shards_of(asked, 2, prompt)[number]);
    }
    EXPECT_THAT(message_of<UsageError>([&] { reports::join_shards(directories, directory_ / "out"); }),
                AllOf(HasSubstr("shard 0 of 2 and shard 1 of 2"), HasSubstr("dataset_content is")));
}

TEST_F(Shards, need_one_load_and_a_server_without_contention) {
    const PlanTexts asked = load({{"request_rate", {"50"}}, {"num_prompts", {"40"}}});
    auto directories = shards_of(asked, 2, "one");
    measured(asked, "whole");
    EXPECT_THAT(message_of<UsageError>([&] {
                    reports::join_shards({directories[0], directory_ / "whole"}, directory_ / "out");
                }),
                AllOf(HasSubstr("whole"), HasSubstr("no shard of one")));
    PlanTexts other = asked;
    other["seed"] = {"9"};
    directories[1] = shards_of(other, 2, "other")[1];
    EXPECT_THAT(message_of<UsageError>([&] { reports::join_shards(directories, directory_ / "out"); }),
                AllOf(HasSubstr("--seed"), HasSubstr("'9'")));
    EXPECT_FALSE(fs::exists(directory_ / "out")) << "nothing is written before all is checked";
    const std::string before = records("whole");
    EXPECT_THROW(reports::join_shards(directories, directory_ / "whole"), UsageError);
    EXPECT_EQ(records("whole"), before) << "an earlier run is kept";
    PlanTexts idle = load({{"dataset", {"multi_turn:turns=2,first=9,next=9,osl=2"}},
                           {"concurrency", {"4"}},
                           {"idle_system_cap", {"1s"}},
                           {"num_prompts", {"8"}},
                           {"shard", {"0/2"}}});
    EXPECT_THAT(message_of<UsageError>([&] { measured(idle, "idle"); }), HasSubstr("--idle-system-cap"));
    PlanTexts busy = asked;
    busy["url"] = {"sim:llama3-8b-h100-bf16"};
    busy["shard"] = {"0/2"};
    EXPECT_THAT(message_of<UsageError>([&] { measured(busy, "busy"); }), HasSubstr("sim:ideal"));
}

}  // namespace
}  // namespace paretoken::experiments
