// paretoken run: measures one load level against one endpoint, and writes one run directory.

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cards/price.h"
#include "cli/commands.h"
#include "cli/console/console_watcher.h"
#include "cli/console/interrupt.h"
#include "cli/console/presentation.h"
#include "cli/console/print.h"
#include "cli/interop/exports.h"
#include "cli/options/invocation.h"
#include "cli/options/plan_options.h"
#include "cli/options/recipes.h"
#include "cli/shard.h"
#include "core/plan/plan_arguments.h"
#include "core/plan/shard.h"
#include "core/result/alerts.h"
#include "core/text/number_text.h"
#include "experiments/fleet/fleet.h"
#include "experiments/run.h"
#include "experiments/server/launch.h"
#include "experiments/server/redaction.h"
#include "experiments/server/resolve.h"
#include "experiments/session.h"
#include "experiments/sweep/cells.h"
#include "experiments/watch/metrics_server.h"
#include "reports/files/interop/exposition.h"

namespace paretoken::cli {
namespace {

/// Lowers a concurrency that the plan has too few requests to reach, and prints a note.
LoadPlan reachable(LoadPlan asked) {
    const LoadPlan plan = experiments::with_load(asked);
    if (plan.classes.size() > 1) return asked;
    const auto cap = plan.classes.front().concurrency;
    const auto most = experiments::most_in_flight(plan);
    if (most == cap) return asked;
    print(stderr,
          "paretoken: note: the run has too few requests for --concurrency {}; measuring with "
          "--concurrency {}\n",
          *cap, *most);
    asked.classes.front().concurrency = most;
    return asked;
}

/// Replays a trace at its own times if no other load is given, and prints a note.
LoadPlan replayed(LoadPlan asked) {
    const auto length = experiments::recorded_length(asked);
    if (!length) return asked;
    const std::string long_text = *length < std::chrono::minutes(1)
                                      ? fmt::format("{:.3g} s", seconds(*length))
                                      : clock_text(seconds(*length));
    const std::string how =
        *length > Duration{} ? fmt::format("are sent at the times of the trace, which is {} long", long_text)
                             : "or jobs of the trace begin at once, because their times are the same";
    print(stderr, "note: the requests {}; --concurrency or --request-rate gives another load\n", how);
    asked.classes.front().arrivals = Spec{"trace", {}};
    return asked;
}

/// Prints a note if a trace is replayed slower than it was recorded, which is easily mistaken for faster.
void note_slower_trace(const LoadPlan& asked) {
    const auto& arrivals = asked.classes.front().arrivals;
    if (!arrivals || arrivals->name != "trace") return;
    if (const double times = arrivals->number_or("scale", 1); times > 1)
        print(stderr,
              "note: the trace is replayed more slowly than it was recorded: its times are multiplied by {}; "
              "scale={} is as much faster\n",
              number_text(times), number_text(1 / times));
}

/// Returns the plan with what its files say: the dataset, and the times of a trace.
LoadPlan with_files(LoadPlan asked) {
    note_slower_trace(asked);
    return replayed(experiments::with_dataset(std::move(asked)));
}

/// Shows the progress on the console and serves it for Prometheus.
class ServingWatcher final : public ConsoleWatcher {
  public:
    ServingWatcher(InterruptWatch& interrupt, const std::string& address, bool quiet)
        : ConsoleWatcher(interrupt, quiet) {
        if (address.empty()) return;
        metrics_ = std::make_unique<experiments::MetricsServer>(address);
        print(stderr, "metrics on {}\n", metrics_->url());
    }
    void load_begins(const std::string& label, const loadgen::Progress& progress,
                     const loadgen::Limits& limits) override {
        ConsoleWatcher::load_begins(label, progress, limits);
        if (metrics_)
            metrics_->publish([&progress](bool open_metrics) {
                return reports::exposition_text(experiments::families_of(progress), open_metrics);
            });
    }
    void load_ends() override {
        if (metrics_) metrics_->publish({});
        ConsoleWatcher::load_ends();
    }

  private:
    std::unique_ptr<experiments::MetricsServer> metrics_;
};

void run(LoadPlan asked, const experiments::Access& access, const Presentation& shown,
         const ExportOptions& exports) {
    experiments::require_rate_for_burstiness(asked);
    asked = reachable(std::move(asked));
    const auto streams = experiments::most_in_flight(experiments::with_load(asked));
    if (streams && !asked.virtual_time) experiments::require_descriptors(*streams);
    InterruptWatch interrupt(InterruptWatch::kFollowing, InterruptWatch::kCuttingOff);
    reports::OutputDirectory output(output_request(asked, reports::OutputKind::run));
    InterruptWatch::Preparation preparation(interrupt, [&output] { output.release(); });
    ServingWatcher watcher(interrupt, asked.listen, shown.quiet);
    asked = with_files(std::move(asked));
    experiments::ServerLauncher launcher(access, watcher, interrupt.token(),
                                         experiments::companions_of(asked, watcher, interrupt.token()));
    const auto target = launcher.open(asked, output.path());
    preparation.end();
    const auto measured =
        experiments::measure(*target, asked, output.path(),
                             {this_invocation(), watcher, {interrupt.token(), interrupt.cut_off()}});
    print_run(measured.result, measured.directory, shown);
    std::fflush(stdout);
    write_exports(exports, {measured.directory});
    experiments::require_valid(measured);
    experiments::require_slos(measured.result, !asked.require.empty());
}

LoadPlan asked_of(const PlanOptions& options) {
    const PlanTexts texts = texts_of(options);
    LoadPlan asked =
        with_shard(experiments::with_server(plan_of(texts), texts.contains("url")), variable_of_environment);
    experiments::require_values(asked.server, {{}});
    return asked;
}

void run_or_print(const PlanOptions& options, const Presentation& shown, const ExportOptions& exports) {
    check(exports);
    const LoadPlan asked = asked_of(options);
    if (options.print_config) {
        print("{}\n", config_text(asked));
        return;
    }
    if (!options.recipe.empty())
        print(stderr, "recipe {}: {}\n", options.recipe, recipe_named(options.recipe).look);
    const experiments::Access access = access_of(asked);
    without_telling(experiments::secrets_of(asked, access.api_key), [&] {
        if (experiments::follows(asked)) return follow(with_files(reachable(asked)), access);
        run(asked, access, shown, exports);
    });
}

}  // namespace

LoadPlan plan_of_run(std::vector<std::string> words) {
    CLI::App app;
    PlanOptions options;
    ExportOptions exports;
    add_plan_options(app, options, Levels::one);
    add_export_options(app, exports);
    std::ranges::reverse(words);
    app.parse(words);
    return asked_of(options);
}

void add_run(CLI::App& app) {
    const auto options = std::make_shared<PlanOptions>();
    CLI::App* sub = app.add_subcommand("run", "Load a server at one level and measure what it delivers");
    add_plan_options(*sub, *options, Levels::one);
    sub->footer(
        "paretoken help metrics explains every metric and figure. --help-all also has --json, --header, "
        "--arrivals (traces, bursts, ramps), --host-noise accept (for a busy machine) and --price 2.50.");
    const auto shown = std::make_shared<Presentation>();
    add_price_option(*sub, *shown);
    add_presentation_options(*sub, *shown, Shows::text_and_json);
    const auto exports = std::make_shared<ExportOptions>();
    add_export_options(*sub, *exports);
    sub->callback([options, shown, exports] { run_or_print(*options, *shown, *exports); });
}

}  // namespace paretoken::cli
