#include "reports/files/refold.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <memory>

#include "core/error.h"
#include "core/plan/events_kept.h"
#include "core/run/judging.h"
#include "core/run/result_of.h"
#include "core/statistics.h"
#include "reports/files/file_io.h"
#include "reports/files/recorded_files.h"
#include "reports/files/records.h"
#include "tests/reports/temporary_directory.h"
#include "tests/support/message_of.h"

namespace paretoken::reports {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

TimePoint at_ms(std::int64_t ms) {
    return TimePoint{std::chrono::milliseconds(ms)};
}

/// 400 requests, four at a time, whose first token comes after 20 to 119 ms; every second one is of class
/// "batch" when there are classes.
std::vector<RequestRecord> records(bool classes) {
    std::vector<RequestRecord> made;
    for (std::int64_t i = 0; i < 400; ++i) {
        RequestRecord r;
        r.index = static_cast<std::uint64_t>(i);
        const std::int64_t begin = 1000 + 50 * i;
        const std::int64_t first = begin + 20 + (i * 37) % 100;
        r.scheduled = r.started = r.ready = at_ms(begin);
        r.sent = at_ms(begin);
        for (std::int64_t token = 0; token < 8; ++token)
            r.events.push_back({.time = at_ms(first + 10 * token)});
        r.first_event = r.first_answer = r.events.front().time;
        r.last_event = r.finished = r.events.back().time;
        r.closed = *r.finished;
        r.streamed_tokens = r.chunks = 8;
        r.first_group_tokens = 1;
        r.usage = {.prompt = 16, .cached_prompt = {}, .completion = 8, .reasoning = {}};
        if (classes) r.request_class = i % 2 == 0 ? "chat" : "batch";
        made.push_back(std::move(r));
    }
    return made;
}

/// A run on the disk.
struct StoredLoad {
    explicit StoredLoad(bool classes = false) : requests(records(classes)) {
        recorded.begun.shape = {.concurrency = 4, .kept_in_flight = 4};
        write();
    }
    void write(const Judging& judging = {}) {
        write_begun(directory.path(), recorded.begun, judging);
        RecordWriter writer(record_files_in(directory.path()), TimePoint{});
        for (const RequestRecord& record : requests) writer.record(RequestRecord(record));
        EXPECT_THAT(writer.finish(), IsEmpty());
        write_ended(directory.path(), recorded);
    }
    /// The result of the records in memory.
    RunResult result(const Judging& judging = {}) {
        recorded.observed.records = RequestTable(requests);
        recorded.events = std::make_shared<KeptEvents>(requests);
        return result_of(recorded, judging);
    }
    RunResult refolded(const Refold& options) const { return reports::refolded(directory.path(), options); }

    TemporaryDirectory directory;
    std::vector<RequestRecord> requests;
    Recorded recorded;
};

Refold with_goodput(const std::vector<std::string>& texts) {
    Refold options;
    for (const std::string& text : texts) add_goodput(options, text);
    return options;
}

TEST(Refold, without_anything_new_gives_what_the_run_itself_found) {
    StoredLoad run;
    EXPECT_GT(run.result().metric("itl_s")->n, 0U);
    EXPECT_EQ(run.refolded({}), run.result());
}

TEST(Refold, holds_every_request_against_other_slos) {
    StoredLoad run;
    const RunResult anew = run.refolded(with_goodput({"ttft:70 tpot:50"}));
    const RunResult judged = run.result({.goodput = {"ttft:70", "tpot:50"}});
    EXPECT_EQ(static_cast<const Scope&>(anew), static_cast<const Scope&>(judged));
    EXPECT_NEAR(*anew.throughput.at(figure::kGoodputRatio), .51, .03);
    EXPECT_EQ(anew.plan.at("goodput"), "ttft:70 tpot:50");
}

TEST(Refold, keeps_the_slos_of_the_run_where_no_others_are_given) {
    StoredLoad run;
    const Judging judging{.goodput = {"ttft:70"}, .plan = {{"goodput", "ttft:70"}}};
    run.write(judging);
    EXPECT_EQ(run.refolded({}), run.result(judging));
}

TEST(Refold, adds_percentiles_that_run_json_does_not_hold) {
    StoredLoad run;
    const RunResult anew = run.refolded({.percentiles = {.97, .95}});
    std::vector<double> ttft;
    const double end = anew.window.zero_s + anew.window.end_s;
    for (const RequestRecord& r : run.requests)
        if (const double at = seconds(r.scheduled.time_since_epoch());
            at >= anew.window.zero_s + anew.window.begin_s && at < end)
            ttft.push_back(seconds(*r.first_event - *r.sent));
    std::sort(ttft.begin(), ttft.end());
    const PercentileValue* p97 = anew.metric("ttft_s")->at(.97);
    ASSERT_TRUE(p97 != nullptr && p97->value);
    EXPECT_NEAR(*p97->value, percentile(ttft, .97), 1e-9);
    EXPECT_EQ(anew.metric("ttft_s")->percentiles.size(),
              run.result().metric("ttft_s")->percentiles.size() + 1);
    EXPECT_EQ(anew.metric("ttft_s")->at(.95)->value, run.result().metric("ttft_s")->at(.95)->value);
    // A higher value is better, so this is the inverse of the inverse metric's percentile.
    EXPECT_TRUE(anew.metric("interactivity_tok_per_s")->at(.97)->value);
}

TEST(Refold, holds_each_class_against_its_own_slos) {
    StoredLoad run(true);
    const RunResult anew = run.refolded(with_goodput({"chat=ttft:70", "ttft:1000"}));
    EXPECT_LT(*anew.classes.at("chat").throughput.at(figure::kGoodputRatio), .6);
    EXPECT_EQ(*anew.classes.at("batch").throughput.at(figure::kGoodputRatio), 1);
    EXPECT_EQ(anew.plan.at("chat.goodput"), "ttft:70");
    EXPECT_THAT(message_of<UsageError>([&] { run.refolded(with_goodput({"cha=ttft:70"})); }),
                AllOf(HasSubstr("--goodput cha="), HasSubstr("batch, chat")));
}

TEST(Refold, leaves_requests_their_own_slos) {
    StoredLoad run;
    for (std::size_t i = 0; i < run.requests.size(); ++i)
        if (i % 2 == 0) run.requests[i].slo = i % 4 == 0 ? "ttft:100000" : "ttft:.001";
    run.write();
    const RunResult anew = run.refolded(with_goodput({"ttft:.001"}));
    const Totals& totals = anew.whole_run_totals;
    EXPECT_EQ(totals.judged, static_cast<double>(run.requests.size()));
    EXPECT_EQ(totals.judged_good, static_cast<double>(run.requests.size()) / 4);
    const RunResult without = run.refolded({});
    EXPECT_EQ(without.whole_run_totals.judged_good, totals.judged_good);
    EXPECT_EQ(without.whole_run_totals.judged, static_cast<double>(run.requests.size()) / 2);
}

TEST(Refold, withholds_the_percentiles_of_a_load_that_diverged) {
    StoredLoad run;
    run.recorded.observed.stopped = Stopped{.rule = "diverging", .at = at_ms(15'000), .text = "it grew"};
    run.write();
    const RunResult diverged = run.refolded(with_goodput({"ttft:70"}));
    ASSERT_TRUE(diverged.metric("ttft_s"));
    EXPECT_FALSE(diverged.metric("ttft_s")->at(.5)->value) << "it depends on the length of the run";
    EXPECT_TRUE(diverged.throughput.at(figure::kGoodputRatio));
    EXPECT_EQ(diverged.validity.reasons.front().check, "diverging");
}

TEST(Refold, says_what_is_wrong_with_its_input) {
    StoredLoad run;
    EXPECT_THAT(message_of<UsageError>([] { with_goodput({"ttft_p95:70"}); }),
                HasSubstr("leave the _pNN out"));
    EXPECT_THAT(message_of<UsageError>([] { with_goodput({"=ttft:70"}); }), HasSubstr("CLASS=LIMITS"));
    EXPECT_THAT(message_of<UsageError>([] { with_goodput({"speed:70"}); }), HasSubstr("speed"));
    const TemporaryDirectory empty;
    EXPECT_THAT(message_of<UsageError>([&] { reports::refolded(empty.path(), {}); }),
                HasSubstr("begun.json"));
    write_begun(empty.path(), run.recorded.begun, {});
    write_ended(empty.path(), run.recorded);
    EXPECT_THAT(message_of<UsageError>([&] { reports::refolded(empty.path(), {}); }),
                HasSubstr("requests.jsonl"));
}

TEST(Refold, refuses_a_directory_in_the_place_of_a_file) {
    for (const char* const name :
         {"begun.json", "ended.json", "requests.jsonl", "events.bin", "server.jsonl"}) {
        StoredLoad run;
        std::filesystem::remove(run.directory.path() / name);
        std::filesystem::create_directory(run.directory.path() / name);
        EXPECT_THAT(message_of<UsageError>([&] { run.refolded({}); }),
                    AllOf(HasSubstr((run.directory.path() / name).string()), HasSubstr("is a directory")));
    }
}

TEST(Refold, refuses_files_that_are_not_those_of_the_run) {
    StoredLoad run;
    const auto path = [&](std::string_view name) { return run.directory.path() / name; };
    const auto refused = [&] { return message_of<UsageError>([&] { run.refolded({}); }); };
    for (const char* const name : {"requests.jsonl", "events.bin"}) {
        const std::string written = read_file(path(name));
        write_file_atomically(path(name), written + written);
        EXPECT_THAT(
            refused(),
            AllOf(HasSubstr(fmt::format("{}: the run wrote a file of {} bytes", name, written.size())),
                  HasSubstr("another one")));
        write_file_atomically(path(name), written.substr(0, written.size() - 20));
        EXPECT_THAT(refused(), HasSubstr("another one"));
        write_file_atomically(path(name), written);
    }
    EXPECT_EQ(run.refolded({}), run.result());
    const std::string lines = read_file(path("requests.jsonl"));
    std::string changed = lines;
    changed[changed.find("\"completion_tokens\":8") + 20] = '9';
    write_file_atomically(path("requests.jsonl"), changed);
    EXPECT_THAT(refused(), HasSubstr("requests.jsonl: the run wrote")) << "one digit was changed";
    write_file_atomically(path("requests.jsonl"), lines);
    const std::string begun = read_file(path("begun.json"));
    Begun other = run.recorded.begun;
    other.provenance.run_id = "another";
    write_begun(run.directory.path(), other, {});
    EXPECT_THAT(refused(), AllOf(HasSubstr("ended.json is of the run"), HasSubstr("another")));
    write_file_atomically(path("begun.json"), begun);
    std::filesystem::remove(path("events.bin"));
    EXPECT_EQ(run.refolded({}).counts.without_events, 400U) << "a large file that may be deleted";
    run.write();

    const std::string ended = read_file(path("ended.json"));
    for (RequestRecord& record : run.requests) record.bytes_received = 1 + record.index % 9;
    run.write();
    write_file_atomically(path("ended.json"), ended);
    EXPECT_THAT(refused(), HasSubstr("requests.jsonl: the run wrote")) << "the files of another run";
    std::filesystem::remove(path("ended.json"));
    write_file_atomically(path("requests.jsonl"), read_file(path("requests.jsonl")).substr(0, 20'000));
    EXPECT_LT(run.refolded({}).counts.requests, 400U) << "a run that was killed";
}

}  // namespace
}  // namespace paretoken::reports
