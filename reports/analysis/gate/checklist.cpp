#include "reports/analysis/gate/checklist.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "core/result/slo.h"
#include "core/statistics.h"
#include "core/text/number_text.h"
#include "reports/analysis/cost/cost.h"
#include "reports/document/table.h"

namespace paretoken::reports {
namespace {

using Runs = std::span<const GateRun>;

/// The argument that makes a command measure the candidate: its URL, or the command that starts its server.
std::string candidate_of(Runs runs) {
    const Provenance& from = runs.front().result.provenance;
    return from.server ? fmt::format("--server-cmd '{}'", from.server->command) : from.url;
}

std::string scrape_command(Runs runs) {
    return fmt::format("paretoken run {} --scrape http://HOST:PORT/metrics (the server's own metrics)",
                       candidate_of(runs));
}

/// The largest value among the runs; nothing when no run has a value.
std::optional<double> worst_of(Runs runs,
                               const std::function<std::optional<double>(const RunResult&)>& value) {
    std::optional<double> worst;
    for (const GateRun& run : runs)
        if (const auto one = value(run.result)) worst = std::max(worst.value_or(*one), *one);
    return worst;
}

std::optional<double> of_server(const RunResult& run, const std::string& key) {
    if (!run.server) return std::nullopt;
    const auto found = run.server->window.find(key);
    return found == run.server->window.end() ? std::nullopt : std::optional(found->second);
}

/// The p95 of the KV cache usage, from the readings inside the window.
std::optional<double> kv_usage_p95(const RunResult& run) {
    const auto series = std::find_if(run.series.begin(), run.series.end(),
                                     [](const Series& s) { return s.name == "kv_usage"; });
    if (series == run.series.end()) return std::nullopt;
    std::vector<double> values;
    for (std::size_t i = 0; i < series->values.size(); ++i)
        if (series->times_s[i] >= run.window.begin_s && series->times_s[i] <= run.window.end_s)
            values.push_back(series->values[i]);
    if (values.empty()) return std::nullopt;
    std::sort(values.begin(), values.end());
    return percentile(values, .95);
}

CheckItem kv_cache(Runs runs) {
    const auto used = worst_of(runs, kv_usage_p95);
    if (!used) return {"KV cache in use, p95", false, scrape_command(runs)};
    return {"KV cache in use, p95", true,
            fmt::format("{:.1f} %{}", *used * 100,
                        *used > .9 ? "; above 90 % requests are preempted or wait soon" : "")};
}

CheckItem queue(Runs runs) {
    const auto waiting = worst_of(runs, [](const RunResult& run) { return of_server(run, "waiting"); });
    if (!waiting) return {"queue at this load", false, scrape_command(runs)};
    const auto wait = worst_of(runs, [](const RunResult& run) { return of_server(run, "queue_mean_s"); });
    return {"queue at this load", true,
            fmt::format("{} requests wait on average{}", number_text(*waiting),
                        wait ? fmt::format(", {} ms each", number_text(*wait * 1e3)) : "")};
}

CheckItem hits(Runs runs) {
    const auto ratio = [](const RunResult& run) {
        const auto own = of_server(run, "prefix_hit_ratio");
        return own ? own : run.throughput.at(figure::kCachedPromptRatio);
    };
    const auto found = worst_of(runs, ratio);
    if (!found)
        return {"prefix-cache hits at this load", false,
                fmt::format("paretoken cache {} (whether caching works there)", candidate_of(runs))};
    return {"prefix-cache hits at this load", true,
            fmt::format("{:.1f} % of the prompts' tokens", *found * 100)};
}

CheckItem preemptions(Runs runs) {
    const auto count = worst_of(runs, [](const RunResult& run) { return of_server(run, "preemptions"); });
    if (!count) return {"preemptions", false, scrape_command(runs)};
    return {"preemptions", true, fmt::format("{} in the run with the most", number_text(*count))};
}

/// Whether prompts begin alike. Only prompts that users sent can show this, so a run without a dataset of
/// contents does not.
CheckItem static_head(Runs runs) {
    constexpr double kShared = .05;
    const RunResult& run = runs.front().result;
    const auto path = run.plan.find("dataset_content");
    const auto cached = run.throughput.at(figure::kCachedPromptRatio);
    if (path == run.plan.end() || path->second.empty() || cached.value_or(0) < kShared)
        return {"prompts begin alike (static head)", false,
                "paretoken dataset audit LOG (a log of the requests that will come)"};
    return {"prompts begin alike (static head)", true,
            fmt::format("{:.1f} % of their tokens came from the cache", *cached * 100)};
}

CheckItem certified_slo(const GateReport& report, Runs runs) {
    std::string texts;
    bool all = true;
    const auto add = [&](const std::string& text, bool passes) {
        texts += (texts.empty() ? "" : "; ") + text;
        all = all && passes;
    };
    for (const GateRow& row : report.rows)
        if (row.title.starts_with("Limit ")) add(row.metric, row.verdict == GateVerdict::pass);
    for (const GateRun& run : runs)
        for (const SloResult& slo : run.result.slo)
            if (slo.verdict != SloVerdict::met || &run == runs.data())
                add(slo_text(slo), slo.verdict == SloVerdict::met);
    if (texts.empty() || !all)
        return {"limits certified", false,
                fmt::format("--limit 'ttft_p95<800ms' with enough requests{}",
                            texts.empty() ? "" : fmt::format("; not certified: {}", texts))};
    return {"limits certified", true, texts};
}

CheckItem quality(Runs runs) {
    for (const GateRun& run : runs)
        if (const auto& score = run.result.quality)
            return {"answers probed", true,
                    fmt::format("{:.3g} % of {} right ({})", score->score * 100, score->n, score->probe)};
    return {"answers probed", false, "--probe FILE.jsonl, or --probe recall:ctx=4k,n=40"};
}

CheckItem cost(Runs runs, std::span<const cards::PriceCard> prices) {
    constexpr double kSecondsPerHour = 3600;
    const RunResult& run = runs.front().result;
    const auto rate = run.throughput.at(figure::kOutputTokens);
    const Provenance& from = run.provenance;
    for (const cards::PriceCard& card : prices) {
        const auto hourly = cards::hourly_rate(card, priced_hardware(from), {}, measured_power_of(run));
        const auto usd = hourly && rate ? usd_per_m_output(hourly->usd_per_h / kSecondsPerHour, *rate)
                                        : std::optional<double>();
        if (usd)
            return {"cost", true,
                    fmt::format("${} per million output tokens ({}, {}, {})", dollars(*usd), hourly->how,
                                hourly->basis, card.as_of)};
    }
    return {"cost", false,
            fmt::format("paretoken report {} (--gpu of the runs names the serving hardware)",
                        runs.front().directory)};
}

}  // namespace

std::vector<CheckItem> checklist_of(const GateReport& report, std::span<const GateRun> candidate,
                                    std::span<const cards::PriceCard> prices) {
    return {kv_cache(candidate),    queue(candidate),       hits(candidate),
            preemptions(candidate), static_head(candidate), certified_slo(report, candidate),
            quality(candidate),     cost(candidate, prices)};
}

}  // namespace paretoken::reports
