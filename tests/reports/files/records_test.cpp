#include "reports/files/records.h"

#include <gmock/gmock.h>

#include <fcntl.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <thread>

#include "core/error.h"
#include "core/random.h"
#include "reports/files/events.h"
#include "reports/files/file_io.h"
#include "reports/files/json/record_lines.h"
#include "tests/reports/temporary_directory.h"
#include "tests/support/message_of.h"

namespace paretoken::reports {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
namespace fs = std::filesystem;

const TimePoint kEpoch{std::chrono::hours(5000) + std::chrono::nanoseconds(123'456'789)};

/// A random record, in which every scalar is set or absent at random.
RequestRecord random_record(std::uint64_t seed) {
    Random random(seed);
    const auto coin = [&] { return random.below(2) == 0; };
    const auto time = [&] {
        return kEpoch + Duration(static_cast<std::int64_t>(random.below(100'000'000'000'000)));
    };
    const auto maybe_time = [&] { return coin() ? std::optional(time()) : std::nullopt; };
    const auto count = [&] { return static_cast<std::int64_t>(random.below(1'000'000)); };
    const auto maybe_count = [&] { return coin() ? std::optional(count()) : std::nullopt; };
    RequestRecord r;
    r.index = random() >> random.below(64);
    r.id = coin() ? "r-" + std::to_string(seed) : "\"quoted\\\n\t漢\x01";
    r.request_class = coin() ? "" : "interactive";
    r.slo = coin() ? "" : "ttft:500 tpot:20ms";
    r.worker = static_cast<std::uint32_t>(random.below(64));
    r.warmup = coin();
    r.outcome = static_cast<Outcome>(random.below(12));
    r.error = coin() ? "" : "503 {\"error\": \"no\r\nslot\"}";
    r.http_status = coin() ? 200 : 0;
    r.finish_reason = coin() ? "length" : "";
    r.scheduled = kEpoch - Duration(random.below(5'000'000'000));  // may be before the run's start
    r.slot_wait = Duration(random.below(9'000'000'000));
    r.started = time();
    r.ready = time();
    r.sent = maybe_time();
    r.headers = maybe_time();
    r.first_event = maybe_time();
    r.first_answer = maybe_time();
    r.last_event = maybe_time();
    r.finished = maybe_time();
    r.closed = time();
    if (coin())
        r.connect =
            ConnectTimes{Duration(random.below(1000)), Duration(random.below(1'000'000)), Duration(0)};
    r.resent = coin();
    r.uncounted_output = coin();
    r.usage = {.prompt = maybe_count(),
               .cached_prompt = maybe_count(),
               .completion = maybe_count(),
               .reasoning = maybe_count()};
    r.streamed_tokens = count();
    r.first_group_tokens = count();
    r.chunks = count();
    r.grouped_chunks = count();
    r.token_source = static_cast<TokenSource>(random.below(5));
    if (coin()) r.longest_gap = Duration(random.below(7'000'000'000));
    r.wanted_input_tokens = maybe_count();
    r.wanted_output_tokens = maybe_count();
    r.bytes_received = random() >> random.below(64);
    return r;
}

RecordFiles files_beside(const fs::path& lines) {
    return {.lines = lines, .events = lines.parent_path() / "events.bin"};
}

struct RecordsRead {
    std::vector<RequestRecord> records;
    bool cut_off = false;
};
RecordsRead read_all(const fs::path& path) {
    RecordsRead read;
    read.cut_off = for_each_record(
        path, kEpoch, [&](RequestRecord&& record) { read.records.push_back(std::move(record)); });
    return read;
}

std::string text_of_file(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

TEST(Records, ReadBackEveryScalarToTheNanosecond) {
    const TemporaryDirectory directory;
    const fs::path path = directory.path() / "requests.jsonl";
    std::vector<RequestRecord> written;
    RecordWriter writer(files_beside(path), kEpoch);
    for (std::uint64_t seed = 0; seed < 500; ++seed) {
        written.push_back(random_record(seed));
        writer.record(random_record(seed));
    }
    EXPECT_THAT(writer.finish(), IsEmpty());
    const RecordsRead read = read_all(path);
    EXPECT_FALSE(read.cut_off);
    ASSERT_EQ(read.records.size(), written.size());
    for (std::size_t i = 0; i < written.size(); ++i) ASSERT_EQ(read.records[i], written[i]) << i;
    EXPECT_EQ(read_requests(path, kEpoch), RequestTable(written));
}

TEST(Records, AreOneObjectOfScalarsPerLineWithoutEvents) {
    const TemporaryDirectory directory;
    const fs::path path = directory.path() / "requests.jsonl";
    RequestRecord record = random_record(1);
    record.events.resize(3);
    record.scheduled = kEpoch + Duration(1'500'000'000);
    record.sent.reset();
    {
        RecordWriter writer(files_beside(path), kEpoch);
        writer.record(std::move(record));
        EXPECT_THAT(writer.finish(), IsEmpty());
    }
    const std::string text = text_of_file(path);
    EXPECT_THAT(text, HasSubstr("\"scheduled_s\":1.5,"));
    EXPECT_EQ(text.find("sent_s"), std::string::npos);
    EXPECT_EQ(text.find('['), std::string::npos);
    EXPECT_EQ(text.find('\n'), text.size() - 1);
    EXPECT_TRUE(read_all(path).records[0].events.empty());
}

TEST(Records, FromManyThreadsArriveWhole) {
    const TemporaryDirectory directory;
    const fs::path path = directory.path() / "requests.jsonl";
    RecordWriter writer(files_beside(path), kEpoch);
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < 4; ++t)
        threads.emplace_back([&writer, t] {
            for (std::uint64_t i = 0; i < 250; ++i) {
                RequestRecord record = random_record(i);
                record.index = t * 1000 + i;
                writer.record(std::move(record));
            }
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_THAT(writer.finish(), IsEmpty());
    std::set<std::uint64_t> seen;
    for (const RequestRecord& record : read_all(path).records) seen.insert(record.index);
    EXPECT_EQ(seen.size(), 1000U);
}

TEST(Records, ReachTheFileWhileTheRunGoesOn) {
    const TemporaryDirectory directory;
    const fs::path path = directory.path() / "requests.jsonl";
    RecordWriter writer(files_beside(path), kEpoch);
    writer.record(random_record(3));
    for (int i = 0; i < 600 && fs::file_size(path) == 0; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(read_all(path).records.size(), 1U);
}

TEST(Records, OfARunThatWasKilledAreReadUpToTheLineThatWasCutOff) {
    const TemporaryDirectory directory;
    const fs::path path = directory.path() / "requests.jsonl";
    {
        RecordWriter writer(files_beside(path), kEpoch);
        for (std::uint64_t seed = 0; seed < 3; ++seed) writer.record(random_record(seed));
    }
    const std::string text = text_of_file(path);
    const std::size_t last_line = text.rfind('\n', text.size() - 2) + 1;
    for (std::size_t size = last_line + 1; size + 1 < text.size(); size += 13) {
        std::ofstream(path) << text.substr(0, size);
        const RecordsRead read = read_all(path);
        EXPECT_TRUE(read.cut_off);
        ASSERT_EQ(read.records.size(), 2U);
    }
    std::ofstream(path) << text.substr(0, text.size() - 1);  // without the last newline no record is lost
    EXPECT_FALSE(read_all(path).cut_off);
    EXPECT_EQ(read_all(path).records.size(), 3U);
}

TEST(Records, WithADamagedLineInTheMiddleAreRefusedByLine) {
    const TemporaryDirectory directory;
    const fs::path path = directory.path() / "requests.jsonl";
    std::ofstream(path) << R"({"index":0,"outcome":"ok","scheduled_s":0,"closed_s":1})"
                        << "\n{\"index\":1,\n"
                        << R"({"index":2,"outcome":"ok","scheduled_s":0,"closed_s":1})"
                        << "\n";
    EXPECT_THAT(message_of([&] { read_all(path); }), HasSubstr("requests.jsonl:2"));
    std::ofstream(path) << R"({"index":0,"outcome":"fine","scheduled_s":0,"closed_s":1})"
                        << "\n\n";
    EXPECT_THAT(message_of([&] { read_all(path); }),
                AllOf(HasSubstr("requests.jsonl:1"), HasSubstr("outcome"), HasSubstr("fine")));
    std::ofstream(path) << R"({"index":0,"outcome":"ok","scheduled_s":1e300,"closed_s":1})"
                        << "\n\n";
    EXPECT_THAT(message_of([&] { read_all(path); }), HasSubstr("scheduled_s"));
    std::ofstream(path) << R"({"index":0,"outcome":"ok","scheduled_s":0,"closed_s":1,"slo":"speed:5"})"
                        << "\n\n";
    EXPECT_THAT(message_of([&] { read_all(path); }),
                AllOf(HasSubstr("requests.jsonl:1: \"slo\""), HasSubstr("speed")));
}

/// The record that parse_record_line() reads from a line, or its error.
struct Parsed {
    std::optional<RequestRecord> record;
    std::string message;
};
Parsed parsed_by_the_book(const std::string& line, const std::string& where) {
    Parsed parsed;
    parsed.message = message_of([&] { parsed.record = parse_record_line(line, kEpoch, where); });
    if (parsed.record) parsed.message.clear();
    return parsed;
}

TEST(Records, AreReadOrRefusedAsTheirLineIsByTheSlowReader) {
    const TemporaryDirectory directory;
    const fs::path path = directory.path() / "requests.jsonl";
    Random random(5);
    std::string good;
    append_record_line(good, random_record(1), kEpoch);
    std::vector<std::string> lines{
        R"({"index":0,"outcome":"ok","scheduled_s":0,"closed_s":1})",
        R"({ "index" : 0 , "outcome" : "ok", "scheduled_s":0,"closed_s":1 } )",
        R"({"outcome":"ok","index":0,"scheduled_s":0,"closed_s":1})",
        R"({"index":-0,"outcome":"ok","scheduled_s":-0,"closed_s":1})",
        R"({"index":1.0,"outcome":"ok","scheduled_s":0,"closed_s":1})",
        R"({"index":18446744073709551615,"outcome":"ok","scheduled_s":0,"closed_s":1})",
        R"({"index":18446744073709551616,"outcome":"ok","scheduled_s":0,"closed_s":1})",
        R"({"index":0,"worker":4294967296,"outcome":"ok","scheduled_s":0,"closed_s":1})",
        R"({"index":0,"index":1,"outcome":"ok","scheduled_s":0,"closed_s":1})",
        R"({"index":0,"outcome":"ok","scheduled_s":0,"closed_s":1,"closed_s":2})",
        R"({"index":0,"outcome":"ok","scheduled_s":0,"closed_s":1,"later":{"a":[1]}})",
        R"({"index":0,"outcome":"ok","scheduled_s":0})",
        R"({"index":0,"outcome":"ok","scheduled_s":9000000001,"closed_s":1})",
        R"({"index":0,"outcome":"ok","scheduled_s":1e999,"closed_s":1})",
        R"({"index":0,"outcome":"ok","scheduled_s":null,"closed_s":1})",
        R"({"index":0,"outcome":"ok","scheduled_s":0,"sent_s":null,"closed_s":1})",
        R"({"index":0,"outcome":"ok","scheduled_s":"0","closed_s":1})",
        R"({"index":0,"warmup":1,"outcome":"ok","scheduled_s":0,"closed_s":1})",
        R"({"index":0,"id":"\u00e9\n","outcome":"ok","scheduled_s":0,"closed_s":1})",
        R"({"index":0,"id":"\udc00","outcome":"ok","scheduled_s":0,"closed_s":1})",
        R"({"\u0069ndex":0,"outcome":"ok","scheduled_s":0,"closed_s":1})",
        "{\"index\":0,\"id\":\"\xff\",\"outcome\":\"ok\",\"scheduled_s\":0,\"closed_s\":1}",
        "{\"index\":0,\"id\":\"\t\",\"outcome\":\"ok\",\"scheduled_s\":0,\"closed_s\":1}",
        R"({"index":0,"outcome":"ok","scheduled_s":0,"closed_s":1}})",
        R"({"index":0,"outcome":"ok","scheduled_s":0,"closed_s":1} {})",
        R"({"index":0,"outcome":"ok","scheduled_s":0,"closed_s":1,})",
        R"({"index":0,"outcome":"ok","scheduled_s":01,"closed_s":1})",
        R"({"index":0 "outcome":"ok","scheduled_s":0,"closed_s":1})",
        R"([{"index":0}])",
        " ",
        "\r",
        good + "\r",
        "\xef\xbb\xbf" + good};
    for (std::uint64_t seed = 0; seed < 3000; ++seed) {
        std::string line;
        append_record_line(line, random_record(seed), kEpoch);
        const std::size_t at = random.below(line.size());
        const std::string_view some = "\"{}[],:0123456789.-+eEnulltrue \\x\xc3";
        switch (random.below(4)) {
            case 0:
                line[at] = some[random.below(some.size())];
                break;
            case 1:
                line.insert(at, 1, some[random.below(some.size())]);
                break;
            case 2:
                line.erase(at, 1 + random.below(5));
                break;
            default:
                break;
        }
        if (line.find('\n') == std::string::npos && !line.empty()) lines.push_back(line);
    }
    std::size_t refused = 0;
    for (const std::string& line : lines) {
        std::ofstream(path, std::ios::binary) << line << "\n" << good << "\n";
        const Parsed expected = parsed_by_the_book(line, path.string() + ":1");
        if (expected.record) {
            const RecordsRead read = read_all(path);
            ASSERT_EQ(read.records.size(), 2U) << line;
            ASSERT_EQ(read.records[0], *expected.record) << line;
            continue;
        }
        ++refused;
        ASSERT_EQ(message_of([&] { read_all(path); }), expected.message) << line;
    }
    EXPECT_GT(refused, 500U) << "the damage damages";
    EXPECT_LT(refused, lines.size() - 500);
}

TEST(Records, AreReadWholeWhereverBlocksOfTheFileEnd) {
    const TemporaryDirectory directory;
    const fs::path path = directory.path() / "requests.jsonl";
    std::vector<RequestRecord> written;
    std::string text;
    for (std::uint64_t i = 0; i < 40; ++i) {
        RequestRecord record = random_record(i);
        record.index = i;
        record.error = std::string(i * 9'973 * (i % 9 == 8 ? 10 : 1), 'e');  // up to 3 MB in a line
        append_record_line(text, record, kEpoch);
        text += i % 5 == 4 ? "\n\n" : "\n";
        written.push_back(std::move(record));
    }
    for (const std::size_t cut : {std::size_t{0}, std::size_t{1}}) {  // with and without the last newline
        std::ofstream(path, std::ios::binary) << text.substr(0, text.size() - 2 * cut);
        const RecordsRead read = read_all(path);
        EXPECT_FALSE(read.cut_off);
        ASSERT_EQ(read.records.size(), written.size());
        for (std::size_t i = 0; i < written.size(); ++i) ASSERT_EQ(read.records[i], written[i]) << i;
    }
    // The lengths of these lines put their ends at the ends of blocks of 1 MiB.
    constexpr std::size_t kBlock = std::size_t{1} << 20;
    RequestRecord record = random_record(3);
    record.error.clear();
    std::string line;
    append_record_line(line, record, kEpoch);
    for (const std::size_t length : {kBlock - 2, kBlock - 1, kBlock, kBlock + 1}) {
        record.error = std::string(length - line.size() - std::string_view(",\"error\":\"\"").size(), 'e');
        std::string exact;
        append_record_line(exact, record, kEpoch);
        ASSERT_EQ(exact.size(), length);
        std::ofstream(path, std::ios::binary) << exact << "\n" << line << "\n" << exact << "\n";
        EXPECT_EQ(read_all(path).records.size(), 3U);
    }
    std::ofstream(path, std::ios::binary | std::ios::trunc) << "";
    EXPECT_TRUE(read_all(path).records.empty());
}

TEST(Records, OfADirectoryOrOfNoFileAreRefusedByPath) {
    const TemporaryDirectory directory;
    EXPECT_THAT(message_of([&] { read_all(directory.path()); }),
                AllOf(HasSubstr(directory.path().string()), HasSubstr("Is a directory")));
    EXPECT_THAT(message_of([&] { read_all(directory.path() / "none"); }),
                AllOf(HasSubstr("none"), HasSubstr("No such file")));
}

TEST(Records, ThatCannotBeWrittenAreToldBeforeAnyLoad) {
    const TemporaryDirectory directory;
    const std::string message =
        message_of([&] { RecordWriter(record_files_in(directory.path() / "missing"), kEpoch); });
    EXPECT_THAT(message,
                AllOf(HasSubstr("missing/requests.jsonl"), HasSubstr("No such file"), HasSubstr("--out")));
}

TEST(Records, OnAFullDiskEndInAnErrorAndNotInACrash) {
    if (::access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full";
    const TemporaryDirectory directory;
    RecordWriter writer({.lines = "/dev/full", .events = directory.path() / "events.bin"}, kEpoch);
    for (std::uint64_t seed = 0; seed < 10; ++seed) writer.record(random_record(seed));
    const auto missing = writer.finish();
    EXPECT_THAT(missing, ElementsAre(AllOf(HasSubstr("/dev/full"), HasSubstr("No space left"))));
    EXPECT_EQ(writer.finish(), missing);
}

TEST(Records, OutliveADiskThatIsFullForTheirEvents) {
    if (::access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full";
    const TemporaryDirectory directory;
    const fs::path path = directory.path() / "requests.jsonl";
    RecordWriter writer({.lines = path, .events = "/dev/full"}, kEpoch);
    for (std::uint64_t seed = 0; seed < 10; ++seed) writer.record(random_record(seed));
    EXPECT_THAT(writer.finish(), ElementsAre(AllOf(HasSubstr("/dev/full"), HasSubstr("events"))));
    EXPECT_EQ(read_all(path).records.size(), 10U);
}

/// The events in a file by the keys of their requests.
std::map<RequestKey, std::vector<StreamEvent>> events_in(const fs::path& path) {
    std::map<RequestKey, std::vector<StreamEvent>> found;
    EventsFile(path, kEpoch).for_each([&](const RequestKey& key, std::span<const StreamEvent> events) {
        found[key] = {events.begin(), events.end()};
    });
    return found;
}

RequestRecord record_with_events(std::uint64_t index) {
    RequestRecord record = random_record(index);
    record.index = index;
    record.events.resize(index % 50);
    for (std::size_t i = 0; i < record.events.size(); ++i)
        record.events[i].time = kEpoch + std::chrono::milliseconds(10 * i + index);
    return record;
}

TEST(Records, LeaveTheirEventsToTheNanosecond) {
    const TemporaryDirectory directory;
    RecordWriter writer(record_files_in(directory.path()), kEpoch);
    for (std::uint64_t i = 0; i < 300; ++i) writer.record(record_with_events(i));
    EXPECT_THAT(writer.finish(), IsEmpty());
    const auto events = events_in(directory.path() / "events.bin");
    EXPECT_EQ(events.size(), 300U);
    for (std::uint64_t i = 0; i < 300; ++i) {
        const RequestRecord record = record_with_events(i);
        const auto found = events.find({.index = i, .warmup = record.warmup});
        ASSERT_NE(found, events.end()) << i;
        EXPECT_EQ(found->second, record.events);
    }
}

TEST(Records, LeaveTextsOfAnswersOnDemandAndWhereARequestStandsInItsConversation) {
    for (const bool wanted : {true, false}) {
        const TemporaryDirectory directory;
        RecordWriter writer(record_files_in(directory.path()), kEpoch, {.answers = wanted});
        RequestRecord record = record_with_events(5);
        record.warmup = false;
        record.id = "r-5";
        record.answer = "say \"hi\"\n\xc3\xa9";
        record.turn = Turn{.conversation = 3, .number = 2};
        record.job = JobPart{.first = 1, .turns = 9, .background = true, .inside = true};
        writer.record(RequestRecord(record));
        EXPECT_THAT(writer.finish(), IsEmpty());
        const auto lines = read_all(directory.path() / "requests.jsonl");
        ASSERT_EQ(lines.records.size(), 1U);
        EXPECT_EQ(lines.records[0].turn, record.turn);
        EXPECT_EQ(lines.records[0].job, record.job);
        const auto answers = directory.path() / "answers.jsonl";
        ASSERT_EQ(std::filesystem::exists(answers), wanted);
        if (wanted) {
            EXPECT_EQ(read_file(answers),
                      R"({"index":5,"id":"r-5","conversation":3,"turn":2,"text":"say \"hi\"\n)"
                      "\xc3\xa9\"}\n");
        }
    }
}

TEST(Records, LeaveTheEventsOfASampleOrNone) {
    for (const auto& [kept, most] :
         {std::pair{EventsKept{.one_in = 4}, 120U}, std::pair{EventsKept{0}, 0U}}) {
        const TemporaryDirectory directory;
        RecordWriter writer(record_files_in(directory.path()), kEpoch, {.events = kept});
        for (std::uint64_t i = 0; i < 300; ++i) writer.record(record_with_events(i));
        EXPECT_THAT(writer.finish(), IsEmpty());
        const auto events = events_in(directory.path() / "events.bin");
        EXPECT_LE(events.size(), most);
        EXPECT_EQ(events.empty(), most == 0);
        for (const auto& [key, all] : events) EXPECT_TRUE(kept.keeps(key.index));
        EXPECT_EQ(read_all(directory.path() / "requests.jsonl").records.size(), 300U);
    }
}

TEST(Records, ThatMayWaitAreAllThereHoweverManyThereAre) {
    const TemporaryDirectory directory;
    RecordWriter writer(record_files_in(directory.path()), kEpoch, {.waits = true});
    constexpr std::uint64_t kRequests = 40;
    for (std::uint64_t i = 0; i < kRequests; ++i) {  // together more than kMostPending
        RequestRecord record;
        record.index = i;
        record.events.resize(400'000);
        writer.record(std::move(record));
    }
    EXPECT_THAT(writer.finish(), IsEmpty());
    EXPECT_EQ(events_in(directory.path() / "events.bin").size(), kRequests);
}

}  // namespace
}  // namespace paretoken::reports
