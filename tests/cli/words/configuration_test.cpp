#include "cli/words/configuration.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paretoken::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Configured aiperf(const std::string& json) {
    return aiperf_configuration(group_of(json).value_or(Group{}));
}
std::string line(const Configured& configured) {
    return fmt::format("{}", fmt::join(configured.words, " "));
}

TEST(Configuration, of_aiperf_is_its_options_in_the_short_form_and_in_the_named_one) {
    const Configured brief = aiperf(
        R"({"schemaVersion":"2.0","benchmark":{"model":"M","endpoint":{"url":"http://h:1","streaming":true},)"
        R"("dataset":{"type":"synthetic","entries":100,"prompts":{"isl":512,"osl":128}},)"
        R"("phases":{"type":"concurrency","concurrency":8,"requests":100}}})");
    EXPECT_EQ(line(brief),
              "--concurrency 8 --request-count 100 --isl 512 --osl 128 --url http://h:1 --model M");
    EXPECT_THAT(brief.left_out, IsEmpty());

    const Configured named =
        aiperf(R"({"randomSeed":7,"benchmark":{"models":["M"],"datasets":[{"name":"main","type":"synthetic",)"
               R"("prompts":{"isl":{"mean":512,"stddev":50},"osl":128}}],"phases":[)"
               R"({"name":"warmup","type":"concurrency","concurrency":4,"requests":50},)"
               R"({"name":"profiling","type":"poisson","rate":30.0,"duration":120,"gracePeriod":60}]}})");
    EXPECT_EQ(
        line(named),
        "--warmup-concurrency 4 --warmup-request-count 50 --benchmark-duration 120 "
        "--benchmark-grace-period 60 --request-rate 30.0 --arrival-pattern poisson --isl 512 --isl-stddev "
        "50 --osl 128 --model M --random-seed 7");
    EXPECT_THAT(named.left_out, IsEmpty());
}

TEST(Configuration, of_aiperf_names_what_has_no_counterpart) {
    const Configured configured = aiperf(
        R"({"benchmark":{"model":"M","gpuTelemetry":{"enabled":true},"dataset":{"entries":"{{ base * 2 }}"},)"
        R"("phases":[{"name":"a","kind":"profiling","type":"concurrency","concurrency":"{{ base }}"},)"
        R"({"name":"b","kind":"profiling","type":"concurrency","concurrency":2}]},)"
        R"("sweep":{"type":"grid","parameters":{"concurrency":[8,16]}}})");
    EXPECT_THAT(line(configured), HasSubstr("--concurrency 8,16"));
    EXPECT_THAT(configured.left_out, ElementsAre("concurrency", HasSubstr("the further phase b"),
                                                 "dataset.entries", "benchmark.gpu_telemetry.enabled"));
}

TEST(Configuration, of_guidellm_is_its_options_in_both_forms) {
    EXPECT_EQ(line(guidellm_configuration(
                  R"({"spec":{"profile":{"kind":"constant","rate":[5,10]},"data":[{"kind":"synthetic_text",)"
                  R"("prompt_tokens":9}],"constraint":[{"kind":"max_requests","count":3}]}})")),
              R"(--constraint {"count":3,"kind":"max_requests"} --data {"kind":"synthetic_text",)"
              R"("prompt_tokens":9} --profile {"kind":"constant","rate":[5,10]})");
    EXPECT_EQ(line(guidellm_configuration(
                  R"({"target":"http://h:1","rate_type":"constant","rate":[1,2],"x":null})")),
              "--rate 1,2 --rate-type constant --target http://h:1");
    EXPECT_EQ(line(guidellm_configuration(R"({"backend_kwargs":{},"labels":[],"rate":1})")),
              "--backend-kwargs {} --rate 1");
    EXPECT_THAT(guidellm_configuration("[1]").words, IsEmpty());
    EXPECT_THAT(line(*guidellm_scenario("rag")), HasSubstr("prompt_tokens=4096,"));
    EXPECT_FALSE(guidellm_scenario("mine.yaml"));
}

TEST(VllmConfiguration, has_the_names_of_options_as_keys) {
    EXPECT_EQ(line(vllm_configuration(R"({"model": "m", "dataset-name": "random", "num_prompts": 50,
                                          "goodput": ["ttft:500", "tpot:50"], "request-rate": 2.5,
                                          "save-result": true, "disable-tqdm": false, "extra-body": {"a": 1}})")),
              "--dataset-name random --extra-body {\"a\":1} --goodput ttft:500 tpot:50 --model m "
              "--num-prompts 50 --request-rate 2.5 --save-result");
    EXPECT_THAT(vllm_configuration("[1]").words, IsEmpty());
}

}  // namespace
}  // namespace paretoken::cli
