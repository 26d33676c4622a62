#include "reports/analysis/gate/same_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/error.h"
#include "core/plan/plan_fields.h"

namespace paretoken::reports {
namespace {

/// Fields of the plan that name the server, or that differ between the runs of a gate on purpose.
constexpr std::array<std::string_view, 7> kOfOneSide{"url",  "model", "endpoint", "header",
                                                     "seed", "salt",  "timeout"};

constexpr const char* kAllowsLoad = " (--across load)";

std::string shown(const std::string& value) {
    return value.empty() ? "not given" : value;
}

/// Returns all differences in fields of a kind: "--isl: 512 and 1000; --osl: 128 and 32".
std::optional<std::string> differences_in(const PlanEcho& first, const PlanEcho& second, FieldKind kind) {
    std::set<std::string_view> seen(kOfOneSide.begin(), kOfOneSide.end());
    std::optional<std::string> all;
    while (const auto found = difference(first, second, [&](const PlanField& field) {
               return field.kind == kind && !seen.contains(field.name);
           })) {
        seen.insert(found->field->name);
        all = fmt::format("{}{}: {} and {}", all ? *all + "; " : "", found->name, shown(found->before),
                          shown(found->after));
    }
    return all;
}

/// The name of the hardware. For a simulated server it is the profile, without the settings after "?".
std::string name_of_hardware(const Provenance& of) {
    return of.hardware.starts_with("sim:") ? of.hardware.substr(0, of.hardware.find('?')) : of.hardware;
}

std::string count_and_name(const Provenance& of) {
    const std::string name = name_of_hardware(of);
    return of.hardware_count == 1 ? shown(name) : fmt::format("{} x {}", of.hardware_count, name);
}

/// The CPU of the host that made the load, if it can have an effect: "AMD EPYC, 2 cores".
std::string cpu_of(const RunResult& run) {
    const Provenance& from = run.provenance;
    if (from.host_cpu.empty() || run.client.timing == "virtual") return "";
    return fmt::format("{}, {} cores", from.host_cpu, from.host_cores);
}

/// Returns a difference between the programs that measured two runs, between what their files hold, or
/// between the mean prompts, which stand for the dataset that such files do not name.
std::optional<std::string> difference_of_tools(const RunResult& first, const RunResult& second) {
    if (first.provenance.measured_by != second.provenance.measured_by)
        return fmt::format("measured by: {} and {}", first.provenance.program(), second.provenance.program());
    if (first.provenance.measured_by.empty()) return std::nullopt;
    if (first.reported.has_value() != second.reported.has_value())
        return fmt::format("requests: {} and {}", first.reported ? "only a summary" : "every one",
                           second.reported ? "only a summary" : "every one");
    constexpr double kMostApart = .02;
    const auto& before = first.workload.achieved_input_tokens;
    const auto& after = second.workload.achieved_input_tokens;
    if (before && after && std::abs(*after - *before) > kMostApart * *before)
        return fmt::format("mean tokens of a prompt: {:.4g} and {:.4g}", *before, *after);
    return std::nullopt;
}

/// The mean number of requests in flight; of a summary, the rate of requests times their mean latency.
std::optional<double> in_flight_of(const RunResult& run) {
    if (!run.reported) return run.whole_run.at(figure::kMeanInFlight);
    const auto rate = run.reported->at("requests_per_s");
    const auto latency = run.reported->at("e2e_mean_s");
    return rate && latency ? std::optional(*rate * *latency) : std::nullopt;
}

/// Returns a difference between loads that the files of another program do not name, if the numbers of
/// requests in flight show one.
std::optional<std::string> difference_of_unnamed_loads(const RunResult& first, const RunResult& second) {
    constexpr double kMostApart = .25;
    const bool is_named = first.plan.contains("concurrency") || first.plan.contains("request_rate") ||
                          first.plan.contains("arrivals");
    if (first.provenance.measured_by.empty() || is_named) return std::nullopt;
    const auto before = in_flight_of(first);
    const auto after = in_flight_of(second);
    if (!before || !after || std::abs(*after - *before) <= kMostApart * *before) return std::nullopt;
    return fmt::format("load, which the files do not tell: {:.3g} and {:.3g} requests in flight on average{}",
                       *before, *after, kAllowsLoad);
}

}  // namespace

std::set<Across> parse_across(std::string_view text) {
    std::set<Across> across;
    while (true) {
        const std::size_t comma = std::min(text.find(','), text.size());
        const std::string_view name = text.substr(0, comma);
        if (name == "model")
            across.insert(Across::model);
        else if (name == "hardware")
            across.insert(Across::hardware);
        else if (name == "load")
            across.insert(Across::load);
        else if (name == "host")
            across.insert(Across::host);
        else
            throw UsageError(fmt::format("--across '{}': expected model, hardware, load or host", name));
        if (comma == text.size()) return across;
        text.remove_prefix(comma + 1);
    }
}

std::optional<std::string> difference_of_plans(const PlanEcho& first, const PlanEcho& second,
                                               const std::set<Across>& across) {
    auto found = differences_in(first, second, FieldKind::workload);
    if (across.contains(Across::load)) return found;
    if (const auto load = differences_in(first, second, FieldKind::load))
        found = (found ? *found + "; " : "") + *load + kAllowsLoad;
    return found;
}

std::string hardware_of(const RunResult& run) {
    return name_of_hardware(run.provenance);
}

// The CPU does not matter in virtual time, or if a run does not name it. The URL, --endpoint, --header,
// --seed, the salt of the prompts and --timeout are not compared, nor are options that only decide how a run
// is measured or judged.
std::optional<std::string> difference_of_work(const RunResult& first, const RunResult& second,
                                              const std::set<Across>& across) {
    if (auto found = difference_of_tools(first, second)) return found;
    if (first.workload.fingerprint != second.workload.fingerprint) {
        if (differences_in(first.plan, second.plan, FieldKind::workload))
            return difference_of_plans(first.plan, second.plan, across);
        return fmt::format("workload fingerprint: {} and {}", first.workload.fingerprint,
                           second.workload.fingerprint);
    }
    if (!across.contains(Across::load)) {
        if (auto found = differences_in(first.plan, second.plan, FieldKind::load))
            return *found + kAllowsLoad;
        if (auto found = difference_of_unnamed_loads(first, second)) return found;
    }
    if (auto found = difference_of_servers(first.provenance, second.provenance, across)) return found;
    return across.contains(Across::host) ? std::nullopt : difference_of_host(first, second);
}

std::optional<std::string> difference_of_servers(const Provenance& first, const Provenance& second,
                                                 const std::set<Across>& across) {
    const bool model = !across.contains(Across::model) && first.model != second.model;
    const bool hardware =
        !across.contains(Across::hardware) && count_and_name(first) != count_and_name(second);
    if (!model && !hardware) return std::nullopt;
    std::string found;
    if (model) found = fmt::format("model: {} and {}", shown(first.model), shown(second.model));
    if (hardware)
        found += fmt::format("{}hardware: {} and {}", model ? "; " : "", count_and_name(first),
                             count_and_name(second));
    return fmt::format("{} (--across {}{}{})", found, model ? "model" : "", model && hardware ? "," : "",
                       hardware ? "hardware" : "");
}

std::optional<std::string> difference_of_host(const RunResult& first, const RunResult& second) {
    const std::string before = cpu_of(first);
    const std::string after = cpu_of(second);
    if (before.empty() || after.empty() || before == after) return std::nullopt;
    return fmt::format("host: {} ({}) and {} ({}) (--across host)", shown(first.provenance.host), before,
                       shown(second.provenance.host), after);
}

}  // namespace paretoken::reports
