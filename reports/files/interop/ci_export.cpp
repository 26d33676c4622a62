// Metrics and figures for programs that keep a history of benchmarks. An interval is the uncertainty of one
// run, not the variation between runs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "core/plan/plan_fields.h"
#include "core/result/figures.h"
#include "core/result/metrics.h"
#include "core/text/utc.h"
#include "reports/files/interop/exposition.h"
#include "reports/files/interop/run_export.h"

namespace paretoken::reports {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// "llama-3.1-8b, 8 in flight"
std::string benchmark_name(const RunResult& result) {
    std::string name = result.provenance.model.empty() ? "run" : result.provenance.model;
    if (result.concurrency) name += fmt::format(", {} in flight", *result.concurrency);
    if (result.request_rate) name += fmt::format(", {:g} requests per second", *result.request_rate);
    return name;
}

using Labels = std::vector<std::pair<std::string, std::string>>;

Labels labels_of_run(const RunResult& result) {
    Labels labels = {{"model", result.provenance.model}};
    if (result.concurrency) labels.emplace_back("concurrency", std::to_string(*result.concurrency));
    if (result.request_rate) labels.emplace_back("request_rate", fmt::format("{:g}", *result.request_rate));
    if (!result.provenance.hardware.empty()) labels.emplace_back("hardware", result.provenance.hardware);
    return labels;
}

/// The labels of each run. The options for requests in which the runs differ are among them, and, for runs
/// whose labels are equal otherwise, the number of the repeat.
std::vector<Labels> labels_of_runs(const std::vector<const RunResult*>& runs) {
    const auto planned = [](const RunResult& run, const std::string& field) {
        const auto found = run.plan.find(field);
        return found == run.plan.end() ? std::string() : found->second;
    };
    std::set<std::string> varied;
    for (const RunResult* const run : runs)
        for (const auto& [name, value] : run->plan)
            if (const PlanField* const field = plan_field_named(name);
                field != nullptr && field->kind == FieldKind::workload &&
                std::ranges::any_of(runs, [&](const auto* one) { return planned(*one, name) != value; }))
                varied.insert(name);
    std::vector<Labels> all;
    std::map<Labels, int> equal;
    for (const RunResult* const run : runs) {
        all.push_back(labels_of_run(*run));
        for (const std::string& name : varied) all.back().emplace_back(name, planned(*run, name));
        ++equal[all.back()];
    }
    std::map<Labels, int> seen;
    for (Labels& labels : all) {
        if (equal[labels] < 2) continue;
        const int repeat = ++seen[labels];
        labels.emplace_back("repeat", std::to_string(repeat));
    }
    return all;
}

std::string github_text(const RunResult& result, Better better) {
    OrderedJson array = OrderedJson::array();
    for (const NamedValue& value : named_values(result)) {
        if (value.better != better) continue;
        OrderedJson row{{"name", benchmark_name(result) + ": " + value.name},
                        {"unit", value.unit},
                        {"value", value.value}};
        if (value.ci95) row["range"] = fmt::format("{:g} to {:g} (95 %)", value.ci95->low, value.ci95->high);
        array.push_back(std::move(row));
    }
    return array.dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace

std::vector<NamedValue> named_values(const RunResult& result) {
    std::vector<NamedValue> values;
    for (const Metric& metric : metrics()) {
        const MetricSummary* const summary = result.metric(key_of(metric));
        if (summary == nullptr) continue;
        for (const auto& [p, label] : {std::pair{.5, "p50"}, std::pair{.95, "p95"}, std::pair{.99, "p99"}})
            if (const PercentileValue* const held = summary->at(p); held != nullptr && held->value)
                values.push_back({fmt::format("{}_{}_{}", metric.tag, label, metric.unit),
                                  std::string(metric.unit), metric.better, *held->value, held->ci95});
    }
    for (const Figure& figure : figures())
        if (const auto value = result.throughput.at(figure.key))
            values.push_back({std::string(figure.key), std::string(figure.unit), figure.better, *value,
                              result.throughput.interval(figure.key)});
    return values;
}

std::string bencher_text(const ExportedRun& run) {
    OrderedJson measures = OrderedJson::object();
    for (const NamedValue& value : named_values(run.result)) {
        std::string slug = value.name;
        std::ranges::replace(slug, '_', '-');
        OrderedJson& measure = measures[slug] = {{"value", value.value}};
        if (value.ci95 && std::isfinite(value.ci95->low)) measure["lower_value"] = value.ci95->low;
        if (value.ci95 && std::isfinite(value.ci95->high)) measure["upper_value"] = value.ci95->high;
    }
    return OrderedJson{{benchmark_name(run.result), measures}}.dump(1, ' ', false,
                                                                    OrderedJson::error_handler_t::replace) +
           "\n";
}

std::string github_smaller_text(const ExportedRun& run) {
    return github_text(run.result, Better::lower);
}
std::string github_bigger_text(const ExportedRun& run) {
    return github_text(run.result, Better::higher);
}

std::vector<MetricFamily> run_families(const std::vector<const RunResult*>& runs) {
    std::vector<MetricFamily> families;
    const std::vector<Labels> labels = labels_of_runs(runs);
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const RunResult* const run = runs[i];
        std::optional<double> end_s;  // which a reader of a file cannot know otherwise
        if (const auto start = epoch_of_utc(run->provenance.started_at))
            end_s = static_cast<double>(*start) + std::max(0.0, run->window.run_s);
        const auto add = [&](const std::string& name, double value) {
            const std::string full = "paretoken_" + name;
            auto family = std::ranges::find(families, full, &MetricFamily::name);
            if (family == families.end()) family = families.insert(families.end(), {.name = full});
            family->samples.push_back({labels[i], value, end_s});
        };
        for (const NamedValue& value : named_values(*run)) add(value.name, value.value);
        add("failed_requests", static_cast<double>(run->counts.failed));
    }
    return families;
}

std::string openmetrics_text(const ExportedRun& run) {
    return exposition_text(run_families({&run.result}), true);
}

}  // namespace paretoken::reports
