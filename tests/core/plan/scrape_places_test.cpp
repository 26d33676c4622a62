#include "core/plan/scrape_places.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace paretoken {
namespace {

TEST(ScrapePlaces, are_the_servers_own_metrics_unless_another_place_takes_their_turn) {
    EXPECT_EQ(parse_scrape_places({}), ScrapePlaces{});
    EXPECT_EQ(parse_scrape_places({"auto"}), ScrapePlaces{});
    EXPECT_EQ(parse_scrape_places({"none"}), (ScrapePlaces{.automatic = false}));
    EXPECT_EQ(parse_scrape_places({"http://a:1/metrics", "https://b/m?x=1"}),
              (ScrapePlaces{.automatic = false, .servers = {"http://a:1/metrics", "https://b/m?x=1"}}));
    const ScrapePlaces node = parse_scrape_places({"node=http://127.0.0.1:9100/metrics"});
    EXPECT_TRUE(node.automatic) << "another exporter is read besides";
    EXPECT_EQ(node.exporters, (std::vector<Exporter>{{"node", "http://127.0.0.1:9100/metrics"}}));
    EXPECT_FALSE(parse_scrape_places({"none", "node=http://a/m"}).automatic);
}

TEST(ScrapePlaces, that_contradict_each_other_or_are_none_are_refused) {
    for (const std::vector<std::string>& texts : {std::vector<std::string>{"sometimes"},
                                                  {"node=9100"},
                                                  {"=http://a/m"},
                                                  {"auto", "none"},
                                                  {"auto", "http://a/m"},
                                                  {"n=http://a/m", "n=http://b/m"},
                                                  {"server=http://a/m"},
                                                  {"a b=http://a/m"}})
        EXPECT_THROW(parse_scrape_places(texts), UsageError) << texts.front();
}

TEST(ScrapePlaces, are_shown_without_the_credentials_of_their_urls) {
    EXPECT_EQ(redacted_scrape_place("node=http://user:hunter2@a:1/m").find("hunter2"), std::string::npos);
    EXPECT_EQ(redacted_scrape_place("node=http://a:1/m"), "node=http://a:1/m");
    EXPECT_EQ(redacted_scrape_place("auto"), "auto");
}

TEST(RegularExpressions, that_are_none_are_named) {
    EXPECT_NO_THROW(check_regular_expressions({"node_load1", "node_(memory|disk).*"}));
    try {
        check_regular_expressions({"node_.*", "node_["});
        FAIL();
    } catch (const UsageError& error) {
        EXPECT_TRUE(std::string(error.what()).starts_with("'node_[': not a regular expression"));
    }
}

}  // namespace
}  // namespace paretoken
