// Divides runs in virtual time into parts, as if several machines had made the load, and joins them again.
#include "core/run/union.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/random.h"
#include "core/run/judging.h"
#include "core/run/result_of.h"
#include "core/validity/validity.h"
#include "reports/files/json/run_json.h"
#include "tests/experiments/virtual_sweep.h"
#include "tests/support/kept_run.h"
#include "tests/support/message_of.h"

namespace paretoken::experiments {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using paretoken::testing::KeptRun;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// Returns the path of the first value that differs by more than rounding; empty if none does.
std::string difference(const json& a, const json& b, const std::string& path = {}) {
    constexpr double kRounding = 1e-9;
    if (a.is_number() && b.is_number()) {
        const double x = a.get<double>();
        const double y = b.get<double>();
        return std::abs(x - y) <= kRounding * std::max(1.0, std::abs(x))
                   ? ""
                   : fmt::format("{}: {} {}", path, x, y);
    }
    if (a.type() != b.type() || a.size() != b.size()) return path + ": " + a.dump() + " " + b.dump();
    if (!a.is_structured()) return a == b ? "" : path + ": " + a.dump() + " " + b.dump();
    for (const auto& [key, value] : a.items()) {
        std::string inner = fmt::format("{}/{}", path, key);
        if (a.is_object() && !b.contains(key)) return inner;
        const json& other = a.is_object() ? b[key] : b[std::stoul(key)];
        if (auto found = difference(value, other, inner); !found.empty()) return found;
    }
    return {};
}

std::string difference(const RunResult& a, const RunResult& b) {
    return difference(json::parse(reports::run_json(a)), json::parse(reports::run_json(b)));
}

/// Parts of a run whose records are in memory.
struct Division {
    std::deque<std::vector<RequestRecord>> requests;  ///< of each part
    std::vector<RecordedPart> parts;
};

/// Moves the times of a record back.
RequestRecord earlier(RequestRecord record, Duration by) {
    for (TimePoint* at : {&record.scheduled, &record.started, &record.ready, &record.closed}) *at -= by;
    for (auto* at : {&record.sent, &record.headers, &record.first_event, &record.first_answer,
                     &record.last_event, &record.finished})
        if (*at) **at -= by;
    for (StreamEvent& event : record.events) event.time -= by;
    return record;
}

/// Divides a run into `count` parts whose clocks differ. Only the first has the report of the client. Every
/// part read the server's metrics, and only its own clock is in them.
Division divided(const KeptRun& run, std::uint32_t count, Random& random) {
    Division division;
    division.requests.resize(count);
    for (std::uint32_t number = 0; number < count; ++number) {
        RecordedPart part{.recorded = run.recorded,
                          .offset = count == 1 ? 0s : Duration(random.below(7'200'000'000'000)) - 3600s};
        part.recorded.begun.shard = Shard{number, count};
        Observations& own = part.recorded.observed;
        own.began -= part.offset;
        if (own.ran_dry) *own.ran_dry -= part.offset;
        if (own.stopped) own.stopped->at -= part.offset;
        for (ServerScrape& scrape : own.server.scrapes) scrape.at -= part.offset;
        if (number > 0) own.client = {};
        division.parts.push_back(std::move(part));
    }
    for (const RequestRecord& record : run.requests) {
        const auto number = random.below(count);
        division.requests[number].push_back(earlier(record, division.parts[number].offset));
    }
    for (std::uint32_t number = 0; number < count; ++number) {
        Recorded& own = division.parts[number].recorded;
        own.observed.records = RequestTable(division.requests[number]);
        own.events = std::make_shared<KeptEvents>(division.requests[number]);
    }
    return division;
}

struct Union : VirtualExperiment {
    KeptRun run_of(PlanTexts texts) {
        texts.insert({{"virtual", {"true"}}, {"isl", {"64"}}, {"osl", {"16"}}, {"salt", {"s"}}});
        if (texts.contains("dataset")) {
            texts.erase("isl");
            texts.erase("osl");
        }
        texts.insert({"url", {"sim:llama3-8b-h100-bf16"}});
        const std::string name = fmt::format("run{}", number_++);
        measured(texts, name);
        return KeptRun(directory_ / name);
    }
    std::vector<KeptRun> runs() {
        return {
            run_of({{"concurrency", {"8"}}, {"num_prompts", {"120"}}, {"num_warmups", {"9"}}}),
            run_of({{"request_rate", {"20"}}, {"num_prompts", {"150"}}}),
            run_of({{"arrivals", {"bursts:rate=4,size=8,every=1s"}}, {"num_prompts", {"200"}}}),
            run_of({{"duration", {"15s"}},
                    {"class", {"a:concurrency=4,goodput=ttft:30", "b:request_rate=2,isl=256"}}}),
            run_of({{"dataset", {"multi_turn:turns=3,first=100,next=30,osl=20"}},
                    {"concurrency", {"4"}},
                    {"num_prompts", {"40"}}}),
            run_of({{"url", {"sim:llama3-8b-h100-bf16?max_num_seqs=2"}},
                    {"concurrency", {"8"}},
                    {"num_prompts", {"80"}},
                    {"timeout", {"500ms"}},
                    {"max_failed", {"90%"}}}),
            run_of({{"url", {"sim:llama3-8b-h100-bf16?max_num_seqs=2"}},
                    {"request_rate", {"200"}},
                    {"stop", {"diverging"}},
                    {"num_prompts", {"20000"}}}),
        };
    }

    const Judging judging{.goodput = {"ttft:25"}, .slos = {"e2e_p90:900"}};

  private:
    int number_ = 0;
};

TEST_F(Union, of_any_parts_has_the_result_of_the_whole_run) {
    Random random(1);
    for (const KeptRun& run : runs()) {
        const RunResult whole = run.result(judging);
        for (const std::uint32_t count : {1U, 2U, 3U, 7U, 16U}) {
            const Division division = divided(run, count, random);
            const Recorded joined = union_of(division.parts);
            TimePoint before{};
            for (const RequestRecord& record : joined.observed.records) {
                EXPECT_GE(record.closed, before) << "in the order in which they ended";
                before = record.closed;
            }
            EXPECT_EQ(difference(result_of(joined, judging), whole), "") << count;
        }
    }
}

TEST_F(Union, of_parts_that_were_killed_has_the_result_of_the_run_that_was_killed) {
    Random random(2);
    for (KeptRun run : {run_of({{"concurrency", {"8"}}, {"num_prompts", {"120"}}}),
                        run_of({{"request_rate", {"20"}}, {"num_prompts", {"150"}}})}) {
        run.recorded.ended = false;
        while (run.requests.size() > 20) {
            run.requests.resize(run.requests.size() - 20);
            const RunResult whole = run.result(judging);
            EXPECT_TRUE(whole.partial);
            Division division = divided(run, 3, random);
            division.parts[0].recorded.ended = division.parts[2].recorded.ended = true;
            EXPECT_EQ(difference(result_of(union_of(division.parts), judging), whole), "");
        }
    }
}

TEST_F(Union, of_unlike_parts_is_refused_with_what_differs) {
    Random random(3);
    const KeptRun run = run_of({{"concurrency", {"4"}}, {"num_prompts", {"40"}}});
    const auto refused = [&](auto change) {
        Division division = divided(run, 3, random);
        change(division.parts);
        return message_of<UsageError>([&] { union_of(division.parts); });
    };
    using Parts = std::vector<RecordedPart>;
    EXPECT_THAT(refused([](Parts& parts) { parts[2].recorded.begun.plan["isl"] = "65"; }),
                AllOf(HasSubstr("shard 0 of 3 and shard 2 of 3"), HasSubstr("--isl is '64' and '65'")));
    EXPECT_THAT(refused([](Parts& parts) { parts[0].recorded.begun.plan.erase("osl"); }),
                HasSubstr("--osl is not given and '16'"));
    EXPECT_THAT(refused([](Parts& parts) { parts[1].recorded.begun.workload.fingerprint = "f"; }),
                AllOf(HasSubstr("fingerprint"), HasSubstr("'f'")));
    EXPECT_THAT(refused([](Parts& parts) { parts[1].recorded.begun.shape.open_loop = true; }),
                HasSubstr("the kind of load"));
    EXPECT_THAT(refused([](Parts& parts) { parts[1].recorded.begun.unknown_facts = {Fact::sent}; }),
                HasSubstr("facts"));
    EXPECT_THAT(refused([](Parts& parts) { parts[1].recorded.begun.shard->count = 4; }),
                HasSubstr("shard 0 of 3 and shard 1 of 4"));
    EXPECT_THAT(refused([](Parts& parts) { parts[1].recorded.begun.provenance.version = "9"; }),
                HasSubstr("version"));
    EXPECT_THAT(refused([](Parts& parts) { parts[2].recorded.begun.plan["start_at"] = "99"; }),
                HasSubstr("--start-at is not given and '99'"));
    EXPECT_THAT(refused([](Parts& parts) { parts.push_back(parts[2]); }),
                HasSubstr("shard 2 of 3 is given twice"));
    EXPECT_THAT(refused([&](Parts& parts) {
                    const auto own = parts[1].recorded.observed.records[0];
                    EXPECT_FALSE(own.warmup);
                    parts[2].recorded.observed.records.add(own);
                }),
                AllOf(HasSubstr("request "), HasSubstr("is in shard 1 and in shard 2")));
}

TEST_F(Union, without_a_part_is_partial_and_names_it) {
    Random random(5);
    const KeptRun run = run_of({{"concurrency", {"4"}}, {"num_prompts", {"40"}}});
    Division division = divided(run, 4, random);
    division.parts[0].recorded.begun.plan["out"] = "other";  // where files are decides nothing
    division.parts.erase(division.parts.begin() + 1, division.parts.begin() + 3);
    const RunResult joined = result_of(union_of(division.parts), judging);
    EXPECT_TRUE(joined.partial);
    EXPECT_EQ(joined.validity.verdict, Verdict::invalid);
    EXPECT_THAT(gravest_reason(joined.validity),
                AllOf(HasSubstr("shards 1, 2 of 4 are missing"), ::testing::Not(HasSubstr("OUT-shard")),
                      ::testing::EndsWith("which `paretoken merge` joins with the others")));
    division = divided(run, 4, random);
    for (RecordedPart& part : division.parts) part.recorded.begun.plan["rendezvous"] = "host:9000";
    division.parts.pop_back();
    EXPECT_THAT(gravest_reason(result_of(union_of(division.parts), judging).validity),
                HasSubstr("is on its host in OUT-shard-3"));
}

TEST_F(Union, takes_readings_of_the_server_from_one_part_and_adds_those_of_clients) {
    Random random(4);
    KeptRun run = run_of({{"concurrency", {"4"}}, {"num_prompts", {"40"}}});
    paretoken::testing::add_scrapes(run.recorded.observed);
    Division division = divided(run, 2, random);
    Observations& first = division.parts[0].recorded.observed;
    Observations& second = division.parts[1].recorded.observed;
    first.client = {
        .chunks = {.chunks = 3}, .cpu = {{{.at = TimePoint(5s), .share = .5}}}, .host_lost_share = .1};
    second.client = {
        .chunks = {.chunks = 4}, .cpu = {{{.at = TimePoint(6s), .share = .7}}}, .host_lost_share = .2};
    ASSERT_GT(first.server.scrapes.size(), 2U);
    const TimePoint scraped = second.server.scrapes.back().at;
    first.server.scrapes.pop_back();
    first.power = {.source = "nvml", .readings = {{.at = TimePoint(1s), .sample = {.watts = 300}}}};
    second.exporters = {{.scrapes = {},
                         .failed = 0,
                         .last_failure = "",
                         .name = "dcgm",
                         .kept = {{"k", {{TimePoint(2s)}, {1}}}}}};
    const Observations joined = union_of(division.parts).observed;
    const Duration offset = division.parts[0].offset;
    const Duration other = division.parts[1].offset;
    EXPECT_EQ(joined.client.chunks.chunks, 7U);
    EXPECT_EQ(joined.client.host_lost_share, .2);
    ASSERT_EQ(joined.client.cpu.size(), 2U);
    EXPECT_EQ(joined.client.cpu[0][0].at, TimePoint(5s) + offset);
    EXPECT_EQ(joined.client.cpu[1][0].at, TimePoint(6s) + other);
    EXPECT_EQ(joined.server.scrapes.size(), second.server.scrapes.size());
    EXPECT_EQ(joined.server.scrapes.back().at, scraped + other);
    EXPECT_EQ(joined.power.readings.at(0).at, TimePoint(1s) + offset);
    EXPECT_EQ(joined.exporters.at(0).kept.at("k").at.at(0), TimePoint(2s) + other);
}

TEST_F(Union, ends_as_its_worst_part_ended) {
    Random random(5);
    Division division = divided(run_of({{"concurrency", {"4"}}, {"num_prompts", {"40"}}}), 3, random);
    for (RecordedPart& part : division.parts) {
        part.offset = 10s;
        part.recorded.observed.began = TimePoint(100s);
        part.recorded.observed.stopped = Stopped{"requests", TimePoint(200s), "all were made"};
        part.recorded.observed.ran_dry.reset();
    }
    Recorded& second = division.parts[1].recorded;
    second.observed.began = TimePoint(99s);
    second.observed.ran_dry = TimePoint(150s);
    second.observed.interrupted = true;
    second.observed.stopped = Stopped{"interrupted", TimePoint(300s), "the user"};
    second.lost = "a full disk";
    division.parts[2].recorded.lost = "another";
    division.parts[2].recorded.probe = ProbeOutcome{.probe = "p", .asked = 2, .answered = 2, .right = 1};
    Recorded joined = union_of(division.parts);
    EXPECT_EQ(joined.observed.began, TimePoint(109s));
    EXPECT_EQ(joined.observed.ran_dry, TimePoint(160s));
    EXPECT_TRUE(joined.observed.interrupted);
    EXPECT_EQ(joined.observed.stopped, (Stopped{"interrupted", TimePoint(310s), "the user"}));
    EXPECT_EQ(joined.lost, "a full disk; another");
    EXPECT_EQ(joined.probe->right, 1U);
    EXPECT_TRUE(joined.ended);
    EXPECT_FALSE(joined.begun.shard);

    division.parts[2].recorded.observed.stopped = Stopped{"diverging", TimePoint(400s), "the queue grew"};
    division.parts[0].recorded.ended = false;
    joined = union_of(division.parts);
    EXPECT_EQ(joined.observed.stopped->rule, "diverging");
    EXPECT_FALSE(joined.ended);
    for (RecordedPart& part : division.parts)
        part.recorded.observed.stopped = Stopped{"requests", part.recorded.observed.began + 50s, ""};
    EXPECT_EQ(union_of(division.parts).observed.stopped->at, TimePoint(159s)) << "the earliest";
}

}  // namespace
}  // namespace paretoken::experiments
