#include "reports/files/interop/readers/foreign_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <utility>

#include "core/statistics.h"
#include "reports/files/interop/readers/foreign_json.h"

namespace paretoken::reports {

namespace {

/// Whether a figure is a statistic of single requests ("ttft_p99_s"), and not a rate or the duration.
bool is_of_latency(std::string_view key) {
    constexpr std::array<std::string_view, 9> kTags = {"ttft", "tpot", "ntpot", "itl",          "icl",
                                                       "e2e",  "isl",  "osl",   "interactivity"};
    return std::ranges::find(kTags, key.substr(0, key.find('_'))) != kTags.end();
}

}  // namespace

ForeignRun summary_run(ForeignLoad load, Reported reported, const std::string& where) {
    if (reported.figures.empty()) refuse_foreign(where, "it holds neither requests nor figures of a run");
    // Programs write 0 for the statistics of no request.
    if (reported.requests && reported.failed && *reported.failed >= *reported.requests)
        std::erase_if(reported.figures, [](const auto& figure) { return is_of_latency(figure.first); });
    for (const auto& [key, value] : reported.figures)
        if (value < 0)
            refuse_foreign(where,
                           fmt::format("{} is {}; the file is damaged", reported_key(key).title, value));
    load = with_real_limits(std::move(load));
    ForeignRun run{.name = load_name(load), .begun = begun_of(load, {}), .interrupted = load.interrupted};
    for (const FactText& fact : kFacts) run.begun.unknown_facts.push_back(fact.fact);
    run.begun.reported = std::move(reported);
    run.for_each_request = [](const auto&) {};
    return run;
}

namespace {

void add_statistics_of(Reported& reported, std::string_view tag, std::string_view unit,
                       std::vector<double> values) {
    if (values.empty()) return;
    std::ranges::sort(values);
    const auto add = [&](std::string_view statistic, double value) {
        reported.figures[fmt::format("{}_{}_{}", tag, statistic, unit)] = value;
    };
    add("mean", moments_of(values).mean);
    add("min", values.front());
    add("max", values.back());
    for (const auto& [name, p] :
         {std::pair{"p50", .5}, std::pair{"p90", .9}, std::pair{"p95", .95}, std::pair{"p99", .99}})
        add(name, percentile(values, p));
}

ForeignRun summary_of(ForeignLoad load, const std::vector<ForeignRequest>& requests,
                      const std::string& where) {
    Reported reported{
        .by = load.tool.substr(0, load.tool.find(' ')), .requests = requests.size(), .failed = 0};
    std::vector<double> ttft;
    std::vector<double> e2e;
    std::vector<double> input;
    std::vector<double> output;
    for (const ForeignRequest& request : requests) {
        if (request.failed || request.cancelled) {
            ++*reported.failed;
            continue;
        }
        if (!request.chunks_s.empty())
            ttft.push_back(request.chunks_s.front());
        else if (request.first_s)
            ttft.push_back(*request.first_s);
        if (request.latency_s)
            e2e.push_back(*request.latency_s);
        else if (!request.chunks_s.empty())
            e2e.push_back(request.chunks_s.back());
        if (request.input_tokens) input.push_back(static_cast<double>(*request.input_tokens));
        if (request.output_tokens) output.push_back(static_cast<double>(*request.output_tokens));
    }
    add_statistics_of(reported, "ttft", "s", std::move(ttft));
    add_statistics_of(reported, "e2e", "s", std::move(e2e));
    add_statistics_of(reported, "isl", "tokens", std::move(input));
    add_statistics_of(reported, "osl", "tokens", std::move(output));
    return summary_run(std::move(load), std::move(reported), where);
}

}  // namespace

ForeignRun run_without_starts(ForeignLoad load, std::initializer_list<Fact> unknown,
                              std::vector<ForeignRequest> requests, std::optional<double> duration_s,
                              const std::string& where) {
    if (requests.empty()) refuse_foreign(where, "it holds no request");
    load = with_real_limits(std::move(load));
    load.requests = requests.size();
    const bool at_once = load.all_at_once && !load.request_rate && !load.concurrency;
    if (!place_in_slots(requests, load.request_rate ? std::nullopt : load.concurrency, duration_s, at_once))
        return summary_of(std::move(load), requests, where);
    load.tool += " (without the times of sending)";
    return run_of_requests(load, unknown,
                           std::make_shared<const std::vector<ForeignRequest>>(std::move(requests)));
}

void add_figure(Reported& reported, const std::string& key, std::optional<double> value, double scale) {
    if (value) reported.figures[key] = *value * scale;
}

std::string statistic_named(std::string_view name) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kNames = {{{"mean", "mean"},
                                                                                      {"avg", "mean"},
                                                                                      {"median", "p50"},
                                                                                      {"std", "std"},
                                                                                      {"stddev", "std"},
                                                                                      {"min", "min"},
                                                                                      {"max", "max"}}};
    for (const auto& [theirs, ours] : kNames)
        if (name == theirs) return std::string(ours);
    if (!name.starts_with('p')) return {};
    std::string digits(name.substr(1));
    if (const std::size_t point = digits.find('p'); point != std::string::npos) digits[point] = '.';
    if (digits.empty() || digits.find_first_not_of("0123456789.") != std::string::npos) return {};
    const bool is_share = digits.find('.') == std::string::npos && digits != "100" &&
                          (digits.size() > 2 || digits[0] == '0');  // "p999" is the share .999
    if (is_share) digits.insert(0, ".");
    const double p = std::strtod(digits.c_str(), nullptr) / (is_share ? 1 : 100);
    if (!(p > 0 && p < 1)) return {};
    digits = fmt::format("{:.6f}", p).substr(2);
    while (digits.size() > 2 && digits.back() == '0') digits.pop_back();
    return "p" + digits;  // the label of percentiles in run.json
}

void add_statistics(Reported& reported, std::string_view tag, std::string_view unit,
                    const nlohmann::json& block, double scale) {
    if (!block.is_object()) return;
    for (const auto& [name, value] : block.items())
        if (const std::string statistic = statistic_named(name); !statistic.empty())
            add_figure(reported, fmt::format("{}_{}_{}", tag, statistic, unit), number_in(value), scale);
}

void add_statistics_in_ms(Reported& reported, const nlohmann::json& result) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kTags = {
        {{"ttft", "ttft"}, {"tpot", "tpot"}, {"itl", "itl"}, {"e2el", "e2e"}, {"e2e_latency", "e2e"}}};
    for (const auto& [key, value] : result.items()) {
        const std::size_t end = key.find('_');
        if (end == std::string::npos || !key.ends_with("_ms")) continue;
        const std::string statistic = statistic_named(std::string_view(key).substr(0, end));
        const std::string_view rest = std::string_view(key).substr(end + 1);
        for (const auto& [theirs, ours] : kTags)
            if (!statistic.empty() && rest == fmt::format("{}_ms", theirs))
                add_figure(reported, fmt::format("{}_{}_s", ours, statistic), number_in(value), 1e-3);
    }
}

}  // namespace paretoken::reports
