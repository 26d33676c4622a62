// Lines of the smaller tools, and what a line leaves to the defaults of its tool.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/words/foreign_options.h"
#include "cli/words/pasted_line.h"
#include "cli/words/translation.h"
#include "core/error.h"
#include "tests/support/message_of.h"

namespace paretoken::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Translation translation_of_line(const std::string& line) {
    return translation_of(commands_in(line));
}

/// Returns our command line for one that has a counterpart, with the notes behind it.
std::string answer(const std::string& line) {
    const Translation translation = translation_of_line(line);
    EXPECT_EQ(complaint_of(translation, ""), "") << line;
    return fmt::format("{} # {}", shown_line(translation), fmt::join(translation.notes, "; "));
}

/// Returns our command line, and why the line has no counterpart as a whole.
std::string refusal(const std::string& line) {
    const Translation translation = translation_of_line(line);
    return fmt::format("{} # {}", shown_line(translation), complaint_of(translation, "paretoken"));
}

const std::string kEvalscope =
    "evalscope perf --model M --url http://h:1/v1/chat/completions --dataset random --max-prompt-length 9 "
    "--min-prompt-length 9 ";

TEST(OtherTools, genai_bench_asks_for_whole_answers_where_prompts_have_lengths) {
    const std::string line =
        "genai-bench benchmark --api-base http://h:1 --api-model-name M --max-requests-per-run 9 "
        "--num-concurrency 2 --dataset-path d.jsonl --traffic-scenario ";
    EXPECT_THAT(answer(line + "D(9,8) --api-backend sglang"),
                HasSubstr("--osl 8 --ignore-eos --temperature 0"));
    EXPECT_THAT(
        answer(line + "D(9,8) --api-backend vllm --additional-request-params '{\"temperature\": 0.7}'"),
        HasSubstr("--ignore-eos --temperature 0.7"));
    EXPECT_THAT(answer(line + "D(9,8) --api-backend openai"), HasSubstr("--no-ignore-eos --temperature 0"));
    EXPECT_THAT(answer(line + "dataset --api-backend vllm"), HasSubstr("--no-ignore-eos --temperature 0"));
    EXPECT_THAT(answer("genai-bench benchmark --api-backend vllm --api-base http://h:1 --api-model-name M "
                       "--traffic-scenario D(1000,100) --prefix-ratio 0.75 --num-concurrency 1"),
                HasSubstr("shared_prefix:groups=1,levels=750,unique=250"));
    EXPECT_THAT(refusal("genai-bench benchmark --api-backend vllm --prefix-ratio 0.75 --num-concurrency 1"),
                HasSubstr("a shared prefix has one length"));
}

TEST(OtherTools, evalscope_has_defaults_that_are_sent) {
    EXPECT_THAT(answer(kEvalscope), HasSubstr("--concurrency 1 --num-prompts 1000 --isl 9 --osl 2048 "
                                              "--no-ignore-eos --temperature 0 #"));
    EXPECT_THAT(
        answer(kEvalscope + "--temperature 0.9 --max-tokens 5 --number 3 --parallel 4"),
        HasSubstr("--concurrency 4 --num-prompts 3 --isl 9 --osl 5 --no-ignore-eos --temperature 0.9"));
    EXPECT_THAT(answer(kEvalscope + "--rate 5"), HasSubstr("--concurrency 1 --request-rate 5"));
    EXPECT_THAT(answer(kEvalscope + "--rate 5 --open-loop"),
                AllOf(HasSubstr("--request-rate 5"), Not(HasSubstr("--concurrency"))));
    EXPECT_THAT(answer(kEvalscope + "--min-tokens 3"), HasSubstr("--extra-body '{\"min_tokens\":3}'"));
    EXPECT_THAT(answer("evalscope perf --model M --url http://h:1/v1 --dataset random"),
                HasSubstr("--isl uniform:min=1,max=131072"));
    EXPECT_THAT(answer(kEvalscope + "--no-stream"), HasSubstr("every answer is read as a stream"));
    EXPECT_THAT(answer(kEvalscope + "--parallel 1 10 --number 5 20"),
                AllOf(HasSubstr("sweep http://h:1/v1/chat/completions --model M --concurrency 1,10 --isl"),
                      HasSubstr("evalscope sends 5, 20 requests at its levels")));
}

TEST(OtherTools, evalscope_has_protocols_and_datasets_of_its_own) {
    EXPECT_THAT(answer(kEvalscope + "--api local_vllm"),
                HasSubstr("run --model M --server-cmd 'vllm serve M --port {port}' --concurrency"));
    EXPECT_THAT(answer(kEvalscope + "--api responses"), HasSubstr("http://h:1/v1/responses --model M "
                                                                  "--endpoint-type responses"));
    EXPECT_THAT(answer(kEvalscope + "--tokenize-prompt"), HasSubstr("http://h:1/v1/completions"));
    EXPECT_THAT(refusal(kEvalscope + "--api rerank"), HasSubstr("only endpoints that generate text"));
    EXPECT_THAT(answer("evalscope perf --model M --url http://h:1/v1 --dataset random_multi_turn "
                       "--min-prompt-length 9 --max-prompt-length 9 --multi-turn --min-turns 2 --max-turns 5 "
                       "--number 20"),
                AllOf(HasSubstr("--num-prompts 20"),
                      HasSubstr("'multi_turn:turns=uniform:min=2;max=5,first=9,next=9'")));
    EXPECT_THAT(refusal("evalscope perf --model M --dataset line_by_line --dataset-path p.txt"),
                HasSubstr("jq -Rc '{prompt: .}' p.txt > p.jsonl; then: paretoken run"));
    EXPECT_THAT(answer("evalscope perf --model M --dataset line_by_line --dataset-path p.jsonl"),
                HasSubstr("--dataset-path p.jsonl"));
    EXPECT_THAT(refusal(kEvalscope + "--prompt \"it's\""),
                HasSubstr("'{prompt: $prompt}' > prompt.jsonl; then: paretoken run"));
    EXPECT_THAT(refusal(kEvalscope + "--prompt @a.txt"),
                HasSubstr("jq -Rs '{prompt: .}' a.txt > prompt.jsonl"));
    EXPECT_THAT(refusal(kEvalscope + "--sla-auto-tune --sla-variable parallel"),
                HasSubstr("`paretoken sweep URL --search slo"));
}

TEST(OtherTools, an_option_is_ours_only_if_the_tool_has_it_with_our_meaning) {
    EXPECT_THAT(answer(kEvalscope + "--stop '###' '<|im_end|>' --stop-token-ids 7"),
                HasSubstr("--extra-body '{\"stop\":[\"###\",\"<|im_end|>\"],\"stop_token_ids\":[\"7\"]}'"));
    for (const char* const option : {"--class a:rate=1", "--listen 9", "--osl 9"})
        EXPECT_THAT(refusal(fmt::format("vllm bench serve --model M {}", option)), HasSubstr("has no option"))
            << option;
    EXPECT_THAT(refusal("vllm bench serve --model M --stop x"), HasSubstr("--stop x: it has no effect here"));
    EXPECT_THAT(answer("aiperf profile -m M --osl 9 --streaming"), HasSubstr("--osl 9"));
    EXPECT_TRUE(has_our_option(Tool::vllm, "--num-prompts"));
    EXPECT_FALSE(has_our_option(Tool::evalscope, "--stop"));
}

TEST(OtherTools, options_that_a_variable_hides_leave_out_the_defaults_and_are_named) {
    for (const char* const hidden : {"\"$@\"", "$MORE", "${ARGS[@]}"})
        EXPECT_THAT(refusal(fmt::format("vllm bench serve --model M --request-rate $q {}", hidden)),
                    AllOf(HasSubstr("run --model M --request-rate \"$q\" #"),
                          HasSubstr("the options that it holds are not known")))
            << hidden;
    EXPECT_THAT(refusal("guidellm benchmark --target http://h $MORE"), HasSubstr("run http://h #"));
}

TEST(OtherTools, places_for_results_keep_what_a_shell_replaces) {
    const std::string line =
        "guidellm benchmark --target http://h --rate-type synchronous --max-requests 2 "
        "--data prompt_tokens=5,output_tokens=3 --output-path ";
    EXPECT_THAT(answer(line + "\"${OUT%.json}\""), HasSubstr("--out \"${OUT%.json}\""));
    EXPECT_THAT(answer(line + "\"$(d.path)/$(f.name)\""), HasSubstr("--out \"$(d.path)/$(f.name)\""));
    EXPECT_THAT(answer(line + "v1.2/$N.json"), HasSubstr("--out \"v1.2/$N\""));
}

TEST(OtherTools, aiperf_and_genai_perf_have_numbers_of_requests_and_pairs_of_lengths) {
    EXPECT_THAT(answer("genai-perf profile -m M --concurrency 8 --streaming"),
                AllOf(HasSubstr("--num-prompts 16"), Not(HasSubstr("as a stream"))));
    EXPECT_THAT(answer("genai-perf profile -m M --concurrency 8 --measurement-interval 4000"),
                AllOf(HasSubstr("--duration 12s"), Not(HasSubstr("--num-prompts"))));
    EXPECT_THAT(answer("aiperf profile -m M --concurrency 8"), HasSubstr("every answer is read as a stream"));
    EXPECT_THAT(answer("aiperf profile -m M --streaming --search-recipe pareto-sweep --isl-osl-pairs "
                       "128/64,512/256 --concurrency 1,4"),
                AllOf(HasSubstr("--concurrency 1,4"), HasSubstr("--grid isl=pairs:128/64,pairs:512/256"),
                      Not(HasSubstr("--isl ")), Not(HasSubstr("without --osl"))));
    EXPECT_THAT(answer("aiperf profile -m M --input-file c.jsonl --custom-dataset-type multi_turn "
                       "--conversation-num 7"),
                AllOf(HasSubstr("--num-prompts 7"), Not(HasSubstr("divide"))));
}

TEST(OtherTools, vllm_sglang_and_guidellm_read_no_more_than_they_do_there) {
    EXPECT_THAT(answer("vllm bench serve --model M --dataset-name custom --dataset-path p.jsonl "
                       "--custom-output-len -1 --num-prompts 3"),
                Not(HasSubstr("--osl")));
    EXPECT_THAT(answer("vllm bench serve --model M --dataset-name random --random-prefix-len $((9 * 0 / 5)) "
                       "--random-input-len 7"),
                HasSubstr("--isl 7"));
    EXPECT_THAT(answer("python3 -m sglang.bench_serving --dataset-name generated-shared-prefix "
                       "--dataset-path x.json --gsp-num-groups 2 --gsp-prompts-per-group 3"),
                AllOf(HasSubstr("shared_prefix:groups=2"), Not(HasSubstr("x.json"))));
    const std::string sweep = "guidellm benchmark --target http://h --data prompt_tokens=5 --rate-type ";
    const std::string settings = "export GUIDELLM__NUM_SWEEP_PROFILES=3 GUIDELLM__MAX_CONCURRENCY=128\n";
    EXPECT_THAT(
        answer(settings + sweep + "sweep"),
        AllOf(HasSubstr("sweep http://h --request-rate auto:5 --isl"), HasSubstr("keeps at most 128")));
    EXPECT_THAT(answer(settings + sweep + "constant --rate 4"), HasSubstr("--arrivals constant:rate=4"));
    EXPECT_THAT(refusal(sweep + "synchronous --data prompt_tokens=6 --data-preprocessors turn_pivot"),
                HasSubstr("--dataset multi_turn:turns=N,first=LENGTH,next=LENGTH"));
}

TEST(OtherTools, inferencex_calls_a_function_that_sets_most_options) {
    EXPECT_THAT(
        answer("run_benchmark_serving --model M --port 8888 --backend vllm --input-len 1024 --output-len "
               "512 --random-range-ratio 0.5 --num-prompts 40 --max-concurrency 4 --result-filename r "
               "--result-dir /w/ --server-pid 7 --bench-serving-dir d"),
        HasSubstr("run http://127.0.0.1:8888 --model M --endpoint-type completions --concurrency 4 "
                  "--num-prompts 40 --num-warmups 8 --isl uniform:min=512,max=1024 --osl "
                  "uniform:min=256,max=512 --ignore-eos --temperature 0 --out /w/r #"));
}

TEST(OtherTools, inferencexs_copy_of_vllms_program_draws_lengths_below_the_given_ones) {
    const std::string line =
        "python3 benchmark_serving.py --model M --backend vllm --dataset-name random --random-input-len 1000 "
        "--random-output-len 10 --random-range-ratio 0.8 --num-prompts 9 ";
    for (const char* const option : {"--use-chat-template", "--dsv4"}) {
        const Translation one = translation_of_line(line + option);
        EXPECT_THAT(shown_line(one), HasSubstr("--isl uniform:min=800,max=1000 --osl uniform:min=8,max=10"));
        EXPECT_THAT(unneeded_text(one), HasSubstr(option));
    }
    EXPECT_THAT(answer(line), AllOf(HasSubstr("--range-ratio 0.8"),
                                    HasSubstr("from before vLLM 0.8.4, and copies of it, draw each length L "
                                              "from 0.8 L to L")));
}

TEST(OtherTools, an_address_with_a_version_keeps_it_before_the_path) {
    const std::string vllm = "vllm bench serve --backend openai-chat --model M --base-url ";
    EXPECT_THAT(
        answer(vllm + "http://h:1/v1 --endpoint /chat/completions"),
        AllOf(HasSubstr("http://h:1/v1 --model M --endpoint-type chat"), Not(HasSubstr("--endpoint /"))));
    EXPECT_THAT(answer(vllm + "http://h:1/v1/ --endpoint /x"), HasSubstr("--endpoint /v1/x"));
    EXPECT_THAT(answer(vllm + "http://h:1/v1 --endpoint /v1/x"), HasSubstr("--endpoint /v1/x"));
    EXPECT_THAT(answer(vllm + "http://h:1/llm --endpoint /x"), HasSubstr("--endpoint /x"));
    EXPECT_THAT(answer("aiperf profile -m M --url http://h:1/v1 --endpoint /x --streaming"),
                HasSubstr("--endpoint /v1/x"));
}

TEST(OtherTools, short_names_of_vllms_server_are_written_out) {
    const std::string line =
        answer("vllm bench throughput --model M --input-len 9 --output-len 9 -tp 2 -pp=4");
    EXPECT_THAT(line, HasSubstr("--tensor-parallel-size 2 --pipeline-parallel-size=4"));
}

TEST(OtherTools, values_have_the_meaning_of_the_tool_that_reads_them) {
    EXPECT_THAT(answer("inference-benchmarker --url http://h:1 --prompt-options num_tokens=200,variance=10"),
                HasSubstr("--isl normal:mean=200,stddev=10"));
    EXPECT_THAT(answer("vllm bench serve --model M --dataset-name spec_bench --dataset-path q.jsonl"),
                HasSubstr("--osl 256"));
    EXPECT_THAT(answer("guidellm benchmark --target http://h:1 --rate-type synchronous --backend-args "
                       "'{\"headers\":{\"X-A\":\"b\"}}' --data prompt_tokens=6"),
                HasSubstr("--header 'X-A: b'"));
    EXPECT_THAT(refusal("vllm bench serve --model M --config f.yaml"), HasSubstr("reads these files"));
    EXPECT_THAT(answer("vllm bench serve --model M ..."), HasSubstr("...: the options that it stands for"));
}

TEST(OtherTools, the_sweep_of_inference_perf_keeps_the_time_of_its_stages) {
    const std::string line = "inference-perf --server.base_url http://h:1 --server.model_name M ";
    const Translation sweep = translation_of_line(
        line + "--load.sweep '{\"type\":\"linear\",\"num_stages\":4,\"stage_duration\":30}'");
    EXPECT_THAT(shown_line(sweep), HasSubstr("--request-rate auto:4 --duration 30s"));
    EXPECT_THAT(fmt::format("{}", fmt::join(sweep.notes, "; ")),
                HasSubstr("load.sweep.type linear is left out"));
    EXPECT_THAT(unneeded_text(sweep), Not(HasSubstr("load.sweep")));
    EXPECT_THAT(answer(line + "--load.stages '[{\"rate\":1,\"duration\":30},{\"rate\":2,\"duration\":60}]'"),
                HasSubstr("every level lasts 30 s, as the first stage does"));
}

TEST(OtherTools, words_that_only_look_like_a_tool_are_none) {
    for (const char* const line :
         {"cp $selected_profile_file /logs/profile", "bench_serving:\n\ttrue", "mv $X profile"})
        EXPECT_THAT(message_of<UsageError>([&] { translation_of_line(line); }), HasSubstr("no known tool"))
            << line;
    std::vector<std::string> complaints;
    translations_of(commands_in("vegeta attack -rate=9 | vegeta report"), complaints);
    EXPECT_EQ(complaints.size(), 1U);
}

}  // namespace
}  // namespace paretoken::cli
