#include "reports/files/run_directory.h"
#include "reports/files/file_io.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "core/error.h"
#include "reports/files/recorded_files.h"
#include "reports/files/records.h"
#include "reports/files/watch_lines.h"
#include "tests/reports/sample_report.h"
#include "tests/reports/temporary_directory.h"
#include "tests/support/message_of.h"

namespace paretoken::reports {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
namespace fs = std::filesystem;

/// `count` requests that take one second each, one after the other.
std::vector<RequestRecord> records(std::uint64_t count) {
    std::vector<RequestRecord> made;
    for (std::uint64_t i = 0; i < count; ++i) {
        RequestRecord r;
        r.index = i;
        r.scheduled = r.started = r.ready = TimePoint{std::chrono::seconds(i)};
        r.sent = r.scheduled;
        r.first_event = r.first_answer = r.scheduled + std::chrono::milliseconds(100);
        r.last_event = r.finished = r.scheduled + std::chrono::milliseconds(900);
        r.closed = *r.finished;
        r.streamed_tokens = r.chunks = 9;
        r.first_group_tokens = 1;
        made.push_back(r);
    }
    return made;
}

/// A closed loop with two requests in flight.
Begun begun() {
    const RunResult sample = sample::run(2);
    return {.provenance = sample.provenance,
            .plan = sample.plan,
            .workload = sample.workload,
            .shape = {.concurrency = 2, .kept_in_flight = 2}};
}

void write_records(const fs::path& directory, std::uint64_t count, Duration warmup = {}) {
    RecordWriter writer(record_files_in(directory), TimePoint{} - warmup);
    for (RequestRecord record : records(count)) writer.record(std::move(record));
    EXPECT_THAT(writer.finish(), IsEmpty());
}

TEST(OptionFile, without_end_is_refused_and_named_with_its_option) {
    EXPECT_THAT(
        [] { (void)read_option_file("/dev/zero", "--policy"); },
        testing::ThrowsMessage<UsageError>(HasSubstr("--policy /dev/zero: the file is longer than 64 MiB")));
    const TemporaryDirectory directory;
    write_file_atomically(directory.path() / "policy.json", "{}");
    EXPECT_EQ(read_option_file(directory.path() / "policy.json", "--policy"), "{}");
}

TEST(RunDirectory, OfAFinishedRunIsReadAsItIs) {
    const TemporaryDirectory directory;
    const RunResult result = sample::run(16);
    write_begun(directory.path() / "a/b", begun(), {});
    write_run(directory.path() / "a/b", result);
    EXPECT_EQ(read_run_directory(directory.path() / "a/b"), result);
}

TEST(RunDirectory, OfARunThatCrashedIsSummarisedFromItsRecordsAndMarked) {
    const TemporaryDirectory directory;
    write_begun(directory.path(), begun(), {});
    write_records(directory.path(), 60);
    const RunResult read = read_run_directory(directory.path());
    EXPECT_TRUE(read.partial);
    EXPECT_EQ(read.validity.verdict, Verdict::invalid);
    ASSERT_FALSE(read.validity.reasons.empty());
    EXPECT_EQ(read.validity.reasons[0].check, "interrupted");
    EXPECT_THAT(read.validity.reasons[0].text, HasSubstr("60 requests"));
    EXPECT_EQ(read.provenance.run_id, begun().provenance.run_id);
    EXPECT_EQ(read.workload.fingerprint, begun().workload.fingerprint);
    EXPECT_EQ(read.concurrency, 2U);
    EXPECT_EQ(read.counts.requests, 60U);
    ASSERT_NE(read.metric("ttft_s"), nullptr);
    EXPECT_NEAR(*read.metric("ttft_s")->at(.5)->value, 0.1, 1e-9);
}

TEST(RunDirectory, OfARunThatCrashedKnowsWhenItsWarmUpEnded) {
    const TemporaryDirectory directory;
    write_begun(directory.path(), begun(), {});
    write_records(directory.path(), 60, std::chrono::seconds(7));
    EXPECT_NEAR(read_run_directory(directory.path()).window.zero_s, 7, 1e-6);
}

TEST(RunDirectory, HoldsWhatItsSourceDidNotKnowAndWhichPartOfALoadItIs) {
    const TemporaryDirectory directory;
    Begun part = begun();
    part.unknown_facts = {Fact::event_times, Fact::server_counters};
    part.shard = {.number = 1, .count = 4};
    write_begun(directory.path(), part, {});
    write_records(directory.path(), 60);
    EXPECT_EQ(read_recorded(directory.path()).recorded.begun, part);
    EXPECT_EQ(read_run_directory(directory.path()).metric("itl_s"), nullptr);
}

TEST(RunDirectory, ThatHasOnlyBegunIsNeverTakenForAResult) {
    const TemporaryDirectory directory;
    write_begun(directory.path(), begun(), {});
    EXPECT_THAT(message_of([&] { read_run_directory(directory.path()); }),
                AllOf(HasSubstr("still running"), HasSubstr("requests.jsonl")));
    std::ofstream(directory.path() / "requests.jsonl") << "{\"index\":0,\"outc";
    EXPECT_THAT(message_of([&] { read_run_directory(directory.path()); }), HasSubstr("no finished request"));
}

TEST(RunDirectory, WithoutARunJsonIsRefused) {
    const TemporaryDirectory directory;
    EXPECT_THAT(message_of([&] { read_run_directory(directory.path()); }), HasSubstr("run.json"));
}

TEST(WriteFileAtomically, LeavesTheOldTextOrTheNewAndNoRemains) {
    const TemporaryDirectory directory;
    const fs::path path = directory.path() / "x.json";
    write_file_atomically(path, "old");
    write_file_atomically(path, "new");
    EXPECT_EQ(read_file(path), "new");
    EXPECT_EQ(std::distance(fs::directory_iterator(directory.path()), fs::directory_iterator()), 1);
}

TEST(WriteFileAtomically, SaysPathAndReasonWhenItCannot) {
    const TemporaryDirectory directory;
    EXPECT_THAT(message_of([&] { write_file_atomically(directory.path() / "no/x.json", "x"); }),
                AllOf(HasSubstr("no/x.json"), HasSubstr("No such file")));
    fs::create_directory(directory.path() / "x.json");  // a directory cannot be replaced by a rename
    EXPECT_THAT(message_of([&] { write_file_atomically(directory.path() / "x.json", "x"); }),
                HasSubstr("x.json"));
    EXPECT_EQ(std::distance(fs::directory_iterator(directory.path()), fs::directory_iterator()), 1);
    std::ofstream(directory.path() / "file") << "x";
    EXPECT_THAT(message_of([&] { write_begun(directory.path() / "file", {}, {}); }), HasSubstr("file"));
}

TEST(WriteFileAtomically, WritesWhereTheWorkingDirectoryIs) {
    const TemporaryDirectory directory;
    const fs::path before = fs::current_path();
    fs::current_path(directory.path());
    write_file_atomically("plain.txt", "text");
    fs::current_path(before);
    EXPECT_EQ(read_file(directory.path() / "plain.txt"), "text");
}

TEST(FindRunDirectories, FindsARunAndTheRunsOfASweepInItsOrder) {
    const TemporaryDirectory directory;
    const fs::path sweep = directory.path() / "sweep";
    SweepFile file;
    for (const std::uint64_t load : {2, 16}) {
        const std::string name = "c" + std::to_string(load);
        write_begun(sweep / name, {}, {});
        write_run(sweep / name, sample::run(load));
        file.points.push_back(
            sweep_point_of(sample::run(load), {.directory = name, .load = static_cast<double>(load)}));
    }
    file.points.push_back({.directory = "c64",
                           .load_label = "c=64",
                           .load = 64,
                           .state = PointState::failed,
                           .error = "refused"});
    write_sweep(sweep, file);
    EXPECT_THAT(find_run_directories(sweep / "c2"), ElementsAre(sweep / "c2"));
    EXPECT_THAT(find_run_directories(sweep), ElementsAre(sweep / "c2", sweep / "c16"));
    EXPECT_THAT(find_run_directories(directory.path()), ElementsAre(sweep / "c2", sweep / "c16"));
    EXPECT_EQ(read_sweep(sweep), file);
}

TEST(FindRunDirectories, ListsNumberedDirectoriesByTheirNumbers) {
    const TemporaryDirectory directory;
    for (const std::string name : {"x16", "x2", "x100"}) {
        write_begun(directory.path() / name, {}, {});
        write_run(directory.path() / name, sample::run(2));
    }
    EXPECT_THAT(find_run_directories(directory.path()),
                ElementsAre(directory.path() / "x2", directory.path() / "x16", directory.path() / "x100"));
}

TEST(FindResultDirectories, TakesAnExperimentOnPrefixCachingAsOneResultBesideRuns) {
    TemporaryDirectory directory;
    for (const char* const run : {"run", "cache/c1", "cache/w8"}) {
        fs::create_directories(directory.path() / run);
        write_run(directory.path() / run, sample::run(1));
    }
    write_file_atomically(directory.path() / "cache" / kCacheFileName, "{}");
    const ResultDirectories found = find_result_directories(directory.path());
    EXPECT_THAT(found.runs, ElementsAre(directory.path() / "run"));
    EXPECT_THAT(found.caches, ElementsAre(directory.path() / "cache"));
    EXPECT_EQ(find_run_directories(directory.path()).size(), 3U) << "whoever asks for runs gets all of them";
    EXPECT_THAT(find_result_directories(directory.path() / "cache" / "c1").runs,
                ElementsAre(directory.path() / "cache" / "c1"))
        << "a run that is named is a run";
    TemporaryDirectory empty;
    EXPECT_THAT(message_of([&] { find_result_directories(empty.path()); }), HasSubstr("cache.json"));
}

TEST(FindResultDirectories, TakesADirectoryOnceWhicheverPathsNameIt) {
    TemporaryDirectory directory;
    for (const char* const run : {"sweep/c1", "sweep/c2"}) {
        fs::create_directories(directory.path() / run);
        write_run(directory.path() / run, sample::run(1));
    }
    const std::string sweep = (directory.path() / "sweep").string();
    fs::create_directory_symlink("sweep", directory.path() / "link");
    const ResultDirectories found = find_result_directories(std::vector<std::string>{
        sweep, sweep + "/", sweep + "/./c2", (directory.path() / "link" / "c1").string()});
    EXPECT_THAT(found.runs, ElementsAre(fs::path(sweep) / "c1", fs::path(sweep) / "c2"));
}

TEST(FindRunDirectories, RefusesASweepThatLostAPointAndDirectoriesWithoutRuns) {
    const TemporaryDirectory directory;
    EXPECT_THAT(message_of([&] { find_run_directories(directory.path()); }), HasSubstr("run.json"));
    EXPECT_THAT(message_of([&] { find_run_directories(directory.path() / "none"); }), HasSubstr("none"));
    SweepFile file;
    file.points.push_back(sweep_point_of(sample::run(2), {.directory = "c2", .load = 2}));
    write_sweep(directory.path(), file);
    EXPECT_THAT(message_of([&] { find_run_directories(directory.path()); }),
                AllOf(HasSubstr("c=2"), HasSubstr("c2/run.json")));
}

TEST(FindRunDirectories, SaysThatAWatchKeepsNoRuns) {
    const TemporaryDirectory directory;
    write_file_atomically(directory.path() / kWatchFileName, "{}");
    EXPECT_THAT(message_of([&] { find_run_directories(directory.path()); }),
                AllOf(HasSubstr("a watch keeps no runs"), HasSubstr("`paretoken run`")));
}

TEST(FindRunDirectories, RefusesRecordsWithoutTheFilesThatSayWhatWasMeasured) {
    const TemporaryDirectory directory;
    for (const char* name : {"a", "b"}) std::filesystem::create_directory(directory.path() / name);
    write_run(directory.path() / "a", sample::run(2));
    write_file_atomically(directory.path() / "requests.jsonl", "");
    EXPECT_EQ(find_run_directories(directory.path()).size(), 1U) << "it may be a file of prompts";
    for (const char* name : {"requests.jsonl", "ended.json"})
        write_file_atomically(directory.path() / "b" / name, "");
    EXPECT_THAT(message_of([&] { find_run_directories(directory.path()); }),
                AllOf(HasSubstr("b holds the requests.jsonl of a run"),
                      HasSubstr("neither run.json nor begun.json"), HasSubstr("measure again")));
}

TEST(FindRunDirectories, TakesAPointThatWasInterruptedOnlyWhenItLeftRecords) {
    const TemporaryDirectory directory;
    SweepFile file;
    for (const char* name : {"c1", "c2"}) {
        write_begun(directory.path() / name, {}, {});
        file.points.push_back(
            {.directory = name, .load_label = name, .load = 1, .state = PointState::running});
    }
    write_sweep(directory.path(), file);
    write_records(directory.path() / "c2", 3);
    EXPECT_THAT(find_run_directories(directory.path()), ElementsAre(directory.path() / "c2"));
}

TEST(FindRunDirectories, DoesNotFollowALinkInACircle) {
    const TemporaryDirectory directory;
    write_begun(directory.path() / "a", {}, {});
    write_run(directory.path() / "a", sample::run(2));
    fs::create_directory_symlink(directory.path(), directory.path() / "loop");
    EXPECT_EQ(find_run_directories(directory.path()).size(), 1U);
}

}  // namespace
}  // namespace paretoken::reports
