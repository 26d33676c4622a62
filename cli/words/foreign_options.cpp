#include "cli/words/foreign_options.h"

#include <algorithm>
#include <array>
#include <iterator>
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
    ToolRow{Tool::genai_bench, "genai-bench", "genai-bench benchmark", "http://localhost:8000"},
    ToolRow{Tool::llmperf, "llmperf", "token_benchmark_ray.py", "http://localhost:8000"},
    ToolRow{Tool::evalscope, "evalscope", "evalscope perf", "http://127.0.0.1:8877"},
    ToolRow{Tool::inference_benchmarker, "inference-benchmarker", "inference-benchmarker",
            "http://localhost:8000"},
    ToolRow{Tool::perf_analyzer, "perf-analyzer", "perf_analyzer", "http://localhost:8000"},
    ToolRow{Tool::inference_perf, "inference-perf", "inference-perf", "http://localhost:8000"},
};

constexpr std::string_view kOpenAi = "only OpenAI's and Anthropic's protocols are sent";
constexpr std::string_view kImages = "requests with images, audio or video are not sent";
constexpr std::string_view kSearch =
    "`paretoken sweep URL --search slo --slo e2e_p99:2000` finds the highest load within limits in ms";

constexpr ForeignOption kOptions[] = {
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
    ForeignOption{"--url -u", "aiperf,evalscope,perf-analyzer", many, part, "urls"},
    ForeignOption{"-m --model --model-names", "aiperf", many, part, "models"},
    ForeignOption{"--served-model-name", "vllm,sglang", one, part, "served_model", true},
    ForeignOption{"--wait-for-model-timeout", "aiperf", one, part, "ready_timeout", true},
    ForeignOption{"--wait-for-model-mode --wait-for-model-interval --url-strategy --transport "
                  "--transport-type --request-content-type --reset-kv-cache-timeout-seconds "
                  "--reset-kv-cache-path --server-profiler-timeout-seconds --server-profiler-start-path "
                  "--server-profiler-stop-path",
                  "aiperf"},
    ForeignOption{"--flush-cache-timeout", "sglang"},
    ForeignOption{"--reset-kv-cache", "aiperf", none, part, "reset_cache", true},
    ForeignOption{"--server-profiler", "aiperf", none, part, "server_profile", true},
    ForeignOption{"--profile-start-step --profile-steps --profile-num-steps --profile-output-dir "
                  "--profile-prefix",
                  "sglang"},
    ForeignOption{"--profile-by-stage", "sglang", none},
    ForeignOption{"--profile-activities --profile-stages --profile-prefill-url --profile-decode-url",
                  "sglang", many},
    ForeignOption{"--grpc-method", "aiperf,perf-analyzer", one, absent, kOpenAi},
    ForeignOption{"--header", "vllm,sglang,aiperf", many, part, "headers"},
    ForeignOption{"-H", "aiperf", many, part, "headers"},
    ForeignOption{"--lora-modules --lora-name", "vllm,sglang", many, part, "adapters", true},
    ForeignOption{"--tokenizer --processor --tokenizer-mode --tokenizer-revision --processor-args",
                  "vllm,sglang,guidellm,aiperf"},
    ForeignOption{"--trust-remote-code --tokenizer-trust-remote-code --skip-tokenizer-init",
                  "vllm,sglang,aiperf", none},
    ForeignOption{"--streaming", "aiperf,perf-analyzer", none, part, "streamed"},
    ForeignOption{
        "--disable-tqdm --print-requests --disable-console-outputs --disable-progress --disable-console "
        "--disable-console-interactive --display-scheduler-stats --extra-verbose -vv --show-progress "
        "--non-interactive --no-console --cache-report --rust-client",
        "vllm,sglang,guidellm,aiperf,inference-benchmarker", none},
    ForeignOption{"--rust-worker-threads", "sglang"},
    ForeignOption{"--ui --ui-type --log-level --profile-export-prefix --profile-export-file --export-level "
                  "--workers-max --max-workers --record-processors --record-processor-service-count "
                  "--slice-duration --model-selection-strategy --profile-export-level "
                  "--api-port --api-host --stats-interval --zmq-host --zmq-ipc-path --checkpoint-dir "
                  "--stability-percentage -s",
                  "aiperf"},
    ForeignOption{"--connection-reuse-strategy", "aiperf", one, part, "reuse"},
    ForeignOption{"--gpu-telemetry --server-metrics-formats --stream", "aiperf", many},
    ForeignOption{"--server-metrics --server-metrics-url --server-metrics-urls", "aiperf", many, part,
                  "metrics_urls", true},
    ForeignOption{"--no-server-metrics", "aiperf", none, part, "no_server_metrics", true},
    ForeignOption{"--no-gpu-telemetry --use-server-token-count --use-legacy-max-tokens --per-chunk-usage "
                  "--download-video-content --uuid-and-strip --omit-kv-hints --auto-plot --no-auto-plot "
                  "--plot-required --generate-plots --enable-checkpointing --export-http-trace "
                  "--show-trace-timing --zmq-dual-bind --no-sweep-table --apply-chat-template",
                  "aiperf", none},
    ForeignOption{"--export-outputs-json", "aiperf", none, part, "keep_answers", true},
    ForeignOption{"--otel-url", "aiperf", one, part, "otel", true},
    ForeignOption{"--otel-resource-attributes --gen-ai-provider", "aiperf", many},
    ForeignOption{"--mlflow-tracking-uri --mlflow-experiment --mlflow-run-name --mlflow-tag "
                  "--mlflow-parent-run-id --mlflow-artifact-glob --wandb-project --wandb-entity "
                  "--wandb-run-name --wandb-tag",
                  "aiperf", one, part, "trackers", true},
    ForeignOption{"--network-latency-automatic", "aiperf", none, part, "network_latency", true},
    ForeignOption{"--network-latency-mean --network-latency-ping-interval", "aiperf", one, part,
                  "network_latency", true},
    ForeignOption{"--request-id-prefix --goodput-window --num-workers --server-pid --bench-serving-dir",
                  "vllm"},
    ForeignOption{"--disable-stream --non-streaming", "vllm,sglang", none, part, "unstreamed", true},
    ForeignOption{"--no-stream", "evalscope", none, part, "unstreamed"},
    ForeignOption{"--custom-skip-chat-template --skip-initial-test --no-stream --no-reranker --no-test-input "
                  "--random-ids --tokenize-on-client --save-request-time-breakdown",
                  "vllm", none},
    // Only InferenceX's copy of benchmark_serving.py has these two.
    ForeignOption{"--use-chat-template", "vllm", none, part, "inferencex_template"},
    ForeignOption{"--dsv4", "vllm", none, part, "inferencex_dsv4"},
    ForeignOption{"--download-path --download-timeout", "vllm"},

    // ---- the load
    ForeignOption{"--request-rate-mode --arrival-pattern", "aiperf", one, part, "pattern", true},
    ForeignOption{"--arrival-smoothness --vllm-burstiness", "aiperf", one, part, "burstiness", true},
    ForeignOption{"--request-rate-ramp-duration", "aiperf", one, part, "rate_ramp", true},
    ForeignOption{"--user-centric-rate", "aiperf", one, part, "user_rate", true},
    ForeignOption{"--num-users", "aiperf", one, part, "users", true},
    ForeignOption{"--ramp-up-strategy", "vllm", one, part, "ramp_shape", true},
    ForeignOption{"--ramp-up-start-rps", "vllm", one, part, "ramp_from", true},
    ForeignOption{"--ramp-up-end-rps", "vllm", one, part, "ramp_to", true},
    ForeignOption{"--rate-type", "guidellm", one, part, "profile", true},
    ForeignOption{"--profile", "guidellm", one, part, "profile"},
    ForeignOption{"--rate", "guidellm", one, part, "rate", true},
    ForeignOption{"--constraint", "guidellm", one, part, "constraint", true},
    ForeignOption{"--over-saturation", "guidellm", one, part, "over_saturation", true},
    ForeignOption{"--detect-saturation --default-over-saturation --stop-over-saturated", "guidellm", none,
                  part, "over_saturation", true},
    ForeignOption{"--knee-detection", "guidellm"},
    ForeignOption{"--rampup --rampup-duration", "guidellm", one, part, "rampup", true},
    ForeignOption{"--warmup --warmup-percent", "guidellm", one, part, "warmup", true},
    ForeignOption{"--cooldown --cooldown-percent", "guidellm", one},
    ForeignOption{"--max-errors", "guidellm", one, absent,
                  "a share of failures ends a run: --stop errors=5%"},
    ForeignOption{"--max-error-rate --max-global-error-rate", "guidellm", one, part, "error_rate", true},
    ForeignOption{"--benchmark-grace-period --warmup-grace-period --agentic-warmup-grace-period", "aiperf"},
    ForeignOption{"--request-cancellation-rate", "aiperf", one, part, "cancel_share", true},
    ForeignOption{"--request-cancellation-delay", "aiperf", one, part, "cancel_after", true},
    ForeignOption{"--num-profile-runs", "aiperf", one, part, "repeats", true},
    ForeignOption{"--profile-run-cooldown-seconds --confidence-level --convergence-metric "
                  "--convergence-stat --convergence-threshold --convergence-mode "
                  "--parameter-sweep-cooldown-seconds --parameter-sweep-mode",
                  "aiperf"},
    ForeignOption{"--sweep-type", "aiperf", one, part, "sweep_type", true},
    ForeignOption{"--sweep-range --sweep-list", "aiperf", one, part, "sweep_values", true},
    ForeignOption{"--profile-run-disable-warmup-after-first --no-profile-run-disable-warmup-after-first "
                  "--set-consistent-seed --no-set-consistent-seed --vary-seed-per-trial "
                  "--no-vary-seed-per-trial --parameter-sweep-same-seed --no-parameter-sweep-same-seed",
                  "aiperf", none},
    ForeignOption{"--search-recipe --search-space", "aiperf", one, part, "search", true},
    ForeignOption{"--search-sla --search-sla-tier --adaptive-scale-sla", "aiperf", one, part, "search_limit",
                  true},
    ForeignOption{"--adaptive-scale", "aiperf", none, part, "search", true},
    ForeignOption{"--adaptive-sustain-duration --adaptive-assessment-period --adaptive-control-min "
                  "--adaptive-control-max --adaptive-control-variable",
                  "aiperf"},
    ForeignOption{"--ttft-sla-ms", "aiperf", one, part, "ttft_limit", true},
    ForeignOption{"--tpot-sla-ms --itl-sla-ms", "aiperf", one, part, "tpot_limit", true},
    ForeignOption{"--e2e-sla-ms", "aiperf", one, part, "e2e_limit", true},
    ForeignOption{"--search-metric --search-stat --search-direction --search-max-iterations "
                  "--search-initial-points --search-random-seed --search-planner --search-style "
                  "--search-percentile-pooling --bo-constraint-mode --optuna-sampler --optuna-acquisition "
                  "--optuna-terminator --error-rate-sla --slo-attainment-fraction --degradation-threshold "
                  "--degradation-metric-tag --degradation-stat",
                  "aiperf"},
    ForeignOption{"--isl-min --isl-max --isl-steps --osl-min --osl-max --osl-steps --concurrency-min "
                  "--concurrency-max --concurrency-steps",
                  "aiperf", one, absent,
                  "a sweep takes the values: `paretoken sweep --concurrency 1..64 --grid isl=256,1024`"},
    ForeignOption{"--isl-osl-pairs", "aiperf", one, part, "length_pairs", true},
    ForeignOption{"--variant --sweep-variant", "aiperf", one, absent,
                  "a sweep reads combinations of options from a file: `paretoken sweep --cells FILE`"},
    ForeignOption{
        "--request-rate-series", "aiperf", one, absent,
        "a rate that changes is --arrivals steps:rates=R;R;R,each=60s or ramp:from=R,to=R,over=60s"},
    ForeignOption{"--prefill-concurrency-ramp-duration", "aiperf", one, part, "prefill_ramp", true},
    ForeignOption{"--failed-request-threshold", "aiperf", one, part, "error_rate", true},
    ForeignOption{"--num-warmup-sessions", "aiperf", one, part, "num_warmups", true},
    ForeignOption{"--warmup-concurrency --warmup-prefill-concurrency --warmup-request-rate "
                  "--warmup-arrival-pattern --warmup-concurrency-ramp-duration "
                  "--warmup-prefill-concurrency-ramp-duration --warmup-request-rate-ramp-duration",
                  "aiperf", one, part, "warmup_load", true},
    ForeignOption{"--measurement-interval -p", "aiperf", one, part, "interval", true},
    ForeignOption{"--session-concurrency", "aiperf,perf-analyzer", one, part, "concurrency", true},
    ForeignOption{"--probe-request-rate", "vllm", one, absent,
                  "a second class of requests does it: --class probe:rate=20,isl=32,osl=1"},
    ForeignOption{"--use-trace-timestamps --self-timed", "sglang,vllm", none, part, "replay", true},
    ForeignOption{"--no-self-timed --no-fixed-schedule", "vllm,aiperf", none, part, "no_replay", true},

    // ---- the requests
    ForeignOption{"--dataset-name", "vllm,sglang", one, part, "dataset", true},
    ForeignOption{"--data", "guidellm", one, part, "data", true},
    ForeignOption{"--sample-requests --data-num-workers --data-sampler --data-loader --data-finalizer "
                  "--data-preprocessors-kwargs",
                  "guidellm"},
    ForeignOption{"--data-samples", "guidellm", one, part, "samples", true},
    ForeignOption{"--data-args --data-column-mapper --data-preprocessor --data-preprocessors", "guidellm",
                  one, part, "columns", true},
    ForeignOption{"--num-conversations --num-sessions --conversation-num", "aiperf", one, part, "sessions",
                  true},
    ForeignOption{"--num-prompts", "aiperf", one, part, "entries"},
    ForeignOption{"--num-dataset-entries", "aiperf", one, part, "different_prompts", true},
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
    ForeignOption{"--fixed-schedule-start-offset", "aiperf", one, part, "window_begin", true},
    ForeignOption{"--fixed-schedule-end-offset", "aiperf", one, part, "window_end", true},
    ForeignOption{"--mooncake-slowdown-factor", "sglang", one, part, "time_scale", true},
    ForeignOption{"--synthesis-speedup-ratio --replay-speedup", "aiperf", one, part, "speedup", true},
    ForeignOption{"--synthesis-prefix-len-multiplier --synthesis-prefix-root-multiplier "
                  "--synthesis-prompt-len-multiplier --synthesis-output-len-multiplier --synthesis-max-isl "
                  "--synthesis-max-osl --max-context-length --trace-session-sample-ratio --dataset-filter "
                  "--dataset-offset --agentic-max-turns",
                  "aiperf,sglang", one, absent, "a file is sent as it is; change or cut its rows beforehand"},
    ForeignOption{"--ignore-trace-delays", "aiperf", none, part, "no_delays", true},
    ForeignOption{"--inter-turn-delay-cap-seconds", "aiperf", one, part, "idle_cap", true},
    ForeignOption{"--trace-idle-gap-cap-seconds", "aiperf", one, part, "idle_job_cap", true},
    ForeignOption{"--system-idle-gap-cap-seconds --max-idle-gap-cap-seconds", "aiperf", one, part,
                  "idle_system_cap", true},
    ForeignOption{"--trajectory-start-min-ratio", "aiperf", one, part, "inside_from", true},
    ForeignOption{"--trajectory-start-max-ratio", "aiperf", one, part, "inside_to", true},
    ForeignOption{"--allow-dataset-wrap --no-allow-dataset-wrap --open-loop-replay --no-open-loop-replay "
                  "--force-min-tokens --burst-phase-starts --unsafe-override --use-end-to-start-delays",
                  "aiperf", none},
    ForeignOption{"--no-force-min-tokens", "aiperf", none, part, "end_early", true},
    ForeignOption{"--open-loop-strict --use-think-time-only", "aiperf", none, absent,
                  "turns are sent when the turns before them have ended and their pauses have passed"},
    ForeignOption{"--agentic-cache-warmup-duration", "aiperf", one, part, "agent_warmup_time", true},
    ForeignOption{"--warmup-requests-per-lane", "aiperf", one, part, "agent_warmup", true},
    ForeignOption{"--prompt-corpus", "aiperf", one, part, "corpus", true},
    ForeignOption{"--random-corpus-style", "aiperf", one, part, "ratio_style", true},
    ForeignOption{"--cache-bust", "aiperf"},
    ForeignOption{"--system-prompt --system-prompt-file", "aiperf", one, absent,
                  "a text of one's own is given in \"messages\" of a file with --dataset custom; a shared "
                  "prefix of a length is --dataset shared_prefix:levels=…"},
    ForeignOption{"--hf-weka-dataset --hf-weka-repo", "aiperf", one, part, "weka_on_hub", true},
    ForeignOption{"--session-routing", "aiperf", one, part, "session_routing", true},
    ForeignOption{"--session-routing-opt", "aiperf", one, part, "routing_option", true},
    ForeignOption{"--gsp-group-distribution", "sglang", one, part, "prefix_draw", true},
    ForeignOption{"--gsp-zipf-alpha", "sglang", one, part, "zipf", true},
    ForeignOption{"--fake-prefill", "sglang", none, absent, "prompts are prefilled by the server"},
    ForeignOption{"--sonnet-input-len", "vllm", one, part, "isl", true},
    ForeignOption{"--sonnet-output-len --spec-bench-output-len --speed-bench-output-len", "vllm,sglang", one,
                  part, "osl", true},
    ForeignOption{"--sonnet-prefix-len", "vllm", one, part, "sonnet_prefix", true},
    ForeignOption{"--timed-trace-label-timestamp", "vllm", one, part, "time_column", true},
    ForeignOption{"--timed-trace-label-input-length", "vllm", one, part, "input_column", true},
    ForeignOption{"--timed-trace-label-output-length", "vllm", one, part, "output_column", true},
    ForeignOption{"--timed-trace-label-hash-ids", "vllm", one, part, "hash_column", true},
    ForeignOption{"--chat-template-kwargs", "vllm", one, part, "template_kwargs", true},
    ForeignOption{"--mooncake-num-rounds", "sglang", one, part, "rounds", true},
    ForeignOption{"--mooncake-workload", "sglang", one, part, "workload", true},
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
    ForeignOption{"--gsp-fast-prepare", "sglang", none},
    ForeignOption{"--gsp-send-routing-key", "sglang", none, part, "routing_key", true},
    ForeignOption{"--gsp-ordered", "sglang", none, part, "ordered", true},
    ForeignOption{"--disable-shuffle", "vllm,sglang", none, part, "ordered", true},
    ForeignOption{"--num-prefix-prompts --prefix-prompt-pool-size --prompt-prefix-pool-size", "aiperf", one,
                  part, "prefixes", true},
    ForeignOption{"--prefix-prompt-length --prompt-prefix-length", "aiperf", one, part, "prefix", true},
    ForeignOption{"--shared-system-prompt-length", "aiperf", one, part, "prefix", true},
    ForeignOption{"--user-context-prompt-length", "aiperf", one, part, "context", true},
    ForeignOption{"--input-sequence-length", "aiperf", one, part, "isl", true},
    ForeignOption{"--output-sequence-length", "aiperf", one, part, "osl", true},
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
    ForeignOption{"--session-delay-ratio --conversation-turn-delay-ratio", "aiperf", one, part, "delay_ratio",
                  true},
    ForeignOption{"--tokenize-prompt", "sglang", none},  // --prompt-form auto sends token ids where it can
    ForeignOption{"--no-oversample", "vllm", none, part, "no_oversample"},
    ForeignOption{"--apply-chat-template --skip-chat-template --output-details --save-detailed "
                  "--append-result --save-result --enable-multimodal-chat --pd-separated",
                  "vllm,sglang", none},
    ForeignOption{"--sharegpt-context-len", "sglang", one, absent,
                  "prompts of a file are sent whole; `paretoken dataset convert` writes a file to cut from"},
    ForeignOption{"--hf-subset", "vllm,aiperf", one, part, "hf_subset", true},
    ForeignOption{"--hf-split", "vllm", one, part, "hf_split", true},
    ForeignOption{"--hf-name", "vllm", one},
    ForeignOption{"--bfcl-categories --blazedit-min-distance --blazedit-max-distance --spec-bench-category "
                  "--speed-bench-category --speed-bench-dataset-subset --asr-min-audio-len-sec "
                  "--asr-max-audio-len-sec",
                  "vllm,sglang", one, part, "wanted_rows"},
    ForeignOption{"--image-count --image-resolution --image-format --image-content --image-width-mean "
                  "--image-width-stddev --image-height-mean --image-height-stddev --image-batch-size "
                  "--batch-size-image --audio-batch-size --batch-size-audio --audio-length-mean "
                  "--audio-length-stddev --audio-format --audio-depths --audio-sample-rates "
                  "--audio-num-channels --random-mm-base-items-per-request "
                  "--random-mm-num-mm-items-range-ratio --random-mm-limit-mm-per-prompt "
                  "--random-mm-bucket-config --image-source --image-source-sampling --batch-size-video "
                  "--video-batch-size --video-duration --video-fps --video-width --video-height "
                  "--video-synth-type --video-format --video-codec --video-audio-sample-rate "
                  "--video-audio-num-channels --video-audio-codec --video-audio-depth",
                  "vllm,sglang,aiperf", many, absent, kImages},
    ForeignOption{"--rankings-passages-mean --rankings-passages-stddev --rankings-passages-prompt-token-mean "
                  "--rankings-passages-prompt-token-stddev --rankings-query-prompt-token-mean "
                  "--rankings-query-prompt-token-stddev",
                  "aiperf", one, absent, "only endpoints that generate text are measured"},
    ForeignOption{"--random-image-count", "sglang", none, absent, kImages},
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
    ForeignOption{"--n", "vllm", one, part, "n"},
    ForeignOption{"--lora-path", "vllm", one, absent,
                  "the server has the adapter: --server-cmd '… --enable-lora --lora-modules NAME=PATH' and "
                  "--model NAME"},
    ForeignOption{"--use-beam-search --return-logprob --return-routed-experts", "vllm,sglang", none, absent,
                  "give the fields that the server expects with --extra-body JSON"},
    ForeignOption{"--best-of --top-logprobs-num --token-ids-logprob --logprob-start-len", "vllm,sglang", many,
                  absent, "give the fields that the server expects with --extra-body JSON"},
    ForeignOption{"--output-tokens-mean-deterministic", "aiperf", none, part, "exact_lengths", true},
    ForeignOption{"--lora-request-distribution --lora-assignment", "vllm,sglang", one, part, "adapter_draw",
                  true},
    ForeignOption{"--lora-zipf-alpha", "sglang", one, part, "zipf_alpha", true},
    ForeignOption{"--batch-size --batch", "vllm,sglang", many, part, "batches"},
    ForeignOption{"--model-path", "sglang", one, part, "served_model", true},
    ForeignOption{"--input-len", "sglang", many, part, "isl"},
    ForeignOption{"--output-len", "sglang", many, part, "osl"},
    ForeignOption{"--num-iters", "vllm", one, part, "iterations"},
    ForeignOption{"--num-iters-warmup", "vllm", one, part, "iterations_warmup"},
    ForeignOption{"--output-json --pydantic-result-filename", "vllm,sglang", one, part, "result_file"},
    ForeignOption{"--run-name", "sglang", one, part, "label"},
    ForeignOption{"--async-engine --disable-detokenize --disable-frontend-multiprocessing --skip-warmup "
                  "--show-report --no-append-to-github-summary --parallel-batch --enable-multi-batch "
                  "--skip-token-capacity-check --flush-hicache-storage --append-to-github-summary",
                  "vllm,sglang", none},
    ForeignOption{"--client-stream-interval --local-tokenizer-path --input-len-step-percentage "
                  "--server-args-for-metrics",
                  "sglang"},
    ForeignOption{"--cache-hit-rate", "sglang", one, absent,
                  "`paretoken cache URL` measures shares of hits in the prefix cache"},
    ForeignOption{"--data-type", "guidellm"},
    ForeignOption{"--prompt-tokens --emulated-prompt-tokens", "guidellm", one, part, "isl"},
    ForeignOption{"--output-tokens --generated-tokens --emulated-generated-tokens", "guidellm", one, part,
                  "osl"},
    ForeignOption{"--multi", "sglang", none, part, "multi"},
    ForeignOption{"--request-rate-range", "sglang", one, part, "multi_rates"},
    ForeignOption{"--prompt-suffix", "sglang", one, absent, "prompts are sent as they are"},
    ForeignOption{"--accuracy-benchmark --accuracy-tasks --accuracy-n-shots --accuracy-grader "
                  "--accuracy-system-prompt",
                  "aiperf", one, absent,
                  "the answers of a run are checked with --probe FILE; benchmarks of accuracy are not run"},

    ForeignOption{"--accuracy-enable-cot --accuracy-no-enable-cot --accuracy-verbose", "aiperf", none},

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
    ForeignOption{"--goodput -g", "aiperf", many, part, "aiperf_goodput"},
    ForeignOption{"--metrics", "guidellm", one, part, "metrics", true},
    ForeignOption{"--seed", "guidellm", one, part, "seed"},
    ForeignOption{"--scenario", "aiperf", one, part, "scenario", true},
    ForeignOption{"--scenario", "guidellm", one, absent, "`paretoken translate 'LINE'` reads these files"},
    ForeignOption{"-c --config -f", "guidellm,aiperf", one, absent,
                  "`paretoken translate 'LINE'` reads these files"},
    ForeignOption{"--config", "vllm", one, absent, "`paretoken translate 'LINE'` reads these files"},
    ForeignOption{"--override", "guidellm", many, part, "override"},
    ForeignOption{"--override-config", "aiperf", many, absent,
                  "options are given on the command line, or with --config FILE"},
    ForeignOption{"--verbose -v", "aiperf", none},

    // ---- other tools
    ForeignOption{"--api-base", "genai-bench", one, part, "url"},
    ForeignOption{"--api-model-name", "genai-bench", one, part, "model"},
    ForeignOption{"--api-backend", "genai-bench", one, part, "api_backend"},
    ForeignOption{"--api-key", "genai-bench,evalscope", one, part, "api_key"},
    ForeignOption{"--task", "genai-bench", one, part, "task"},
    ForeignOption{"--max-time-per-run", "genai-bench", one, part, "minutes"},
    ForeignOption{"--max-requests-per-run", "genai-bench", one, part, "num_prompts"},
    ForeignOption{"--num-concurrency", "genai-bench", one, part, "levels"},
    ForeignOption{"--traffic-scenario", "genai-bench", one, part, "traffic"},
    ForeignOption{"--prefix-len", "genai-bench", one, part, "prefix_inside"},
    ForeignOption{"--warmup-ratio", "genai-bench", one, part, "warmup"},
    ForeignOption{"--server-gpu-type", "genai-bench", one, part, "gpu_type"},
    ForeignOption{"--server-gpu-count", "genai-bench", one, part, "gpu_count"},
    ForeignOption{"--additional-request-params", "genai-bench", one, part, "extra_inputs"},
    ForeignOption{"--experiment-base-dir", "genai-bench", one, part, "out"},
    ForeignOption{"--experiment-folder-name", "genai-bench", one, part, "result_name"},
    ForeignOption{"--model --model-tokenizer --cooldown-ratio --server-engine --server-version "
                  "--metrics-time-unit --num-workers --master-port --spawn-rate --iteration-type --log-dir "
                  "--metrics-refresh-interval --batch-size --storage-provider --storage-bucket "
                  "--storage-prefix --storage-auth-type --namespace --auth --config-file --profile --region",
                  "genai-bench"},
    ForeignOption{"--upload-results", "genai-bench", none},
    ForeignOption{"--dataset-prompt-column", "genai-bench", one, part, "prompt_column", true},
    ForeignOption{"--prefix-ratio", "genai-bench", one, part, "prefix_ratio"},
    ForeignOption{"--dataset-config --dataset-image-column", "genai-bench", one, absent,
                  "give JSON lines with \"prompt\" and --dataset-path FILE"},
    ForeignOption{"--mean-input-tokens", "llmperf", one, part, "isl"},
    ForeignOption{"--stddev-input-tokens", "llmperf", one, part, "isl_stddev"},
    ForeignOption{"--mean-output-tokens", "llmperf", one, part, "osl"},
    ForeignOption{"--stddev-output-tokens", "llmperf", one, part, "osl_stddev"},
    ForeignOption{"--num-concurrent-requests", "llmperf", one, part, "concurrency"},
    ForeignOption{"--max-num-completed-requests", "llmperf", one, part, "num_prompts"},
    ForeignOption{"--timeout", "llmperf", one, part, "duration"},
    ForeignOption{"--additional-sampling-params", "llmperf", one, part, "extra_inputs"},
    ForeignOption{"--results-dir", "llmperf", one, part, "out"},
    ForeignOption{"--llm-api", "llmperf", one, part, "llm_api"},
    ForeignOption{"--metadata", "llmperf", one, part, "llmperf_metadata"},
    ForeignOption{"--parallel", "evalscope", many, part, "levels"},
    ForeignOption{"--number -n", "evalscope", many, part, "counts"},
    ForeignOption{"--rate", "evalscope", many, part, "rates"},
    ForeignOption{"--api", "evalscope", one, part, "api"},
    ForeignOption{"--dataset", "evalscope", one, part, "evalscope_dataset"},
    ForeignOption{"--min-prompt-length", "evalscope", one, part, "isl_least"},
    ForeignOption{"--max-prompt-length", "evalscope", one, part, "isl_most"},
    ForeignOption{"--prefix-length", "evalscope", one, part, "prefix"},
    ForeignOption{"--prefix-count", "evalscope", one, part, "prefixes"},
    ForeignOption{"--max-tokens", "evalscope", many, part, "osl"},
    ForeignOption{"--min-tokens", "evalscope", one, part, "min_tokens"},
    ForeignOption{"--extra-args", "evalscope", one, part, "extra_inputs"},
    ForeignOption{"--headers", "evalscope", many, part, "headers"},
    ForeignOption{"--total-timeout --read-timeout", "evalscope", one, part, "timeout"},
    ForeignOption{"--outputs-dir", "evalscope", one, part, "out"},
    ForeignOption{"--name", "evalscope", one, part, "result_name"},
    ForeignOption{"--warmup-num", "evalscope", one, part, "num_warmups"},
    ForeignOption{"--tokenizer-path --connect-timeout --log-every-n-query --queue-size-multiplier "
                  "--in-flight-task-multiplier --alias --visualizer --db-commit-interval --data-source "
                  "--num-workers --attn-implementation --port --sleep-interval --dataset-offset "
                  "--wandb-api-key --swanlab-api-key --swanlab-host",
                  "evalscope"},
    ForeignOption{"--stream --debug --no-timestamp --no-test-connection --enable-progress-tracker "
                  "--apply-chat-template --no-apply-chat-template --multi-turn",
                  "evalscope", none},
    ForeignOption{"--open-loop", "evalscope", none, part, "open_loop"},
    ForeignOption{"--prompt", "evalscope", one, part, "one_prompt"},
    ForeignOption{"--stop", "evalscope", many, part, "stop_texts"},
    ForeignOption{"--stop-token-ids", "evalscope", many, part, "stop_tokens"},
    ForeignOption{"--logprobs", "evalscope", none, part, "logprobs"},
    ForeignOption{"--tokenize-prompt", "evalscope", none, part, "token_ids"},
    ForeignOption{"--min-turns", "evalscope", one, part, "turns_least"},
    ForeignOption{"--max-turns", "evalscope", one, part, "turns_most"},
    ForeignOption{"--multi-turn-args --dataset-args", "evalscope", one, absent,
                  "conversations are --dataset multi_turn:turns=N,first=L,next=L"},
    ForeignOption{"--query-template --n-choices", "evalscope", one, absent,
                  "give the fields that the server expects with --extra-body JSON"},
    ForeignOption{"--sla-auto-tune", "evalscope", none, absent, kSearch},
    ForeignOption{"--sla-variable --sla-params --sla-num-runs --sla-upper-bound --sla-lower-bound "
                  "--sla-fixed-parallel --sla-number-multiplier",
                  "evalscope", one, absent, kSearch},
    ForeignOption{"--image-width --image-height --image-format --image-num --image-patch-size", "evalscope",
                  one, absent, kImages},
    ForeignOption{"--max-vus", "inference-benchmarker", one, part, "vus"},
    ForeignOption{"--rates", "inference-benchmarker", one, part, "rates"},
    ForeignOption{"--num-rates", "inference-benchmarker", one, part, "num_rates"},
    ForeignOption{"--benchmark-kind", "inference-benchmarker", one, part, "kind"},
    ForeignOption{"--prompt-options", "inference-benchmarker", one, part, "prompt_options"},
    ForeignOption{"--decode-options", "inference-benchmarker", one, part, "decode_options"},
    ForeignOption{"--warmup", "inference-benchmarker", one, part, "warmup_duration"},
    ForeignOption{"--model-name", "inference-benchmarker", one, part, "model"},
    ForeignOption{"--profile", "inference-benchmarker", one, part, "traffic_profile"},
    ForeignOption{"--tokenizer-name --run-id --hf-token", "inference-benchmarker"},
    ForeignOption{"--dataset --dataset-file", "inference-benchmarker", one, absent,
                  "nothing is downloaded; save its rows as JSON lines with \"prompt\" and give "
                  "--dataset-path FILE"},
    ForeignOption{"-m --model-name", "perf-analyzer", one, part, "model"},
    ForeignOption{"--service-kind", "aiperf,perf-analyzer", one, part, "service_kind"},
    ForeignOption{"--backend", "aiperf", one, part, "triton_backend"},
    ForeignOption{"--concurrency-range", "perf-analyzer", one, part, "concurrency_range"},
    ForeignOption{"--request-rate-range", "perf-analyzer", one, part, "rate_range"},
    ForeignOption{"--request-distribution", "perf-analyzer", one, part, "pattern"},
    ForeignOption{"--input-data", "perf-analyzer", one, part, "dataset_path"},
    ForeignOption{"--request-count", "perf-analyzer", one, part, "num_prompts"},
    ForeignOption{"--warmup-request-count", "perf-analyzer", one, part, "num_warmups"},
    ForeignOption{"--measurement-interval -p", "perf-analyzer", one, part, "interval"},
    ForeignOption{"--profile-export-file -f --stability-percentage -s --max-threads --measurement-mode "
                  "--measurement-request-count --latency-threshold -l --percentile -i -b -r",
                  "perf-analyzer"},
    ForeignOption{"--async -a --sync -v --verbose --verbose-csv --collect-metrics -d", "perf-analyzer", none},
    ForeignOption{"-t", "perf-analyzer", one, part, "concurrency_range"},
    ForeignOption{"-c", "perf-analyzer", one, absent, "levels are given with --concurrency-range 1:8"},
    ForeignOption{"--periodic-concurrency-range --request-period", "perf-analyzer", one, absent,
                  "a load that rises is --ramp-up 60s, or --arrivals ramp:from=1,to=10,over=60s"},
    ForeignOption{"--string-data --string-length --shape --input-tensor-format --output-tensor-format "
                  "--shared-memory --model-repository --model-signature-name -x",
                  "perf-analyzer", one, absent, kOpenAi},
};

/// What the parts become here.
constexpr std::pair<std::string_view, std::string_view> kParts[] = {
    {"host", "the URL"},
    {"port", "the URL"},
    {"url", "the URL"},
    {"urls", "the URL"},
    {"models", "`--model`"},
    {"model", "`--model`"},
    {"served_model", "`--model`"},
    {"ready_timeout", "`--ready-timeout`"},
    {"reset_cache", "`--reset-cache`"},
    {"server_profile", "`--server-profile`"},
    {"metrics_urls", "`--scrape`"},
    {"no_server_metrics", "`--scrape none`"},
    {"keep_answers", "`--keep-answers`"},
    {"otel", "`--push otlp`"},
    {"trackers", "not needed: results are sent afterwards"},
    {"network_latency", "not needed: nothing is subtracted from the times"},
    {"streamed", "not needed"},
    {"unstreamed", "not needed: every answer is read as a stream"},
    {"one_prompt", "`--dataset-path`"},
    {"open_loop", "`--request-rate` without `--concurrency`"},
    {"token_ids", "`--endpoint-type completions`"},
    {"turns_least", "`--dataset multi_turn:turns=…`"},
    {"turns_most", "`--dataset multi_turn:turns=…`"},
    {"length_pairs", "`paretoken sweep --grid isl=pairs:128/128,pairs:512/256`"},
    {"prefix_ratio", "`--dataset shared_prefix:levels=…`"},
    {"repeats", "`paretoken sweep --repeat N`"},
    {"sweep_type", "`paretoken sweep`"},
    {"sweep_values", "`paretoken sweep --concurrency`, `--request-rate`, `--grid`"},
    {"search", "`paretoken sweep --search slo`"},
    {"search_limit", "`--slo`"},
    {"multi", "`paretoken sweep --request-rate`"},
    {"multi_rates", "`paretoken sweep --request-rate`"},
    {"ttft_limit", "`--slo ttft_p95:MS`"},
    {"tpot_limit", "`--slo tpot_p95:MS`"},
    {"e2e_limit", "`--slo e2e_p99:MS`"},
    {"num_warmups", "`--num-warmups`"},
    {"warmup_load", "not needed: warm-ups are sent as the measured requests are"},
    {"weka_on_hub", "`--dataset weka`"},
    {"agent_warmup", "`--start-inside FROM..TO+N`"},
    {"agent_warmup_time", "`--start-inside FROM..TO`"},
    {"prefill_ramp", "`--ramp-up`"},
    {"rate_ramp", "`--arrivals ramp:from=R,to=R,over=60s`"},
    {"scenario", "`--dataset weka`, `--start-inside FROM..TO`, `--idle-system-cap`"},
    {"interval", "`--duration`"},
    {"concurrency", "`--concurrency`"},
    {"no_replay", "`--concurrency`, `--request-rate`"},
    {"speedup", "`--arrivals trace:scale=0.5`"},
    {"no_delays", "`--concurrency`, `--tool-scale 0`"},
    {"idle_cap", "`--idle-cap`"},
    {"idle_job_cap", "`--idle-job-cap`"},
    {"idle_system_cap", "`--idle-system-cap`"},
    {"inside_from", "`--start-inside FROM..TO`"},
    {"inside_to", "`--start-inside FROM..TO`"},
    {"end_early", "`--no-ignore-eos`"},
    {"corpus", "`--text FILE`"},
    {"ratio_style", "`--range-ratio`, `--isl uniform:min=…,max=…`"},
    {"prefix_draw", "`--dataset shared_prefix:zipf=…`"},
    {"zipf", "`--dataset shared_prefix:zipf=…`"},
    {"isl", "`--isl`"},
    {"sonnet_prefix", "`--dataset shared_prefix:levels=…`"},
    {"template_kwargs", "`--extra-body`"},
    {"delay_ratio", "`--think-time`"},
    {"hf_subset", "`--dataset-path`"},
    {"hf_split", "`--dataset-path`"},
    {"rounds", "`--num-prompts`"},
    {"exact_lengths", "`--ignore-eos`"},
    {"reuse", "`--no-keepalive`"},
    {"metrics", "`--goodput`"},
    {"api_backend", "`--endpoint-type`"},
    {"llm_api", "`--endpoint-type`"},
    {"api", "`--endpoint-type`"},
    {"task", "only text to text"},
    {"minutes", "`--duration`"},
    {"duration", "`--duration`"},
    {"num_prompts", "`--num-prompts`"},
    {"counts", "`--num-prompts`"},
    {"levels", "`--concurrency`, or `sweep`"},
    {"vus", "`--concurrency`"},
    {"rates", "`--request-rate`, or `sweep`"},
    {"num_rates", "`--request-rate auto:N`"},
    {"kind", "`--request-rate`, `--concurrency`, or `sweep`"},
    {"traffic", "`--isl`, `--osl`"},
    {"traffic_profile", "`--isl`, `--osl`"},
    {"prompt_options", "`--isl`"},
    {"decode_options", "`--osl`"},
    {"prefix_inside", "`--dataset shared_prefix:levels=…`"},
    {"isl_least", "`--isl uniform:min=…,max=…`"},
    {"isl_most", "`--isl uniform:min=…,max=…`"},
    {"evalscope_dataset", "`--dataset`"},
    {"gpu_type", "`--gpu`"},
    {"gpu_count", "`--gpu`"},
    {"out", "`--out`"},
    {"llmperf_metadata", "`--metadata`"},
    {"timeout", "`--timeout`"},
    {"warmup_duration", "`--warmup-duration`"},
    {"service_kind", "`--endpoint-type`"},
    {"triton_backend", "`--endpoint-type`"},
    {"concurrency_range", "`--concurrency`, or `sweep`"},
    {"rate_range", "`--request-rate`, or `sweep`"},
    {"dataset_path", "`--dataset-path`"},
    {"backend", "`--endpoint-type`"},
    {"backend_args", "the URL, `--model`, `--extra-body`"},
    {"request_type", "`--endpoint-type`"},
    {"endpoint", "`--endpoint`"},
    {"api_key", "the variable `OPENAI_API_KEY`"},
    {"headers", "`--header`"},
    {"adapters", "`--model A=1,B=1`"},
    {"adapter_draw", "`--model A=.7,B=.3`"},
    {"zipf_alpha", "`--model A=.7,B=.3`"},
    {"batches", "`--concurrency`, or `sweep`"},
    {"iterations", "`--num-prompts`"},
    {"iterations_warmup", "`--num-warmups`"},
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
    {"over_saturation", "`--stop diverging`"},
    {"rampup", "`--ramp-up`"},
    {"warmup", "`--num-warmups`, `--warmup-duration`"},
    {"error_rate", "`--stop errors=5%`"},
    {"cancel_share", "`--cancel p=.1,after=2s`"},
    {"cancel_after", "`--cancel p=.1,after=2s`"},
    {"dataset", "`--dataset`"},
    {"data", "`--isl`, `--osl`, `--dataset-path`"},
    {"columns", "`--dataset columns:prompt=NAME,output_tokens=NAME`"},
    {"prompt_column", "`--dataset columns:prompt=NAME`"},
    {"time_column", "`--dataset columns:timestamp=NAME`"},
    {"input_column", "`--dataset columns:input_tokens=NAME`"},
    {"output_column", "`--dataset columns:output_tokens=NAME`"},
    {"hash_column", "`--dataset columns:hash_ids=NAME,block=512`"},
    {"samples", "left out: the rows are sent in turn, or new prompts are made"},
    {"override", "`--concurrency`, `--request-rate`, or `sweep`"},
    {"wanted_rows", "`--dataset-path`, with the wanted rows in the file"},
    {"entries", "`--num-prompts` where nothing else says how many requests; every prompt is new"},
    {"different_prompts", "not needed: every prompt is new"},
    {"sessions", "`--num-prompts`"},
    {"block", "`--dataset mooncake:block=512`"},
    {"time_unit", "`--dataset mooncake:unit=s`, `--arrivals trace:scale=2`"},
    {"no_oversample", "`--num-prompts all`"},
    {"file_kind", "`--dataset`"},
    {"public_dataset", "`--dataset-path`"},
    {"workload", "`--dataset-path`"},
    {"window_begin", "`jq` cuts the part out of the trace"},
    {"window_end", "`jq` cuts the part out of the trace"},
    {"session_routing", "`--session-header`"},
    {"routing_option", "`--session-header`"},
    {"replay", "`--arrivals trace`"},
    {"time_scale", "`--arrivals trace:scale=2`"},
    {"sglang_ratio", "`--isl uniform:min=…,max=…`"},
    {"inferencex_template", "not needed"},
    {"inferencex_dsv4", "not needed"},
    {"prefix", "`--dataset shared_prefix:levels=…`"},
    {"context", "`--dataset multi_turn:first=…`"},
    {"suffix", "`--dataset shared_prefix:unique=…`"},
    {"prefixes", "`--dataset shared_prefix:groups=…`"},
    {"per_prefix", "`--num-prompts`"},
    {"ordered", "left out: requests with shared prefixes come in a random order"},
    {"routing_key", "left out: `--session-header` sends ids of conversations"},
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
    {"n", "`--extra-body`"},
};

/// The options of each tool that have our name and our meaning.
constexpr std::pair<Tool, std::string_view> kShared[] = {
    {Tool::vllm,
     "--model --endpoint --dataset --dataset-path --num-prompts --num-warmups --request-rate --burstiness "
     "--seed --temperature --ignore-eos --goodput --extra-body --insecure"},
    {Tool::sglang, "--model --dataset-path --num-prompts --request-rate --seed --temperature"},
    {Tool::guidellm, "--model"},
    {Tool::aiperf,
     "--concurrency --request-rate --prefill-concurrency --endpoint --isl --osl --warmup-duration"},
    {Tool::genai_bench, "--dataset-path"},
    {Tool::llmperf, "--model --url"},
    {Tool::evalscope, "--model --dataset-path --seed --temperature --duration"},
    {Tool::inference_benchmarker, "--url --duration"},
    {Tool::perf_analyzer, "--endpoint --header -H"},
};

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
    return *std::ranges::find(kTools, tool, &ToolRow::tool);
}

std::span<const ForeignOption> foreign_options() {
    return kOptions;
}

bool has_tool(std::string_view tools, Tool tool) {
    return has_word(tools, ',', row_of(tool).name);
}

bool has_our_option(Tool tool, std::string_view name) {
    return std::ranges::any_of(
        kShared, [&](const auto& row) { return row.first == tool && has_word(row.second, ' ', name); });
}

const ForeignOption* foreign_option(std::string_view name, std::optional<Tool> tool) {
    const auto* const found = std::ranges::find_if(kOptions, [&](const ForeignOption& option) {
        return has_word(option.names, ' ', name) && (!tool || has_tool(option.tools, *tool));
    });
    return found == std::end(kOptions) ? nullptr : found;
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
    const auto* const found =
        std::ranges::find_if(kParts, [&](const auto& part) { return part.first == option.about; });
    return found == std::end(kParts) ? "`--extra-body`" : found->second;
}

}  // namespace paretoken::cli
