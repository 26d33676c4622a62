#include "cli/help/topics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "cards/gpu.h"
#include "core/result/alerts.h"
#include "core/result/figures.h"
#include "core/result/metrics.h"
#include "core/text/lines.h"
#include "core/text/validity_reasons.h"
#include "datasets/catalog.h"
#include "loadgen/load/arrival.h"
#include "loadgen/load/limits.h"
#include "reports/document/table.h"

namespace paretoken::cli {
namespace {

struct Row {
    std::string name;
    std::string text;
};

std::string rows_text(const std::vector<Row>& rows, std::size_t width) {
    std::string text;
    for (const auto& [name, explained] : rows) {
        text += fmt::format("  {}\n", name);
        for (const std::string& line : reports::wrapped(explained, width - 6))
            text += fmt::format("      {}\n", line);
    }
    return text;
}

std::string with_fields(std::string_view name, std::string_view fields) {
    return fields.empty() ? std::string(name) : fmt::format("{}:{}", name, fields);
}

std::string loads(std::size_t width) {
    std::vector<Row> rows{{"--concurrency 8",
                           "a closed loop: 8 users, each of whom sends the next request when the answer is "
                           "complete"},
                          {"--request-rate 4",
                           "an open loop: 4 requests per second on average (Poisson), whether or not the "
                           "server keeps up; with --concurrency, at most so many at once"}};
    for (const loadgen::ArrivalRow& row : loadgen::arrival_table())
        rows.push_back({"--arrivals " + with_fields(row.name, row.fields), std::string(row.title)});
    std::string text =
        "How requests are sent:\n" + rows_text(rows, width) + "\nWhen no more are started (--stop RULE):\n";
    rows.clear();
    for (const loadgen::StopRow& row : loadgen::stop_table())
        rows.push_back({std::string(row.form), std::string(row.title)});
    return text + rows_text(rows, width);
}

/// Returns lines as they are, so that they can be copied.
std::string verbatim(std::string_view lines) {
    std::string text;
    for (const std::string_view line : lines_in(lines)) text += fmt::format("    {}\n", line);
    return text;
}

std::string text_of(const datasets::CatalogRow& row, std::size_t width) {
    std::string text =
        rows_text({{"--dataset " + with_fields(row.name, row.fields), std::string(row.title)}}, width);
    if (!row.example.empty()) text += verbatim(row.example);
    return text;
}

std::string datasets_text(std::size_t width) {
    std::string text;
    for (const std::string& line : reports::wrapped(
             "Where requests come from, with the first rows of a file of each format (`paretoken dataset "
             "describe FILE` says what a file holds; docs/datasets.md explains the fields):",
             width))
        text += line + "\n";
    for (const datasets::CatalogRow& row : datasets::catalog()) text += text_of(row, width);
    return text;
}

std::string alerts(std::size_t width) {
    std::string text;
    const auto add = [&](std::string_view sentences) {
        for (const std::string& line : reports::wrapped(sentences, width)) text += line + "\n";
    };
    add("An alert fires when its condition held for a time. A file for --alerts, whose alerts replace the "
        "default ones, such as `paretoken watch URL --alerts alerts.json`, which ends with exit code 1 if "
        "the TTFT p95 was above 800 ms for two minutes:");
    text += "\n" + verbatim(R"({"schema": "paretoken/alerts/1", "alerts": [
 {"name": "ttft_high", "series": "ttft_p95", "comparison": "above",
 "threshold": 0.8, "for": "2m", "severity": "fail"}]})") +
            "\n";
    add("Thresholds on times are in seconds. `paretoken export --format alerts` prints the default alerts, "
        "as a file to begin with. Comparisons are above, below, above_baseline_times, below_baseline_by and "
        "risen_by; severities are warn and fail. Series:");
    return text + rows_text({{"\"series\"", known_alert_series()}}, width);
}

std::string limits(std::size_t width) {
    return rows_text(
        {{"ttft_p95:800",
          "the p95 of the time to first token is at most 800 ms; p90 if no percentile is given"},
         {"'ttft_p95<800ms'", "the same; the quotation marks keep the shell from reading <"},
         {"interactivity_p90:35", "at least 35 tokens per second for each user; higher is better"},
         {"ttft:500", "for --goodput: each request must meet it"},
         {"--slo LIMIT",
          "the run is judged by it: met (shown at 99 %), within (measured, not shown), or missed"},
         {"--limit LIMIT", "of `gate`: every run of the candidate must meet it"},
         {"--stop slo:LIMIT", "the run ends when the limit is certainly missed"},
         {"--slo @chat", "a preset: @chat, @mlperf:MODEL, @mlperf:MODEL:interactive"},
         {"knee",
          "in the table of a sweep: the highest load that meets all limits or is within them, below the "
          "lowest load that misses one"}},
        width);
}

Row row_of(const ValidityReason& reason) {
    return {std::string(reason.check), fmt::format("{} {}", reason.means, reason.remedy)};
}

std::string validity(std::size_t width) {
    std::vector<Row> checks;
    for (const ValidityReason& reason : validity_reasons()) checks.push_back(row_of(reason));
    const std::string verdicts = rows_text(
        {{"valid", "the client kept up, and the figures are the server's"},
         {"warn",
          "a figure may be off by more than 2 %, or something else should be known; the reasons are printed"},
         {"INVALID",
          "the figures may be the client's or the host's instead of the server's, too many requests failed, "
          "or the server did not stream; exit code 4. `paretoken show DIR` prints every reason with the name "
          "of its check"},
         {"*",
          "behind a percentile that is not certified: there are too few independent requests; `enough_n` in "
          "run.json says about how many are needed"},
         {"(40–42)", "behind a value: its 95 % interval"}},
        width);
    return fmt::format("Verdicts and marks:\n{}\nChecks, what each means, and what to do:\n{}", verdicts,
                       rows_text(checks, width));
}

std::string exit_codes(std::size_t width) {
    return rows_text(
        {{"0", "The command succeeded; a gate passed."},
         {"1",
          "A gate failed, a run missed a limit, a sweep found no load within its limits, or an alert of "
          "severity \"fail\" fired during a watch."},
         {"2", "The command line or an input file is wrong."},
         {"3",
          "The command could not be carried out (an unreachable host, a refused request, a full disk), or "
          "Ctrl-C ended it before it was complete."},
         {"4", "The measurement is invalid; the reasons are printed."},
         {"5", "A gate could not decide, or there was too little evidence for the limits."},
         {"130", "Ctrl-C ended the command before anything was measured, or was pressed repeatedly."}},
        width);
}

std::string metrics_text(std::size_t width) {
    std::vector<Row> rows;
    for (const Metric& metric : paretoken::metrics())
        rows.push_back({key_of(metric), fmt::format("{}. {}", metric.title, metric.definition)});
    std::string text;
    for (const std::string& line :
         reports::wrapped("Metrics of a request, or pooled over the gaps between tokens. The result in JSON "
                          "has percentiles "
                          "of each under this name, in the unit at its end (seconds for _s):",
                          width))
        text += line + "\n";
    return text + "\n  paretoken run URL --json | jq .metrics.ttft_s.p99\n\n" + rows_text(rows, width);
}

std::string figures_text(std::size_t width) {
    std::vector<Row> rows;
    for (const Figure& figure : paretoken::figures())
        rows.push_back({std::string(figure.key), fmt::format("{}. {}", figure.title, figure.definition)});
    return "Figures of a run; results have each for the steady window and for the whole run:\n" +
           rows_text(rows, width);
}

std::string gpus(std::size_t width) {
    std::vector<Row> rows;
    for (const std::string& name : cards::known_gpus()) rows.push_back({name, cards::gpu_card(name).title});
    return "GPUs with a card of their figures, for --gpu NAME, or --gpu NAMExN for N of them:\n" +
           rows_text(rows, width);
}

constexpr std::array kTopics = {
    Topic{"metrics", "what each metric of a request means", metrics_text},
    Topic{"figures", "what each figure of a run means", figures_text},
    Topic{"validity", "when a run can be trusted, and what to do if not", validity},
    Topic{"exit-codes", "what the exit codes mean", exit_codes},
    Topic{"loads", "how requests are sent, and when the load ends", loads},
    Topic{"datasets", "where requests come from", datasets_text},
    Topic{"limits", "how limits are written, and where they are used", limits},
    Topic{"alerts", "how a file of alerts is written", alerts},
    Topic{"gpus", "the names of the GPUs for --gpu", gpus},
};

}  // namespace

std::optional<std::string> dataset_text(std::string_view name, std::size_t width) {
    std::string known(name);
    std::ranges::replace(known, '-', '_');
    for (const datasets::CatalogRow& row : datasets::catalog())
        if (row.name == known) return text_of(row, width);
    return std::nullopt;
}

std::span<const Topic> topics() {
    return kTopics;
}

std::optional<std::string> topic_text(std::string_view name, std::size_t width) {
    for (const Topic& topic : kTopics)
        if (topic.name == name || topic.name == fmt::format("{}s", name)) return topic.text(width);
    return std::nullopt;
}

std::optional<std::string> check_text(std::string_view check, std::size_t width) {
    const ValidityReason* const reason = validity_reason(check);
    if (reason == nullptr) return std::nullopt;
    return fmt::format("{}\nparetoken help validity has all checks.\n", rows_text({row_of(*reason)}, width));
}

}  // namespace paretoken::cli
