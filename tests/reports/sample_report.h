#pragma once
// Made-up but plausible results that the tests of reports draw, write and read back.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "core/result/metrics.h"
#include "reports/analysis/model/report_model.h"
#include "reports/analysis/sweep/sweep.h"

namespace paretoken::reports::sample {

/// A metric whose values spread around `typical` with a long tail.
inline MetricSummary metric(const std::string& key, double typical, std::uint64_t n) {
    MetricSummary summary;
    summary.key = key;
    summary.n = n;
    summary.mean = typical * 1.05;
    summary.std = typical * 0.2;
    summary.min = typical * 0.7;
    summary.max = typical * 2.4;
    const std::vector<std::pair<double, double>> shape{{.5, 1},     {.75, 1.12}, {.9, 1.3},
                                                       {.95, 1.48}, {.99, 1.9},  {.999, 2.3}};
    for (const auto& [p, factor] : shape)
        summary.percentiles.push_back(
            {.p = p,
             .value = typical * factor,
             .ci95 = Interval{typical * factor * 0.97, typical * factor * 1.04},
             .certified = static_cast<double>(n) * (1 - p) > 4.5,
             .decided = Interval{typical * factor * 0.96, typical * factor * 1.05}});
    return summary;
}

/// A run on a server that decodes about `knee` sequences at once before they slow each other down. `step_s`
/// is the time between tokens at low load, and `n` the number of requests.
inline RunResult run(std::uint64_t concurrency, double step_s = 0.012, double knee = 8,
                     std::uint64_t n = 600) {
    RunResult r;
    const double c = static_cast<double>(concurrency);
    const double itl = step_s * std::sqrt(1 + (c / knee) * (c / knee));
    const double ttft = 0.045 * (1 + c / knee);
    const double outputs = 128;
    const double e2e = ttft + itl * (outputs - 1);
    r.provenance = {
        .version = "0.1.0",
        .commit = "fd6be14c0ffe",
        .argv = {"paretoken", "run", "http://127.0.0.1:8080", "--concurrency", std::to_string(concurrency)},
        .command = "paretoken run http://127.0.0.1:8080 --concurrency " + std::to_string(concurrency) +
                   " --isl 512 --osl 128 --num-prompts 600 --num-warmups 16 --seed 7 --out runs/c" +
                   std::to_string(concurrency),
        .started_at = "2026-11-21T09:38:00Z",
        .host = "bench-3",
        .host_cpu = "AMD EPYC 9B14",
        .host_cores = 2,
        .kernel = "Linux 6.1.0-28-amd64",
        .clock = "kernel receive stamps",
        .url = "http://127.0.0.1:8080",
        .model = "SmolLM2-135M-Instruct.Q4_1.gguf",
        .server_kind = "llama.cpp",
        .hardware = "AMD EPYC 9B14",
        .hardware_count = 1,
        .simulator = {},
        .metadata = {{"build", "b4321"}}};
    r.plan = {{"concurrency", std::to_string(concurrency)}, {"osl", "128"}, {"num-prompts", "600"}};
    r.workload = {.fingerprint = "9f86d081884c7d65",
                  .dataset = "synthetic:isl=512,osl=128",
                  .endpoint = "completions",
                  .seed = 7,
                  .salt = "5a17",
                  .prompt_form = "token ids",
                  .length_source = "token ids",
                  .wanted_input_tokens = 512,
                  .wanted_output_tokens = 128,
                  .achieved_input_tokens = 512,
                  .achieved_output_tokens = 127.6,
                  .input_length = Asked{512, 512},
                  .output_length = Asked{128, 127.6}};
    r.window = {.begin_s = 4.2,
                .end_s = 55.7,
                .run_s = 61.3,
                .steady = true,
                .how = "in-flight and TPOT level from 4.2 s"};
    r.counts = {.requests = n,
                .ok = n,
                .failed = 0,
                .cancelled = 3,
                .warmup = 16,
                .in_window = n - 40,
                .resent = 1,
                .by_outcome = {{"ok", n}},
                .example_errors = {}};
    for (const Metric& m : metrics()) {
        double typical = 0.01;
        if (m.tag == "ttft" || m.tag == "ttft_intended" || m.tag == "ttfa") typical = ttft;
        if (m.tag == "itl" || m.tag == "icl" || m.tag == "tpot") typical = itl;
        if (m.tag == "e2e" || m.tag == "e2e_intended") typical = e2e;
        if (m.tag == "norm_latency") typical = e2e / outputs;
        if (m.tag == "interactivity") typical = outputs / e2e;
        if (m.tag == "decode_interactivity") typical = 1 / itl;
        if (m.tag == "input_tokens") typical = 512;
        if (m.tag == "output_tokens") typical = 128;
        if (m.of_jobs) continue;
        if (m.tag == "cache_hit") continue;  // this server does not report it
        r.metrics.push_back(metric(key_of(m), typical, n));
    }
    const double out = c * outputs / e2e;
    r.throughput.set(figure::kRequests, c / e2e);
    r.throughput.set(figure::kInputTokens, out * 4);
    r.throughput.set(figure::kOutputTokens, out);
    r.throughput.set(figure::kTotalTokens, out * 5);
    r.throughput.set(figure::kMeanInFlight, c * 0.99);
    r.whole_run = r.throughput;
    r.throughput.set(figure::kOutputTokens, out, Interval{out * 0.955, out * 1.045});
    r.client.timing = "kernel";
    r.client.kernel_stamp_share = 1;
    r.client.loop_lag_p50_s = 0.000021;
    r.client.loop_lag_p99_s = 0.000094;
    r.client.refill_lag_mean_s = 0.00012;
    r.client.user_delay_p50_s = 0.000031;
    r.client.user_delay_p99_s = 0.00018;
    r.client.grouped_share = 0.004;
    r.client.late_grouped_share = 0.0005;
    r.client.cpu_share = 0.07;
    r.client.hiccup_share = 0.0004;
    r.client.connections_opened = concurrency;
    r.client.workers = 1;
    r.series = {{"requests_per_s", "req/s", "requests", {0, 1}, {3, 4}},
                {"output_tokens_per_s", "tok/s", "requests", {0, 1}, {out * .6, out}},
                {"in_flight", "requests", "requests", {0, 1}, {c, c}},
                {"ttft_p50_s", "s", "requests", {0}, {ttft}},
                {"failed", "requests", "requests", {0, 1}, {0, 1}}};
    r.concurrency = concurrency;
    return r;
}

/// A run like run(), but with 31 failed requests, so that p95 and higher percentiles have no value. It is
/// invalid because of the client's loop lag, and the failed requests are a warning.
inline RunResult failing_run(std::uint64_t concurrency, double step_s, double knee) {
    RunResult r = run(concurrency, step_s, knee);
    r.counts.failed = 31;
    r.counts.ok = r.counts.requests - 31;
    r.counts.by_outcome = {{"ok", r.counts.ok}, {"http_error", 28}, {"truncated", 3}};
    r.counts.example_errors = {{"http_error", "503 Service Unavailable: {\"error\":\"no slot available\"}"},
                               {"truncated", "the stream ended after 41 tokens without a finish_reason"}};
    for (MetricSummary& m : r.metrics) {
        m.failed_mass = 31.0 / 600;
        for (PercentileValue& p : m.percentiles)
            if (p.p > .94) {
                p.value.reset();
                p.ci95 = Interval{p.ci95->low, std::numeric_limits<double>::infinity()};
            }
    }
    r.validity = {
        .verdict = Verdict::invalid,
        .reasons = {{Verdict::invalid, "loop_lag",
                     "The client was late by 9.1 ms at p99, 6.3 % of the median TTFT (at most 5 %)."},
                    {Verdict::warn, "errors", "5.2 % of requests failed (at most 1 %)."}}};
    return r;
}

/// A run with a failed request, whose percentiles are missing because it withholds them: none of them falls
/// among failures.
inline RunResult withholding_run(std::uint64_t concurrency, double step_s, double knee) {
    RunResult r = run(concurrency, step_s, knee);
    for (MetricSummary& m : r.metrics) {
        m.n = 6000;
        m.failed_mass = 1.0 / 6000;
        for (PercentileValue& p : m.percentiles) p = {.p = p.p, .value = {}};
    }
    return r;
}

inline ReportPoint point(RunResult result, const std::string& directory, double usd_per_s) {
    ReportPoint p;
    p.directory = directory;
    p.load = static_cast<double>(result.concurrency.value_or(0));
    p.load_label = load_label_of(result);
    p.output_tokens_per_s = result.throughput.at(figure::kOutputTokens);
    const double norm_p90 = *result.metric("norm_latency_s_per_tok")->at(.9)->value;
    p.interactivity = 1 / norm_p90;
    p.certified = result.counts.requests > 44;
    const double out = *p.output_tokens_per_s;
    const double usd = usd_per_s * 1e6 / out;
    const Interval ci = *result.throughput.interval(figure::kOutputTokens);
    p.cost = PointCost{.usd_per_m_output = usd,
                       .usd_per_m_output_ci95 = Interval{usd_per_s * 1e6 / ci.high, usd_per_s * 1e6 / ci.low},
                       .price_band = Interval{usd * .8, usd * 1.25},
                       .usd_per_m_total = usd / 5,
                       .usd_per_m_input_split = usd / 8,
                       .usd_per_m_output_split = usd / 2,
                       .usd_per_m_goodput = {}};
    p.limit_output_tokens_per_s = out * (1.35 + 0.05 * p.load);
    p.limit_interactivity = *p.interactivity * 1.9;
    p.of_limit = out / *p.limit_output_tokens_per_s;
    p.on_front = true;
    p.result = std::move(result);
    return p;
}

inline Configuration configuration(const std::string& title, double step_s, double knee, double usd_per_s) {
    Configuration c;
    c.title = title;
    c.hardware = "AMD EPYC 9B14";
    c.workload = "512 in : 128 out, completions, cache hit 0 %";
    for (const std::uint64_t load : {1, 2, 4, 8, 16, 32})
        c.points.push_back(point(run(load, step_s, knee), "runs/" + std::to_string(load), usd_per_s));
    for (double batch = 1; batch <= 64; batch *= 1.5) {
        const double step = step_s * 0.55 * std::sqrt(1 + (batch / knee / 1.6) * (batch / knee / 1.6));
        const double rate = batch / step;
        c.hard_limit.push_back({.batch = batch,
                                .interactivity = 1 / step,
                                .output_tokens_per_s = rate,
                                .usd_per_m_output = usd_per_s * 1e6 / rate});
    }
    c.limit_terms = {
        {"weight bandwidth", 31.4, "GB/s", "measured by micro on AMD EPYC 9B14, 2026-11-21"},
        {"KV attention bandwidth", 22.9, "GB/s", "measured by micro on AMD EPYC 9B14, 2026-11-21"},
        {"weights streamed per step", 0.0934, "GB", "model card (GGUF metadata)"}};
    c.dropped_terms = {"compute (no GEMM was measured)"};
    char sentence[200];
    std::snprintf(sentence, sizeof sentence,
                  ": at %.3g tok/s per user $%.3g per million output tokens; the hardware floor is $%.3g. "
                  "Valid, 6 points, "
                  "2026-11-21.",
                  *c.points[3].interactivity, c.points[3].cost->usd_per_m_output,
                  c.points[3].cost->usd_per_m_output * .57);
    c.answer = title + sentence;
    return c;
}

/// Two configurations with a dominated, an uncertified and an invalid point.
inline ReportModel report() {
    ReportModel model;
    model.title = "SmolLM2-135M on two cores";
    model.generated_at = "2026-11-21T10:02:11Z";
    model.version = "0.1.0";
    Configuration small = configuration("SmolLM2-135M q4_1 on AMD EPYC 9B14 (2 cores)", 0.012, 8, 2.4e-5);
    small.points[4].on_front = false;
    small.points[4].why_not = "dominated by c=8";
    small.points[4].cost->usd_per_m_output *= 1.6;
    small.points[4].cost->usd_per_m_output_ci95 =
        Interval{small.points[4].cost->usd_per_m_output * .95, small.points[4].cost->usd_per_m_output * 1.05};
    small.points[0].certified = false;
    small.points[5] = point(failing_run(32, 0.012, 8), "runs/32", 2.4e-5);
    small.points[5].on_front = false;
    small.points[5].why_not = "invalid: loop_lag";
    Configuration large = configuration("SmolLM2-135M bf16 on AMD EPYC 9B14 (2 cores)", 0.031, 5, 2.4e-5);
    large.points[5].result.validity = {
        .verdict = Verdict::warn,
        .reasons = {{Verdict::warn, "errors", "1.2 % of requests failed (at most 1 %)."}}};
    model.configurations = {small, large};
    model.price = PriceNote{.card = "2026-11-cpu",
                            .as_of = "2026-11-01",
                            .source = "list prices of three clouds, general-purpose machines",
                            .basis = "on_demand",
                            .power = {},
                            .currency = "USD",
                            .rates = {{"AMD EPYC 9B14, 2 cores", 0.0864, "$/h", "2 × $0.0432/h"}}};
    model.notes = {"runs/old: left out, its workload fingerprint differs"};
    return model;
}

}  // namespace paretoken::reports::sample
