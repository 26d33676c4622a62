// paretoken sweep: a ladder of load levels, a run directory each, one table; saved after every point,
// resumable.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <utility>

#include "cli/commands.h"
#include "cli/console_watcher.h"
#include "cli/interrupt.h"
#include "cli/invocation.h"
#include "cli/plan_options.h"
#include "core/error.h"
#include "core/spec.h"
#include "experiments/redaction.h"
#include "experiments/sweep.h"
#include "reports/pages/console.h"

namespace paretoken::cli {
namespace {

using experiments::Axis;
using experiments::SweepPlan;

/// What was asked, taken apart: the ladder, and the plan that its levels have in common.
struct Asked {
    SweepPlan plan;
    PlanTexts ladder;  ///< the option that lists the levels, as given
};

std::vector<std::uint64_t> levels_of(const PlanField& field, const Texts& texts) {
    try {
        return parse_ladder(texts.front());
    } catch (const UsageError& error) {
        throw UsageError(fmt::format("{} {}", option_of(field), error.what()));
    }
}

Asked asked_of(const PlanOptions& options) {
    PlanTexts texts = texts_of(options);
    Asked asked;
    if (texts.contains("arrivals"))
        throw UsageError("--arrivals: a sweep takes --request-rate or --concurrency, which it varies");
    for (const Axis axis : {Axis::concurrency, Axis::request_rate}) {
        const auto ladder = texts.find(experiments::name_of(axis));
        if (ladder == texts.end() || ladder->second.empty()) continue;
        if (!asked.ladder.empty()) throw UsageError("a sweep has one axis: --concurrency or --request-rate");
        asked.plan.axis = axis;
        asked.ladder.insert(*ladder);
        texts.erase(ladder);
    }
    if (asked.ladder.empty()) asked.ladder["concurrency"] = {"1..64"};
    const auto& [name, values] = *asked.ladder.begin();
    asked.plan.levels = levels_of(*plan_field_named(name), values);
    asked.plan.asked = plan_of(texts);
    return asked;
}

void show_table(const reports::SweepFile& file, const std::filesystem::path& directory) {
    fmt::print("{}", reports::sweep_table(file.points, {.directory = directory.string()}));
    std::fflush(stdout);
}

/// The points of this sweep, with what an earlier one into the same directory has measured.
reports::SweepFile planned(const SweepPlan& plan, const experiments::Invocation& invocation,
                           const std::filesystem::path& directory) {
    reports::SweepFile fresh = experiments::fresh_sweep(plan, invocation);
    if (plan.asked.overwrite) return fresh;
    auto [file, judged_otherwise] = experiments::resumed(std::move(fresh), directory);
    if (judged_otherwise) experiments::judge_points_anew(file, plan.asked, directory);
    return file;
}

void sweep(SweepPlan plan, const experiments::Access& access) {
    const experiments::Invocation invocation = this_invocation();
    InterruptWatch interrupt;
    reports::OutputDirectory output(output_request(plan.asked, reports::OutputKind::sweep));
    const std::filesystem::path& directory = output.path();
    interrupt.end_at_once([&output] { output.release(); });
    plan.asked = experiments::with_dataset(plan.asked);
    reports::SweepFile file = planned(plan, invocation, directory);
    if (experiments::nothing_to_measure(file)) {
        fmt::print(stderr, "every point was measured by the sweep of {}; --overwrite measures them again\n",
                   file.started_at);
        show_table(file, directory);
        experiments::require_valid(file, directory);
        return;
    }
    if (!plan.asked.virtual_time) experiments::require_descriptors(experiments::most_in_flight(file));
    ConsoleWatcher watcher;
    const auto target = experiments::open_target(plan.asked, access, watcher, interrupt.token());
    interrupt.end_in_order();
    if (plan.asked.overwrite) experiments::remove_points(file, directory);
    try {
        experiments::measure_points(*target, plan, file, directory, invocation, watcher, interrupt.token());
    } catch (...) {
        show_table(file, directory);  // what was measured until then
        throw;
    }
    show_table(file, directory);
    experiments::require_valid(file, directory);
}

void sweep_or_print(const PlanOptions& options) {
    const Asked asked = asked_of(options);
    if (options.print_config) {
        fmt::print("{}\n", config_text(asked.plan.asked, asked.ladder));
        return;
    }
    const experiments::Access access = access_of(asked.plan.asked);
    without_telling(experiments::secrets_of(asked.plan.asked, access.api_key),
                    [&] { sweep(asked.plan, access); });
}

}  // namespace

void add_sweep(CLI::App& app) {
    const auto options = std::make_shared<PlanOptions>();
    CLI::App* sub = app.add_subcommand("sweep", "Measure a ladder of load levels; resumable");
    add_plan_options(*sub, *options, Levels::several);
    sub->callback([options] { sweep_or_print(*options); });
}

}  // namespace paretoken::cli
