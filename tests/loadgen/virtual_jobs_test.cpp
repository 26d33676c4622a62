// Jobs of agents: order, joins, pauses and slots, with failures, refusals and cancellations. They are in
// virtual time, and over sockets where a server refuses requests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "loadgen/progress.h"
#include "loadgen/virtual.h"
#include "tests/support/arrivals.h"
#include "tests/support/kept_records.h"
#include "tests/support/loads.h"
#include "tests/support/random_jobs.h"
#include "tests/support/simulated_load.h"

namespace paretoken::loadgen {
namespace {

using datasets::JobGraph;
using datasets::JobTurn;
using paretoken::testing::from;
using paretoken::testing::kept_outcome;
using paretoken::testing::KeptOutcome;
using paretoken::testing::only;
using std::chrono::milliseconds;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kJobs = 200;

/// Random jobs, whose turns say which turn they are and what they continue.
class RandomJobs : public datasets::Dataset {
  public:
    bool has_conversations() const override { return true; }
    bool has_jobs() const override { return true; }
    bool needs_replies() const override { return true; }
    std::uint32_t turns(std::uint64_t index) const override {
        return static_cast<std::uint32_t>(job(index)->turns.size());
    }
    std::shared_ptr<const JobGraph> job(std::uint64_t index) const override {
        Random random(derived_seed(7, "job", index));
        return std::make_shared<const JobGraph>(paretoken::testing::random_job(random));
    }
    Request request(std::uint64_t index) const override { return turn_of(index, 0, {}); }
    Request follow_up(std::uint64_t index, std::uint32_t turn, const datasets::Said& said) const override {
        Messages messages;
        if (job(index)->turns[turn].history) {
            messages = std::get<Messages>(said.prompt);
            EXPECT_FALSE(said.reply.empty());
            messages.push_back({.role = "assistant", .content = std::string(said.reply)});
        }
        return turn_of(index, turn, std::move(messages));
    }
    std::string description() const override { return "random jobs"; }

  private:
    static Request turn_of(std::uint64_t index, std::uint32_t turn, Messages messages) {
        messages.push_back(
            {.role = "user", .content = "turn " + std::to_string(turn) + " of " + std::to_string(index)});
        Request request;
        request.prompt = std::move(messages);
        request.wanted_output_tokens = 20;
        return request;
    }
};

/// Random jobs, and between them jobs whose main agent starts four helpers twice and waits for all of them.
class JobsWithHelpers final : public RandomJobs {
  public:
    std::shared_ptr<const JobGraph> job(std::uint64_t index) const override {
        if (index % 2 == 0) return RandomJobs::job(index);
        std::vector<datasets::StatedTurn> turns(11);
        for (std::uint32_t turn = 0; turn < turns.size(); ++turn) {
            turns[turn].agent = turn % 5;  // 0 is the main agent
            const std::uint32_t latest = turn / 5 * 5;
            if (turn != latest)
                turns[turn].after = {latest};
            else if (turn > 0)
                turns[turn].after = {turn - 4, turn - 3, turn - 2, turn - 1};
            turns[turn].delay = milliseconds(turn % 3 * 10);
            turns[turn].whole_prompt = false;
        }
        return std::make_shared<const JobGraph>(
            datasets::ordered_job(turns, [](std::uint32_t, const std::string&) {}).graph);
    }
};

KeptOutcome outcome_of(const LoadOptions& load, const datasets::Dataset& dataset,
                       std::string_view profile = "llama3-8b-h100-fp8") {
    Progress progress;
    return kept_outcome([&](RecordSink& sink) {
        return make_virtual_load(from(load, dataset), {.profile = sim::profile_named(profile)}, sink,
                                 progress, {});
    });
}

LoadOptions jobs_at_once(std::uint64_t concurrency) {
    LoadOptions load;
    only(load).arrivals = parse_arrivals("at_once");
    only(load).concurrency = concurrency;
    only(load).limits.requests = kJobs;
    return load;
}

/// Returns the records of each job by the number of their turn.
std::map<std::uint64_t, std::map<std::uint32_t, RequestRecord>> by_job(
    const std::vector<RequestRecord>& records) {
    std::map<std::uint64_t, std::map<std::uint32_t, RequestRecord>> jobs;
    for (const RequestRecord& record : records) {
        const auto turn = static_cast<std::uint32_t>(record.index - record.job->first);
        EXPECT_TRUE(jobs[record.job->first].emplace(turn, record).second) << "a turn is sent once";
    }
    return jobs;
}

constexpr Duration kMostRest = milliseconds(1280);  // after failures in a row

/// Checks the turns that were sent, and when, against the graph and what became of the turns before. A turn
/// may be later than it was released by up to `rest`.
void check_job(const JobGraph& graph, const std::map<std::uint32_t, RequestRecord>& sent,
               Duration rest = {}) {
    std::vector<TimePoint> over(graph.turns.size());  // when each turn had ended or was skipped
    for (std::uint32_t turn = 0; turn < graph.turns.size(); ++turn) {
        const JobTurn& of = graph.turns[turn];
        const auto record = sent.find(turn);
        bool possible = of.after.empty();
        bool lost = false;
        TimePoint released = sent.at(0).scheduled - graph.turns[0].delay - graph.turns[0].tool;
        for (const std::uint32_t other : of.after) {
            const bool ok = sent.contains(other) && sent.at(other).outcome == Outcome::ok;
            possible |= ok;
            lost |= !ok && (of.history == other || graph.turns[other].agent == of.agent);
            released = std::max(released, over[other]);
        }
        over[turn] = record != sent.end() ? record->second.closed : released;
        EXPECT_EQ(record != sent.end(), possible && !lost);
        if (record == sent.end() || turn == 0) continue;
        EXPECT_GE(record->second.scheduled, released + of.delay + of.tool);
        EXPECT_LE(record->second.scheduled, released + of.delay + of.tool + rest);
        EXPECT_EQ(record->second.turn->number, of.number);
        EXPECT_EQ(record->second.job->background, of.background);
    }
}

/// Returns the most jobs of which a turn had started and the last had not ended.
std::size_t most_live(const std::map<std::uint64_t, std::map<std::uint32_t, RequestRecord>>& jobs) {
    std::vector<std::pair<TimePoint, int>> changes;
    for (const auto& [first, sent] : jobs) {
        TimePoint end = TimePoint::min();
        for (const auto& [turn, record] : sent) end = std::max(end, record.closed);
        changes.emplace_back(sent.at(0).scheduled, 1);
        changes.emplace_back(end, -1);
    }
    std::sort(changes.begin(), changes.end());
    std::ptrdiff_t live = 0;
    std::ptrdiff_t most = 0;
    for (const auto& [at, change] : changes) most = std::max(most, live += change);
    return static_cast<std::size_t>(most);
}

TEST(VirtualJobs, EveryTurnStartsWhenThoseItWaitsForHaveEndedAndItsPausesAreOver) {
    const RandomJobs dataset;
    const auto outcome = outcome_of(jobs_at_once(7), dataset);
    const auto jobs = by_job(outcome.records);
    EXPECT_EQ(jobs.size(), kJobs);
    std::uint64_t first = 0;
    for (std::uint64_t i = 0; i < kJobs; ++i) {
        const auto graph = dataset.job(i);
        EXPECT_EQ(jobs.at(first).size(), graph->turns.size());
        check_job(*graph, jobs.at(first));
        first += graph->turns.size();
    }
    EXPECT_EQ(most_live(jobs), 7U) << "the concurrency counts jobs";
    EXPECT_TRUE(outcome_of(jobs_at_once(7), dataset).records == outcome.records) << "it can be repeated";
}

TEST(VirtualJobs, JobsEndWhateverTurnsAreGivenUp) {
    const RandomJobs dataset;
    LoadOptions load = jobs_at_once(5);
    only(load).pacing.hang_up = parse_hang_up("p=.2,after=30ms");
    const auto jobs = by_job(outcome_of(load, dataset).records);
    EXPECT_EQ(jobs.size(), kJobs) << "no job holds its slot for ever";
    std::size_t given_up = 0;
    std::uint64_t first = 0;
    for (std::uint64_t i = 0; i < kJobs; ++i) {
        const auto graph = dataset.job(i);
        check_job(*graph, jobs.at(first));
        for (const auto& [turn, record] : jobs.at(first)) given_up += record.outcome != Outcome::ok ? 1 : 0;
        first += graph->turns.size();
    }
    EXPECT_GT(given_up, 50U);
    EXPECT_LE(most_live(jobs), 5U);
}

TEST(VirtualJobs, AContextThatIsTooLongEndsItsAgentAndNotTheJob) {
    const RandomJobs dataset;
    const auto outcome = outcome_of(jobs_at_once(5), dataset, "llama3-8b-h100-fp8?max_model_len=120");
    const auto jobs = by_job(outcome.records);
    EXPECT_EQ(jobs.size(), kJobs);
    std::uint64_t first = 0;
    std::size_t jobs_that_went_on = 0;
    for (std::uint64_t i = 0; i < kJobs; ++i) {
        const auto graph = dataset.job(i);
        check_job(*graph, jobs.at(first), kMostRest);
        const auto refused =
            std::ranges::find(jobs.at(first), 400, [](const auto& sent) { return sent.second.http_status; });
        jobs_that_went_on +=
            refused != jobs.at(first).end() && jobs.at(first).rbegin()->first > refused->first;
        first += graph->turns.size();
    }
    EXPECT_GT(jobs_that_went_on, 5U);
    for (const RequestRecord& record : outcome.records)
        EXPECT_THAT(record.error, AnyOf(IsEmpty(), HasSubstr("exceed the context of 120")));
}

/// Returns how many turns were sent after all that they wait for, of which one was refused with `status`.
std::size_t joins_behind(int status, const JobGraph& graph,
                         const std::map<std::uint32_t, RequestRecord>& sent) {
    return static_cast<std::size_t>(std::ranges::count_if(sent, [&](const auto& turn) {
        return std::ranges::any_of(graph.turns[turn.first].after, [&](std::uint32_t other) {
            return sent.contains(other) && sent.at(other).http_status == status;
        });
    }));
}

TEST(JobsOverSockets, AJoinIsReleasedOnceWhenAnAgentBeforeItIsRefusedOrFails) {
    const JobsWithHelpers dataset;
    paretoken::testing::SimulatedLoad load{.requests = 40, .concurrency = 40, .dataset = &dataset};
    for (const char* const fault : {"http-429:p=.1", "http-503:p=.1", "reset:p=.1,after=2tok"})
        load.server.faults.push_back(sim::parse_fault(sim::FaultKind::fault, fault));
    load.server.affinity_header = "X-Session-Affinity";
    const auto outcome = paretoken::testing::outcome_of(load);
    const auto jobs = by_job(outcome.records);
    ASSERT_EQ(jobs.size(), 40U) << "no job holds its slot for ever";
    std::map<int, std::size_t> joins;
    for (std::uint64_t i = 0, first = 0; i < 40; ++i) {
        const auto graph = dataset.job(i);
        check_job(*graph, jobs.at(first), kMostRest);
        for (const int status : {429, 503}) joins[status] += joins_behind(status, *graph, jobs.at(first));
        first += graph->turns.size();
    }
    EXPECT_GT(joins[429], 2U);
    EXPECT_GT(joins[503], 2U);
    // By the server's log, all turns of an agent have one id, and no two agents have the same.
    std::map<std::uint64_t, std::set<std::string>> ids;
    std::set<std::string> different;
    for (const RequestRecord& record : outcome.records)
        if (const auto entry = outcome.truth.find(record.id); entry != outcome.truth.end())
            ids[record.turn ? record.turn->conversation : record.index].insert(entry->second.at("affinity"));
    for (const auto& [agent, own] : ids) {
        EXPECT_EQ(own.size(), 1U) << agent;
        different.insert(own.begin(), own.end());
    }
    EXPECT_GT(ids.size(), 40U);
    EXPECT_EQ(different.size(), ids.size());
}

TEST(VirtualJobs, AnOpenLoopBeginsJobsAtTheirTimesAndHoldsNoSlot) {
    const RandomJobs dataset;
    LoadOptions load;
    only(load).arrivals = parse_arrivals("constant:rate=2");
    only(load).limits.requests = 40;
    const auto jobs = by_job(outcome_of(load, dataset).records);
    ASSERT_EQ(jobs.size(), 40U);
    std::uint64_t i = 0;
    for (const auto& [first, sent] : jobs) {
        EXPECT_EQ(sent.at(0).scheduled - jobs.begin()->second.at(0).scheduled, milliseconds(500) * i);
        check_job(*dataset.job(i++), sent);
    }
}

TEST(VirtualJobs, NoTurnStartsAfterTheRunWasEnded) {
    const RandomJobs dataset;
    LoadOptions load = jobs_at_once(5);
    only(load).limits = {.duration = milliseconds(1500)};
    const auto outcome = outcome_of(load, dataset);
    EXPECT_GT(outcome.records.size(), 20U);
    TimePoint begin = TimePoint::max();
    for (const RequestRecord& record : outcome.records) begin = std::min(begin, record.started);
    for (const RequestRecord& record : outcome.records) EXPECT_LT(record.started, begin + milliseconds(1500));
}

}  // namespace
}  // namespace paretoken::loadgen
