#include "loadgen/advice.h"

#include <gmock/gmock.h>

namespace paretoken::loadgen {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Advice, on_a_redirect_of_the_list_of_models_is_no_path_of_requests) {
    const http::Url url = http::parse_url("http://host:8000");
    EXPECT_THAT(redirect_advice(url, "/v1/models", "/v1/models/"), Not(HasSubstr("--endpoint")));
    EXPECT_THAT(redirect_advice(url, "/v1/models", "/v1/models/"), HasSubstr("--model"));
    EXPECT_THAT(redirect_advice(url, "/v1/chat/completions", "/v1/chat/completions/"),
                HasSubstr("--endpoint /v1/chat/completions/"));
    EXPECT_THAT(redirect_advice(url, "/v1/models", "https://host:8443/v1/models"),
                HasSubstr("give https://host:8443 as the URL"));
}

TEST(Advice, on_an_unknown_model_names_both_places_of_models) {
    const http::Url url = http::parse_url("http://host:8000");
    EXPECT_THAT(not_found_note(url, "/v1/chat/completions", "The model `x` does not exist"),
                ::testing::AllOf(HasSubstr("--model"), HasSubstr("dataset")));
}

TEST(Advice, on_tls_follows_from_whose_certificate_is_missed) {
    const auto refused = [](const std::string& why) {
        return tls_advice("the server's certificate was refused: " + why);
    };
    EXPECT_THAT(refused("self-signed certificate"), HasSubstr("--ca-file"));
    for (const char* const why : {"certificate has expired", "certificate is not yet valid"})
        EXPECT_THAT(refused(why), AllOf(HasSubstr("clock"), HasSubstr("--insecure"), Not(HasSubstr("--ca"))));
    for (const char* const why : {"hostname mismatch", "IP address mismatch"})
        EXPECT_THAT(refused(why), AllOf(HasSubstr("certificate has"), HasSubstr("--insecure")));
    EXPECT_THAT(tls_advice("the server asks for a client certificate, which paretoken cannot send"),
                Not(HasSubstr("--")));
    EXPECT_THAT(tls_advice("wrong version number"), HasSubstr("scheme"));
}

TEST(Advice, knows_a_refusal_that_wants_more_tokens) {
    EXPECT_TRUE(
        wants_more_tokens("Invalid 'max_output_tokens': integer below minimum value. Expected a value >= "
                          "16, but got 2 instead."));
    EXPECT_TRUE(wants_more_tokens("max_completion_tokens must be at least 4"));
    EXPECT_FALSE(wants_more_tokens("max_tokens is not supported"));
    EXPECT_FALSE(wants_more_tokens("temperature must be at least 0"));
}

// The pages and words are those that the programs send, with the versions' numbers as they are.
TEST(Advice, names_the_proxy_that_has_no_server_behind_it) {
    struct Page {
        std::string_view name;
        int status;
        std::string_view server;
        std::string_view body;
    };
    const Page pages[] = {
        {"HAProxy", 503, "",
         "<html><body><h1>503 Service Unavailable</h1>\nNo server is available to handle this request.\n"
         "</body></html>\n"},
        {"Envoy", 503, "istio-envoy",
         "upstream connect error or disconnect/reset before headers. reset reason: connection failure"},
        {"Envoy", 503, "envoy", "no healthy upstream"},
        {"a load balancer built on it", 503, "", "no healthy upstream"},
        {"Traefik", 503, "", "no available server\n"},
        {"Caddy", 503, "Caddy", ""},
        {"AWS's load balancer", 503, "awselb/2.0",
         "<html>\r\n<head><title>503 Service Temporarily Unavailable</title></head></html>"},
        {"nginx", 503, "nginx",
         "<html><head><title>503</title></head><body><hr><center>nginx</center></body></html>"},
        {"Cloudflare", 521, "cloudflare", "error code: 521"},
        {"Cloudflare", 530, "cloudflare", "<!DOCTYPE html><title>Cloudflare Tunnel error</title>"},
        {"Kong", 503, "kong/3.4.2", R"({"message":"failure to get a peer from the ring-balancer"})"},
        {"Varnish", 503, "Varnish",
         "<title>503 Backend fetch failed</title><p>Guru Meditation:</p><p>Varnish cache server</p>"},
        {"LiteLLM", 500, "uvicorn",
         R"({"error":{"message":"litellm.InternalServerError: OpenAIException - Connection error.."}})"},
        {"LiteLLM", 429, "uvicorn",
         R"({"error":{"message":"No deployments available for selected model, Try again in 5 seconds."}})"},
        {"Open WebUI", 500, "", R"({"detail":"Open WebUI: Server Connection Error"})"},
        {"a proxy", 503, "", R"({"error":{"message":"No available workers: all circuits are open"}})"},
    };
    for (const Page& page : pages) {
        const GatewayReport report = gateway_report(page.status, page.server, page.body);
        EXPECT_THAT(report.fact, HasSubstr(page.name)) << page.body;
        EXPECT_THAT(report.fact, HasSubstr("no server behind it")) << page.name << page.status;
    }
}

TEST(Advice, names_the_setting_of_a_proxy_that_waits_too_short) {
    EXPECT_THAT(gateway_report(504, "nginx/1.22.1", "<center>nginx/1.22.1</center>").remedy,
                HasSubstr("proxy_read_timeout"));
    EXPECT_THAT(
        gateway_report(504, "", "<h1>504 Gateway Time-out</h1>\nThe server didn't respond in time.").remedy,
        HasSubstr("timeout server"));
    EXPECT_THAT(gateway_report(504, "envoy", "upstream request timeout").remedy, HasSubstr("15 s"));
    EXPECT_THAT(gateway_report(504, "", "Gateway Timeout").fact, HasSubstr("Traefik"));
    EXPECT_THAT(gateway_report(524, "cloudflare", "").fact, HasSubstr("Cloudflare did not wait long enough"));
    EXPECT_THAT(gateway_report(502, "Caddy", "").fact, HasSubstr("Caddy got no answer"));
    EXPECT_THAT(gateway_report(502, "", "Bad Gateway").fact, HasSubstr("Traefik got no answer"));
    EXPECT_THAT(gateway_report(502, "", "").fact, HasSubstr("a proxy before the server got no answer"));
    EXPECT_THAT(gateway_report(525, "cloudflare", "").fact, HasSubstr("TLS"));
}

TEST(Advice, leaves_the_words_of_a_server_that_loads_or_is_busy_alone) {
    const GatewayReport nothing;
    const std::string_view loading = R"({"error":{"code":503,"message":"Loading model"}})";
    for (const std::string_view server : {"", "nginx/1.22.1", "cloudflare", "envoy", "llama.cpp"})
        EXPECT_EQ(gateway_report(503, server, loading), nothing) << server;
    EXPECT_EQ(gateway_report(429, "", R"({"error":"Model is overloaded","error_type":"overloaded"})"),
              nothing);
    EXPECT_EQ(gateway_report(503, "uvicorn", "server busy, please try again"), nothing);
    EXPECT_EQ(gateway_report(503, "nginx/1.22.1", "Model is loading"), nothing);
    EXPECT_EQ(gateway_report(500, "uvicorn", R"({"message":"cannot fetch image: Connection refused"})"),
              nothing);
    EXPECT_EQ(gateway_report(500, "nginx", R"({"error":{"message":"CUDA out of memory"}})"), nothing);
    EXPECT_EQ(gateway_report(404, "nginx", "<center>nginx</center>"), nothing);
}

}  // namespace
}  // namespace paretoken::loadgen
