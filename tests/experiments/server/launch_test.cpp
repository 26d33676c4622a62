#include "experiments/server/launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/plan/plan_fields.h"

namespace paretoken::experiments {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string refusal_of(const PlanTexts& texts) {
    try {
        (void)with_server(plan_of(texts), true);
    } catch (const UsageError& error) {
        return error.what();
    }
    return "(accepted)";
}

TEST(WithServer, refuses_options_that_virtual_time_would_ignore_and_names_them) {
    for (const auto& [name, value] :
         std::vector<std::pair<std::string, std::string>>{{"spin", "50us"},
                                                          {"user_timestamps", "true"},
                                                          {"no_keepalive", "true"},
                                                          {"no_preconnect", "true"},
                                                          {"traceparent", "true"},
                                                          {"server_profile", "true"},
                                                          {"endpoint", "/v2"},
                                                          {"header", "X-A: b"},
                                                          {"insecure", "true"},
                                                          {"ca_file", "ca.pem"},
                                                          {"scrape", "http://127.0.0.1:9/metrics"},
                                                          {"scrape_keep", "vllm:.*"},
                                                          {"scrape_interval", "2s"},
                                                          {"power", "rapl"}}) {
        EXPECT_THAT(refusal_of({{"url", {"sim:ideal"}}, {"virtual", {"true"}}, {name, {value}}}),
                    AllOf(HasSubstr(option_of(*plan_field_named(name))), HasSubstr("--virtual")));
        EXPECT_EQ(refusal_of({{"url", {"sim:ideal"}}, {name, {value}}}), "(accepted)");
    }
    for (const char* name : {"scrape", "power"})
        EXPECT_EQ(refusal_of({{"url", {"sim:ideal"}}, {"virtual", {"true"}}, {name, {"none"}}}),
                  "(accepted)");
}

TEST(WithServer, refuses_the_times_of_a_virtual_client_without_one) {
    for (const char* name : {"turnaround", "write_time"}) {
        EXPECT_THAT(refusal_of({{"url", {"sim:ideal"}}, {name, {"50us"}}}),
                    HasSubstr(option_of(*plan_field_named(name))));
        EXPECT_EQ(refusal_of({{"url", {"sim:ideal"}}, {"virtual", {"true"}}, {name, {"50us"}}}),
                  "(accepted)");
    }
}

TEST(WithServer, refuses_to_route_requests_to_one_server) {
    EXPECT_THAT(refusal_of({{"url", {"http://a:1"}}, {"route", {"prefix"}}}), HasSubstr("--route prefix"));
    EXPECT_EQ(refusal_of({{"url", {"http://a:1,http://b:1"}}, {"route", {"prefix"}}}), "(accepted)");
}

}  // namespace
}  // namespace paretoken::experiments
