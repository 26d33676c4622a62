#pragma once
// Writes a run in the formats of other programs: a function in a file beside this one and a row of
// run_exports() each. No export holds a URL's password or query, a header, or the text of a prompt or answer.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result/metrics.h"
#include "core/units.h"
#include "reports/files/interop/exposition.h"

namespace paretoken {
struct RunResult;
}

namespace paretoken::reports {

struct StoredRun;

/// A run to export. The references must outlive it.
struct ExportedRun {
    const RunResult& result;
    const StoredRun& stored;
};

struct RunExport {
    std::string_view name;  ///< "vllm"
    std::string_view what;  ///< words for help
    std::string (*text_of)(const ExportedRun& run) = nullptr;
};

/// A metric's percentile or a figure of a run, under the name that histories of benchmarks know it by.
struct NamedValue {
    std::string name;  ///< "ttft_p95_s", "output_tokens_per_s"
    std::string unit;
    Better better = Better::neither;
    double value = 0;
    std::optional<Interval> ci95 = {};
};
/// The median, p95 and p99 of every metric, and every figure of the window.
std::vector<NamedValue> named_values(const RunResult& result);

const std::vector<RunExport>& run_exports();

/// The result file of `vllm bench serve --save-detailed`, over requests that succeeded, in milliseconds.
std::string vllm_bench_text(const ExportedRun& run);
/// AIPerf's profile_export_aiperf.json, schema 1.4. Its inter-token latency is the mean of each request.
std::string aiperf_text(const ExportedRun& run);
/// The Bencher Metric Format: a value with its 95 % interval for each metric and figure.
std::string bencher_text(const ExportedRun& run);
/// The input of github-action-benchmark for metrics and figures where less, or more, is better.
std::string github_smaller_text(const ExportedRun& run);
std::string github_bigger_text(const ExportedRun& run);
/// Metrics and figures as gauges in the OpenMetrics text format, without times.
std::string openmetrics_text(const ExportedRun& run);
/// Gauges of one or several runs, which differ in their labels (repeats in the label "repeat").
std::vector<MetricFamily> run_families(const std::vector<const RunResult*>& runs);
/// OpenTelemetry metrics as OTLP/HTTP JSON, with the client metrics of the GenAI conventions.
std::string otlp_text(const ExportedRun& run);
/// llm-d's Benchmark Report 0.2.1 as JSON, which is also YAML.
std::string benchmark_report_text(const ExportedRun& run);

}  // namespace paretoken::reports
