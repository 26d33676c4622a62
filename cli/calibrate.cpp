// paretoken calibrate: finds the largest load that this host's client can carry, against the simulated server
// with fixed times. The result is stored, and `run` and `sweep` warn before they try a load beyond it.
#include "experiments/calibrate.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "cards/client_ceiling.h"
#include "cards/host.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/invocation.h"
#include "core/error.h"
#include "core/version.h"

namespace paretoken::cli {
namespace {

struct CalibrateCommand {
    std::string out;
};

void show_level(const experiments::CalibrationLevel& level) {
    fmt::print("  {:>9.0f} events/s asked, {:>9.0f} came, read {:>9.1f} µs after their arrival (p99): {}\n",
               level.asked_per_s, level.events_per_s, level.delay_p99_s.value_or(0) * 1e6,
               level.carried ? "carried" : "not carried");
    std::fflush(stdout);
}

void calibrate(const CalibrateCommand& command) {
    const std::filesystem::path path =
        command.out.empty() ? cards::default_ceiling_path() : std::filesystem::path(command.out);
    if (path.empty()) throw UsageError("calibrate: neither XDG_STATE_HOME nor HOME is set; use --out FILE");
    const InterruptWatch interrupt;
    const experiments::Invocation invocation = this_invocation();
    fmt::print("about {} streams against the simulated server on this host:\n",
               experiments::kCalibrationStreams);
    cards::ClientCeiling ceiling;
    ceiling.events_per_s = experiments::events_ceiling(invocation, interrupt.token(), show_level);
    if (ceiling.events_per_s == 0) {
        throw Error(ExitCode::measurement_invalid,
                    "calibrate: the client could not handle even the lowest rate: other programs use "
                    "this host's processors; nothing was stored");
    }
    ceiling.requests_per_s = experiments::requests_ceiling(invocation, interrupt.token());
    ceiling.streams = experiments::streams_ceiling();
    ceiling.cpu = cards::this_host().cpu;
    ceiling.version = version();
    ceiling.measured_at = experiments::utc_now();
    cards::store(ceiling, path);
    fmt::print(
        "the client on this host handles, per worker: {:.0f} stream events/s, {:.0f} one-token "
        "requests/s; in all: {} streams\nthe server ran beside the client and took its share of "
        "the processor\nstored in {}\n",
        ceiling.events_per_s, ceiling.requests_per_s, ceiling.streams, path.string());
}

}  // namespace

void add_calibrate(CLI::App& app) {
    const auto command = std::make_shared<CalibrateCommand>();
    CLI::App* sub =
        app.add_subcommand("calibrate", "Measure how much load the client on this host can generate");
    sub->add_option("--out", command->out,
                    "File for the result; only the default file is read by run and sweep "
                    "[~/.local/state/paretoken/client_ceiling.json]");
    sub->callback([command] { calibrate(*command); });
}

}  // namespace paretoken::cli
