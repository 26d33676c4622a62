#include "cli/words/translation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/error.h"
#include "core/plan/plan_fields.h"

namespace paretoken::cli {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> words_in(const std::string& line) {
    std::vector<std::string> words(1);
    for (const char c : line) {
        if (c == ' ') words.emplace_back();
        if (c != ' ') words.back() += c;
    }
    return words;
}

/// Returns the translation of a foreign line, as one line.
std::string ours(const std::string& line) {
    const Translation translation = translation_of(words_in(line));
    EXPECT_EQ(complaint_of(translation, ""), "") << line;
    return fmt::format("{} {}", translation.command, fmt::join(translation.words, " "));
}

std::optional<Values> options_of_run(const std::string& name) {
    const PlanField* const field = plan_field_called(name);
    if (name == "url") return Values::one;
    if (field == nullptr) return std::nullopt;
    return field->type == FieldType::flag ? Values::none : field->words ? Values::many : Values::one;
}

Translation on_run(const std::string& line) {
    return translated(words_in(line), "run", options_of_run);
}

TEST(Translation, words_of_ours_stay_as_they_are) {
    for (const char* const line :
         {"http://a:1 --concurrency 8 --isl 100 --num-prompts 50", "--endpoint-type chat --dataset sharegpt",
          "--goodput ttft:500 tpot:15 --range-ratio 0.5"}) {
        const Translation translation = on_run(line);
        EXPECT_EQ(translation.words, words_in(line));
        EXPECT_TRUE(translation.notes.empty());
        EXPECT_TRUE(translation.unknown.empty());
    }
}

TEST(Translation, a_flag_that_we_and_another_tool_have_does_not_change_the_other_options) {
    const auto with_verbose = [](const std::string& name) -> std::optional<Values> {
        return name == "--verbose" || name == "-v" ? Values::none : options_of_run(name);
    };
    for (const char* const line : {"sim:ideal --concurrency 8 --num-prompts 80 -v",
                                   "sim:ideal --verbose --concurrency 8 --num-prompts 80"})
        EXPECT_EQ(translated(words_in(line), "run", with_verbose).words, words_in(line));
}

TEST(Translation, a_line_of_vllm_keeps_its_meaning) {
    EXPECT_EQ(ours("vllm bench serve --backend vllm --model M --host h --port 9 --random-input 800 "
                   "--random-output 100 "
                   "--ignore-eos --request-rate 2 --num-prompt 100 --tokenizer T"),
              "run http://h:9 --model M --endpoint-type completions --request-rate 2 --num-prompts 100 --isl "
              "800 --osl 100 "
              "--ignore-eos");
    EXPECT_EQ(ours("vllm bench serve --model M --dataset-name random --ignore-eos"),
              "run http://127.0.0.1:8000 --model M --request-rate inf --num-prompts 1000 --isl 1024 --osl "
              "128 --ignore-eos");
}

TEST(Translation, a_rate_that_rises_takes_as_long_as_vllms) {
    // 100 requests whose rate rises from 1 to e per second take 100 / (e - 1) seconds.
    EXPECT_THAT(
        ours("vllm bench serve --ramp-up-strategy linear --ramp-up-start-rps 1 --ramp-up-end-rps 2.718281828 "
             "--num-prompts 100"),
        HasSubstr("--arrivals ramp:from=1,to=2.718281828,over=58s,shape=linear"));
}

TEST(Translation, the_ratio_of_sglang_is_the_lower_end) {
    EXPECT_THAT(ours("python3 -m sglang.bench_serving --dataset-name random --random-input-len 1000 "
                     "--random-output-len 10 "
                     "--random-range-ratio 0.5"),
                HasSubstr("--isl uniform:min=500,max=1000 --osl uniform:min=5,max=10"));
    const Translation native = on_run("--backend sglang --isl 100 --osl 10 --random-range-ratio 1");
    EXPECT_THAT(fmt::format("{}", fmt::join(native.words, " ")), HasSubstr("--isl 100 --osl 10"));
    EXPECT_THAT(fmt::format("{}", fmt::join(on_run("--isl 9 --random-range-ratio 0.5").words, " ")),
                HasSubstr("--range-ratio 0.5"));
}

TEST(Translation, groups_of_guidellm_are_read_in_both_forms) {
    const std::string one = ours(
        "guidellm run --backend kind=openai_http,target=http://h:1,model=M --profile "
        "kind=constant,rate=5 --constraint kind=max_duration,seconds=20 --data "
        "kind=synthetic_text,prompt_tokens=128,output_tokens=256");
    EXPECT_EQ(one,
              "run http://h:1 --model M --endpoint-type chat --arrivals constant:rate=5 --duration 20s --isl "
              "128 --osl 256");
    EXPECT_EQ(
        ours(R"(guidellm run --backend {"kind":"openai_http","target":"http://h:1","model":"M"} --profile )"
             R"({"kind":"constant","rate":5} --constraint {"kind":"max_duration","seconds":20} --data )"
             R"({"kind":"synthetic_text","prompt_tokens":128,"output_tokens":256})"),
        one);
    EXPECT_EQ(ours("guidellm benchmark --target http://h:1 --rate-type sweep --max-seconds 30 --data "
                   "prompt_tokens=256,output_tokens=128"),
              "sweep http://h:1 --request-rate auto:10 --duration 30s --isl 256 --osl 128");
}

TEST(Translation, a_spread_and_conversations_of_aiperf_become_distributions) {
    EXPECT_EQ(ours("aiperf profile -m M -u h:1 --streaming --synthetic-input-tokens-mean 800 "
                   "--synthetic-input-tokens-stddev 80 "
                   "--output-tokens-mean 400 --concurrency 8 --request-cancellation-rate 10 "
                   "--request-cancellation-delay 0.5"),
              "run http://h:1 --model M --concurrency 8 --cancel p=0.1,after=0.5s --isl "
              "normal:mean=800,stddev=80 --osl 400");
    EXPECT_THAT(
        ours("aiperf profile -m M --num-sessions 20 --session-turns-mean 4 --isl 100 "
             "--session-turn-delay-mean 500"),
        HasSubstr("--think-time 500ms --num-prompts 20 --dataset multi_turn:turns=4,first=100,next=100"));
}

TEST(Translation, several_levels_are_a_sweep) {
    EXPECT_THAT(ours("aiperf profile -m M --concurrency 1,2,4"), HasSubstr("sweep"));
    const Translation on_run_ = on_run("http://a --rate-type concurrent --rate 1,2");
    EXPECT_TRUE(on_run_.several);
    EXPECT_THAT(fmt::format("{}", fmt::join(on_run_.words, " ")), HasSubstr("--concurrency 1,2"));
}

TEST(Translation, all_unknown_and_absent_options_are_named_together) {
    const Translation translation =
        on_run("--image-count 2 --concurency 3 --image-format png --no-such-thing");
    const std::string complaint = complaint_of(translation, "paretoken run");
    EXPECT_THAT(complaint,
                HasSubstr("has no options --concurency (did you mean --concurrency?), --no-such-thing"));
    EXPECT_THAT(complaint, HasSubstr("--image-count, --image-format: requests with images"));
}

TEST(Translation, what_needs_nothing_is_named_once) {
    const Translation translation = on_run("http://a --tokenizer T --trust-remote-code --tokenizer U");
    EXPECT_EQ(unneeded_text(translation), "not needed here: --tokenizer, --trust-remote-code");
}

TEST(Translation, given_values_go_before_those_of_groups_and_the_last_value_wins) {
    EXPECT_THAT(
        fmt::format("{}",
                    fmt::join(on_run("--backend kind=openai_http,target=http://a --url http://b --profile "
                                     "kind=concurrent,streams=2 --constraint kind=max_requests,count=9 "
                                     "--num-prompts 3 --num-prompts 4")
                                  .words,
                              " ")),
        HasSubstr("http://b --endpoint-type chat --concurrency 2 --num-prompts 4"));
}

TEST(ForeignOptions, every_name_has_one_meaning_for_each_tool) {
    std::set<std::pair<std::string, std::string>> seen;
    for (const ForeignOption& option : foreign_options()) {
        EXPECT_TRUE(option.treatment == Treatment::nothing || !option.about.empty()) << option.names;
        for (const ToolRow& row : tools()) {
            if (!has_tool(option.tools, row.tool)) continue;
            std::string_view rest = option.names;
            while (!rest.empty()) {
                const std::string_view name = rest.substr(0, rest.find(' '));
                EXPECT_TRUE(seen.emplace(name, row.name).second) << name << " of " << row.name;
                rest.remove_prefix(std::min(name.size() + 1, rest.size()));
            }
        }
    }
}

}  // namespace
}  // namespace paretoken::cli
