// paretoken cache: measures the benefit of prefix caching on a server, and whether it works.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/console/console_watcher.h"
#include "cli/console/interrupt.h"
#include "cli/console/presentation.h"
#include "cli/console/print.h"
#include "cli/options/invocation.h"
#include "cli/options/plan_options.h"
#include "core/error.h"
#include "core/spec.h"
#include "experiments/cache.h"
#include "experiments/run.h"
#include "experiments/server/launch.h"
#include "experiments/server/redaction.h"
#include "experiments/session.h"
#include "reports/analysis/cache/picture.h"
#include "reports/analysis/cache/words.h"
#include "reports/analysis/sections/sections.h"
#include "reports/files/file_io.h"
#include "reports/pages/section_markdown.h"

namespace paretoken::cli {
namespace {

using experiments::CachePlan;
using reports::CacheReport;

struct CacheCommand {
    PlanOptions plan;
    Presentation shown;
    std::string prefix;
    std::string hit = "0.5,0.9";
    std::string suffix = "64";
    std::string osl = "16";
    std::string concurrency = "1,8";
    std::uint64_t samples = 30;
    std::string working_set;
    std::string ttl;
    std::string burst;
    std::uint64_t burst_prefixes = 8;
    std::string price;
};

std::vector<double> numbers_of(const std::string& option, std::string_view text) {
    std::vector<double> numbers;
    while (true) {
        const auto end = std::min(text.find(','), text.size());
        numbers.push_back(naming(option, [&] { return parse_number(text.substr(0, end)); }));
        if (end == text.size()) return numbers;
        text.remove_prefix(end + 1);
    }
}

std::vector<double> ladder_of(const std::string& option, const std::string& text) {
    return naming(option, [&] { return parse_ladder(text, Rungs::whole); });
}

std::int64_t tokens_of(const std::string& option, const std::string& text) {
    return static_cast<std::int64_t>(naming(option, [&] { return parse_count(text); }));
}

CachePlan plan_of_cache(const CacheCommand& command) {
    constexpr std::uint64_t kFewest = 6;  // a median of fewer samples has no 95 % interval
    CachePlan plan{.asked = plan_of(texts_of(command.plan))};
    experiments::refuse_options_without_effect(plan.asked);
    if (!command.prefix.empty()) {
        plan.prefixes.clear();
        plan.cut_prefixes = command.prefix.find("..") != std::string::npos;
        for (const double tokens : ladder_of("--prefix", command.prefix))
            plan.prefixes.push_back(static_cast<std::int64_t>(tokens));
    }
    plan.hits = numbers_of("--hit", command.hit);
    for (const double hit : plan.hits)
        if (!(hit >= 0 && hit <= 1))
            throw UsageError(fmt::format("--hit: a hit ratio lies between 0 and 1, not {}", hit));
    plan.suffix = tokens_of("--suffix", command.suffix);
    plan.output_tokens = tokens_of("--osl", command.osl);
    if (plan.suffix < 1) throw UsageError("--suffix: a prompt ends in at least 1 token of its own");
    if (plan.output_tokens < 1) throw UsageError("--osl: an answer has at least 1 token");
    plan.concurrency.clear();
    for (const double level : ladder_of("--concurrency", command.concurrency))
        plan.concurrency.push_back(static_cast<std::uint64_t>(level));
    plan.samples = command.samples;
    if (plan.samples < kFewest)
        throw UsageError(
            fmt::format("--samples: at least {} are needed for the 95 % interval of a median", kFewest));
    if (!command.working_set.empty()) {
        const auto ladder = ladder_of("--working-set", command.working_set);
        if (command.working_set.find_first_of(",:") != std::string::npos)
            throw UsageError(
                fmt::format("--working-set {}: the numbers in between are searched, and a list or steps have "
                            "no effect; expected a range like 1..64",
                            command.working_set));
        plan.working_set_from = static_cast<std::uint64_t>(ladder.front());
        plan.working_set_most = static_cast<std::uint64_t>(ladder.back());
    }
    if (!command.ttl.empty()) {
        plan.idle_most_s = seconds(naming("--ttl", [&] { return parse_duration(command.ttl); }));
        if (!(*plan.idle_most_s >= 1)) throw UsageError("--ttl: the shortest idle time is 1 s");
    }
    if (!command.burst.empty()) {
        const auto rates = numbers_of("--burst", command.burst);
        if (rates.size() > 1)
            throw UsageError(fmt::format("--burst {}: expected one rate, e.g. 2", command.burst));
        plan.burst_rate = rates.front();
        if (!(*plan.burst_rate > 0)) throw UsageError("--burst: the rate is above 0 requests per second");
        plan.burst_prefixes = command.burst_prefixes;
        if (plan.burst_prefixes < 1) throw UsageError("--burst-prefixes: at least 1 is used");
    }
    if (!command.price.empty()) plan.prices = {cards::price_card(command.price)};
    return plan;
}

/// Prints the report, and throws the error that its verdict requires.
void conclude(const CacheReport& report, const std::filesystem::path& directory, const Presentation& shown) {
    if (!shown.quiet) print("files: {}\n\n", directory.string());
    print("{}", reports::cache_console(report, shown.verbose));
    std::fflush(stdout);
    for (const reports::CacheLevel& level : report.levels)
        if (!level.invalid.empty())
            throw Error(ExitCode::measurement_invalid,
                        fmt::format("the measurement is invalid: {}", level.invalid));
    if (!report.verdicts.empty() && report.verdicts.front().code == "unknown")
        throw Error(ExitCode::measurement_invalid, report.verdicts.front().text);
}

void measure(CachePlan plan, const experiments::Access& access, const Presentation& shown) {
    if (!plan.asked.virtual_time) experiments::require_descriptors(plan.concurrency.back());
    InterruptWatch interrupt("\nending the experiment (press Ctrl-C again to end at once)\n");
    reports::OutputDirectory output(output_request(plan.asked, reports::OutputKind::cache));
    ConsoleWatcher watcher(interrupt, shown.quiet);
    const auto target = experiments::open_target(experiments::plan_of_level(plan, {plan.prefixes.front()}, 1),
                                                 access, watcher, interrupt.token());
    const CacheReport report = experiments::measure_cache(plan, *target, output.path(),
                                                          {this_invocation(), watcher, interrupt.token()});
    reports::write_file_atomically(
        output.path() / "cache.md",
        reports::markdown_of(reports::cache_section(reports::picture_of({{}, report}), "cache"), 1));
    if (!plan.prices.empty() && report.price.empty())
        watcher.warn(fmt::format(
            "--price {}: the card has no price for the serving hardware; name hardware that it has "
            "with --gpu, or give another card",
            plan.prices.front().name));
    conclude(report, output.path(), shown);
}

void cache(const CacheCommand& command) {
    const CachePlan plan = plan_of_cache(command);
    if (command.plan.print_config) {
        print("{}\n", config_text(plan.asked));
        return;
    }
    const experiments::Access access = access_of(plan.asked);
    without_telling(experiments::secrets_of(plan.asked, access.api_key),
                    [&] { measure(plan, access, command.shown); });
}

void add_own_options(CLI::App& sub, CacheCommand& command) {
    sub.option_defaults()->group("Experiment");
    sub.add_option("--prefix", command.prefix,
                   "Lengths of the repeated prefixes in tokens: a range by doubling, or a list. Lengths of a "
                   "range that do not fit into the context are left out [256..8192]");
    sub.add_option("--suffix", command.suffix,
                   "Number of tokens at the end of each prompt that no other prompt shares")
        ->capture_default_str();
    sub.add_option("--osl", command.osl, "Output length in tokens")->capture_default_str();
    sub.add_option("--hit", command.hit,
                   "Shares of the prefix that the arm `shared` repeats; other arms repeat none or all of it")
        ->capture_default_str();
    sub.add_option("--concurrency", command.concurrency,
                   "Numbers of requests in flight to measure: 1,8 or 1..16")
        ->capture_default_str();
    sub.add_option("--working-set", command.working_set,
                   "Also find how many prefixes of the longest length the cache holds when they are used in "
                   "turn: 1..64");
    sub.add_option("--ttl", command.ttl,
                   "Also find how long an unused prefix is kept: 1 s, 5 s, 30 s and so on are tried, one "
                   "after the other, up to this time (10m) or until it is gone");
    auto* const burst = sub.add_option(
        "--burst", command.burst,
        "Also measure the hits during a burst: this many requests per second for 30 s, four times "
        "as many for 30 s, and this many again for 30 s");
    sub.add_option("--burst-prefixes", command.burst_prefixes,
                   "Number of prefixes of the longest length that --burst uses in turn")
        ->needs(burst)
        ->capture_default_str();
    sub.add_option("--price", command.price,
                   "Price card, by its name or as a file, from which the cost of a million output tokens is "
                   "computed for each arm; --gpu names the serving hardware");
    sub.add_option("--samples", command.samples, "Number of requests for each arm and prefix length")
        ->capture_default_str();
}

}  // namespace

void add_cache(CLI::App& app) {
    const auto command = std::make_shared<CacheCommand>();
    CLI::App* sub = app.add_subcommand(
        "cache", "Measure whether prefix caching works on a server, and how much time it saves");
    add_own_options(*sub, *command);
    add_plan_options(
        *sub, command->plan, Levels::one,
        and_those_of_shards(
            {"concurrency",   "dataset",      "dataset_path", "dataset_content", "isl",
             "osl",           "range_ratio",  "num_prompts",  "duration",        "request_rate",
             "burstiness",    "arrivals",     "ramp_up",      "think_time",      "prefill_concurrency",
             "stop",          "salt_prompts", "goodput",      "num_warmups",     "warmup_duration",
             "server_cmd",    "server_env",   "ready_url",    "ready_timeout",   "reset_cache",
             "after_run_cmd", "slo",          "require",      "class",           "class_name",
             "replies",       "keep_answers", "cancel",       "recipe",          "probe",
             "listen",        "text",         "max_in_flight"}));
    add_presentation_options(*sub, command->shown, Shows::text);
    sub->footer(
        "Exit codes: 0 measured (the verdicts state what was found), 2 wrong options, 3 the "
        "server cannot be reached, 4 a run is invalid or no conclusion is possible.");
    sub->callback([command] { cache(*command); });
}

}  // namespace paretoken::cli
