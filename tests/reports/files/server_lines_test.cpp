#include "reports/files/server_lines.h"

#include <gmock/gmock.h>

#include <fstream>

#include "core/error.h"
#include "core/run/power_figures.h"
#include "core/run/server_figures.h"
#include "tests/reports/temporary_directory.h"
#include "tests/support/message_of.h"

namespace paretoken::reports {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using namespace std::chrono_literals;

constexpr TimePoint kZero{1000s};

/// A scrape of a server with two engines, `second` seconds after zero.
ServerScrape scrape_at(int second, std::uint32_t server = 0) {
    ServerScrape scrape;
    scrape.at = kZero + std::chrono::seconds(second) + 123456789ns;
    scrape.server = server;
    scrape.engine = "vllm";
    scrape.sources = {{"running", "vllm:num_requests_running"}, {"ttft", "vllm:time_to_first_token_seconds"}};
    scrape.values = {{"running", 3 + second}, {"generation_tokens", 1e9 / 3 * second}};
    scrape.histograms = {{"ttft", {.1 * second, static_cast<double>(second)}}};
    scrape.by_engine = {{"running", {{"0", 1}, {"1", 2 + second}}}};
    scrape.accepted_by_position = {5.0 * second, 3.0 * second};
    scrape.config = {{"cache_config.block_size", "16 \"tokens\""}};
    scrape.kept = {{"running", 7}, {"node_load1{host=\"a\"}", .25 * second}};
    return scrape;
}

void expect_equal(const ServerScrapes& a, const ServerScrapes& b, Duration shift) {
    ServerScrapes moved = a;
    for (ServerScrape& scrape : moved.scrapes) scrape.at += shift;
    for (auto& [name, series] : moved.kept)
        for (TimePoint& at : series.at) at += shift;
    for (std::size_t i = 1; i < moved.scrapes.size(); ++i) moved.scrapes[i].engine.clear();
    EXPECT_EQ(moved.scrapes, b.scrapes);
    EXPECT_EQ(moved.kept, b.kept);
    EXPECT_EQ(moved.name, b.name);
}

TEST(ServerLines, that_are_read_give_the_scrapes_and_readings_that_were_written) {
    const TemporaryDirectory directory;
    const auto path = directory.path() / kServerFileName;
    ServerScrapes server;
    ServerScrapes exporter;
    exporter.name = "node";
    PowerReadings power{.source = "nvml", .readings = {}};
    {
        ServerLines lines(path, kZero);
        for (int second = 0; second < 5; ++second) {
            lines.add(scrape_at(second));
            add_scrape(server, scrape_at(second));
            ServerScrape other;
            other.at = kZero + std::chrono::seconds(second);
            other.place = "node";
            other.kept = {{"node_load5", second * .1}};
            lines.add(other);
            add_scrape(exporter, other);
            const PowerReading reading{.at = other.at + 50ms,
                                       .sample = {.devices = 2, .watts = 700.5, .throttled = second == 3}};
            lines.add("nvml", reading);
            add_reading(power, reading);
        }
    }
    Observations read;
    read_server_lines(path, TimePoint{}, read);
    const Duration shift = -kZero.time_since_epoch();
    expect_equal(server, read.server, shift);
    ASSERT_THAT(read.exporters, SizeIs(1));
    expect_equal(exporter, read.exporters.front(), shift);
    EXPECT_EQ(read.power.source, "nvml");
    for (PowerReading& reading : power.readings) reading.at += shift;
    EXPECT_EQ(read.power.readings, power.readings);
}

TEST(ServerLines, of_several_servers_are_combined) {
    const TemporaryDirectory directory;
    const auto path = directory.path() / kServerFileName;
    {
        ServerLines lines(path, kZero);
        for (int second = 0; second < 3; ++second)
            for (const std::uint32_t number : {0U, 1U}) lines.add(scrape_at(second, number));
    }
    Observations read;
    read_server_lines(path, kZero, read);
    ASSERT_THAT(read.server.scrapes, SizeIs(3));
    EXPECT_EQ(read.server.scrapes[1].values.at("running"), 8);
    EXPECT_THAT(read.server.scrapes[0].sources, SizeIs(2));
}

TEST(ServerLines, that_a_crash_cut_off_are_read_to_the_last_whole_one) {
    const TemporaryDirectory directory;
    const auto path = directory.path() / kServerFileName;
    Observations none;
    read_server_lines(path, kZero, none);
    EXPECT_THAT(none.server.scrapes, IsEmpty());
    std::ofstream(path) << server_line(scrape_at(1), kZero, true) << "\n{\"at_s\":2,\"runn";
    Observations read;
    read_server_lines(path, kZero, read);
    EXPECT_THAT(read.server.scrapes, SizeIs(1));
    std::ofstream(path) << "{\"running\":2}\n";
    EXPECT_THAT(message_of<UsageError>([&] { read_server_lines(path, kZero, read); }),
                HasSubstr("server.jsonl:1: at_s"));
}

}  // namespace
}  // namespace paretoken::reports
