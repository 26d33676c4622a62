#include "reports/analysis/gate/checklist.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <optional>

#include "core/error.h"
#include "core/result/slo.h"
#include "core/spec.h"
#include "core/statistics.h"
#include "core/text/command_secrets.h"
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
    const auto series = std::ranges::find(run.series, "kv_usage", &Series::name);
    if (series == run.series.end()) return std::nullopt;
    std::vector<double> values;
    for (std::size_t i = 0; i < series->values.size(); ++i)
        if (series->times_s[i] >= run.window.begin_s && series->times_s[i] <= run.window.end_s)
            values.push_back(series->values[i]);
    if (values.empty()) return std::nullopt;
    std::ranges::sort(values);
    return percentile(values, .95);
}

CheckItem kv_cache(Runs runs) {
    const auto used = worst_of(runs, kv_usage_p95);
    if (!used) return {"KV cache in use, p95", false, scrape_command(runs)};
    return {"KV cache in use, p95", true,
            fmt::format("{:.1f} %{}", *used * 100,
                        *used > .9   ? "; above 90 % requests are preempted or wait soon"
                        : *used < .3 ? "; less than 30 %: a smaller GPU, or more load on this one, would do"
                                     : "")};
}

using CommandWords = std::vector<std::string_view>;

/// The words of the command that started the server; empty if the run did not start it.
CommandWords server_words(const RunResult& run) {
    return run.provenance.server ? command_words(run.provenance.server->command) : CommandWords();
}

/// The first value of the options that `accepts` takes. Programs before the server may have options of the
/// same names.
std::optional<std::string_view> option_among(std::span<const std::string_view> words,
                                             std::initializer_list<std::string_view> options,
                                             const std::function<bool(std::string_view)>& accepts) {
    for (std::size_t i = 0; i < words.size(); ++i)
        for (const std::string_view option : options) {
            std::string_view value;
            if (words[i] == option && i + 1 < words.size()) value = words[i + 1];
            if (words[i].starts_with(option) && words[i].substr(option.size()).starts_with('='))
                value = words[i].substr(option.size() + 1);
            if (!value.empty() && accepts(value)) return value;
        }
    return std::nullopt;
}

std::optional<std::uint64_t> parsed_count(std::string_view text) {
    try {
        return parse_count(text);
    } catch (const UsageError&) {
        return std::nullopt;
    }
}

std::optional<std::uint64_t> count_among(std::span<const std::string_view> words,
                                         std::initializer_list<std::string_view> options) {
    const auto value = option_among(words, options,
                                    [](std::string_view text) { return parsed_count(text).value_or(0) > 0; });
    return value ? parsed_count(*value) : std::nullopt;
}

/// The context of one request of llama.cpp, which divides its context among slots unless they share it.
std::optional<std::uint64_t> llamacpp_context(const CommandWords& words) {
    const auto program = std::ranges::find_if(
        words, [](std::string_view word) { return word.find("llama") != std::string_view::npos; });
    const std::span own(program, words.end());
    const auto context = count_among(own, {"--ctx-size", "-c"});
    if (!context) return std::nullopt;
    const bool is_shared = std::ranges::any_of(
        own, [](std::string_view word) { return word == "--kv-unified" || word == "-kvu"; });
    return is_shared ? *context : *context / count_among(own, {"--parallel", "-np"}).value_or(1);
}

/// The longest context of a request by the server's command.
std::optional<std::uint64_t> context_by_command(const CommandWords& words) {
    const auto limit = count_among(words, {"--max-model-len", "--context-length", "--max_seq_len"});
    return limit ? limit : llamacpp_context(words);
}

std::optional<double> number_in_config(const RunResult& run, const std::string& key) {
    if (!run.server) return std::nullopt;
    const auto found = run.server->config.find(key);
    if (found == run.server->config.end()) return std::nullopt;
    char* end = nullptr;
    const double value = std::strtod(found->second.c_str(), &end);
    return *end == '\0' && value > 0 ? std::optional(value) : std::nullopt;
}

/// The most tokens that a request may have had: the longest prompt and the longest answer together.
std::optional<double> request_tokens(const RunResult& run) {
    const MetricSummary* const input = run.metric("input_tokens_tok");
    const MetricSummary* const output = run.metric("output_tokens_tok");
    if (input == nullptr || output == nullptr || !input->max || !output->max) return std::nullopt;
    return *input->max + *output->max;
}

/// Whether the pool holds what this load has in flight.
CheckItem pool(Runs runs) {
    const RunResult& run = runs.front().result;
    const auto blocks = number_in_config(run, "cache_config.num_gpu_blocks");
    const auto block = number_in_config(run, "cache_config.block_size");
    const auto running = of_server(run, "running_max");
    const auto each = request_tokens(run);
    if (!blocks || !block || !running || !each)
        return {"KV pool for this load", false,
                scrape_command(runs) + ", or paretoken plan --model-card MODEL --gpu GPU"};
    const double tokens = *blocks * *block;
    return {
        "KV pool for this load", true,
        fmt::format("{:.0f} tokens; {:.0f} requests of at most {:.0f} tokens ran at once{}", tokens, *running,
                    *each, *running * *each > tokens ? ", which is more than the pool holds" : "")};
}

CheckItem context(Runs runs) {
    const RunResult& run = runs.front().result;
    const auto limit = context_by_command(server_words(run));
    const auto each = request_tokens(run);
    if (!limit || !each)
        return {
            "longest context", false,
            "--server-cmd with --max-model-len (--context-length, --ctx-size); paretoken plan suggests one"};
    return {"longest context", true,
            fmt::format("{} tokens by the server's command; requests had at most {:.0f}", *limit, *each)};
}

CheckItem batching(Runs runs) {
    const auto most = worst_of(runs, [](const RunResult& run) { return of_server(run, "running_max"); });
    if (!most) return {"requests are batched", false, scrape_command(runs)};
    const bool shown = *most > 1;
    return {"requests are batched", shown,
            shown ? fmt::format("up to {} at once", number_text(*most))
                  : "the server never ran two requests at once: measure at a higher load"};
}

CheckItem attention(Runs runs) {
    const CommandWords words = server_words(runs.front().result);
    const auto backend = option_among(words, {"--attention-backend", "--flash-attn", "-fa"},
                                      [](std::string_view value) { return !value.starts_with('-'); });
    if (!backend)
        return {"attention kernels", false,
                "--server-cmd with --attention-backend or --flash-attn; else the server's log names them"};
    return {"attention kernels", true, fmt::format("{} by the server's command", *backend)};
}

CheckItem formats(Runs runs) {
    const auto& card = runs.front().result.provenance.model_card;
    if (!card) return {"formats of weights and cache", false, "paretoken run … --model-card MODEL"};
    return {"formats of weights and cache", true,
            fmt::format("{} weights, {} cache by the model card {}", card->weights, card->kv, card->name)};
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
    const auto share = worst_of(runs, [](const RunResult& run) -> std::optional<double> {
        const auto preempted = of_server(run, "preemptions");
        const auto requests = of_server(run, "requests");
        if (!preempted || !requests || !(*requests > 0)) return std::nullopt;
        return *preempted / *requests;
    });
    const std::string cost =
        share && *share > 0
            ? fmt::format("; {:.1f} for each 100 requests, whose prompts are computed again", 100 * *share)
            : "";
    return {"preemptions", true, fmt::format("{} in the run with the most{}", number_text(*count), cost)};
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
                add(slo_text(run.result, slo), slo.verdict == SloVerdict::met);
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
    return {kv_cache(candidate),
            pool(candidate),
            context(candidate),
            batching(candidate),
            attention(candidate),
            formats(candidate),
            queue(candidate),
            hits(candidate),
            preemptions(candidate),
            static_head(candidate),
            certified_slo(report, candidate),
            quality(candidate),
            cost(candidate, prices)};
}

}  // namespace paretoken::reports
