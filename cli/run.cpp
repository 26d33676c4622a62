// paretoken run: one load level against one endpoint, into one run directory.
#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/measure.h"
#include "cli/options.h"
#include "core/error.h"
#include "reports/console.h"

namespace paretoken::cli {
namespace {

struct RunCommand {
    MeasureOptions measure;
    std::string concurrency;
};

/// The exit code that a result deserves.
void judge(const Target::Measured& measured) {
    const RunResult& result = measured.result;
    if (result.partial) {
        throw RuntimeError(
            fmt::format("interrupted; the partial result is in {}", measured.directory.string()));
    }
    if (result.validity.verdict != Verdict::invalid) return;
    std::string reasons;
    for (const Reason& reason : result.validity.reasons) {
        if (reason.severity != Verdict::invalid) continue;
        reasons += (reasons.empty() ? "" : "; ") + reason.text;
    }
    throw Error(ExitCode::measurement_invalid, fmt::format("the measurement is invalid: {}", reasons));
}

void run(const RunCommand& command) {
    const LoadLevel level = load_level(command.concurrency, command.measure.pace);
    const InterruptWatch interrupt;
    const Target target(command.measure);
    const auto measured =
        target.measure(level, output_directory(command.measure.result.out), process_arguments(), interrupt);
    fmt::print("{}", reports::run_summary(measured.result, {.directory = measured.directory.string()}));
    std::fflush(stdout);
    judge(measured);
}

}  // namespace

void add_run(CLI::App& app) {
    const auto command = std::make_shared<RunCommand>();
    CLI::App* sub = app.add_subcommand("run", "Load a server at one level and measure what it delivers");
    add_target_options(*sub, command->measure.target);
    sub->add_option("--concurrency,--max-concurrency", command->concurrency,
                    "Requests in flight at once (closed loop); with a rate: the most at once [1]")
        ->group("Pace");
    sub->add_option("--request-rate", command->measure.pace.request_rate,
                    "Requests per second (open loop, Poisson); inf: all at once")
        ->group("Pace");
    sub->add_option("--arrivals", command->measure.pace.arrivals,
                    "at_once, constant:rate=R, poisson:rate=R, gamma:rate=R,burstiness=B")
        ->group("Pace");
    add_pace_options(*sub, command->measure.pace);
    add_workload_options(*sub, command->measure.workload);
    add_result_options(*sub, command->measure.result);
    sub->callback([command] { run(*command); });
}

}  // namespace paretoken::cli
