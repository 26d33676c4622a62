#include "reports/files/interop/readers/foreign_summary.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "reports/files/interop/readers/foreign_json.h"

namespace paretoken::reports {

ForeignRun summary_run(ForeignLoad load, Reported reported, const std::string& where) {
    if (reported.figures.empty()) refuse_foreign(where, "it holds neither requests nor figures of a run");
    load = with_real_limits(std::move(load));
    ForeignRun run{.name = load_name(load), .begun = begun_of(load, {})};
    for (const FactText& fact : kFacts) run.begun.unknown_facts.push_back(fact.fact);
    run.begun.reported = std::move(reported);
    run.for_each_request = [](const auto&) {};
    return run;
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
    if (name.size() < 3 || name[0] != 'p' || name[1] < '1' || name[1] > '9') return {};
    std::string digits;
    for (const char c : name.substr(1)) {
        if (c == '.' || c == 'p') continue;
        if (c < '0' || c > '9') return {};
        digits += c;
    }
    return "p" + digits;
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
