// What a line of another tool means beyond its options: defaults, rows of files that the tool leaves out,
// misspelled options, and how a line was copied.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/words/manifest.h"
#include "cli/words/pasted_line.h"
#include "cli/words/translation.h"
#include "core/error.h"

namespace paretoken::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

/// Returns our command line, its notes, what needs nothing, and why the line has no counterpart as a whole.
std::string all_of(const Translation& translation) {
    return fmt::format("{} # {} # {} # {}", shown_line(translation), fmt::join(translation.notes, "; "),
                       unneeded_text(translation), complaint_of(translation, translation.program));
}

std::string all_of(const std::string& line) {
    return all_of(translation_of(commands_in(line)));
}

struct Detail {
    const char* line;
    std::vector<const char*> parts;  ///< with "!" before them: those that the answer must not have
};

const std::vector<Detail>& details() {
    static const std::vector<Detail> all = {
        // vLLM reads times as seconds that it multiplies, and 16 tokens for each hash id.
        {"vllm bench serve --model M --dataset-name timed_trace --dataset-path t.jsonl",
         {"--arrivals trace ", "--dataset mooncake:block=16,unit=s "}},
        {"vllm bench serve --model M --dataset-name timed_trace --dataset-path t.jsonl "
         "--timed-trace-chunk-hash-size 512 --timed-trace-sec-multiplier 0.001",
         {"--arrivals trace ", "--dataset mooncake:block=512 "}},
        {"vllm bench serve --model M --dataset-name timed_trace --dataset-path t.jsonl "
         "--timed-trace-sec-multiplier 0.002",
         {"--arrivals trace:scale=2 ", "--dataset mooncake:block=16 "}},
        {"vllm bench serve --model M --dataset-name timed_trace --dataset-path t.jsonl "
         "--timed-trace-sec-multiplier 0.0264",
         {"--arrivals trace:scale=0.0264 ", "mooncake:block=16,unit=s "}},
        {"vllm bench serve --model M --dataset-name timed_trace --dataset-path t.jsonl --no-self-timed "
         "--request-rate 3 --timed-trace-sec-multiplier 0.5",
         {"--request-rate 3", "mooncake:block=16,unit=s", "!--arrivals"}},
        {"vllm bench serve --model M --dataset-name timed_trace --dataset-path t.jsonl "
         "--timed-trace-label-timestamp ts --timed-trace-sec-multiplier 0.002",
         {"--arrivals trace:scale=2 ",
          "columns:hash_ids=hash_ids,input_tokens=input_length,output_tokens=output_length,timestamp=ts,"
          "block=16"}},
        // Without a profile, guidellm's rate is the number of levels of a sweep.
        {"guidellm benchmark --target http://h --rate 5 --data prompt_tokens=9",
         {"sweep http://h --request-rate auto:5 "}},
        {"guidellm benchmark run --target http://h --rate 5 --data prompt_tokens=9",
         {"sweep http://h --request-rate auto:5 "}},
        {"guidellm benchmark --target http://h --rate-type poisson --rate 5 --data prompt_tokens=9",
         {"run http://h --request-rate 5 "}},
        {"guidellm benchmark --target http://h --rate-type synchronous --data prompt_tokens=9 --backend-args "
         "'{\"extra_body\":{\"chat_completions\":{\"temperature\":0.6,\"top_k\":3}}}'",
         {"--temperature 0.6", "--extra-body '{\"top_k\":3}'", "!chat_completions"}},
        // Rows that other tools leave out
        {"vllm bench serve --model M --dataset-name sharegpt --dataset-path s.json",
         {"# vllm leaves out conversations of one message, prompts of less than 4 or more than "
          "1024 tokens",
          "and answers of less than 4"}},
        {"vllm bench serve --model M --dataset-name sharegpt --dataset-path s.json --sharegpt-output-len 9",
         {"more than 1024 tokens", "!answers of less"}},
        {"vllm bench serve --model M --dataset-name burstgpt --dataset-path b.csv",
         {"awk -F, 'NR == 1 {",
          "$c[\"Model\"] == \"GPT-4\" && $c[\"Response tokens\"] > 0' b.csv > gpt4.csv"}},
        {"vllm bench serve --model M --dataset-name custom --dataset-path p.jsonl --no-oversample",
         {"if p.jsonl has fewer rows than 1000, give --num-prompts all"}},
        {"vllm bench serve --model M --dataset-name random --no-oversample",
         {"not needed here: --no-oversample", "!fewer rows"}},
        // Tools that start the model: what is misspelled is not the server's.
        {"vllm bench throughput --model M --num-promps 5",
         {"the line's tool has no option --num-promps; did you mean --num-prompts?", "!{port} --num-promps"}},
        {"vllm bench latency --model M --batchsize 5", {"no option --batchsize; did you mean --batch-size?"}},
        {"vllm bench latency --model M --n 2 --dtype half",
         {"--extra-body '{\"n\":2}'", "--dtype half'", "!--n 2"}},
        {"vllm bench throughput --model M --input-len 9 --output-len 9 --backend vllm-chat",
         {"--endpoint-type chat "}},
        {"vllm bench throughput --model M --lora-path x", {"--lora-path: the server has the adapter"}},
        {"python3 -m sglang.bench_offline_throughput --model-path M --num-promts 5 --mem-fraction-static .8",
         {"--num-promts; did you mean --num-prompts?", "--mem-fraction-static .8'"}},
        {"vllm bench throughput --model M --served-model-name x --task generate --input-len 9 --output-len 9",
         {"--model x ", "'vllm serve M --port {port} --served-model-name x --task generate'"}},
        {"python3 -m sglang.bench_offline_throughput --model-path M --tokenizer-path t --api-key k",
         {"--model-path M --port {port} --tokenizer-path t'", "!--server-cmd 'k"}},
        // The name that the tool itself has
        {"vllm bench serve --model M --concurrency 8",
         {"vllm bench serve has no option --concurrency; did you mean --max-concurrency?"}},
        {"vllm bench serve --model M --isl 8",
         {"vllm bench serve has no option --isl; did you mean --random-input-len?"}},
        {"aiperf profile --model M --concurency 4", {"--concurency; did you mean --concurrency?"}},
        // A field of an option that is JSON
        {"vllm bench serve --model M --extra-body.chat_template_kwargs.enable_thinking false "
         "--extra_body.top_k=5",
         {"--extra-body '{\"chat_template_kwargs\":{\"enable_thinking\":false},\"top_k\":5}'"}},
        {"aiperf profile -m M --concurrency $C", {"--num-prompts \"$(($C > 5 ? 2 * $C : 10))\""}},
        // What would be lost without a word
        {"vllm bench serve --model M --lora-modules a b --lora-assignment round-robin",
         {"adapters are drawn at random with equal shares, not in turn"}},
        {"python3 -m sglang.bench_serving --dataset-name generated-shared-prefix --num-prompts 100",
         {"--num-prompts 1024", "--num-prompts (it has no effect there"}},
        {"genai-perf profile -m M --input-file p.jsonl --num-prompts 10 --concurrency 1",
         {"!every prompt is new"}},
        {"vllm bench serve --model M --request-rate Infinity --max-concurrency 3",
         {"--concurrency 3", "!--request-rate"}},
        {"inference-perf --server.base_url http://h:1 --load.type trace_replay --load.trace.file a.csv "
         "--load.trace.format AzurePublicDataset --data.type random --data.trace.file a.csv "
         "--data.trace.format AzurePublicDataset --server.model_name M",
         {"--arrivals trace --dataset azure --dataset-path a.csv", "!no counterpart"}},
        {"python vllm/benchmarks/serve.py --model M --num-prompts 9", {"--num-prompts 9"}},
        {"python src/guidellm/main.py --target http://h --rate-type concurrent --rate 2 --data "
         "prompt_tokens=9",
         {"run http://h --concurrency 2 --isl 9"}},
        {"kubectl run g --image=ghcr.io/x/guidellm:latest --env=GUIDELLM_TARGET=http://h --env "
         "GUIDELLM_RATE_TYPE=sweep --env GUIDELLM_DATA=prompt_tokens=9",
         {"sweep http://h --request-rate auto:10 --isl 9"}},
        {"kubectl run g --image=x/guidellm -- benchmark --target http://h --rate-type concurrent --rate 3 "
         "--data prompt_tokens=9",
         {"run http://h --concurrency 3 --isl 9"}},
        // How a line was copied: quotes of a shell, and signs of a page or a word processor
        {"vllm bench serve --model $(MODEL) --num-prompts $(N)",
         {"--model \"${MODEL}\"", "--num-prompts \"${N}\""}},
        {"vllm bench serve --model M --extra-body $'{\"top_k\": 5}'", {"--extra-body '{\"top_k\": 5}'"}},
        {"vllm bench serve \u2014-model M \u2013num-prompts 9 \u2014max-concurrency\u00A03",
         {"--model M", "--concurrency 3 --num-prompts 9"}},
        {"aiperf profile \u2013m M --concurrency 3 --extra-inputs \u2018{\u201Ctop_k\u201D: 5}\u2019",
         {"--model M", "--concurrency 3", "--extra-body '{\"top_k\":5}'"}},
        {"echo it\u2019s \u201Cgood\nvllm bench serve --model M\u2019s --num-prompts 9\n# \u201D",
         {"--model 'M\u2019s'", "--num-prompts 9"}},
        {"vllm bench serve --model \u201Cmy model\u201D --num-prompts 9", {"--model 'my model'"}},
        {"vllm bench serve --model 'a \u2013b \u201Cc\u201D' --num-prompts 9",
         {"--model 'a \u2013b \u201Cc\u201D'"}},
    };
    return all;
}

TEST(DetailsOfLines, are_kept_or_named) {
    for (const Detail& detail : details()) {
        const std::string answer = all_of(detail.line);
        for (const std::string part : detail.parts) {
            if (part.starts_with('!'))
                EXPECT_THAT(answer, Not(HasSubstr(part.substr(1)))) << detail.line;
            else
                EXPECT_THAT(answer, HasSubstr(part)) << detail.line;
        }
    }
}

/// Returns the answer to a sweep of vLLM's whose files have these contents.
std::string sweep(const std::string& bench, const std::string& serve_params, const std::string& bench_params,
                  const std::string& links = "") {
    std::vector<std::string> words{
        "vllm",       "bench", "sweep",       "serve",
        "--num-runs", "1",     "--bench-cmd", "vllm bench serve --model M --num-prompts 100 " + bench};
    const auto add = [&](const std::string& option, const std::string& file, const std::string& content) {
        if (!content.empty()) words.insert(words.end(), {option, file, option + "-content", content});
    };
    words.insert(words.end(), {"--serve-cmd", "vllm serve M --max-num-seqs 8"});
    add("--serve-params", "s.json", serve_params);
    add("--bench-params", "b.json", bench_params);
    if (!links.empty()) words.insert(words.end(), {"--link-vars", links});
    return all_of(translation_of({words}));
}

TEST(DetailsOfLines, a_sweep_of_vllm_varies_what_its_files_vary) {
    EXPECT_THAT(
        sweep("", "", R"([{"request_rate": 20}, {"request_rate": 40}])"),
        AllOf(HasSubstr("--request-rate 20,40"), Not(HasSubstr("--concurrency")), Not(HasSubstr("--cells"))));
    EXPECT_THAT(
        sweep("--max-concurrency 8", "", R"([{"request_rate": 20}, {"request_rate": 40}])"),
        AllOf(HasSubstr("--concurrency 8 "), HasSubstr("--grid arrivals=poisson:rate=20,poisson:rate=40")));
    EXPECT_THAT(sweep("--request-rate 3", "", R"([{"max_concurrency": 2}, {"max_concurrency": 4}])"),
                HasSubstr("--grid arrivals=poisson:rate=3 --concurrency 2,4"));
    EXPECT_THAT(sweep("", R"([{"max_num_seqs": 32}, {"max_num_seqs": 64}])",
                      R"([{"max_concurrency": 1}, {"max_concurrency": 8}])"),
                AllOf(HasSubstr("--server-cmd 'vllm serve M --max-num-seqs {max_num_seqs} --port {port}'"),
                      HasSubstr("--grid max_num_seqs=32,64 --concurrency 1,8"), Not(HasSubstr("--ramp-up"))));
    EXPECT_THAT(
        sweep("", R"([{"max_num_seqs": 32, "block-size": 16}, {"max_num_seqs": 64, "block-size": 8}])", ""),
        AllOf(HasSubstr("--max-num-seqs {max_num_seqs} --block-size {block_size} --port {port}"),
              HasSubstr("--concurrency 100 --ramp-up 0s --cells s.json")));
    EXPECT_THAT(
        sweep("", "", R"({"a": {"max_concurrency": 1, "random_input_len": 3}, "b": {"max_concurrency": 2}})"),
        AllOf(HasSubstr("jq '[.[] | del(._benchmark_name)]' b.json > cells.json; then: paretoken"),
              HasSubstr("--concurrency 1 --cells cells.json")));
    EXPECT_THAT(sweep("", R"([{"max_num_seqs": 4}, {"max_num_seqs": 8}])",
                      R"([{"max_concurrency": 4}, {"max_concurrency": 8}])", "max_num_seqs=max_concurrency"),
                HasSubstr("'[$s[0][] as $x | $b[0][] as $y | select($x[\"max_num_seqs\"] == "
                          "$y[\"max_concurrency\"]) | $x + $y | del(._benchmark_name)]' > cells.json"));
    EXPECT_THAT(sweep("", "", R"([{"max_concurrency": 1}, {"random_input_len": 3}])"),
                HasSubstr("--concurrency 100 --ramp-up 0s --cells b.json"));
    EXPECT_THAT(sweep("", "", ""), HasSubstr("--concurrency 100 --ramp-up 0s --reset-cache"));
    EXPECT_THROW(sweep("", R"([{"enforce_eager": true}])", ""), UsageError);
}

TEST(DetailsOfLines, options_of_a_line_on_our_command_name_translate_once) {
    const OwnOptions own = [](const std::string& name) -> std::optional<Values> {
        return name == "--model" || name == "url" || name == "--request-rate" ? std::optional(Values::one)
                                                                              : std::nullopt;
    };
    const auto notes = [&](const std::vector<std::string>& words) {
        return fmt::format("{}", fmt::join(translated(words, "run", own).notes, "; "));
    };
    EXPECT_THAT(notes({"--model", "M", "--random-input-len", "9"}), HasSubstr("`paretoken translate 'vllm"));
    EXPECT_EQ(notes({"--model", "M", "--random-input-len", "9", "--request-rate", "2"}), "");
    EXPECT_EQ(notes({"--model", "M"}), "");
}

std::vector<std::string> script_lines(const char* json) {
    std::vector<std::string> lines, complaints;
    for (const Translation& translation : translations_of(commands_in(script_of_manifest(json)), complaints))
        lines.push_back(fmt::format("{} # {}", shown_line(translation), fmt::join(translation.notes, "; ")));
    lines.insert(lines.end(), complaints.begin(), complaints.end());
    return lines;
}

TEST(DetailsOfLines, variables_of_manifests_become_those_of_a_shell) {
    EXPECT_THAT(
        script_lines(R"x({"containers": [{"image": "v", "command": ["vllm"], "args": ["bench", "serve",
                 "--base-url", "$(TARGET)", "--model", "M", "--num-prompts", "9"]}]})x"),
        ElementsAre(HasSubstr("run \"${TARGET}\" --model M")));
    EXPECT_THAT(script_lines(R"x({"services": {"b": {"image": "v", "entrypoint": "bash", "command": ["-c",
                 "vllm bench serve --model M --num-prompts $$NP"]}}})x"),
                ElementsAre(HasSubstr("--num-prompts \"$NP\"")));
    EXPECT_THAT(script_lines(R"x({"jobs": {"b": {"strategy": {"matrix": {"conc": [1, 8], "os": ["a"]}},
                 "env": {"MODEL": "Q"}, "steps": [{"run": "vllm bench serve --model ${{ env.MODEL }} --num-prompts 9 --max-concurrency ${{ matrix.conc }}"}]}}})x"),
                ElementsAre(AllOf(HasSubstr("--model Q"), HasSubstr("--concurrency 1,8 in place of"))));
    EXPECT_THAT(script_lines(R"x({"containers": [{"image": "x/guidellm:v1", "env": [
                 {"name": "GUIDELLM_TARGET", "value": "http://h"}, {"name": "GUIDELLM_PROFILE", "value": "concurrent"},
                 {"name": "GUIDELLM_RATE", "value": "4"}, {"name": "GUIDELLM_DATA", "value": "prompt_tokens=9"}]}]})x"),
                ElementsAre(HasSubstr("run http://h --concurrency 4 --isl 9")));
    EXPECT_TRUE(
        is_manifest("services:\n  b:\n    image: x/guidellm\n    environment:\n      GUIDELLM_RATE: 1\n"));
}

TEST(DetailsOfLines, a_server_of_another_kind_is_named) {
    const auto complaint = [](const std::string& line) {
        return complaint_of(translation_of(commands_in(line)), "paretoken");
    };
    EXPECT_THAT(complaint("genai-perf profile -m gpt2 --backend tensorrtllm"),
                HasSubstr("--service-kind triton: only OpenAI's"));
    EXPECT_THAT(complaint("perf_analyzer -m t -u h:8000 -p3000 -d -l3000 -t1 -c5 -b1 --shape a:1"),
                AllOf(HasSubstr("-c: levels are given with --concurrency-range"),
                      HasSubstr("--shape: only OpenAI's"), ::testing::Not(HasSubstr("no option"))));
    EXPECT_THAT(complaint("python3 -m sglang.bench_one_batch --model-path M --batch 1"),
                ::testing::Not(HasSubstr("unknown")));
}

TEST(DetailsOfLines, data_that_would_be_downloaded_are_named_with_the_file_to_save_and_the_command) {
    const auto complaint = [](const std::string& line) {
        return complaint_of(translation_of(commands_in(line)), "paretoken");
    };
    EXPECT_THAT(complaint("vllm bench serve --model M --dataset-name hf --dataset-path openai/gsm8k"),
                AllOf(HasSubstr("nothing is downloaded"), HasSubstr("load_dataset('openai/gsm8k'"),
                      HasSubstr("; then: paretoken run http://127.0.0.1:8000 --model M"),
                      HasSubstr("--dataset-path gsm8k.jsonl")));
    EXPECT_THAT(complaint("python3 -m sglang.bench_serving --num-prompts 10"),
                HasSubstr("--dataset sharegpt --dataset-path ShareGPT_V3_unfiltered_cleaned_split.json"));
    EXPECT_THAT(complaint("vllm bench serve --model M --dataset-name random-mm"),
                AllOf(HasSubstr("images"), ::testing::Not(HasSubstr("then:"))));
}

}  // namespace
}  // namespace paretoken::cli
