#include "reports/analysis/gate/conditions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>

#include "core/text/number_text.h"
#include "core/validity/instrument.h"

namespace paretoken::reports {
namespace {

using ValueOf = std::function<std::string(const RunResult&)>;

std::string date_of(const RunResult& run) {
    constexpr std::size_t kDate = 10;  // length of "2026-11-22"
    return run.provenance.started_at.substr(0, kDate);
}

std::string cpu_and_cores(const RunResult& run) {
    const Provenance& from = run.provenance;
    return from.host_cpu.empty() ? "" : fmt::format("{}, {} cores", from.host_cpu, from.host_cores);
}

std::string program_of(const RunResult& run) {
    const Provenance& from = run.provenance;
    return from.commit.empty() ? from.version : fmt::format("{} ({})", from.version, from.commit);
}

std::set<std::string> values_of(std::span<const GateRun> runs, const ValueOf& value) {
    std::set<std::string> values;
    for (const GateRun& run : runs)
        if (std::string text = value(run.result); !text.empty()) values.insert(std::move(text));
    return values;
}

std::string joined(const std::set<std::string>& values) {
    constexpr std::size_t kMostNamed = 3;
    std::string text;
    std::size_t shown = 0;
    for (const std::string& value : values) {
        if (shown++ == kMostNamed) return text + fmt::format(" and {} more", values.size() - kMostNamed);
        text += (text.empty() ? "" : ", ") + value;
    }
    return text;
}

void add(std::vector<Condition>& conditions, std::string name, std::span<const GateRun> baseline,
         std::span<const GateRun> candidate, const ValueOf& value, bool may_differ = false) {
    const std::set<std::string> before = values_of(baseline, value);
    const std::set<std::string> after = values_of(candidate, value);
    if (before.empty() && after.empty()) return;
    const bool differs = !std::includes(before.begin(), before.end(), after.begin(), after.end());
    conditions.push_back({std::move(name), joined(before), joined(after), differs && !may_differ});
}

/// Keys of --metadata that the runs have, without those that the gate itself adds.
std::set<std::string> metadata_keys(std::span<const GateRun> runs) {
    std::set<std::string> keys;
    for (const GateRun& run : runs)
        for (const auto& [key, value] : run.result.provenance.metadata)
            if (key != "gate_pair" && key != "server_command") keys.insert(key);
    return keys;
}

double largest_part(std::span<const GateRun> runs) {
    double largest = 0;
    for (const GateRun& run : runs) largest = std::max(largest, largest_instrument_part(run.result).part);
    return largest;
}

/// The client's own error: a difference counts if it is large and has more than doubled.
Condition own_error(std::span<const GateRun> baseline, std::span<const GateRun> candidate) {
    constexpr double kLarge = .02;
    const double before = largest_part(baseline);
    const double after = largest_part(candidate);
    return {"largest error of the client itself, of a median, a p95 or throughput", percent_text(before),
            percent_text(after),
            std::max(before, after) > kLarge && std::max(before, after) > 2 * std::min(before, after)};
}

}  // namespace

std::vector<Condition> conditions_of(std::span<const GateRun> baseline, std::span<const GateRun> candidate) {
    std::vector<Condition> conditions;
    add(conditions, "days", baseline, candidate, date_of, true);
    const std::array<std::pair<const char*, ValueOf>, 9> fields{
        {{"host that generated the load", [](const RunResult& run) { return run.provenance.host; }},
         {"CPU of that host", cpu_and_cores},
         {"kernel of that host", [](const RunResult& run) { return run.provenance.kernel; }},
         {"version of paretoken", program_of},
         {"clock", [](const RunResult& run) { return run.provenance.clock; }},
         {"hardware that served", [](const RunResult& run) { return run.provenance.hardware; }},
         {"model", [](const RunResult& run) { return run.provenance.model; }},
         {"kind of server", [](const RunResult& run) { return run.provenance.server_kind; }},
         {"version of the server", [](const RunResult& run) {
              return run.provenance.server ? run.provenance.server->version : std::string();
          }}}};
    for (const auto& [name, value] : fields) add(conditions, name, baseline, candidate, value);
    std::set<std::string> keys = metadata_keys(baseline);
    keys.merge(metadata_keys(candidate));
    for (const std::string& key : keys)
        add(conditions, fmt::format("metadata {}", key), baseline, candidate, [&key](const RunResult& run) {
            const auto found = run.provenance.metadata.find(key);
            return found == run.provenance.metadata.end() ? std::string() : found->second;
        });
    conditions.push_back(own_error(baseline, candidate));
    return conditions;
}

std::string session_of(const RunResult& run) {
    if (run.client.timing == "virtual") return "virtual time";
    return fmt::format("{} on {}", date_of(run), run.provenance.host);
}

}  // namespace paretoken::reports
