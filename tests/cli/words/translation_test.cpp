#include "cli/words/translation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "cli/words/foreign_options.h"
#include "cli/words/pasted_line.h"
#include "core/error.h"
#include "core/plan/plan_fields.h"
#include "core/units.h"
#include "tests/support/message_of.h"

namespace paretoken::cli {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

std::vector<std::string> words_in(const std::string& line) {
    auto commands = commands_in(line);
    return commands.empty() ? std::vector<std::string>{} : commands.front();
}

/// Returns the translation of a foreign line, as one line.
std::string ours(const std::string& line) {
    const Translation translation = translation_of(commands_in(line));
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
              "run http://127.0.0.1:8000 --model M --endpoint-type completions --request-rate inf "
              "--num-prompts 1000 --isl 1024 --osl 128 --ignore-eos");
}

TEST(Translation, a_rate_that_rises_with_the_requests_takes_as_long_as_vllms) {
    // 100 requests whose rate rises from 1 to e per second take 100 / (e - 1) seconds.
    EXPECT_THAT(
        ours("vllm bench serve --ramp-up-strategy linear --ramp-up-start-rps 1 --ramp-up-end-rps 2.718281828 "
             "--num-prompts 100"),
        HasSubstr("--arrivals ramp:from=1,to=2.718281828,over=58.2s,shape=exponential"));
    // Request i of n comes at (1 - 16^(-i/n)) n / ln 16: 300 requests within 101.4 s.
    const std::string line = ours(
        "vllm bench serve --ramp-up-strategy exponential --ramp-up-start-rps 1 --ramp-up-end-rps 16 "
        "--num-prompts 300");
    EXPECT_THAT(line, HasSubstr(",each=5.072s"));
    double requests = 0;
    std::string rates = line.substr(line.find("steps:rates=") + 12);
    rates.resize(rates.find(','));
    std::ranges::replace(rates, ';', '\n');
    for (const auto& rate : commands_in(rates)) requests += 5.072 * std::stod(rate.front());
    EXPECT_NEAR(requests, 300, 1);
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
        ours(R"(guidellm run --backend '{"kind":"openai_http","target":"http://h:1","model":"M"}' --profile )"
             R"('{"kind":"constant","rate":5}' --constraint '{"kind":"max_duration","seconds":20}' --data )"
             R"('{"kind":"synthetic_text","prompt_tokens":128,"output_tokens":256}')"),
        one);
    EXPECT_EQ(ours("guidellm benchmark --target http://h:1 --rate-type sweep --max-seconds 30 --data "
                   "prompt_tokens=256,output_tokens=128"),
              "sweep http://h:1 --request-rate auto:10 --duration 30s --isl 256 --osl 128");
}

TEST(Translation, levels_of_guidellm_may_stand_in_an_override) {
    EXPECT_EQ(
        ours("guidellm run --backend kind=openai_http,target=http://h:1 --profile kind=concurrent --override "
             "profile.streams 10,20 --constraint kind=max_requests,count=50"),
        "sweep http://h:1 --endpoint-type chat --concurrency 10,20 --num-prompts 50");
    const Translation other = translation_of(commands_in(
        "guidellm run --profile kind=sweep --override constraint[0].seconds 10,20 --data kind=synthetic_text,"
        "prompt_tokens=9 --data kind=synthetic_video,width=9"));
    EXPECT_THAT(complaint_of(other, ""), HasSubstr("--override constraint[0].seconds: every level"));
    EXPECT_THAT(complaint_of(other, ""), HasSubstr("images, audio or video are not sent"));
}

TEST(Translation, a_spread_and_conversations_of_aiperf_become_distributions) {
    EXPECT_EQ(ours("aiperf profile -m M -u h:1 --streaming --synthetic-input-tokens-mean 800 "
                   "--synthetic-input-tokens-stddev 80 "
                   "--output-tokens-mean 400 --concurrency 8 --request-cancellation-rate 10 "
                   "--request-cancellation-delay 0.5"),
              "run http://h:1 --model M --concurrency 8 --cancel p=0.1,after=0.5s --num-prompts 16 --isl "
              "normal:mean=800,stddev=80 --osl 400 --no-ignore-eos");
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

/// A line of another tool, and parts of ours: with " !" before them, those that it must not have.
struct Meaning {
    const char* line;
    std::vector<const char*> parts;
};

const std::vector<Meaning>& meanings() {
    static const std::vector<Meaning> all = {
        // vLLM's random prompts have answers of the asked length; those of other data may end early.
        {"vllm bench serve --model M --dataset-name random --max-concurrency 4",
         {"--endpoint-type completions", "--concurrency 4", "!ignore-eos"}},
        {"vllm bench serve --model M --dataset-name sharegpt --dataset-path s.json --request-rate 2",
         {"--no-ignore-eos"}},
        {"python3 benchmarks/benchmark_serving.py --backend vllm --model M --dataset-name random",
         {"--no-ignore-eos", "--temperature 0"}},
        {"python benchmark_serving.py --backend vllm --dataset s.json --request-rate 3",
         {"--dataset sharegpt", "--dataset-path s.json"}},
        {"vllm bench serve --served-model-name api-name --model org/M --dataset-name random",
         {"--model api-name"}},
        // A trace is replayed at its own times.
        {"vllm bench serve --model M --dataset-name timed_trace --dataset-path t.jsonl --num-prompts 100",
         {"--arrivals trace", "--dataset mooncake", "!--request-rate"}},
        {"vllm bench serve --model M --dataset-name timed_trace --dataset-path t.jsonl --no-self-timed "
         "--request-rate 3",
         {"--request-rate 3", "!--arrivals"}},
        {"python3 -m sglang.bench_serving --dataset-name mooncake --dataset-path t.jsonl "
         "--use-trace-timestamps --mooncake-slowdown-factor 2.0",
         {"--arrivals trace:scale=2.0"}},
        // Columns with names of their own.
        {"guidellm benchmark run --target http://a --data w.jsonl --data-column-mapper "
         "'{\"text_column\": \"article\"}' --profile synchronous --max-requests 5",
         {"--dataset columns:prompt=article", "--dataset-path w.jsonl"}},
        {"guidellm benchmark run --target http://a --data w.csv --data-column-mapper "
         "kind=generative_column_mapper,column_mappings.text_column=q,column_mappings.output_tokens_count_"
         "column=n "
         "--profile synchronous --max-requests 5",
         {"--dataset columns:output_tokens=n,prompt=q", "--dataset-path w.csv"}},
        {"guidellm benchmark run --target http://a --data w.jsonl --data-column-mapper "
         "'{\"output_tokens_count_column\": \"n\"}' --profile synchronous --max-requests 5",
         {"--dataset columns:output_tokens=n,prompt=prompt", "!--arrivals"}},
        {"guidellm benchmark run --target http://a --data w.jsonl --data-args "
         "'{\"prompt_column\":\"prompt\"}' "
         "--profile synchronous --max-requests 5",
         {"--dataset-path w.jsonl", "!columns"}},
        {"vllm bench serve --model M --dataset-name timed_trace --dataset-path t.jsonl "
         "--timed-trace-label-timestamp ts "
         "--timed-trace-label-hash-ids ids --timed-trace-chunk-hash-size 16",
         {"--dataset "
          "columns:at_s=ts,hash_ids=ids,input_tokens=input_length,output_tokens=output_length,block=16",
          "--arrivals trace"}},
        // The texts of a file do not change the lengths of SGLang's random prompts.
        {"python3 -m sglang.bench_serving --dataset-name random --dataset-path s.json --random-input-len 64 "
         "--random-output-len 8 --random-range-ratio 1.0",
         {"--isl 64", "--osl 8", "!--dataset-path"}},
        {"python3 -m sglang.bench_serving --dataset-name generated-shared-prefix --gsp-num-groups 2 "
         "--gsp-prompts-per-group 1 --gsp-system-prompt-len 100 --gsp-question-len 50 --gsp-output-len 8 "
         "--gsp-range-ratio 0.5",
         {"levels=100,unique=uniform:min=25;max=50", "--osl uniform:min=4,max=8"}},
        {"vllm bench serve --model M --dataset-name sonnet --dataset-path sonnet.txt",
         {"--dataset shared_prefix:groups=1,levels=200,unique=350", "--osl 150", "--text sonnet.txt"}},
        {"vllm bench serve --model M --lora-modules a b --lora-assignment round-robin --dataset-name random",
         {"--model a=1,b=1"}},
        {"vllm bench throughput --model M --dataset-name random --input-len 100 --output-len 10 --dtype half",
         {"--server-cmd vllm serve M --port {port} --dtype half", "--request-rate inf", "--isl 100"}},
        {"vllm bench latency --model M --batch-size 4 --num-iters 5 --num-iters-warmup 2",
         {"--concurrency 4", "--num-prompts 20", "--num-warmups 8", "--isl 32", "--osl 128"}},
        {"vllm bench sweep serve --serve-cmd 'vllm serve M' --bench-cmd 'vllm bench serve --model M "
         "--dataset-name random --max-concurrency 8' --bench-params p.json --num-runs 2 -o out",
         {"sweep --server-cmd vllm serve M --port {port}", "--concurrency 8", "--cells p.json", "--repeat 2",
          "--out out", "--reset-cache"}},
        // SGLang warms up with one request, asks for greedy answers, and has an own protocol by itself.
        {"python3 -m sglang.bench_serving --dataset-name random --num-prompts 9 --random-range-ratio 1",
         {"--endpoint-type completions", "--num-warmups 1", "--temperature 0", "--isl 1024"}},
        {"python3 -m sglang.bench_serving --dataset-name generated-shared-prefix --gsp-group-distribution "
         "zipf "
         "--gsp-zipf-alpha 1.1",
         {"groups=64,levels=2048,unique=128,zipf=1.1", "--num-prompts 1024"}},
        {"python3 -m sglang.bench_one_batch_server --model None --base-url http://h:1 --batch-size 1 16 "
         "--input-len 1024 8192 --output-len 8",
         {"sweep http://h:1", "--concurrency 1,16", "--grid isl=1024,8192", "--osl 8", "!--model"}},
        {"python3 -m sglang.bench_one_batch_server --model-path M --tp 4 --batch-size 2",
         {"--server-cmd python3 -m sglang.launch_server --model-path M --port {port} --tp 4",
          "--concurrency 2"}},
        // GuideLLM
        {"guidellm benchmark --target http://h:1 --rate-type constant --rate 1.0 --rate 5.0 --max-seconds 60 "
         "--data prompt_tokens=512,output_tokens=128",
         {"sweep", "--concurrency 512 --duration 60s",
          "--grid arrivals=constant:rate=1.0,constant:rate=5.0"}},
        {"guidellm run --profile kind=concurrent,streams=16,warmup=0.1,cooldown=0.1 --constraint "
         "kind=max_requests,count=500 --data kind=synthetic_text,prompt_tokens=9,output_tokens=9",
         {"--concurrency 16", "--num-warmups 50"}},
        {"guidellm run --profile kind=constant,rate=2 --constraint kind=max_requests,count=100 --data "
         "kind=synthetic_text,prompt_tokens=150,output_tokens=75,turns=4,prefix_tokens=100",
         {"--num-prompts 25",
          "--dataset agents:jobs=25,turns=4,fanout=0,prefix=100,first=150,next=150,osl=75,tool=0s"}},
        {"guidellm run --profile kind=goodput --metrics kind=generative,slo.ttft_ms=500 --data "
         "prompt_tokens=9,output_tokens=9",
         {"sweep", "--search slo", "--slo ttft_p90:500"}},
        // AIPerf and GenAI-Perf
        {"aiperf profile -m M -u h:1 --user-centric-rate 1.0 --num-users 15 --session-turns-mean 20 "
         "--shared-system-prompt-length 1000 --user-context-prompt-length 20000 "
         "--synthetic-input-tokens-mean 26 --osl 100 --benchmark-duration 100",
         {"--arrivals users:n=15,rate=1.0", "turns=20,fanout=0,prefix=1000,first=20026,next=26,osl=100",
          "--duration 100s"}},
        {"aiperf profile -m M --url http://a:1 --url http://b:1 --concurrency 8", {"http://a:1,http://b:1"}},
        {"aiperf profile -m M --concurrency 30 --isl 9 --osl 9", {"--num-prompts 60", "--no-ignore-eos"}},
        {"aiperf profile -m M --isl 128,512 --osl 9 --concurrency 4 --num-profile-runs 3",
         {"sweep", "--grid isl=128,512", "--repeat 3"}},
        {"aiperf profile -m M --request-rate 4 --isl 9 --osl 9", {"--request-rate 4", "!constant"}},
        {"aiperf profile -m M --search-space concurrency:1,1000:int --search-metric output_token_throughput",
         {"sweep", "--concurrency 1..1000"}},
        {"aiperf profile -m M --search-recipe max-concurrency-under-sla --ttft-sla-ms 500 --isl 9 --osl 9",
         {"sweep", "--slo ttft_p95:500", "--search slo"}},
        {"aiperf profile -m M --search-space concurrency:1,9:int --search-sla time_to_first_token:p99:le:300",
         {"--slo ttft_p99:300", "--search slo"}},
        {"aiperf profile -m M --input-file t.jsonl --custom-dataset-type mooncake_trace --fixed-schedule "
         "--synthesis-speedup-ratio 2.0",
         {"--arrivals trace:scale=0.5"}},
        {"aiperf profile -m M --input-file t.json --custom-dataset-type weka_trace "
         "--trace-idle-gap-cap-seconds 10",
         {"--dataset weka --dataset-path t.json", "--idle-job-cap 10s"}},
        {"aiperf profile -m M --input-file c.jsonl --custom-dataset-type multi_turn --concurrency 2",
         {"--dataset dag_jsonl --dataset-path c.jsonl"}},
        {"aiperf profile -m M --num-sessions 8 --session-turns-mean 4 --session-turn-delay-mean 2000 "
         "--session-delay-ratio 0.5 --isl 9 --osl 9",
         {"--think-time 1000ms", "--num-prompts 8"}},
        {"genai-perf profile -m M --endpoint-type chat --request-rate 4 --osl 9",
         {"--arrivals constant:rate=4"}},
        {"genai-perf profile -m A B --endpoint-type completions --concurrency 8 -- -v --max-threads=256",
         {"--model A=1,B=1", "!--max-threads"}},
        {"genai-perf profile -m M --output-tokens-mean 100 --output-tokens-mean-deterministic --concurrency "
         "1",
         {"--ignore-eos"}},
        {"genai-perf analyze -m M --sweep-type concurrency --sweep-range 1:256",
         {"sweep", "--concurrency 1..256"}},
        // other tools
        {"genai-bench benchmark --api-backend vllm --api-base http://h:1 --api-model-name M --task "
         "text-to-text "
         "--max-time-per-run 2 --max-requests-per-run 9 --traffic-scenario N(480,240)/(300,150) "
         "--num-concurrency 1 --num-concurrency 4",
         {"sweep http://h:1 --model M --endpoint-type chat", "--concurrency 1,4", "--duration 120s",
          "--isl normal:mean=480,stddev=240"}},
        {"python token_benchmark_ray.py --model M --num-concurrent-requests 3 --timeout 60 --llm-api openai",
         {"--concurrency 3", "--duration 60s", "--num-prompts 10", "--isl normal:mean=550,stddev=150"}},
        {"evalscope perf --url http://h:1/v1/chat/completions --parallel 1 10 --number 20 --model M "
         "--dataset "
         "random --min-prompt-length 9 --max-prompt-length 19 --max-tokens 5",
         {"--concurrency 1,10", "--num-prompts 20", "--isl uniform:min=9,max=19", "--osl 5"}},
        {"perf_analyzer -m M --service-kind openai --endpoint v1/chat/completions --concurrency-range 1:4 -u "
         "h:1",
         {"sweep http://h:1", "--concurrency 1..4:1", "--endpoint-type chat"}},
        {"inference-perf --server.base_url http://h:1 --server.model_name M --api.type completion "
         "--data.type shared_prefix --data.shared_prefix.num_groups 5 --data.shared_prefix.system_prompt_len "
         "90 "
         "--data.shared_prefix.question_len 10 --data.shared_prefix.output_len 7 --load.type constant "
         "--load.stages '[{\"rate\": 2, \"duration\": 30}]'",
         {"run http://h:1 --model M --endpoint-type completions", "--arrivals constant:rate=2",
          "--duration 30s", "shared_prefix:groups=5,levels=90,unique=10", "--osl 7"}},
        // A shell replaces variables of our line too; a number that they hold is no text in JSON.
        {"genai-perf profile -m \"$M\" --url ${IP}:$PORT --concurrency 2 --request-count 9 --osl $OSL "
         "--extra-inputs min_tokens:${OSL} -- -v -H 'X-Team: a'",
         {"run ${IP}:$PORT --model $M", "--header X-Team: a", "--osl $OSL", "!http", "!-v"}},
        {"genai-perf profile -m M --concurrency 2 --measurement-interval $T --isl 9 "
         "--synthetic-input-tokens-stddev $S",
         {"--duration $((3 * $T / 1000))s", "--isl normal:mean=9,stddev=$S"}},
        {"python3 -m sglang.bench_serving --dataset-name generated-shared-prefix --gsp-prompts-per-group $N "
         "--gsp-num-groups 4",
         {"--num-prompts $((4 * $N))"}},
        {"python3 -m sglang.bench_serving --dataset-name random --random-input-len $I --random-output-len 10 "
         "--random-range-ratio 0.5",
         {"--isl uniform:min=$(($I * 500 / 1000)),max=$I", "--osl uniform:min=5,max=10"}},
        // Where a program is started from.
        {"R=$(vllm bench serve --model M --dataset-name random --max-concurrency 3 2>&1)",
         {"--concurrency 3"}},
        {"ssh h \"source x && /v/bin/vllm bench serve --model M --dataset-name random --max-concurrency 3 > "
         "l &\"",
         {"--concurrency 3"}},
        {"CMD=\"vllm bench serve --model M --dataset-name random --max-concurrency 3\"", {"--concurrency 3"}},
        {"$V/vllm bench serve --model M --dataset-name random", {"run http"}},
        {"docker run -v a:b --entrypoint vllm i:latest bench serve --model M --dataset-name random",
         {"run http"}},
        {"docker exec vllm-bench vllm bench serve --model M --dataset-name random", {"--model M"}},
        {"docker run --rm local/guidellm:0.7 run --profile kind=concurrent,streams=4 --constraint "
         "kind=max_requests,count=9",
         {"--concurrency 4"}},
        {"podman run -e GUIDELLM_TARGET=http://h:1 -e GUIDELLM_PROFILE=sweep -e GUIDELLM__MAX_X=1 -e "
         "GUIDELLM_MAX_SECONDS=30 -e GUIDELLM_DATA=prompt_tokens=9,output_tokens=8 ghcr.io/x/guidellm:latest",
         {"sweep http://h:1 --request-rate auto:10 --duration 30s --isl 9 --osl 8"}},
        {"\"$AIPERF\" profile -m M --concurrency $C",
         {"--concurrency $C --num-prompts $(($C > 5 ? 2 * $C : 10))"}},
        {"vllm-bench --model M --dataset-name random --num-prompts 9", {"--num-prompts 9"}},
        {"python -m atom.benchmarks.benchmark_serving --model=M --dataset-name=random --random-range-ratio "
         "1.0",
         {"--isl 1024", "!ratio"}},
        // Options of a dataset that is not the named one do nothing.
        {"vllm bench serve --model M --dataset-name sharegpt --dataset-path s.json --random-output-len 200",
         {"!--osl"}},
        {"python3 -m sglang.bench_serving --dataset-name generated-shared-prefix --gsp-system-prompt-len 0 "
         "--gsp-question-len 900 --gsp-output-len 8 --gsp-num-groups 1 --gsp-prompts-per-group 16 "
         "--random-input 5",
         {"--num-prompts 16", "--isl 900 --osl 8"}},
        {"vllm bench serve --model M --dataset-name random --burstiness 1.0", {"!burstiness"}},
        {"vllm bench serve --model M ... --dataset-name random --request-rate 3", {"--request-rate 3"}},
        {"vllm bench sweep serve --serve-cmd 'vllm serve M' --server-ready-timeout 900 --bench-cmd 'vllm "
         "bench serve "
         "--model M'",
         {"--ready-timeout 900s"}},
        {"aiperf profile -m M --seq-dist '[(256, 128):40, (512,256):60]'",
         {"--isl pairs:256/128=0.4;512/256=0.6"}},
        {"aiperf profile -m M --seq-dist '256|10,128|5:40 512,256:60'",
         {"--isl pairs:256/128=0.4;512/256=0.6"}},
        {"aiperf profile -m M --seq-dist "
         "'{\"pairs\":[{\"isl\":256,\"osl\":128,\"prob\":40},{\"isl\":9,\"osl\":8,\"prob\":60}]}'",
         {"--isl pairs:256/128=0.4;9/8=0.6"}},
        {"aiperf profile -m M --input-file b.jsonl --custom-dataset-type bailian_trace --fixed-schedule",
         {"--arrivals trace", "--dataset mooncake:block=16,unit=s"}},
        {"guidellm run --profile kind=goodput,target_attainment=0.99 --metrics "
         "kind=generative,slo.ttft_ms=500 --data "
         "prompt_tokens=9,output_tokens=9",
         {"--slo ttft_p99:500"}},
        {"python benchmark_serving.py --dataset-name sonnet --sonnet-input-len $I --sonnet-prefix-len 100",
         {"levels=100,unique=$(($I - 100))"}},
        {"vllm bench latency --model M --batch-size $B --num-iters 2", {"--num-prompts $(($B * 2))"}},
        {"a=(--max-concurrency 3 --dataset-name random)\na+=(--num-prompts 9)\nvllm bench serve --model M "
         "\"${a[@]}\"",
         {"--concurrency 3 --num-prompts 9"}},
        {"python3 -m vllm.benchmarks.serve --model M --dataset-name custom --dataset-path p.jsonl "
         "--custom-skip-chat-template",
         {"--dataset custom"}},
        // Requests at equal distances, at several rates
        {"genai-perf analyze -m M --sweep-type request_rate --sweep-range 100:200:50",
         {"sweep", "--grid arrivals=constant:rate=100,constant:rate=150,constant:rate=200",
          "!--request-rate"}},
        {"inference-benchmarker --tokenizer-name T --url http://h:1 --benchmark-kind rate --rates 0.5 "
         "--rates 2",
         {"sweep http://h:1 --concurrency 128", "--grid arrivals=constant:rate=0.5,constant:rate=2"}},
        // SGLang expects other engines on ports of their own.
        {"python3 bench_serving.py --backend vllm --dataset-name random", {"run http://127.0.0.1:8000"}},
        {"python3 -m sglang.bench_serving --backend lmdeploy --dataset-name random",
         {"http://127.0.0.1:23333"}},
        {"python3 -m sglang.bench_serving --backend vllm --port 9 --dataset-name random", {"127.0.0.1:9 "}},
        {"python3 -m bench_serving --backend sglang-oai-chat --dataset-name random",
         {"--endpoint-type chat"}},
        {"python token_benchmark_ray.py --model claude-2 --llm-api anthropic",
         {"run https://api.anthropic.com --model claude-2 --endpoint-type messages",
          "--api-key-env ANTHROPIC_API_KEY"}},
        {"guidellm benchmark run --target http://h --data prompt_tokens=9 --profile constant --rate 9 "
         "--over-saturation '{\"enabled\": true, \"min_seconds\": 30}' --max-seconds 5",
         {"constant:rate=9", "--duration 5s"}},
        {"guidellm benchmark run --target http://h --data prompt_tokens=9 --profile constant --rate 9 "
         "--over-saturation --max-seconds 5",
         {"--duration 5s"}},
        {"guidellm benchmark run --target http://h --data prompt_tokens=9 --profile sweep --outputs "
         "\"benchmark.json,report.csv\"",
         {"--out benchmark", "!,report"}},
        {"evalscope perf --url http://h:1 --parallel 2 --model M --dataset random --max-prompt-length 9 "
         "--extra-args '{\"ignore_eos\": true, \"top_k\": 3}'",
         {"--ignore-eos", "--extra-body {\"top_k\":3}", "!--no-ignore-eos"}},
        // AIPerf replays a trace that has times.
        {"aiperf profile -m M --input-file t.jsonl --custom-dataset-type mooncake_trace --request-count 9 "
         "--concurrency 8 --request-rate 3",
         {"--arrivals trace", "--concurrency 8", "!--request-rate"}},
        {"aiperf profile -m M --input-file t.jsonl --custom-dataset-type mooncake_trace --concurrency 8,16",
         {"sweep", "--concurrency 8,16", "!--arrivals"}},
        // What our command would refuse
        {"vllm bench serve --model M --ready-check-timeout-sec 0", {"!--ready-timeout"}},
        {"vllm bench sweep serve_sla --serve-cmd 'vllm serve M' --bench-cmd 'vllm bench serve --model M' "
         "--sla-params s.json --sla-variable max_concurrency",
         {"--search slo", "!--repeat"}},
        {"genai-perf profile -m M --input-file p.jsonl --output-tokens-mean 100 --output-tokens-stddev 30 "
         "--concurrency 1",
         {"--osl 100", "!stddev"}},
        // A variable behind a value may hold options.
        {"python3 -m sglang.bench_one_batch_server --model None --base-url http://h:1 --batch-size 4 "
         "--input-len 9 --output-len 8 --show-report",
         {"--isl 9 --osl 8"}},
        {"vllm bench serve --model M --request-rate 2 --goodput ttft:100 tpot:20",
         {"--goodput ttft:100 tpot:20"}},
        {"E=\"\"; vllm bench serve --model M --request-rate 2 $E", {"--request-rate 2"}},
        // The name of a tool where no program runs
        {"guidellm_bin=\"/opt/guidellm/bin/guidellm\"\nCMD=(\"${guidellm_bin}\" \"benchmark\" --target "
         "http://h "
         "--rate-type synchronous --data prompt_tokens=9)\nexec \"${CMD[@]}\"",
         {"run http://h --concurrency 1 --isl 9"}},
        // A cap beside rates of a sweep
        {"aiperf profile -m M --request-rate 2 --request-rate-mode constant --concurrency 4 "
         "--num-profile-runs 3",
         {"sweep", "--concurrency 4", "--grid arrivals=constant:rate=2", "--repeat 3", "!--request-rate"}},
        {"aiperf profile -m M --request-rate 9 --concurrency 4,8 --request-count 9",
         {"sweep", "--concurrency 4,8", "--grid arrivals=poisson:rate=9"}},
        {"aiperf profile -m M --request-rate 200 --request-rate-ramp-duration 20 --concurrency 100 "
         "--concurrency-ramp-duration 30 --prefill-concurrency 5 --prefill-concurrency-ramp-duration 9",
         {"--arrivals ramp:from=1,to=200,over=20s", "--concurrency 100", "!--ramp-up"}},
        {"guidellm run --profile kind=synchronous --constraint kind=max_requests,count=9 --data "
         "'{\"prompt_tokens\":512,\"turns\":5,\"prefix_tokens\":90,\"prefix_count\":<2N>,\"output_tokens\":$"
         "O}'",
         {"prefix=90", "osl=$O"}},
        {"guidellm run --profile kind=replay --data kind=mooncake,source.kind=json_file,source.path=r.jsonl",
         {"--dataset mooncake --dataset-path r.jsonl"}},
        {"guidellm run --profile kind=synchronous --constraint kind=max_requests,count=9 --data "
         "kind=json_file,path=$F",
         {"--dataset-path $F"}},
        {"aiperf profile -m M --scenario inferencex-agentx-mvp --input-file t.json --custom-dataset-type "
         "weka-trace "
         "--concurrency 9 --warmup-requests-per-lane 10",
         {"--dataset weka --dataset-path t.json", "--duration 1800s", "--idle-system-cap 10s",
          "--start-inside 0..1+10", "--ignore-eos"}},
        {"python3 -m sglang.bench_serving --dataset-name mooncake --mooncake-workload toolagent "
         "--dataset-path t.jsonl",
         {"--dataset mooncake --dataset-path t.jsonl", "--arrivals trace", "!--request-rate"}},
        {"python -m sgl_jax.bench_serving --backend sgl-jax --dataset-name random --random-input-len 9 "
         "--random-range-ratio 1 --num-prompts 3",
         {"run http://127.0.0.1:30000", "--isl 9"}},
        {"vllm bench serve --model M --dataset-name random --dataset-path ShareGPT.json",
         {"--isl 1024 --osl 128", "!ShareGPT"}},
        {"guidellm benchmark --target {target} --rate-type synchronous --max-requests 3 --data "
         "prompt_tokens=9,output_tokens=9",
         {"run {target} "}},
        {"aiperf profile -m M --session-routing smg_routing_key --num-sessions 4 --session-turns-mean 2",
         {"--session-header X-SMG-Routing-Key"}},
        {"aiperf profile -m M --session-routing session_id_header --session-routing-opt header_name=X-A "
         "--num-sessions 4",
         {"--session-header X-A"}},
        {"guidellm benchmark --target h:1 --rate-type synchronous --max-requests 3 --data synthetic --data "
         "'{\"type\": \"emulated\", \"prompt_tokens\": 64, \"prompt_tokens_variance\": 16, "
         "\"generated_tokens\": 8, \"generated_tokens_variance\": 0, \"count\": 3}'",
         {"--isl normal:mean=64,stddev=4", "--osl 8"}},
        {"aiperf profile -m M --request-count 3 --server-metrics --gpu-telemetry --isl 9",
         {"--isl 9", "!--scrape"}},
        {"\"$VLLM_BIN\" bench latency --model M --input-len 9 --output-len 8 --batch-size 4", {"--isl 9"}},
        {"python sgl_bench_serving.py --backend vllm --dataset-name random --random-input 9 "
         "--random-range-ratio 1",
         {"run http://127.0.0.1:8000", "--isl 9"}},
        {"python3 -m sglang.bench_serving --dataset-name random --multi --request-rate-range 2,34,2",
         {"sweep ", "--request-rate 2..33:2"}},
        {"python3 -m sglang.bench_serving --dataset-name random --max-concurrency 4 --request-rate-range 4",
         {"run ", "--concurrency 4", "!--request-rate"}},
        {"guidellm --target http://h --rate sweep", {"sweep http://h --request-rate auto:10"}},
        {"guidellm benchmark --target h --rate-type constant --rate 4 --data prompt_tokens=9 --output "
         "r/a.json",
         {"--out r/a"}},
        {"guidellm benchmark --target h --rate-type constant --rate 4 --data prompt_tokens=9 --output-dir r "
         "--outputs a.json,html",
         {"--out r"}},
        {"guidellm --target h --prompt-tokens 512 --max-tokens 128", {"--isl 512 --osl 128"}},
        {"aiperf profile -m M --concurrency 9 --adaptive-scale --adaptive-sustain-duration 60 "
         "--adaptive-scale-sla request_latency:p95:le:30000",
         {"sweep ", "--slo e2e_p95:30000 --search slo", "!--concurrency"}},
        {"genai-perf --service-kind openai -m M --input-sequence-length 512 --output-sequence-length 256",
         {"--isl 512 --osl 256"}},
        // a line as it was copied
        {"for c in 1 2; do docker exec x vllm bench serve --model M --dataset-name random --max-concurrency "
         "2 "
         "2>&1 | tee log; done",
         {"run http://127.0.0.1:8000 --model M", "--concurrency 2", "!tee"}},
    };
    return all;
}

TEST(Translation, keeps_the_meaning_of_lines_of_public_documents) {
    for (const Meaning& meaning : meanings()) {
        const std::string line = ours(meaning.line);
        for (const std::string part : meaning.parts) {
            if (part.starts_with('!'))
                EXPECT_THAT(line, ::testing::Not(HasSubstr(part.substr(1)))) << meaning.line;
            else
                EXPECT_THAT(line, HasSubstr(part)) << meaning.line;
        }
    }
}

TEST(Translation, a_part_of_a_trace_is_cut_out_of_its_file) {
    const Translation translation = translation_of(
        commands_in("aiperf profile -m M --input-file t.jsonl --custom-dataset-type mooncake_trace "
                    "--fixed-schedule --fixed-schedule-start-offset 60 --fixed-schedule-end-offset 90"));
    EXPECT_THAT(complaint_of(translation, ""),
                ::testing::AllOf(
                    HasSubstr("jq -c 'select(.timestamp >= 60 and .timestamp <= 90)' t.jsonl > part.jsonl"),
                    HasSubstr("--arrivals trace --dataset mooncake --dataset-path part.jsonl")));
}

TEST(Translation, a_shell_replaces_the_variables_of_the_printed_line) {
    const Translation translation =
        translation_of(commands_in("for c in 1 2 8; do aiperf profile -m \"$M\" --concurrency $c --osl 9 "
                                   "--isl 9 --extra-inputs min_tokens:$O "
                                   "--extra-inputs user:\"a b\" --request-count $((c * 2)); done"));
    EXPECT_THAT(shown_line(translation),
                AllOf(HasSubstr("--model \"$M\" --concurrency \"$c\" --num-prompts \"$((c * 2))\""),
                      HasSubstr(R"(--extra-body "{\"min_tokens\":$O,\"user\":\"a b\"}")")));
    EXPECT_THAT(
        fmt::format("{}", fmt::join(translation.notes, ";")),
        HasSubstr("`paretoken sweep` with --concurrency 1,2,8 in place of $c, and without --num-prompts, "
                  "measures all levels of the loop"));
}

TEST(Translation, what_a_variable_holds_is_asked_for_where_the_translation_depends_on_it) {
    const auto complaint = [](const std::string& line) {
        return message_of<UsageError>([&] {
            const Translation translation = translation_of(commands_in(line));
            throw UsageError(complaint_of(translation, "paretoken"));
        });
    };
    EXPECT_THAT(complaint("python3 -m sglang.bench_serving --dataset-name random --random-range-ratio $R"),
                HasSubstr("--random-range-ratio $R: the value is needed here"));
    EXPECT_THAT(complaint("guidellm benchmark --data \"$D\" --rate-type concurrent --rate 3"),
                HasSubstr("--data $D: the value is needed here"));
    EXPECT_THAT(complaint("guidellm benchmark --data prompt_tokens=9 --rate-type $T"),
                HasSubstr("profile $T: the value is needed here"));
}

TEST(Translation, a_dataset_that_is_not_known_here_is_named) {
    const auto complaint = [](const std::string& line) {
        return complaint_of(translation_of(commands_in(line)), "paretoken");
    };
    EXPECT_THAT(complaint("aiperf profile -m M --input-file x.jsonl --custom-dataset-type nothing_known"),
                HasSubstr("dataset nothing_known"));
    EXPECT_THAT(complaint("aiperf profile -m M --input-file d/inputs.json --custom-dataset-type inputs-json"),
                AllOf(HasSubstr("jq -c '.data[] | (.payloads // .payload)[]' d/inputs.json > inputs.jsonl"),
                      HasSubstr("then: paretoken run http://localhost:8000 --model M --dataset custom "
                                "--dataset-path inputs.jsonl")));
    EXPECT_THAT(complaint("perf_analyzer -m M --service-kind openai --input-data d/inputs.json"),
                HasSubstr("d/inputs.json > inputs.jsonl; then: paretoken run"));
    EXPECT_THAT(complaint("aiperf profile -m M --public-dataset cc_traces_weka_1 --concurrency 2"),
                HasSubstr("--dataset weka --dataset-path cc_traces_weka_1.jsonl"));
    EXPECT_THAT(complaint("aiperf profile -m M --input-file x.jsonl --shared-system-prompt-length 9"),
                HasSubstr("a shared prefix of 9 tokens: the prompts of a file are sent as they are"));
    EXPECT_THAT(complaint("aiperf profile -m M --scenario other"), HasSubstr("--scenario other"));
    EXPECT_THAT(
        complaint("aiperf profile -m M --scenario inferencex-agentx-mvp --concurrency 2"),
        HasSubstr("then: paretoken run http://localhost:8000 --model M --concurrency 2 --duration 1800s "
                  "--dataset weka --dataset-path agents.jsonl"));
}

TEST(Translation, a_program_that_is_not_translated_is_answered_with_the_command_that_does_the_same) {
    for (const auto& [line, here] :
         {std::pair{"aiperf plot out", "paretoken report DIR"},
          std::pair{"aiperf synthesize-trace a b", "--arrivals trace:scale=0.5"},
          std::pair{"vllm bench sweep plot_pareto out", "paretoken report DIR"},
          std::pair{"guidellm benchmark from-file b.json", "paretoken report benchmarks.json"},
          std::pair{"./llama-bench -m x.gguf -p 512", "paretoken try"},
          std::pair{"genai-perf create-template", "--print-config"},
          std::pair{"inference-perf --analyze DIR", "paretoken report DIR"},
          std::pair{"text-generation-benchmark --tokenizer-name M", "--isl SEQUENCE_LENGTH"},
          std::pair{"python3 multi-round-qa.py --qps 1", "--arrivals users:n=USERS"},
          std::pair{"python long_doc_qa.py --model M", "shared_prefix:groups=DOCUMENTS"},
          std::pair{"k6 run s.js", "--concurrency N"}, std::pair{"oha -n 9 http://h", "--num-prompts"}})
        EXPECT_THAT(message_of<UsageError>([&, l = line] { translation_of(commands_in(l)); }),
                    HasSubstr(here));
    EXPECT_THAT(message_of<UsageError>([] { translation_of(commands_in("curl http://h")); }),
                HasSubstr("no known tool"));
}

TEST(Translation, every_command_of_a_script_is_translated) {
    const auto lines_of = [](const std::string& script) {
        std::vector<std::string> complaints, lines;
        for (const Translation& translation : translations_of(commands_in(script), complaints))
            lines.push_back(shown_line(translation));
        lines.insert(lines.end(), complaints.begin(), complaints.end());
        return lines;
    };
    EXPECT_THAT(
        lines_of("pip install guidellm\ncd vllm\nvllm bench serve --model A\nvllm bench latency --model B"),
        ElementsAre(HasSubstr("--model A"), HasSubstr("--model B")));
    EXPECT_THAT(lines_of("args=(vllm bench serve --model A)\n\"${args[@]}\""),
                ElementsAre(HasSubstr("--model A")));
    EXPECT_THAT(lines_of("vllm bench serve --model A; k6 run s.js"),
                ElementsAre(HasSubstr("--model A"), HasSubstr("--concurrency N")));
    EXPECT_THAT(
        lines_of("export GUIDELLM__MAX_CONCURRENCY=7\nguidellm benchmark --target http://h --rate-type "
                 "throughput --data prompt_tokens=9,output_tokens=3"),
        ElementsAre(HasSubstr("--concurrency 7")));
}

TEST(Translation, options_behind_a_line_of_two_dashes_are_those_of_perf_analyzer) {
    EXPECT_THAT(
        ours("genai-perf profile -m M --endpoint-type chat -- --request-count 40 --concurrency-range 8"),
        AllOf(HasSubstr("--num-prompts 40"), HasSubstr("--concurrency 8")));
}

TEST(Translation, a_number_of_different_prompts_is_not_lost_without_a_word) {
    const Translation translation = translation_of(commands_in("genai-perf profile -m M --num-prompts 100"));
    EXPECT_THAT(translation.notes, Contains(HasSubstr("100 different ones that are sent again and again")));
    EXPECT_THAT(shown_line(translation), HasSubstr("--num-prompts 10 "));
}

TEST(Translation, our_number_of_requests_stays_one_beside_a_word_of_another_tool) {
    for (const char* const line : {"sim:ideal -m M --num-prompts 5", "sim:ideal --streaming --num-prompts 5",
                                   "-u http://h:1 --model M --num-prompts 5"})
        EXPECT_THAT(on_run(line).words, IsSupersetOf({"--num-prompts", "5"})) << line;
    const Translation both = on_run("http://h:1 --model M --request-count 40 --num-prompts 5");
    EXPECT_THAT(both.words, IsSupersetOf({"--num-prompts", "40"}));
    EXPECT_THAT(both.notes, Contains(HasSubstr("5 different ones")));
}

TEST(Translation, an_address_is_no_further_value) {
    EXPECT_THAT(on_run("-m M 127.0.0.1:8000 --osl 3").words,
                AllOf(Contains("http://127.0.0.1:8000"), Contains("M")));
    EXPECT_THAT(on_run("-m M -H 'A: b' http://h:1").words, AllOf(Contains("http://h:1"), Contains("A: b")));
    EXPECT_THAT(on_run("http://h:1 -m M --osl 3 80").unknown, Contains("'80'"));
    EXPECT_TRUE(on_run("\"\" -m M --osl 3").unknown.empty()) << "the parser says that the address is empty";
}

TEST(Translation, a_rate_of_turns_becomes_one_of_conversations) {
    EXPECT_THAT(ours("aiperf profile -m M --num-sessions 60 --session-turns-mean 3 --session-turns-stddev 0 "
                     "--request-rate 21 --request-rate-mode constant --osl 16"),
                HasSubstr("--arrivals constant:rate=7"));
    EXPECT_THAT(ours("guidellm --target http://h:1 --rate-type poisson --rate 6 --data "
                     "prompt_tokens=20,output_tokens=5,turns=3"),
                HasSubstr("--request-rate 2 "));
    EXPECT_THAT(ours("guidellm --target http://h:1 --rate-type concurrent --rate 6 --data "
                     "prompt_tokens=20,output_tokens=5,turns=3"),
                HasSubstr("--concurrency 6 "));
    EXPECT_THAT(translation_of(
                    commands_in("aiperf profile -m M --input-file f.jsonl --custom-dataset-type multi_turn "
                                "--request-count 10"))
                    .notes,
                Contains(HasSubstr("--num-prompts 10 counts conversations here")));
}

TEST(Translation, batches_of_one_server_are_levels_on_our_command_too) {
    const Translation one =
        on_run("--base-url http://h:1 --model-path M --batch-size 16 --input-len 20 --output-len 5");
    EXPECT_THAT(one.words,
                IsSupersetOf({"http://h:1", "M", "--concurrency", "16", "--isl", "20", "--osl", "5"}));
    EXPECT_TRUE(
        on_run("--base-url http://h:1 --model M --batch-size 1 2 --input-len 20 --output-len 5").several);
    EXPECT_THAT(
        on_run("--base-url http://h:1 --batch-size \"${SIZES[@]}\" --input-len 20 --output-len 5").absent,
        Contains(HasSubstr("the value is needed here")));
}

TEST(Translation, each_row_of_ones_own_file_is_sent_once) {
    EXPECT_THAT(
        ours("aiperf profile -m M --input-file f.jsonl --custom-dataset-type single_turn --concurrency 4"),
        HasSubstr("--num-prompts all"));
    EXPECT_THAT(
        on_run("-m M --input-file f.jsonl --custom-dataset-type mooncake_trace --concurrency 4").words,
        IsSupersetOf({"--arrivals", "trace"}));
}

TEST(Translation, an_option_without_a_value_is_named_with_what_follows) {
    EXPECT_THAT(message_of<UsageError>([] { (void)on_run("--backend vllm --host --port 8000"); }),
                "--host: its value is missing, because --port follows; is a variable of the shell empty?");
}

TEST(Translation, every_part_of_an_option_becomes_something_or_is_named) {
    for (const ForeignOption& option : foreign_options()) {
        if (option.treatment != Treatment::part) continue;
        for (const ToolRow& row : tools()) {
            if (!has_tool(option.tools, row.tool) || row.tool == Tool::inference_perf) continue;
            const std::string name(option.names.substr(0, option.names.find(' ')));
            const std::string start = row.tool == Tool::guidellm ? "guidellm run" : std::string(row.title);
            const std::string prefix = row.tool == Tool::sglang ? "python3 -m " : "";
            const std::string line =
                fmt::format("{}{} {}{}", prefix, start, name, option.values == Values::none ? "" : " 7");
            try {
                const Translation translation = translation_of(commands_in(line));
                EXPECT_TRUE(translation.unknown.empty()) << line;
            } catch (const UsageError& error) {
                EXPECT_THAT(error.what(), ::testing::Not(HasSubstr("no known tool"))) << line;
            }
        }
    }
}

TEST(Translation, all_unknown_and_absent_options_are_named_together) {
    const Translation translation =
        on_run("--image-count 2 --concurency 3 --image-format png --no-such-thing");
    const std::string complaint = complaint_of(translation, "paretoken run");
    EXPECT_THAT(complaint,
                HasSubstr("has no options --concurency (did you mean --concurrency?), --no-such-thing"));
    EXPECT_THAT(complaint, HasSubstr("--image-count, --image-format: requests with images"));
}

TEST(Translation, names_that_no_tool_has_are_recognised) {
    for (const auto& [line, meant] : {std::pair{"--input-tokens 8", "--input-tokens (did you mean --isl?)"},
                                      std::pair{"--qps 5", "--qps (did you mean --request-rate?)"},
                                      std::pair{"-c 8", "-c (did you mean --concurrency?)"}})
        EXPECT_THAT(on_run(line).unknown, ElementsAre(meant)) << line;
    EXPECT_THAT(on_run("-c bench.yaml").absent, ElementsAre(HasSubstr("reads these files")));
    EXPECT_THAT(on_run("sim: --warmup 8").notes, ::testing::IsEmpty()) << "guidellm is not meant";
}

TEST(Translation, rows_of_known_datasets_get_their_prompt) {
    const std::string advice =
        on_run("--backend vllm --dataset-name hf --dataset-path AI-MO/aimo-validation-aime").absent.at(0);
    EXPECT_THAT(advice, HasSubstr(".map(lambda row: {'prompt': row['problem']}).select_columns(['prompt'])"
                                  ".to_json('aimo-validation-aime.jsonl')"));
}

TEST(Translation, a_connection_for_each_request_is_kept) {
    EXPECT_THAT(on_run("-m x --connection-reuse-strategy never").words, Contains("--no-keepalive"));
    EXPECT_THAT(on_run("-m x --connection-reuse-strategy pooled").words,
                ::testing::Not(Contains("--no-keepalive")));
}

TEST(Translation, numbers_in_a_request_may_be_written_short) {
    for (const auto& [value, json] :
         {std::pair{".9", "0.9"}, std::pair{"1.", "1.0"}, std::pair{"+0.5", "0.5"}, std::pair{"-.5", "-0.5"},
          std::pair{"high", "\"high\""}})
        EXPECT_THAT(on_run(fmt::format("--top-p {}", value)).words,
                    ElementsAre("--extra-body", fmt::format("{{\"top_p\":{}}}", json)));
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
