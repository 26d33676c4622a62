#include "reports/files/refold.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "core/error.h"
#include "core/plan/events_kept.h"
#include "core/record/record_events.h"
#include "core/result/summary.h"
#include "core/statistics.h"
#include "core/version.h"
#include "reports/files/events.h"
#include "reports/files/records.h"
#include "reports/files/run_directory.h"
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

RunResult result_of(const std::vector<RequestRecord>& requests, const SummaryOptions& options) {
    const RunSummary summary = summarize(requests, options);
    RunResult result;
    result.concurrency = options.concurrency;
    static_cast<Scope&>(result) = summary;
    result.window = summary.window_report;
    result.window.zero_s = seconds(summary.run.begin.time_since_epoch());
    result.classes = summary.classes;
    return result;
}

SummaryOptions four_at_once(std::vector<Slo> slos = {}) {
    SummaryOptions options;
    options.concurrency = 4;
    options.slos = std::move(slos);
    return options;
}

/// A finished run on the disk.
struct StoredRun {
    explicit StoredRun(bool classes = false) : requests(records(classes)) { write_requests(); }
    void write_requests() const {
        RecordWriter writer(record_files_in(directory.path()), TimePoint{});
        for (const RequestRecord& record : requests) writer.record(RequestRecord(record));
        EXPECT_THAT(writer.finish(), IsEmpty());
    }
    RunResult result(const SummaryOptions& options = four_at_once()) const {
        return result_of(requests, options);
    }
    RunResult refolded(const Refold& options) const {
        RunResult anew = result();
        refold(anew, directory.path(), options);
        return anew;
    }

    TemporaryDirectory directory;
    std::vector<RequestRecord> requests;
};

Refold with_goodput(const std::vector<std::string>& texts) {
    Refold options;
    for (const std::string& text : texts) add_goodput(options, text);
    return options;
}

TEST(Refold, without_anything_new_gives_what_the_run_itself_found) {
    const StoredRun run;
    EXPECT_GT(run.result().metric("itl_s")->n, 0U);
    EXPECT_EQ(run.refolded({}), run.result());
}

TEST(Refold, holds_every_request_against_other_slos) {
    const StoredRun run;
    const RunResult anew = run.refolded(with_goodput({"ttft:70 tpot:50"}));
    RunResult judged = run.result(four_at_once({parse_slo("ttft:70"), parse_slo("tpot:50")}));
    EXPECT_EQ(static_cast<const Scope&>(anew), static_cast<const Scope&>(judged));
    EXPECT_NEAR(*anew.throughput.at(figure::kGoodputRatio), .51, .03);
    EXPECT_EQ(anew.plan.at("goodput"), "ttft:70 tpot:50");
}

TEST(Refold, keeps_the_slos_of_the_run_where_no_others_are_given) {
    const StoredRun run;
    RunResult result = run.result(four_at_once({parse_slo("ttft:70")}));
    result.plan["goodput"] = "ttft:70";
    RunResult anew = result;
    refold(anew, run.directory.path(), {});
    EXPECT_EQ(anew, result);
}

TEST(Refold, adds_percentiles_that_run_json_does_not_hold) {
    const StoredRun run;
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
    const StoredRun run(true);
    const RunResult anew = run.refolded(with_goodput({"chat=ttft:70", "ttft:1000"}));
    EXPECT_LT(*anew.classes.at("chat").throughput.at(figure::kGoodputRatio), .6);
    EXPECT_EQ(*anew.classes.at("batch").throughput.at(figure::kGoodputRatio), 1);
    EXPECT_EQ(anew.plan.at("chat.goodput"), "ttft:70");
    EXPECT_THAT(message_of<UsageError>([&] { run.refolded(with_goodput({"cha=ttft:70"})); }),
                AllOf(HasSubstr("--goodput cha="), HasSubstr("batch, chat")));
}

TEST(Refold, leaves_requests_their_own_slos) {
    StoredRun run;
    for (std::size_t i = 0; i < run.requests.size(); ++i)
        if (i % 2 == 0) run.requests[i].slo = i % 4 == 0 ? "ttft:100000" : "ttft:.001";
    run.write_requests();
    const RunResult anew = run.refolded(with_goodput({"ttft:.001"}));
    const Totals& totals = anew.whole_run_totals;
    EXPECT_EQ(totals.judged, static_cast<double>(run.requests.size()));
    EXPECT_EQ(totals.judged_good, static_cast<double>(run.requests.size()) / 4);
    const RunResult without = run.refolded({});
    EXPECT_EQ(without.whole_run_totals.judged_good, totals.judged_good);
    EXPECT_EQ(without.whole_run_totals.judged, static_cast<double>(run.requests.size()) / 2);
}

TEST(Refold, keeps_the_metrics_of_a_load_that_diverged) {
    const StoredRun run;
    RunResult diverged = run.result();
    diverged.metrics.clear();
    diverged.stop = StopReason{.rule = "diverging", .at_s = 1, .text = ""};
    refold(diverged, run.directory.path(), with_goodput({"ttft:70"}));
    EXPECT_THAT(diverged.metrics, IsEmpty());
    EXPECT_TRUE(diverged.throughput.at(figure::kGoodputRatio));
}

TEST(Refold, says_what_is_wrong_with_its_input) {
    const StoredRun run;
    EXPECT_THAT(message_of<UsageError>([] { with_goodput({"ttft_p95:70"}); }),
                HasSubstr("leave the _pNN out"));
    EXPECT_THAT(message_of<UsageError>([] { with_goodput({"=ttft:70"}); }), HasSubstr("CLASS=LIMITS"));
    EXPECT_THAT(message_of<UsageError>([] { with_goodput({"speed:70"}); }), HasSubstr("speed"));
    const TemporaryDirectory empty;
    RunResult result = run.result();
    EXPECT_THAT(message_of<UsageError>([&] { refold(result, empty.path(), {}); }),
                HasSubstr("requests.jsonl"));
}

TEST(Refold, refuses_files_that_are_not_those_of_the_run) {
    const StoredRun run;
    const auto path = [&](std::string_view name) { return run.directory.path() / name; };
    const auto refused = [&] { return message_of<UsageError>([&] { run.refolded({}); }); };
    const std::string lines = read_file(path("requests.jsonl"));
    const std::string events = read_file(path("events.bin"));

    write_file_atomically(path("requests.jsonl"), lines + lines);
    EXPECT_THAT(refused(),
                HasSubstr("requests.jsonl holds 800 requests, and the run.json beside it counts 400"));
    const std::size_t second = lines.find('\n') + 1;
    const std::string first = lines.substr(0, second);
    const std::size_t last = lines.rfind('\n', lines.size() - 2) + 1;
    write_file_atomically(path("requests.jsonl"), lines.substr(0, last) + first);
    EXPECT_THAT(refused(), HasSubstr("requests.jsonl:400: request 0 is on line 1 already"));
    write_file_atomically(path("requests.jsonl"), lines.substr(second));
    EXPECT_THAT(refused(), HasSubstr("399 requests"));
    write_file_atomically(path("requests.jsonl"), lines.substr(0, lines.size() - 20));
    EXPECT_EQ(run.refolded({}).counts.requests, 399U) << "cut off within the last line, as by a crash";
    write_file_atomically(path("requests.jsonl"), lines);

    std::string flipped = events;
    flipped[40] ^= 1;
    write_file_atomically(path("events.bin"), flipped);
    EXPECT_THAT(refused(), AllOf(HasSubstr("events.bin: frame 1"), HasSubstr("checksum")));
    write_file_atomically(path("events.bin"), events + events.substr(kEventsHeaderBytes));
    EXPECT_THAT(refused(), HasSubstr("events.bin: frame 401: request 0 has an earlier frame"));
    write_file_atomically(path("events.bin"), events.substr(0, events.size() - 3));
    EXPECT_EQ(run.refolded({}).counts.without_events, 1U) << "cut off within the last frame";
    write_file_atomically(path("events.bin"), events);
    EXPECT_EQ(run.refolded({}), run.result());
}

TEST(Refold, refuses_the_files_of_another_run_with_as_many_requests) {
    StoredRun run;
    RunResult result = run.result();
    result.provenance.version = version();
    for (RequestRecord& record : run.requests) {
        record.scheduled = record.started = record.ready =
            at_ms(1000 + 60 * static_cast<std::int64_t>(record.index));
        record.sent = record.scheduled;
        const Duration later = record.scheduled + std::chrono::milliseconds(20) - record.events.front().time;
        for (StreamEvent& event : record.events) event.time += later;
        derive_from_events(record);
        record.closed = record.events.back().time;
        record.finished = record.closed;
    }
    const std::string lines = read_file(run.directory.path() / "requests.jsonl");
    run.write_requests();
    const auto refused = [&] {
        return message_of<UsageError>([&] { refold(result, run.directory.path(), {}); });
    };
    EXPECT_THAT(refused(), AllOf(HasSubstr("requests.jsonl has 400 successful requests"),
                                 HasSubstr("not the file of this run")));
    write_file_atomically(run.directory.path() / "requests.jsonl", lines);
    EXPECT_THAT(refused(), AllOf(HasSubstr("events.bin: frame "), HasSubstr("the first event of request")));
}

}  // namespace
}  // namespace paretoken::reports
