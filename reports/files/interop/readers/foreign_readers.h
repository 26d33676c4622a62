#pragma once
// The readers of foreign.cpp's table, one file each. "…_repeats" is ForeignFormat::repeats_others.
#include <filesystem>
#include <string_view>
#include <vector>

#include "reports/files/interop/foreign.h"

namespace paretoken::reports {

bool is_vllm_bench(std::string_view text);
std::vector<ForeignRun> vllm_bench_runs(const std::filesystem::path& file);
bool vllm_bench_repeats(const std::filesystem::path& file);

bool is_sglang_bench(std::string_view text);
std::vector<ForeignRun> sglang_bench_runs(const std::filesystem::path& file);

bool is_aiperf(std::string_view text);
std::vector<ForeignRun> aiperf_runs(const std::filesystem::path& file);
bool aiperf_repeats(const std::filesystem::path& file);

bool is_guidellm(std::string_view text);
std::vector<ForeignRun> guidellm_runs(const std::filesystem::path& file);

bool is_inference_perf(std::string_view text);
std::vector<ForeignRun> inference_perf_runs(const std::filesystem::path& file);
bool inference_perf_repeats(const std::filesystem::path& file);

bool is_genai_bench(std::string_view text);
std::vector<ForeignRun> genai_bench_runs(const std::filesystem::path& file);

bool is_inference_benchmarker(std::string_view text);
std::vector<ForeignRun> inference_benchmarker_runs(const std::filesystem::path& file);

bool is_benchmark_report(std::string_view text);
std::vector<ForeignRun> benchmark_report_runs(const std::filesystem::path& file);
bool benchmark_report_repeats(const std::filesystem::path& file);

bool is_llmperf(std::string_view text);
std::vector<ForeignRun> llmperf_runs(const std::filesystem::path& file);
bool llmperf_repeats(const std::filesystem::path& file);

bool is_evalscope(std::string_view text);
std::vector<ForeignRun> evalscope_runs(const std::filesystem::path& file);

bool is_endpoints(std::string_view text);
std::vector<ForeignRun> endpoints_runs(const std::filesystem::path& file);

bool is_llama_bench(std::string_view text);
std::vector<ForeignRun> llama_bench_runs(const std::filesystem::path& file);

bool is_batched_bench(std::string_view text);
std::vector<ForeignRun> batched_bench_runs(const std::filesystem::path& file);

bool is_inferencex(std::string_view text);
std::vector<ForeignRun> inferencex_runs(const std::filesystem::path& file);

}  // namespace paretoken::reports
