#include "cli/words/foreign_options.h"

#include <algorithm>
#include <array>
#include <utility>

namespace paretoken::cli {
namespace {

using enum Treatment;
using enum Values;

constexpr std::array kTools = {
    ToolRow{Tool::vllm, "vllm", "vllm bench serve", "http://127.0.0.1:8000"},
    ToolRow{Tool::sglang, "sglang", "sglang.bench_serving", "http://127.0.0.1:30000"},
    ToolRow{Tool::guidellm, "guidellm", "guidellm", "http://localhost:8000"},
    ToolRow{Tool::aiperf, "aiperf", "aiperf profile", "http://localhost:8000"},
};

constexpr std::string_view kImages = "requests with images, audio or video are not sent";
constexpr std::string_view kStreams =
    "every answer is read as a stream, because the times of tokens are what is measured";
constexpr std::string_view kHub =
    "nothing is downloaded; save the rows as JSON lines with \"prompt\" and give --dataset-path FILE";
constexpr std::string_view kSpread =
    "the lengths of turns and their number have one distribution for all turns";

constexpr std::array kOptions = {
    // ---- the server
    ForeignOption{"--host", "vllm,sglang", one, part, "host", true},
    ForeignOption{"--port", "vllm,sglang", one, part, "port", true},
    ForeignOption{"--backend", "vllm,sglang,guidellm", one, part, "backend", true},
    ForeignOption{"--backend-type", "guidellm", one, part, "backend", true},
    ForeignOption{"--endpoint-type", "vllm,aiperf", one, part, "backend"},
    ForeignOption{"--request-type --request-format", "guidellm", one, part, "request_type", true},
    ForeignOption{"--backend-args --backend-kwargs", "guidellm", one, part, "backend_args", true},
    ForeignOption{"--api-key", "aiperf", one, part, "api_key"},
    ForeignOption{"--custom-endpoint", "aiperf", one, part, "endpoint", true},
    ForeignOption{"--url", "aiperf", one, part, "url"},
    ForeignOption{"--header", "vllm,sglang,aiperf", many, part, "headers"},
    ForeignOption{"-H", "aiperf", many, part, "headers"},
    ForeignOption{"--lora-modules --lora-name", "vllm,sglang", many, part, "adapters", true},
    ForeignOption{"--tokenizer --processor --tokenizer-mode --tokenizer-revision --processor-args",
                  "vllm,sglang,guidellm,aiperf"},
    ForeignOption{"--trust-remote-code --tokenizer-trust-remote-code --skip-tokenizer-init",
                  "vllm,sglang,aiperf", none},
    ForeignOption{"--streaming", "aiperf", none},
    ForeignOption{
        "--disable-tqdm --print-requests --disable-console-outputs --disable-progress --disable-console "
        "--disable-console-interactive --display-scheduler-stats --extra-verbose -vv --show-progress",
        "vllm,sglang,guidellm,aiperf", none},
    ForeignOption{"--ui --ui-type --log-level --profile-export-prefix --profile-export-file --export-level "
                  "--workers-max --max-workers --record-processors --record-processor-service-count "
                  "--connection-reuse-strategy --slice-duration --model-selection-strategy",
                  "aiperf"},
    ForeignOption{"--gpu-telemetry --server-metrics --server-metrics-formats", "aiperf", many},
    ForeignOption{"--no-gpu-telemetry --no-server-metrics --use-server-token-count --use-legacy-max-tokens",
                  "aiperf", none},
    ForeignOption{"--request-id-prefix --goodput-window --num-workers", "vllm"},
    ForeignOption{"--no-stream --disable-stream", "vllm,sglang", none, absent, kStreams},

    // ---- the load
    ForeignOption{"--request-rate-mode --arrival-pattern", "aiperf", one, part, "pattern", true},
    ForeignOption{"--arrival-smoothness --vllm-burstiness", "aiperf", one, part, "burstiness", true},
    ForeignOption{"--request-rate-ramp-duration", "aiperf", one, absent,
                  "a rate rises with --arrivals ramp:from=R,to=R,over=60s"},
    ForeignOption{"--user-centric-rate", "aiperf", one, part, "user_rate", true},
    ForeignOption{"--num-users", "aiperf", one, part, "users", true},
    ForeignOption{"--ramp-up-strategy", "vllm", one, part, "ramp_shape", true},
    ForeignOption{"--ramp-up-start-rps", "vllm", one, part, "ramp_from", true},
    ForeignOption{"--ramp-up-end-rps", "vllm", one, part, "ramp_to", true},
    ForeignOption{"--rate-type", "guidellm", one, part, "profile", true},
    ForeignOption{"--profile", "guidellm", one, part, "profile"},
    ForeignOption{"--rate", "guidellm", one, part, "rate", true},
    ForeignOption{"--constraint --over-saturation", "guidellm", one, part, "constraint", true},
    ForeignOption{"--detect-saturation --stop-over-saturated", "guidellm", none},
    ForeignOption{"--rampup --rampup-duration", "guidellm", one, part, "rampup", true},
    ForeignOption{"--warmup --warmup-percent", "guidellm", one, part, "warmup", true},
    ForeignOption{"--cooldown --cooldown-percent", "guidellm", one},
    ForeignOption{"--max-errors", "guidellm", one, absent,
                  "a share of failures ends a run: --stop errors=5%"},
    ForeignOption{"--max-error-rate --max-global-error-rate", "guidellm", one, part, "error_rate", true},
    ForeignOption{"--benchmark-grace-period --warmup-grace-period", "aiperf"},
    ForeignOption{"--request-cancellation-rate", "aiperf", one, part, "cancel_share", true},
    ForeignOption{"--request-cancellation-delay", "aiperf", one, part, "cancel_after", true},
    ForeignOption{"--num-profile-runs", "aiperf", one, absent,
                  "runs are repeated with `paretoken sweep --repeat N`"},
    ForeignOption{"--probe-request-rate", "vllm", one, absent,
                  "a second class of requests does it: --class probe:rate=20,isl=32,osl=1"},
    ForeignOption{"--use-trace-timestamps --self-timed", "sglang,vllm", none},

    // ---- the requests
    ForeignOption{"--dataset-name", "vllm,sglang", one, part, "dataset", true},
    ForeignOption{"--data", "guidellm", one, part, "data", true},
    ForeignOption{"--data-samples --data-num-workers --data-sampler --data-loader --data-finalizer "
                  "--data-preprocessors-kwargs",
                  "guidellm"},
    ForeignOption{"--data-args --data-column-mapper --data-preprocessor --data-preprocessors", "guidellm",
                  one, part, "columns", true},
    ForeignOption{"--num-conversations --num-sessions --conversation-num", "aiperf", one, part, "sessions",
                  true},
    ForeignOption{"--num-prompts --num-dataset-entries", "aiperf", one, part, "entries"},
    ForeignOption{"--dataset-sampling-strategy --prompt-batch-size --batch-size-text --batch-size -b",
                  "aiperf"},
    ForeignOption{"--isl-block-size --prompt-input-tokens-block-size --synthetic-input-tokens-block-size "
                  "--timed-trace-chunk-hash-size",
                  "aiperf,vllm", one, part, "block", true},
    ForeignOption{"--timed-trace-sec-multiplier", "vllm", one, part, "time_unit", true},
    ForeignOption{"--custom-dataset-type", "aiperf", one, part, "file_kind", true},
    ForeignOption{"--public-dataset", "aiperf", one, part, "public_dataset", true},
    ForeignOption{"--fixed-schedule", "aiperf", none, part, "replay", true},
    ForeignOption{"--fixed-schedule-auto-offset", "aiperf", none},
    ForeignOption{"--fixed-schedule-start-offset --fixed-schedule-end-offset", "aiperf", one, absent,
                  "a trace is replayed whole; cut the part out of its file"},
    ForeignOption{"--mooncake-slowdown-factor", "sglang", one, part, "time_scale", true},
    ForeignOption{
        "--mooncake-num-rounds --mooncake-workload", "sglang", one, absent,
        "nothing is downloaded; give the file of the trace with --dataset mooncake --dataset-path FILE"},
    ForeignOption{"--random-range-ratio", "sglang", one, part, "sglang_ratio"},
    ForeignOption{"--random-prefix-len --common-prefix-len", "vllm", one, part, "prefix", true},
    ForeignOption{"--prefix-repetition-prefix-len", "vllm", one, part, "prefix", true},
    ForeignOption{"--prefix-repetition-suffix-len", "vllm", one, part, "suffix", true},
    ForeignOption{"--prefix-repetition-num-prefixes", "vllm", one, part, "prefixes", true},
    ForeignOption{"--prefix-repetition-output-len", "vllm", one, part, "osl", true},
    ForeignOption{"--gsp-num-groups", "sglang", one, part, "prefixes", true},
    ForeignOption{"--gsp-prompts-per-group", "sglang", one, part, "per_prefix", true},
    ForeignOption{"--gsp-system-prompt-len", "sglang", one, part, "prefix", true},
    ForeignOption{"--gsp-question-len", "sglang", one, part, "suffix", true},
    ForeignOption{"--gsp-output-len", "sglang", one, part, "osl", true},
    ForeignOption{"--gsp-range-ratio", "sglang", one, part, "sglang_ratio", true},
    ForeignOption{
        "--gsp-num-turns", "sglang", one, absent,
        "prompts that share prefixes have one turn; conversations are --dataset multi_turn:turns=N"},
    ForeignOption{"--gsp-fast-prepare --gsp-send-routing-key --gsp-ordered", "sglang", none},
    ForeignOption{"--num-prefix-prompts --prefix-prompt-pool-size --prompt-prefix-pool-size", "aiperf", one,
                  part, "prefixes", true},
    ForeignOption{"--prefix-prompt-length --prompt-prefix-length", "aiperf", one, part, "prefix", true},
    ForeignOption{"--shared-system-prompt-length", "aiperf", one, part, "prefix", true},
    ForeignOption{"--user-context-prompt-length", "aiperf", one, absent,
                  "a second shared level is --dataset shared_prefix:levels=1000;500"},
    ForeignOption{"--isl-stddev --prompt-input-tokens-stddev --synthetic-input-tokens-stddev", "aiperf", one,
                  part, "isl_stddev", true},
    ForeignOption{"--osl-stddev --output-tokens-stddev --prompt-output-tokens-stddev", "aiperf", one, part,
                  "osl_stddev", true},
    ForeignOption{"--sequence-distribution --seq-dist", "aiperf", one, part, "pairs", true},
    ForeignOption{"--session-turns-mean --conversation-turn-mean", "aiperf", one, part, "turns", true},
    ForeignOption{"--session-turns-stddev --conversation-turn-stddev", "aiperf", one, part, "turns_stddev",
                  true},
    ForeignOption{"--session-turn-delay-mean --conversation-turn-delay-mean", "aiperf", one, part, "delay",
                  true},
    ForeignOption{"--session-turn-delay-stddev --conversation-turn-delay-stddev", "aiperf", one, part,
                  "delay_stddev", true},
    ForeignOption{"--session-delay-ratio --conversation-turn-delay-ratio", "aiperf", one, absent, kSpread},
    ForeignOption{"--tokenize-prompt", "sglang", none},  // --prompt-form auto sends token ids where it can
    ForeignOption{
        "--apply-chat-template --skip-chat-template --disable-shuffle --no-oversample --output-details "
        "--save-detailed --append-result --save-result --enable-multimodal-chat --pd-separated",
        "vllm,sglang", none},
    ForeignOption{"--sharegpt-context-len", "sglang", one, absent,
                  "prompts of a file are sent whole; `paretoken dataset convert` writes a file to cut from"},
    ForeignOption{"--hf-subset --hf-split --hf-name --bfcl-categories --blazedit-min-distance "
                  "--blazedit-max-distance --spec-bench-category --speed-bench-category "
                  "--speed-bench-dataset-subset",
                  "vllm", one, absent, kHub},
    ForeignOption{"--image-count --image-resolution --image-format --image-content --image-width-mean "
                  "--image-width-stddev --image-height-mean --image-height-stddev --image-batch-size "
                  "--batch-size-image --audio-batch-size --batch-size-audio --audio-length-mean "
                  "--audio-length-stddev --audio-format --audio-depths --audio-sample-rates "
                  "--audio-num-channels --random-mm-base-items-per-request "
                  "--random-mm-num-mm-items-range-ratio --random-mm-limit-mm-per-prompt "
                  "--random-mm-bucket-config",
                  "vllm,sglang,aiperf", one, absent, kImages},
    ForeignOption{"--custom-ensure-client-side-data", "vllm", none, absent, kImages},
    ForeignOption{"--random-batch-size", "vllm", one, absent, "embeddings are not measured"},
    ForeignOption{"--extra-inputs", "aiperf", many, part, "extra_inputs", true},
    ForeignOption{"--top-p", "vllm", one, part, "top_p", true},
    ForeignOption{"--top-k", "vllm", one, part, "top_k", true},
    ForeignOption{"--min-p", "vllm", one, part, "min_p", true},
    ForeignOption{"--frequency-penalty", "vllm", one, part, "frequency_penalty", true},
    ForeignOption{"--presence-penalty", "vllm", one, part, "presence_penalty", true},
    ForeignOption{"--repetition-penalty", "vllm", one, part, "repetition_penalty", true},
    ForeignOption{"--logprobs", "vllm", one, part, "logprobs", true},
    ForeignOption{"--use-beam-search --return-logprob --return-routed-experts", "vllm,sglang", none, absent,
                  "give the fields that the server expects with --extra-body JSON"},
    ForeignOption{"--lora-request-distribution --lora-zipf-alpha --lora-assignment", "vllm,sglang", one,
                  absent, "adapters are drawn by their shares: --model A=.7,B=.3"},
    ForeignOption{"--prompt-suffix", "sglang", one, absent, "prompts are sent as they are"},
    ForeignOption{"--accuracy-benchmark", "aiperf", one, absent,
                  "the answers of a run are checked with --probe FILE; benchmarks of accuracy are not run"},

    // ---- the result
    ForeignOption{"--result-filename", "vllm", one, part, "result_name", true},
    ForeignOption{"--output-file", "sglang", one, part, "result_file", true},
    ForeignOption{"--output-path --output-dir", "guidellm", one, part, "result_file", true},
    ForeignOption{"--output --outputs --output-extras --output-sampling --output-formats", "guidellm", one,
                  part, "outputs", true},
    ForeignOption{"--label --tag", "vllm,sglang,guidellm", one, part, "label", true},
    ForeignOption{"-l", "guidellm", one, part, "label"},
    ForeignOption{"--metadata", "vllm", many, part, "metadata"},
    ForeignOption{"--percentile-metrics --metric-percentiles --timeline-itl-thresholds", "vllm"},
    ForeignOption{"--plot-timeline --plot-dataset-stats --plot-throughput", "vllm,sglang", none},
    ForeignOption{"--goodput", "aiperf", many, part, "aiperf_goodput"},
    ForeignOption{"--seed", "guidellm", one, part, "seed"},
    ForeignOption{"--scenario -c", "guidellm", one, absent,
                  "typical loads have names here too: --recipe NAME, or --config FILE"},
    ForeignOption{"--override", "guidellm", many, absent,
                  "options are given on the command line, or with --config FILE"},
    ForeignOption{"--verbose -v", "aiperf", none},
};

/// What the parts become here.
constexpr std::array<std::pair<std::string_view, std::string_view>, 60> kParts = {{
    {"host", "the URL"},
    {"port", "the URL"},
    {"url", "the URL"},
    {"backend", "`--endpoint-type`"},
    {"backend_args", "the URL, `--model`, `--extra-body`"},
    {"request_type", "`--endpoint-type`"},
    {"endpoint", "`--endpoint`"},
    {"api_key", "the variable `OPENAI_API_KEY`"},
    {"headers", "`--header`"},
    {"adapters", "`--model A=1,B=1`"},
    {"pattern", "`--request-rate`, `--arrivals constant:rate=R`"},
    {"burstiness", "`--burstiness`"},
    {"user_rate", "`--arrivals users:n=N,rate=R`"},
    {"users", "`--arrivals users:n=N,rate=R`"},
    {"ramp_shape", "`--arrivals ramp:…`"},
    {"ramp_from", "`--arrivals ramp:…`"},
    {"ramp_to", "`--arrivals ramp:…`"},
    {"profile", "`--concurrency`, `--request-rate`, `--arrivals`, or `sweep`"},
    {"rate", "`--concurrency`, `--request-rate`, `--arrivals`"},
    {"constraint", "`--num-prompts`, `--duration`, `--stop`"},
    {"rampup", "`--ramp-up`"},
    {"warmup", "`--num-warmups`, `--warmup-duration`"},
    {"error_rate", "`--stop errors=5%`"},
    {"cancel_share", "`--cancel p=.1,after=2s`"},
    {"cancel_after", "`--cancel p=.1,after=2s`"},
    {"dataset", "`--dataset`"},
    {"data", "`--isl`, `--osl`, `--dataset-path`"},
    {"columns", "`paretoken dataset convert`"},
    {"entries", "not needed"},
    {"sessions", "`--num-prompts`"},
    {"block", "`--dataset mooncake:block=512`"},
    {"time_unit", "`--dataset mooncake:unit=s`"},
    {"file_kind", "`--dataset`"},
    {"public_dataset", "`--dataset-path`"},
    {"replay", "`--arrivals trace`"},
    {"time_scale", "`--arrivals trace:scale=2`"},
    {"sglang_ratio", "`--isl uniform:min=…,max=…`"},
    {"prefix", "`--dataset shared_prefix:levels=…`"},
    {"suffix", "`--dataset shared_prefix:unique=…`"},
    {"prefixes", "`--dataset shared_prefix:groups=…`"},
    {"per_prefix", "`--num-prompts`"},
    {"osl", "`--osl`"},
    {"isl_stddev", "`--isl normal:mean=…,stddev=…`"},
    {"osl_stddev", "`--osl normal:mean=…,stddev=…`"},
    {"pairs", "`--isl pairs:512/128=.7;4096/256=.3`"},
    {"turns", "`--dataset multi_turn:turns=…`"},
    {"turns_stddev", "`--dataset multi_turn:turns=…`"},
    {"delay", "`--think-time`"},
    {"delay_stddev", "`--think-time normal:mean=…,stddev=…`"},
    {"extra_inputs", "`--extra-body`"},
    {"result_name", "`--out`"},
    {"result_file", "`--out`"},
    {"outputs", "`--out`"},
    {"label", "`--metadata label=…`"},
    {"metadata", "`--metadata`"},
    {"aiperf_goodput", "`--goodput`"},
    {"seed", "`--seed`"},
    {"top_p", "`--extra-body`"},
    {"top_k", "`--extra-body`"},
    {"logprobs", "`--extra-body`"},
}};

constexpr std::string_view word(std::string_view& rest, char separator) {
    const std::string_view first = rest.substr(0, rest.find(separator));
    rest.remove_prefix(std::min(first.size() + 1, rest.size()));
    return first;
}

bool has_word(std::string_view list, char separator, std::string_view wanted) {
    while (!list.empty())
        if (word(list, separator) == wanted) return true;
    return false;
}

}  // namespace

std::span<const ToolRow> tools() {
    return kTools;
}

const ToolRow& row_of(Tool tool) {
    return *std::find_if(kTools.begin(), kTools.end(), [&](const ToolRow& row) { return row.tool == tool; });
}

std::span<const ForeignOption> foreign_options() {
    return kOptions;
}

bool has_tool(std::string_view tools, Tool tool) {
    return has_word(tools, ',', row_of(tool).name);
}

const ForeignOption* foreign_option(std::string_view name, std::optional<Tool> tool) {
    const auto* const found =
        std::find_if(kOptions.begin(), kOptions.end(), [&](const ForeignOption& option) {
            return has_word(option.names, ' ', name) && (!tool || has_tool(option.tools, *tool));
        });
    return found == kOptions.end() ? nullptr : found;
}

std::string_view what_becomes_of(const ForeignOption& option) {
    switch (option.treatment) {
        case Treatment::nothing:
            return "not needed";
        case Treatment::absent:
            return option.about;
        case Treatment::part:
            break;
    }
    const auto* const found = std::find_if(kParts.begin(), kParts.end(),
                                           [&](const auto& part) { return part.first == option.about; });
    return found == kParts.end() ? "`--extra-body`" : found->second;
}

}  // namespace paretoken::cli
