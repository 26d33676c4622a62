#include "loadgen/scrape/scraper.h"

#include <gmock/gmock.h>

#include <atomic>
#include <string>

#include "tests/support/scripted_server.h"

namespace paretoken::scrape {
namespace {

using paretoken::testing::ScriptedAnswer;
using paretoken::testing::ScriptedServer;
using ::testing::HasSubstr;

std::string answer(const std::string& body, int status = 200) {
    return "HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + body;
}

ScraperOptions on(const ScriptedServer& server, Duration timeout = std::chrono::seconds(20)) {
    ScraperOptions options;
    options.place.url = http::parse_url(server.url() + "/metrics");
    options.place.address = http::resolve(options.place.url).front();
    options.interval = std::chrono::milliseconds(50);
    options.timeout = timeout;
    return options;
}

TEST(Scraper, reads_before_during_and_after_the_load) {
    std::atomic<int> asked{0};
    const ScriptedServer server([&](int, int, const std::string& text) {
        EXPECT_TRUE(text.starts_with("GET /metrics HTTP/1.1"));
        return ScriptedAnswer{
            .writes = {answer("vllm:generation_tokens_total " + std::to_string(++asked) + "\n")},
            .close_after = true};
    });
    std::atomic<int> told{0};
    Scraper scraper(on(server), [&](const ServerScrape&) { ++told; });
    EXPECT_EQ(told, 1) << "before the constructor returns";
    for (int i = 0; i < 2000 && told < 4; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const ServerScrapes scrapes = scraper.finish();
    EXPECT_GE(scrapes.scrapes.size(), 5U);
    EXPECT_EQ(scrapes.scrapes.size(), static_cast<std::size_t>(told));
    EXPECT_EQ(scrapes.failed, 0U);
    for (std::size_t i = 1; i < scrapes.scrapes.size(); ++i)
        EXPECT_GT(scrapes.scrapes[i].at, scrapes.scrapes[i - 1].at);
}

TEST(Scraper, counts_what_it_cannot_read_and_goes_on) {
    std::atomic<int> asked{0};
    const ScriptedServer server([&](int, int, const std::string&) {
        const int number = asked++;
        if (number == 1) return ScriptedAnswer{.writes = {answer("no", 503)}, .close_after = true};
        if (number == 2) return ScriptedAnswer{.writes = {answer("<html>hello</html>")}, .close_after = true};
        if (number == 3) return ScriptedAnswer{.close_after = true};
        return ScriptedAnswer{.writes = {answer("llamacpp:requests_processing 1\n")}, .close_after = true};
    });
    Scraper scraper(on(server), [](const ServerScrape&) {});
    for (int i = 0; i < 2000 && asked < 6; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const ServerScrapes scrapes = scraper.finish();
    EXPECT_EQ(scrapes.failed, 3U);
    EXPECT_GE(scrapes.scrapes.size(), 3U);
    EXPECT_FALSE(scrapes.last_failure.empty());
}

TEST(Scraper, complains_of_values_that_cannot_be_true_and_keeps_the_others) {
    const ScriptedServer server([&](int, int, const std::string&) {
        return ScriptedAnswer{
            .writes = {answer("llamacpp:requests_processing -5\nllamacpp:requests_deferred 2\n")},
            .close_after = true};
    });
    Scraper scraper(on(server), [](const ServerScrape&) {});
    EXPECT_EQ(scraper.first_complaint(),
              "left out of the server's metrics: llamacpp:requests_processing -5 is impossible");
    EXPECT_TRUE(scraper.began_well());
    const ServerScrapes scrapes = scraper.finish();
    EXPECT_EQ(scrapes.failed, 0U) << "each reading itself has worked";
    EXPECT_EQ(scrapes.last_failure, scraper.first_complaint());
    EXPECT_EQ(scrapes.scrapes.front().values, (std::map<std::string, double>{{"waiting", 2}}));
}

TEST(Scraper, says_why_it_cannot_read) {
    const auto complaint = [](const std::string& text) {
        const ScriptedServer server([&](int, int, const std::string&) {
            return ScriptedAnswer{.writes = {text}, .close_after = true};
        });
        const Scraper scraper(on(server), {});
        EXPECT_FALSE(scraper.began_well());
        return scraper.first_complaint();
    };
    EXPECT_THAT(complaint(answer("no", 401)), HasSubstr("HTTP 401 (it was asked without a key"));
    EXPECT_EQ(complaint("HTTP/1.1 302 X\r\nLocation: /login?key=abcdef\r\nContent-Length: 0\r\n\r\n"),
              "HTTP 302 (Location: /login?key=***; redirects are not followed)");
    EXPECT_EQ(complaint("HTTP/1.1 200 X\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n\x1f\x8b"),
              "its text is compressed (gzip)");
}

TEST(Scraper, sends_the_key_only_where_it_is_asked_for_it) {
    std::atomic<int> refused{0};
    std::atomic<int> answered{0};
    const ScriptedServer server([&](int, int, const std::string& text) {
        const bool has_key = text.find("Authorization: Bearer KEY1") != std::string::npos;
        ++(has_key ? answered : refused);
        return ScriptedAnswer{.writes = {answer("llamacpp:requests_processing 1\n", has_key ? 200 : 403)},
                              .close_after = true};
    });
    ScraperOptions options = on(server);
    options.place.credentials = {{"Authorization", "Bearer KEY1"}};
    Scraper scraper(options, {});
    EXPECT_EQ(scraper.first_complaint(), "");
    EXPECT_GE(scraper.finish().scrapes.size(), 2U);
    EXPECT_EQ(refused, 1) << "later readings have the key from the beginning";
    EXPECT_GE(answered, 2);
}

TEST(Scraper, follows_a_redirect_that_only_adds_a_slash) {
    std::atomic<int> redirects{0};
    const ScriptedServer server([&](int, int, const std::string& text) {
        if (text.starts_with("GET /metrics/ "))
            return ScriptedAnswer{.writes = {answer("llamacpp:requests_processing 1\n")},
                                  .close_after = true};
        ++redirects;
        return ScriptedAnswer{
            .writes = {"HTTP/1.1 307 X\r\nLocation: /metrics/\r\nContent-Length: 0\r\n\r\n"},
            .close_after = true};
    });
    Scraper scraper(on(server), {});
    EXPECT_EQ(scraper.finish().failed, 0U);
    EXPECT_EQ(redirects, 1);
}

TEST(MetricsPage, has_the_key_of_the_endpoint_at_the_same_scheme_host_and_port_only) {
    const http::Headers headers = {{"authorization", "Bearer k"}, {"X-Trace", "1"}, {"X-API-Key", "k"}};
    const http::Url endpoint = http::parse_url("https://host:8443/v1");
    const auto held = [&](const char* page) {
        return credentials_for(http::parse_url(page), endpoint, headers).size();
    };
    EXPECT_EQ(held("https://host:8443/metrics"), 2U);
    for (const char* page :
         {"http://host:8443/metrics", "https://host/metrics", "https://other:8443/metrics"})
        EXPECT_EQ(held(page), 0U) << page;
}

TEST(Scraper, gives_an_endless_answer_up) {
    const ScriptedServer server([&](int, int, const std::string&) {
        return ScriptedAnswer{.writes = {"HTTP/1.1 200 OK\r\n\r\n", std::string(65536, 'x')},
                              .endless = true};
    });
    Scraper scraper(on(server), [](const ServerScrape&) {});
    const ServerScrapes scrapes = scraper.finish();
    EXPECT_TRUE(scrapes.scrapes.empty());
    EXPECT_GE(scrapes.failed, 2U);
}

TEST(Scraper, gives_a_silent_server_up) {
    const ScriptedServer server([&](int, int, const std::string&) { return ScriptedAnswer{}; });
    Scraper scraper(on(server, std::chrono::milliseconds(200)), [](const ServerScrape&) {});
    EXPECT_GE(scraper.finish().failed, 2U);
}

TEST(Scraper, keeps_the_series_of_another_exporter_that_match) {
    const ScriptedServer server([](int, int, const std::string&) {
        return ScriptedAnswer{.writes = {answer("# TYPE node_load1 gauge\nnode_load1 0.5\nnode_load15 2\n"
                                                "node_memory_free_bytes 7\n")},
                              .close_after = true};
    });
    ScraperOptions options = on(server);
    options.name = "node";
    options.keep = {"node_load1", "node_memory.*"};
    std::atomic<int> told{0};
    Scraper scraper(options, [&](const ServerScrape& scrape) {
        ++told;
        EXPECT_EQ(scrape.place, "node");
        EXPECT_EQ(scrape.kept.size(), 2U);
    });
    EXPECT_EQ(scraper.first_complaint(), "");
    const ServerScrapes scrapes = scraper.finish();
    EXPECT_EQ(scrapes.name, "node");
    EXPECT_TRUE(scrapes.scrapes.empty()) << "known quantities are a server's";
    ASSERT_EQ(scrapes.kept.size(), 2U) << "a whole name has to match";
    const KeptSeries& load = scrapes.kept.at("node_load1");
    EXPECT_EQ(load.values.size(), static_cast<std::size_t>(told));
    EXPECT_EQ(load.values.front(), .5);
}

TEST(Scraper, complains_of_an_exporter_that_keeps_nothing_or_too_much) {
    const ScriptedServer server([](int, int, const std::string&) {
        std::string text;
        for (int i = 0; i < 300; ++i) text += "a" + std::to_string(i) + " 1\n";
        return ScriptedAnswer{.writes = {answer(text)}, .close_after = true};
    });
    ScraperOptions options = on(server);
    options.name = "node";
    options.keep = {"b.*"};
    Scraper nothing(options, {});
    EXPECT_EQ(nothing.first_complaint(), "none of the 300 series that it gave matches --scrape-keep");
    options.keep = {"a.*"};
    Scraper many(options, {});
    EXPECT_EQ(many.first_complaint(), "300 series match --scrape-keep; the first 256 are kept");
    EXPECT_EQ(many.finish().kept.size(), kMostKeptSeries);
}

}  // namespace
}  // namespace paretoken::scrape
