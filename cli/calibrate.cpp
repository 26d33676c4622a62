// paretoken calibrate: finds the largest load that this host's client can carry, against the simulated server
// with fixed times. The result is stored, and `run` and `sweep` warn before they try a load beyond it.
#include "experiments/calibrate.h"

#include <cstdio>
#include <memory>

#include "cards/client_ceiling.h"
#include "cards/host.h"
#include "cli/commands.h"
#include "cli/console/interrupt.h"
#include "cli/console/print.h"
#include "cli/options/invocation.h"
#include "core/error.h"
#include "core/version.h"

namespace paretoken::cli {
namespace {

struct CalibrateCommand {
    std::string out;
};

void show_level(const experiments::CalibrationLevel& level) {
    print("  {:>9.0f} events/s wanted, {:>9.0f} came, p99 from arrival to read {:>9.1f} µs: {}\n",
          level.asked_per_s, level.events_per_s, level.delay_p99_s.value_or(0) * 1e6,
          level.carried ? "kept up" : "did not keep up");
    std::fflush(stdout);
}

void calibrate(const CalibrateCommand& command) {
    const std::filesystem::path path =
        command.out.empty() ? cards::default_ceiling_path() : std::filesystem::path(command.out);
    if (path.empty()) throw UsageError("calibrate: neither XDG_STATE_HOME nor HOME is set; use --out FILE");
    const InterruptWatch interrupt(
        "\nending the calibration: nothing is stored (press Ctrl-C again to end at once)\n");
    const experiments::Invocation invocation = this_invocation();
    print("measuring with about {} streams from the simulated server on this host:\n",
          experiments::kCalibrationStreams);
    cards::ClientCeiling ceiling;
    ceiling.events_per_s = experiments::events_ceiling(invocation, interrupt.token(), show_level);
    if (ceiling.events_per_s == 0) {
        throw Error(ExitCode::measurement_invalid,
                    "calibrate: the client did not read events in time even at the lowest rate, and nothing "
                    "was stored; close other programs that use the processors of this host, and try again");
    }
    ceiling.requests_per_s = experiments::requests_ceiling(invocation, interrupt.token());
    ceiling.streams = experiments::streams_ceiling();
    ceiling.cpu = cards::this_host().cpu;
    ceiling.version = version();
    ceiling.measured_at = experiments::utc_now();
    cards::store(ceiling, path);
    print(
        "the client on this host handles {:.0f} stream events/s and {:.0f} one-token requests/s per worker, "
        "and {} streams in all (limit on open files)\nthe simulated server used part of the processors: "
        "without it the rates may be higher\nstored in {}\n",
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
