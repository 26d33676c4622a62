#include "reports/analysis/model/join/gaps.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

#include "cards/gpu.h"
#include "core/result/overload.h"
#include "reports/analysis/model/join/figures_of_run.h"
#include "reports/document/table.h"

namespace paretoken::reports {

namespace {

std::optional<double> server_figure(const RunResult& result, const std::string& key) {
    if (!result.server) return {};
    const auto found = result.server->window.find(key);
    return found == result.server->window.end() ? std::nullopt : positive(found->second);
}

/// The most requests that the servers run at once, by llama.cpp's own settings; nothing for other servers.
std::optional<double> slots_of(const RunResult& result) {
    if (!result.server) return {};
    const auto found = result.server->config.find("total_slots");
    if (found == result.server->config.end()) return {};
    double slots = 0;
    const char* const end = found->second.data() + found->second.size();
    if (const auto [stop, error] = std::from_chars(found->second.data(), end, slots);
        error != std::errc{} || stop != end)
        return {};
    return positive(slots * static_cast<double>(std::max<std::size_t>(1, result.targets.size())));
}

}  // namespace

void cap_at_slots(LimitInputs& inputs, const std::vector<ReportPoint>& points) {
    double most = 0;
    for (const ReportPoint& point : points) {
        const auto slots = slots_of(point.result);
        if (!slots) return;
        most = std::max(most, *slots);
    }
    inputs.max_sequences = most;
    inputs.terms.push_back({"requests that run at once", most, "requests", "the server's total_slots"});
}

namespace {

/// Sets the time that the server spent on the prompts of the run, from its own figures.
void add_prefill_of_server(GapRun& run, const RunResult& result) {
    std::optional<double> all_s;  // the sum of the prompts' own times
    std::string name;
    if (const auto tokens = server_figure(result, "prompt_tokens"))
        if (const auto seconds = server_figure(result, "prompt_seconds")) {
            all_s = *seconds / *tokens * run.work.fresh_input_tokens;
            name = "prompt_seconds";
        }
    if (!all_s)
        if (const auto each = server_figure(result, "prefill_mean_s")) {
            all_s = *each * run.work.prompts;
            name = "prefill";
        }
    if (!all_s || !(run.output_tokens_per_s > 0)) return;
    // With n running requests, the prompts' times overlap. By Little's law each request is in its prompt for
    // this share of the time; at least one is for the remainder of (1 − share)^n.
    const double measured_s = run.work.output_tokens / run.output_tokens_per_s;
    const double n =
        std::max(1.0, std::min(run.in_flight, run.running.value_or(run.slots.value_or(run.in_flight))));
    const double share = std::min(1.0, *all_s / measured_s / n);
    run.prefill_s = measured_s * (1 - std::pow(1 - share, n));
    const auto source = result.server->sources.find(name);
    run.prefill_source = fmt::format("measured: {} ms per prompt, by the server's {}",
                                     significant(run.work.prompts > 0 ? *all_s / run.work.prompts * 1e3 : 0),
                                     source == result.server->sources.end() ? "metrics" : source->second);
}

/// The valid run with one request at a time, whose TTFT is the time of a prompt alone; null if there is none.
const ReportPoint* run_alone(const Configuration& configuration) {
    for (const ReportPoint& point : configuration.points)
        if (point.result.concurrency == 1U && !point.open_loop &&
            point.result.validity.verdict != Verdict::invalid)
            return &point;
    return nullptr;
}

/// Sets the time that the server spent on the prompts of the run, from the TTFT of the run with one request
/// at a time, in proportion to the computed tokens of a prompt.
void add_prefill_of_ttft(GapRun& run, const ReportPoint* alone) {
    const MetricSummary* const ttft = alone != nullptr ? alone->result.metric("ttft_s") : nullptr;
    if (ttft == nullptr || !ttft->mean || !(*ttft->mean > 0) || !(run.work.prompts > 0)) return;
    const Totals there = work_of(alone->result);
    const double fresh = run.work.fresh_input_tokens / run.work.prompts;
    const double fresh_there = there.prompts > 0 ? there.fresh_input_tokens / there.prompts : 0;
    const double each = *ttft->mean * (fresh_there > 0 ? fresh / fresh_there : 1);
    run.prefill_s = each * run.work.prompts;
    run.prefill_source = fmt::format("measured: {} ms per prompt, by the TTFT at one in flight ({})",
                                     significant(each * 1e3), alone->load_label);
}

/// "88 % of the prompts' tokens stood in the turn before, and a cache served 41 % of these; a cache served
/// 36 % of all prompts' tokens; 85 % is the best possible share of the whole file", as far as it is known.
std::string cached_part_of(const RunResult& result) {
    std::string text;
    if (result.jobs && result.jobs->continued_ratio && result.jobs->cached_of_continued)
        text = fmt::format(
            "{:.0f} % of the prompts' tokens stood in the turn before, and a cache served {:.0f} % of these",
            100 * *result.jobs->continued_ratio, 100 * *result.jobs->cached_of_continued);
    const auto best = result.workload.best_possible_cached_ratio;
    const auto cached = cached_share(result);
    if (!best) return text;
    if (!text.empty()) text += "; ";
    if (cached) text += fmt::format("a cache served {:.0f} % of all prompts' tokens; ", 100 * *cached);
    return text + fmt::format("{:.0f} % is the best possible share of the whole file", 100 * *best);
}

/// The mean number of requests that the servers ran at once, by their gauges. A few readings miss it, so that
/// requests that neither wait nor run by these count as running.
std::optional<double> running_of(const RunResult& result, double in_flight) {
    const auto running = server_figure(result, "running");
    if (!running || !result.server->window.contains("waiting")) return running;
    return std::max(*running, in_flight - result.server->window.at("waiting"));
}

}  // namespace

GapRun gap_run_of(const ReportPoint& point) {
    GapRun run{.work = work_of(point.result),
               .in_flight = batch_of(point.result).value_or(0),
               .output_tokens_per_s = point.output_tokens_per_s.value_or(0),
               .closed_loop = !point.open_loop,
               .keeps_in_flight = !point.open_loop && pausing_of(point.result) == 0,
               .running = running_of(point.result, batch_of(point.result).value_or(0)),
               .reads_metrics = point.result.server && point.result.server->scrapes > 0,
               .kv_usage = server_figure(point.result, "kv_usage_max"),
               .slots = slots_of(point.result)};
    run.cached_part = cached_part_of(point.result);
    run.preemptions = server_figure(point.result, "preemptions");
    if (const auto passes = server_figure(point.result, "drafts")) {
        run.drafts = server_figure(point.result, "draft_tokens").value_or(0) / *passes;
        run.tokens_per_pass = 1 + server_figure(point.result, "accepted_tokens").value_or(0) / *passes;
    }
    if (point.cost) run.usd_per_m_output = point.cost->usd_per_m_output;
    return run;
}

namespace {

/// The seconds that each rank needs in a step to send its bytes when every layer's two sums go around a ring.
std::optional<double> communication_s(const cards::ModelCard& model, const std::optional<cards::GpuCard>& gpu,
                                      double ranks, double batch) {
    if (ranks <= 1) return 0;
    if (!gpu || !gpu->link_bytes_per_s) return {};
    constexpr double kBytesPerValue = 2;
    const double sum = batch * static_cast<double>(model.hidden) * kBytesPerValue;
    return 2 * static_cast<double>(model.layers) * sum * 2 * (ranks - 1) / ranks / *gpu->link_bytes_per_s;
}

/// Whether a real CPU served.
bool is_cpu(const Served& served, const Provenance& provenance) {
    if (served.simulated || served.datasheet) return false;
    if (!served.micro.empty()) return served.micro.front()->device.backend == MicroBackend::cpu;
    return !served.hardware.empty() && served.hardware == provenance.host_cpu;
}

}  // namespace

void add_gaps(Configuration& configuration, const GapInputs& inputs, const Served& served,
              const cards::ModelCard* model) {
    const ReportPoint* const alone = run_alone(configuration);
    for (ReportPoint& point : configuration.points) {
        if (!kept_up(point.result)) continue;  // a queue that grows makes the step as long as the run
        GapRun run = gap_run_of(point);
        GapInputs own = inputs;
        if (!served.simulated) add_prefill_of_server(run, point.result);
        if (!served.simulated && !run.prefill_s) add_prefill_of_ttft(run, alone);
        own.on_cpu = is_cpu(served, point.result.provenance);
        if (!served.simulated && model != nullptr) {
            const double ranks = served.priced ? served.priced->count : 1;
            own.communication_s_per_step = communication_s(*model, served.datasheet, ranks, run.in_flight);
            own.communication_source = ranks > 1 ? "the datasheet's link, sums around a ring" : "one device";
        }
        point.gap = gap_of(run, own);
    }
}

GapInputs gap_inputs_of(const LimitInputs& limit, const std::optional<LimitInputs>& datasheet,
                        const Provenance& provenance) {
    GapInputs inputs{
        .datasheet = datasheet ? *datasheet : limit, .measured = limit, .simulator = provenance.simulator};
    if (limit.reachable && limit.reachable->small_kernels_s > 0) {
        inputs.overhead_s_per_step = limit.reachable->small_kernels_s;
        inputs.overhead_source = "launches of small kernels, measured by micro";
    }
    return inputs;
}

}  // namespace paretoken::reports
