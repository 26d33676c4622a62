// paretoken gate --self-test: what can a gate show on this machine?
#include <fmt/format.h>

#include "cli/console/console_watcher.h"
#include "cli/console/print.h"
#include "cli/gate/gate_command.h"
#include "cli/options/invocation.h"
#include "core/error.h"
#include "core/plan/plan_arguments.h"
#include "core/text/secrets.h"
#include "experiments/session.h"
#include "reports/analysis/gate/decision/history.h"
#include "reports/analysis/gate/decision/self_test.h"
#include "reports/pages/gate.h"

namespace paretoken::cli {
namespace {

using experiments::GatePlan;
using experiments::GateSide;
using reports::GateReport;
using reports::GateRun;

constexpr std::uint64_t kUsualSelfTestPairs = 6;

/// Returns how the server of a stored run is reached: as the user says, by the command that started it, or at
/// its URL.
GateSide server_of(const GateCommand& command, const GateRun& stored) {
    if (is_given(command.baseline_server)) return command.baseline_server;
    const Provenance& from = stored.result.provenance;
    const auto started = from.metadata.find("server_command");
    GateSide side;
    if (started != from.metadata.end())
        side.command = started->second;
    else
        side.url = from.url;
    if (side.shown().empty() || side.shown().find(Secrets::kHidden) != std::string::npos)
        throw UsageError(
            fmt::format("--self-test {}: the baseline does not hold the whole command or URL of its server; "
                        "give --baseline-cmd or --baseline-url",
                        command.self_test));
    return side;
}

/// Returns the options of the stored run with those that the user gave.
LoadPlan load_of(const GateCommand& command, const GateRun& stored) {
    PlanTexts texts = paretoken::texts_of(stored.result.plan);
    for (const char* const own : {"url", "seed", "keep_answers", "server_number"}) texts.erase(own);
    for (auto& [name, values] : texts_of(command.plan)) texts[name] = values;
    return plan_of(texts);
}

/// Returns the comparison of one side with the stored runs, if they did the same work on the same host.
std::optional<GateReport> against_store(const reports::GatePolicy& policy, const std::vector<GateRun>& stored,
                                        const std::vector<GateRun>& runs) {
    try {
        reports::require_comparable(stored, runs, {});
    } catch (const UsageError& error) {
        print(stderr, "note: not compared with the stored runs: {}\n", error.what());
        return std::nullopt;
    }
    if (stored.size() < 3) return std::nullopt;
    return reports::decided_with_history(policy,
                                         {.baseline = stored,
                                          .candidate = runs,
                                          .design = reports::GateDesign::stored,
                                          .looks = reports::one_look(policy, runs.size())},
                                         {}, {});
}

std::vector<GateRun> runs_of_one_side(const GateReport& report) {
    std::vector<std::filesystem::path> directories;
    for (const reports::GateRunNote& run : report.runs)
        if (run.of_candidate) directories.emplace_back(run.directory);
    return experiments::runs_below(directories);
}

/// Returns the policy of the gates to come, for which --max-pairs does not count.
reports::GatePolicy policy_of_gates(GateCommand command) {
    command.max_pairs.reset();
    return policy_of(command);
}

}  // namespace

void self_test(const GateCommand& command) {
    if (!command.baseline.empty() || !command.candidate.empty() || is_given(command.candidate_server))
        throw UsageError(
            "--self-test: it measures the stored baseline's server against itself; leave out --baseline, "
            "--candidate, --candidate-url and --candidate-cmd");
    const std::vector<GateRun> stored =
        experiments::runs_below(directories_of({command.self_test}, command.store));
    const reports::GatePolicy policy = policy_of_gates(command);
    GatePlan plan{.asked = load_of(command, stored.front()),
                  .baseline = server_of(command, stored.front()),
                  .candidate = server_of(command, stored.front()),
                  .policy = policy,
                  .whole = true};
    plan.asked.server_number = experiments::number_of_server(stored);
    if (!texts_of(command.plan).contains("seed")) plan.seeds = experiments::seeds_of(stored);
    plan.policy.max_pairs = command.max_pairs.value_or(kUsualSelfTestPairs);
    const experiments::Access access = access_of(plan.asked);
    without_telling(experiments::gate_secrets(plan, access), [&] {
        with_output(plan, command.shown.quiet,
                    [&](const GatePlan& ready, const std::filesystem::path& directory,
                        ConsoleWatcher& watcher, const std::stop_token& stop) {
                        const GateReport report = experiments::measure_gate(
                            ready, access, directory, {this_invocation(), watcher, stop}, {});
                        print("{}",
                              reports::self_test_console(reports::self_test_of(
                                  policy, report, against_store(policy, stored, runs_of_one_side(report)))));
                    });
    });
}

}  // namespace paretoken::cli
