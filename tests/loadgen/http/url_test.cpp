#include "loadgen/http/url.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "tests/support/message_of.h"

namespace paretoken::http {
namespace {

TEST(Url, TakesSchemeHostPortAndBase) {
    const Url url = parse_url("https://api.example.com:8443/openai/");
    EXPECT_EQ(url, (Url{.tls = true, .host = "api.example.com", .port = 8443, .base = "/openai"}));
    EXPECT_EQ(url.text(), "https://api.example.com:8443/openai");
}

TEST(Url, KnowsTheUsualPorts) {
    EXPECT_EQ(parse_url("http://a").port, 80);
    EXPECT_EQ(parse_url("https://a").port, 443);
    EXPECT_EQ(parse_url("https://a").authority(), "a");
    EXPECT_EQ(parse_url("  127.0.0.1:8000 ").text(), "http://127.0.0.1:8000");
    EXPECT_EQ(parse_url("127.0.0.1:8000").text(), "http://127.0.0.1:8000");
}

TEST(Url, DropsAVersionAtItsEndBecauseEndpointsBringTheirOwn) {
    EXPECT_EQ(parse_url("http://a:1/v1").base, "");
    EXPECT_EQ(parse_url("http://a:1/x/v1/").base, "/x");
    EXPECT_EQ(parse_url("http://a:1/x//v1").base, "/x");
    EXPECT_EQ(parse_url("http://a:1//v1").base, "");
}

TEST(Url, DropsTheListOfModelsThatWasPastedBehindAVersion) {
    EXPECT_EQ(parse_url("http://a:1/v1/models").base, "");
    EXPECT_EQ(parse_url("http://a:1/api/v4/models/").base, "/api/v4");
    EXPECT_EQ(parse_url("http://a:1/models").base, "/models") << "it may be a name";
}

TEST(Url, DropsBlanksThatWerePasted) {
    EXPECT_EQ(parse_page_url("http://h:8000/llm/metrics\n").base, "/llm/metrics");
    EXPECT_EQ(parse_url("\thttp://h:8000/v1 \n").base, "");
}

TEST(Url, KeepsAnotherVersionAtItsEndAndAddsNone) {
    const Url url = parse_url("http://a:1/api/paas/v4/");
    EXPECT_EQ(url.base, "/api/paas/v4");
    EXPECT_EQ(url.api_path("/v1/models"), "/models");
    EXPECT_EQ(parse_url("http://a/v1beta").api_path("/v1/models"), "/models");
    EXPECT_EQ(parse_url("http://a/x/v2/v1").base, "/x/v2/v1");
    EXPECT_EQ(parse_url("http://a/x/v2/v1").api_path("/v1/models"), "/models");
    for (const char* text :
         {"http://a", "http://a/v1", "http://a/v", "http://a/vllm", "http://a/v4x", "http://v4"})
        EXPECT_EQ(parse_url(text).api_path("/v1/models"), "/v1/models") << text;
}

TEST(Url, refuses_endpoints_that_write_no_text) {
    for (const char* text :
         {"http://a/v1/embeddings", "http://a/x/v4/audio/transcriptions/", "http://a/rerank"})
        EXPECT_THROW(parse_url(text), UsageError) << text;
    for (const char* text : {"http://a/x/embeddings", "http://score", "http://a/v1/rerank/v1"})
        EXPECT_NO_THROW(parse_url(text)) << text;
}

TEST(Url, OfAPageKeepsItsPath) {
    EXPECT_EQ(parse_page_url("http://h:1/metrics/ ").base, "/metrics/");
    EXPECT_EQ(parse_page_url("h/metrics/v1?x=/").base, "/metrics/v1");
    EXPECT_EQ(parse_page_url("h/metrics/v1?x=/").query, "x=/");
    EXPECT_EQ(parse_page_url("http://h:1/").base, "");
    EXPECT_EQ(parse_page_url("http://h:1").base, "");
}

TEST(Url, KnowsARedirectThatOnlyAddsASlash) {
    const Url url = parse_url("http://h:8000/x");
    for (const char* const there : {"/x/a/", "http://h:8000/x/a/", "/x/a/?q=1"})
        EXPECT_TRUE(only_adds_slash(url, "/a?q=1", there)) << there;
    for (const char* const there :
         {"/x/a", "//h:8000/x/a/", "https://h:8000/x/a/", "http://h/x/a/", "/a/", ""})
        EXPECT_FALSE(only_adds_slash(url, "/a", there)) << there;
}

TEST(Url, TakesIpv6InBrackets) {
    const Url url = parse_url("http://[::1]:9000/x");
    EXPECT_EQ(url.host, "::1");
    EXPECT_EQ(url.authority(), "[::1]:9000");
}

TEST(Url, TakesNothingButAnAddressInBrackets) {
    for (const char* text : {"http://[fe80::1%eth0]:80", "http://[fe80::1%25eth0]:80"})
        EXPECT_EQ(parse_url(text).host, "fe80::1%eth0") << text;
    for (const char* text : {"[[]", "http://[::1/]", "http://[a b]", "http://[x@y]"})
        EXPECT_THROW(parse_url(text), UsageError) << text;
}

TEST(Url, SaysWhatIsWrong) {
    for (const char* text :
         {"", "http://", "ftp://a", "http://a:0", "http://a:70000", "http://a:", "http://a:x", "http://[::1",
          "http://[::1]9", "http://u@a", "http://a b", "http://a#x"}) {
        EXPECT_THROW(parse_url(text), UsageError) << text;
    }
    try {
        parse_url("http://a:99999");
        FAIL();
    } catch (const UsageError& error) {
        EXPECT_NE(std::string(error.what()).find("99999"), std::string::npos);
        EXPECT_NE(std::string(error.what()).find("1 to 65535"), std::string::npos);
    }
}

TEST(Url, AQueryGoesWithEveryPath) {
    const Url url = parse_url("https://a.example/openai/deployments/d?api-version=2024-02-01");
    EXPECT_EQ(url.base, "/openai/deployments/d");
    EXPECT_EQ(url.query, "api-version=2024-02-01");
    EXPECT_EQ(url.target("/chat/completions"),
              "/openai/deployments/d/chat/completions?api-version=2024-02-01");
    EXPECT_EQ(url.target("/x?a=1"), "/openai/deployments/d/x?a=1&api-version=2024-02-01");
    EXPECT_EQ(url.text(), "https://a.example/openai/deployments/d?api-version=2024-02-01");
    EXPECT_EQ(parse_url("http://a?x=1").host, "a");
    EXPECT_EQ(parse_url("http://a:1").target("/v1/models"), "/v1/models");
}

TEST(Url, TakesSchemesInAnyCaseAndSaysWhatIsWrongWithAnAddress) {
    EXPECT_TRUE(parse_url("HTTPS://a/v1").tls);
    EXPECT_EQ(parse_url("Http://a:81").port, 81);
    EXPECT_EQ(parse_url("a:82/x").host, "a");
    for (const auto& [text, said] : {std::pair{"http:/a:80", "two slashes"},
                                     {"http://::1:8000", "brackets"},
                                     {"http://user:pw@a", "Authorization: Basic"},
                                     {"http://user:p/w@a", "Authorization: Basic"},
                                     {"http://user:p#w@a", "Authorization: Basic"},
                                     {"WS://a", "'ws'"}}) {
        const std::string message = message_of<UsageError>([&, url = text] { parse_url(url); });
        EXPECT_NE(message.find(said), std::string::npos) << text << ": " << message;
    }
}

TEST(Url, IsShownAndRefusedWithoutItsSecrets) {
    EXPECT_EQ(parse_url("https://a?api-key=SECRETKEY123").text(), "https://a?api-key=***");
    for (const char* text :
         {"http://user:SECRETKEY123@a", "ftp://a?key=SECRETKEY123", "http://user:SECRETKEY123@a b"}) {
        try {
            parse_url(text);
            FAIL() << text;
        } catch (const UsageError& error) {
            EXPECT_EQ(std::string(error.what()).find("SECRETKEY123"), std::string::npos) << error.what();
        }
    }
}

}  // namespace
}  // namespace paretoken::http
