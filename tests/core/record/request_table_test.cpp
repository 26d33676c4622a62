#include "core/record/request_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "core/random.h"
#include "core/record/event_pass.h"
#include "tests/core/load_script.h"

namespace paretoken {
namespace {

using namespace std::chrono_literals;
using script::kStart;

/// Removes the values that a table does not hold.
RequestRecord scalars_of(RequestRecord record) {
    record.id.clear();
    record.answer.clear();
    record.events.clear();
    return record;
}

RequestRecord record_with_everything() {
    RequestRecord record = script::answered(kStart, {});
    record.index = 7;
    record.id = "run-7";
    record.answer = "yes";
    record.request_class = "batch";
    record.slo = "ttft:500 tpot:20";
    record.worker = 255;
    record.target = 63;
    record.turn = Turn{.conversation = std::uint64_t{1} << 40, .number = 60000};
    record.job = JobPart{.first = 3, .turns = 65535, .background = true, .inside = true};
    record.warmup = true;
    record.outcome = Outcome::truncated;
    record.error = "the stream ended";
    record.http_status = 200;
    record.finish_reason = "length";
    record.slot_wait = 3ns;
    record.connect = ConnectTimes{1ns, 2ns, 3ns};
    record.decoding = 4ns;
    record.resent = true;
    record.first_early = std::chrono::microseconds(120);
    record.last_early = std::chrono::seconds(3);
    record.unseen_output = true;
    record.uncounted_output = true;
    record.disputed_cache = true;
    record.answered_model = "another";
    record.usage = {.prompt = 1, .cached_prompt = 0, .completion = 1'000'000'000, .reasoning = 4};
    record.grouped_chunks = 2;
    record.token_source = TokenSource::usage_by_text;
    record.wanted_input_tokens = 5;
    record.wanted_output_tokens = 6;
    record.bytes_received = std::uint64_t{1} << 40;
    return record;
}

TEST(RequestTable, gives_every_scalar_back) {
    const std::vector<RequestRecord> records{record_with_everything(), RequestRecord{},
                                             script::failed(kStart)};
    const RequestTable table(records);
    ASSERT_EQ(table.size(), 3U);
    for (std::size_t i = 0; i < records.size(); ++i) EXPECT_EQ(table[i], scalars_of(records[i])) << i;
}

TEST(RequestTable, iterates_in_the_order_of_its_rows) {
    const auto records = script::closed_loop(3, 20, {});
    const RequestTable table(records);
    std::size_t i = 0;
    for (const RequestRecord& record : table) EXPECT_EQ(record, scalars_of(records[i++]));
    EXPECT_EQ(i, records.size());
}

TEST(RequestTable, gives_each_row_back_once_in_any_order) {
    RequestTable table;
    RequestRecord record = record_with_everything();
    constexpr std::uint32_t kRows = 3000;
    for (record.index = 0; record.index < kRows; ++record.index) table.add(record);
    std::vector<std::uint32_t> rows(kRows);
    std::iota(rows.begin(), rows.end(), 0U);
    std::shuffle(rows.begin(), rows.end(), Random(1));
    for (const std::uint32_t row : rows) {
        table.take(row, record);
        EXPECT_EQ(record.index, row);
        EXPECT_EQ(record.error, scalars_of(record_with_everything()).error);
    }
    EXPECT_EQ(table.size(), kRows);
}

TEST(RequestTable, appends_another_with_texts_of_its_own) {
    RequestTable table(std::vector{script::failed(kStart)});
    table.append(RequestTable(std::vector{record_with_everything(), script::failed(kStart)}));
    EXPECT_EQ(table, RequestTable(std::vector{script::failed(kStart), record_with_everything(),
                                              script::failed(kStart)}));
}

TEST(RequestTable, keeps_as_many_different_error_texts_as_it_says) {
    RequestTable table;
    RequestRecord record = script::failed(kStart);
    for (std::size_t i = 0; i < RequestTable::kMostErrors + 5; ++i) {
        record.error = "error " + std::to_string(i);
        table.add(record);
    }
    EXPECT_EQ(table[RequestTable::kMostErrors - 1].error,
              "error " + std::to_string(RequestTable::kMostErrors - 1));
    EXPECT_EQ(table[RequestTable::kMostErrors].error, "");
    EXPECT_EQ(table[RequestTable::kMostErrors].outcome, Outcome::http_error);
}

TEST(RequestTable, holds_as_many_different_slos_as_the_requests_of_a_file_may_have) {
    RequestTable table;
    RequestRecord record = script::failed(kStart);
    record.error.clear();
    for (std::size_t i = 1; i <= RequestTable::kMostSlos; ++i) {
        record.slo = "ttft:" + std::to_string(i);
        table.add(record);
    }
    EXPECT_EQ(table[RequestTable::kMostSlos - 1].slo, record.slo);
    EXPECT_EQ(table[0].slo, "ttft:1");
}

TEST(RequestRows, are_filtered_and_sorted_by_schedule) {
    std::vector<RequestRecord> records{script::answered(kStart + 2s, {}), script::failed(kStart + 1s),
                                       script::answered(kStart, {})};
    const RequestTable table(records);
    auto rows = RequestRows(table).filtered(
        [](const RequestRecord& record) { return record.outcome == Outcome::ok; });
    rows.sort_by_schedule();
    EXPECT_EQ(rows.rows(), (std::vector<std::uint32_t>{2, 0}));
}

TEST(EventPass, brings_events_to_their_requests_in_any_order_and_once) {
    auto records = script::closed_loop(2, 6, {});
    for (std::size_t i = 0; i < records.size(); ++i) records[i].index = i;
    records[4].warmup = true;
    const RequestTable table(records);
    std::vector<RequestRecord> source{records[5], records[0], records[4], records[0]};
    source.back().events.clear();
    source.push_back(records[0]);
    source.push_back(records[1]);
    source.back().index = 99;  // belongs to no request
    const KeptEvents events(source);
    std::vector<std::size_t> rows;
    const auto seen = EventPass(table, events).for_each([&](std::size_t row, const RequestRecord& record) {
        rows.push_back(row);
        EXPECT_EQ(record.events, records[row].events);
        EXPECT_EQ(record.scheduled, records[row].scheduled);
    });
    EXPECT_EQ(rows, (std::vector<std::size_t>{5, 0, 4}));
    EXPECT_EQ(seen, (std::vector<bool>{true, false, false, false, true, true}));
}

}  // namespace
}  // namespace paretoken
