#include "core/plan/shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "core/error.h"
#include "core/plan/plan.h"
#include "tests/support/message_of.h"

namespace paretoken {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using Variables = std::map<std::string, std::string>;

ReadsVariable in(Variables variables) {
    return [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
        const auto found = variables.find(name);
        if (found == variables.end()) return std::nullopt;
        return found->second;
    };
}

LoadPlan meeting(std::optional<std::uint64_t> shards = {}) {
    LoadPlan plan;
    plan.fleet.rendezvous = "host:7000";
    plan.fleet.shards = shards;
    return plan;
}

TEST(Shard, is_read_as_its_number_and_the_number_of_all) {
    EXPECT_EQ(parse_shard("0/1"), (Shard{0, 1}));
    EXPECT_EQ(parse_shard("3/4"), (Shard{3, 4}));
    for (const char* const wrong : {"", "1", "4/4", "1/0", "-1/4", "1/4/2", "a/4", "1/99999999", "/4", "1/"})
        EXPECT_THAT(message_of<UsageError>([&] { parse_shard(wrong); }),
                    AllOf(HasSubstr(wrong), HasSubstr("is no shard")))
            << wrong;
}

TEST(Shard, comes_from_every_launcher) {
    for (const Variables& variables :
         {Variables{{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "4"}},
          Variables{{"PMI_RANK", "2"}, {"PMI_SIZE", "4"}},
          Variables{{"SLURM_PROCID", "2"}, {"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_STEP_ID", "0"}},
          Variables{{"RANK", "2"}, {"WORLD_SIZE", "4"}}})
        EXPECT_EQ(with_shard(meeting(), in(variables)).fleet.shard, "2/4") << variables.begin()->first;
    for (const char* const without_size : {"JOB_COMPLETION_INDEX", "PMIX_RANK"})
        EXPECT_EQ(with_shard(meeting(4), in({{without_size, "2"}})).fleet.shard, "2/4") << without_size;
}

TEST(Shard, of_mpirun_needs_no_option_because_mpi_tells_where_the_processes_meet) {
    const Variables variables{{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "4"}};
    const LoadPlan plan = with_shard({}, in(variables));
    EXPECT_EQ(plan.fleet.shard, "2/4");
    EXPECT_EQ(plan.fleet.rendezvous, kRendezvousByMpi);
    EXPECT_EQ(with_shard(meeting(), in(variables)).fleet.rendezvous, "host:7000");
    LoadPlan computed;
    computed.virtual_time = true;
    EXPECT_EQ(with_shard(computed, in(variables)).fleet.rendezvous, "") << "virtual time needs no meeting";
}

TEST(Shard, of_an_option_goes_before_that_of_a_launcher) {
    LoadPlan plan = meeting();
    plan.fleet.shard = "1/2";
    const Variables variables{{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "4"}};
    EXPECT_EQ(with_shard(plan, in(variables)).fleet.shard, "1/2");
    plan = {};
    plan.fleet.shard = "0/1";
    EXPECT_EQ(with_shard(plan, in(variables)).fleet.shard, "0/1") << "needs no common start";
}

TEST(Shard, is_the_whole_load_in_a_process_that_is_alone) {
    EXPECT_EQ(with_shard({}, in({})).fleet.shard, "");
    // The batch script of Slurm has a rank too, and pods of other frameworks have RANK.
    EXPECT_EQ(with_shard({}, in({{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "4"}})).fleet.shard, "");
    EXPECT_EQ(with_shard({}, in({{"RANK", "0"}, {"WORLD_SIZE", "4"}})).fleet.shard, "");
    EXPECT_EQ(with_shard({}, in({{"JOB_COMPLETION_INDEX", "3"}})).fleet.shard, "");
    EXPECT_EQ(with_shard({}, in({{"PMIX_RANK", "3"}})).fleet.shard, "");
    EXPECT_EQ(with_shard({}, in({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}})).fleet.shard,
              "");
}

TEST(Shard, that_is_not_clear_is_refused_with_what_to_do) {
    const auto refused = [](const LoadPlan& plan, const Variables& variables) {
        return message_of<UsageError>([&] { with_shard(plan, in(variables)); });
    };
    EXPECT_THAT(refused({}, {{"SLURM_PROCID", "2"}, {"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_STEP_ID", "0"}}),
                AllOf(HasSubstr("Slurm"), HasSubstr("--rendezvous"), HasSubstr("--shard 0/1")));
    EXPECT_THAT(refused(meeting(), {}), HasSubstr("--shard I/N"));
    EXPECT_THAT(refused(meeting(), {{"JOB_COMPLETION_INDEX", "2"}}), HasSubstr("--shards N"));
    EXPECT_THAT(refused(meeting(2), {{"JOB_COMPLETION_INDEX", "2"}}), HasSubstr("only 2 shards"));
    EXPECT_THAT(refused(meeting(3), {{"RANK", "2"}, {"WORLD_SIZE", "4"}}), HasSubstr("torchrun started 4"));
    EXPECT_THAT(refused(meeting(), {{"RANK", "two"}, {"WORLD_SIZE", "4"}}), HasSubstr("RANK is 'two'"));
    LoadPlan alone;
    alone.fleet.shard = "1/4";
    EXPECT_THAT(refused(alone, {}), AllOf(HasSubstr("--shard 1/4"), HasSubstr("--start-at")));
    alone.fleet.shards = 3;
    EXPECT_THAT(refused(alone, {}), HasSubstr("different numbers"));
}

TEST(Shard, cannot_be_made_of_a_command_that_measures_as_one_process) {
    EXPECT_THAT(
        message_of<UsageError>([] {
            require_one_process("gate", in({{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "4"}}));
        }),
        AllOf(HasSubstr("Open MPI started 4 processes of `paretoken gate`"), HasSubstr("start one")));
    for (const Variables& alone :
         {Variables{}, Variables{{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}},
          Variables{{"JOB_COMPLETION_INDEX", "2"}}, Variables{{"RANK", "1"}, {"WORLD_SIZE", "4"}}})
        EXPECT_NO_THROW(require_one_process("gate", in(alone)));
}

TEST(Shard, starts_at_a_time_of_either_form) {
    EXPECT_EQ(parse_start_at("2026-11-21T09:38:00Z"), 1795253880);
    EXPECT_EQ(parse_start_at("1795253880.5"), 1795253880.5);
    for (const char* const wrong : {"", "noon", "-5", "2026-11-21"})
        EXPECT_THAT(message_of<UsageError>([&] { parse_start_at(wrong); }), HasSubstr("is no time")) << wrong;
}

}  // namespace
}  // namespace paretoken
