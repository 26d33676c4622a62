// paretoken watch: sends a few requests per interval, writes a line about each, and judges alerts and drift.
#include "experiments/watch/watch.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <utility>

#include "cli/commands.h"
#include "cli/console/console_watcher.h"
#include "cli/console/interrupt.h"
#include "cli/console/print.h"
#include "cli/options/invocation.h"
#include "cli/options/plan_options.h"
#include "core/error.h"
#include "core/result/alerts.h"
#include "core/spec.h"
#include "experiments/server/launch.h"
#include "experiments/server/redaction.h"
#include "experiments/server/resolve.h"
#include "experiments/watch/metrics_server.h"
#include "reports/files/interop/exposition.h"

namespace paretoken::cli {
namespace {

constexpr auto kEndingTheWatch =
    "\nending the watch: requests in flight are followed for the time of --grace (press Ctrl-C again to cut "
    "them off)\n";
constexpr auto kShortestInterval = std::chrono::seconds(1);

struct WatchCommand {
    PlanOptions plan{.further = {"every"}};
    std::string every;  // empty means not given, as for the duration
    std::string duration;
};

/// Adds the options of small probes, unless the user gave others.
PlanTexts with_small_probes(PlanTexts texts) {
    const auto add = [&texts](const char* name, const char* value) {
        if (!texts.contains(name)) texts[name] = {value};
    };
    add("request_rate", "0.1");
    add("timeout", "60s");  // the line of an interval comes when its requests have ended
    if (!texts.contains("dataset") && !texts.contains("dataset_path")) {
        add("isl", "128");
        if (!texts.at("isl").front().starts_with("pairs:")) add("osl", "32");
    }
    return texts;
}

/// Makes the help tell the defaults of with_small_probes().
void set_defaults_of_help(CLI::App& command) {
    const auto replace = [&command](const char* name, std::string_view old, std::string_view now) {
        CLI::Option* const option = command.get_option(name);
        std::string text = option->get_description();
        if (const auto at = text.find(old); at != std::string::npos) text.replace(at, old.size(), now);
        option->description(text);
    };
    command.get_option("--timeout")->default_str("60s");
    replace("--request-rate", "; inf starts all requests at once", " [0.1]");
    replace("--isl", "[512]", "[128]");
    replace("--osl", "[128]", "[32]");
}

Duration duration_of(const std::string& option, const std::string& text) {
    const Duration duration = naming(option, [&] { return parse_duration(text); });
    if (duration < kShortestInterval)
        throw UsageError(fmt::format("{} {}: must be at least 1s", option, text));
    return duration;
}

/// Takes an option of the watch itself out of those of the configuration file, unless `given` replaces it.
std::string taken(PlanTexts& texts, const char* name, const std::string& given) {
    const auto held = texts.extract(name);
    if (!given.empty() || held.empty() || held.mapped().empty()) return given;
    return held.mapped().front();
}

experiments::WatchPlan watch_plan(const WatchCommand& command) {
    PlanTexts texts = with_small_probes(texts_of(command.plan));
    const std::string every = taken(texts, "every", command.every);
    const std::string duration = taken(texts, "duration", command.duration);
    experiments::WatchPlan plan{.asked = experiments::with_server(plan_of(texts), texts.contains("url"))};
    if (!every.empty()) plan.every = duration_of("--every", every);
    if (!duration.empty()) plan.duration = duration_of("--duration", duration);
    if (plan.asked.classes.front().request_rate == kInfinity)
        throw UsageError("--request-rate inf: a watch needs a number of requests per second");
    if (plan.asked.virtual_time && !plan.duration)
        throw UsageError("--virtual needs --duration: a computed watch would never end");
    return plan;
}

/// Throws Error with ExitCode::gate_failed when an alert of severity `fail` fired.
void require_quiet(const experiments::WatchState& state) {
    std::string fired;
    for (const AlertResult& alert : state.alerts)
        if (alert.state == AlertState::firing && alert.severity == AlertSeverity::fail)
            fired += (fired.empty() ? "" : "; ") + text_of(alert);
    if (!fired.empty())
        throw Error(ExitCode::gate_failed, fmt::format("an alert of severity fail fired: {}", fired));
}

void watch(experiments::WatchPlan plan, const experiments::Access& access) {
    InterruptWatch interrupt(kEndingTheWatch, InterruptWatch::kCuttingOff);
    reports::OutputDirectory output(output_request(plan.asked, reports::OutputKind::watch));
    InterruptWatch::Preparation preparation(interrupt, [&output] { output.release(); });
    std::unique_ptr<experiments::MetricsServer> metrics;
    if (!plan.asked.listen.empty()) {
        metrics = std::make_unique<experiments::MetricsServer>(plan.asked.listen);
        print(stderr, "metrics on {}\n", metrics->url());
    }
    plan.asked = experiments::with_dataset(std::move(plan.asked));
    ConsoleWatcher watcher(interrupt);
    experiments::ServerLauncher launcher(access, watcher, interrupt.token());
    const auto target = launcher.open(plan.asked, output.path());
    preparation.end();
    print("watching {} every {}; the results are in {}\n", target->url(), text_of(plan.every),
          output.path().string());
    const auto show = [&](const experiments::WatchState& state) {
        print("{}\n", reports::watch_text(state.line));
        std::fflush(stdout);
        if (metrics)
            metrics->publish([families = experiments::families_of(state)](bool open) {
                return reports::exposition_text(families, open);
            });
    };
    const experiments::WatchState state = experiments::watch(*target, plan, output.path(), watcher, show,
                                                             {interrupt.token(), interrupt.cut_off()});
    require_quiet(state);
}

void watch_or_print(const WatchCommand& command) {
    const experiments::WatchPlan plan = watch_plan(command);
    if (command.plan.print_config) {
        PlanTexts own{{"every", {text_of(plan.every)}}};
        if (plan.duration) own["duration"] = {text_of(*plan.duration)};
        print("{}\n", config_text(plan.asked, own));
        return;
    }
    const experiments::Access access = access_of(plan.asked);
    without_telling(experiments::secrets_of(plan.asked, access.api_key), [&] { watch(plan, access); });
}

}  // namespace

void add_watch(CLI::App& app) {
    const auto command = std::make_shared<WatchCommand>();
    CLI::App* sub = app.add_subcommand(
        "watch", "Watch a server with a few requests per interval, for minutes or days: alerts and drift");
    sub->option_defaults()->group("Watch");
    sub->add_option("--every", command->every, "Length of an interval")
        ->type_name("DURATION")
        ->default_str("60s");
    sub->add_option("--duration", command->duration,
                    "Time after which the watch ends (30m, 336h) [when it is interrupted]")
        ->type_name("DURATION");
    add_plan_options(
        *sub, command->plan, Levels::one,
        and_those_of_shards({"concurrency",  "num_prompts",     "duration",      "stop",
                             "num_warmups",  "warmup_duration", "max_in_flight", "prefill_concurrency",
                             "ramp_up",      "think_time",      "arrivals",      "goodput",
                             "slo",          "require",         "max_failed",    "events",
                             "keep_answers", "class",           "class_name",    "recipe",
                             "replies",      "cancel",          "power",         "server_profile",
                             "probe",        "metadata",        "gpu",           "model_card"}));
    set_defaults_of_help(*sub);
    sub->footer(
        "Without other options, 0.1 requests per second with 128 input and 32 output tokens are sent, and a "
        "request fails after 60 s without its whole answer (--timeout). "
        "Exit codes: 0 no alert of severity fail fired, 1 such an alert fired, 2 wrong options, 3 the server "
        "could not be reached at the beginning.");
    sub->callback([command] { watch_or_print(*command); });
}

}  // namespace paretoken::cli
