#include "reports/files/interop/run_export.h"

namespace paretoken::reports {

const std::vector<RunExport>& run_exports() {
    static const std::vector<RunExport> all = {
        {"vllm", "the result file of vllm bench serve, with every request", vllm_bench_text},
        {"aiperf", "AIPerf's profile_export_aiperf.json", aiperf_text},
        {"benchmark-report", "llm-d's Benchmark Report 0.2.1", benchmark_report_text},
        {"openmetrics", "gauges in the OpenMetrics text format", openmetrics_text},
        {"otlp", "OpenTelemetry metrics as OTLP/HTTP JSON", otlp_text},
        {"bencher", "the Bencher Metric Format", bencher_text},
        {"github-benchmark-smaller", "github-action-benchmark, customSmallerIsBetter", github_smaller_text},
        {"github-benchmark-bigger", "github-action-benchmark, customBiggerIsBetter", github_bigger_text},
    };
    return all;
}

}  // namespace paretoken::reports
