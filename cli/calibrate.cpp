// paretoken calibrate: how much this host's client can carry, found against the simulated server with fixed
// times. What it finds is stored, and `run` and `sweep` warn before a load beyond it is tried.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>

#include "cards/client_ceiling.h"
#include "cards/host.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/measure.h"
#include "core/error.h"
#include "core/version.h"

namespace paretoken::cli {
namespace {

constexpr std::uint64_t kStreams = 256;
constexpr double kSecondsPerAnswer = 0.75;
constexpr std::uint64_t kAnswersPerStream = 3;
/// Of a run's time in which all streams are busy, were it one answer's time shorter: they begin one by one.
constexpr double kBusyShare = kAnswersPerStream / (kAnswersPerStream + 1.0);
constexpr double kLongestDelay = 1e-3;  ///< p99 of read − kernel stamp, seconds
constexpr double kFirstRate = 8000;     ///< events per second
constexpr double kLastRate = 1e6;
constexpr int kBisections = 3;
constexpr int kTries = 2;
constexpr std::uint64_t kSpareDescriptors = 64;

struct CalibrateCommand {
    std::string out;
};

/// A directory that is gone with this object: calibration leaves one file, not runs.
class Scratch {
  public:
    Scratch() {
        std::string name = (std::filesystem::temp_directory_path() / "paretoken-calibrate-XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr)
            throw RuntimeError("cannot make a directory for temporary files");
        path = name;
    }
    ~Scratch() {
        std::error_code ignored;
        std::filesystem::remove_all(path, ignored);
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

    std::filesystem::path path;
};

/// `concurrency` is empty where the arrivals in `pace` say when requests begin.
RunResult measured(const std::string& url, const std::string& concurrency, const PaceOptions& pace,
                   const std::string& osl, const std::filesystem::path& directory,
                   const InterruptWatch& interrupt) {
    MeasureOptions options;
    options.target.url = url;
    options.workload.isl = "16";
    options.workload.osl = osl;
    options.pace = pace;
    const LoadLevel level = load_level(concurrency, pace);
    RunResult result = Target(options).measure(level, directory, process_arguments(), interrupt).result;
    if (result.partial) throw RuntimeError("interrupted; nothing was stored");
    if (result.counts.failed > 0) {
        throw RuntimeError(fmt::format("{} of {} requests to the simulated server failed",
                                       result.counts.failed, result.counts.requests));
    }
    return result;
}

/// One level of the search: what came, and whether it was read in time.
struct Level {
    double events_per_s = 0;
    std::optional<double> delay_p99_s;
    bool carried = false;
};

/// About 256 streams, evenly spread in time: answers that begin together would make every step a burst, whose
/// last event waits for all others to be read.
Level level_at(double rate, const Scratch& scratch, const InterruptWatch& interrupt) {
    const double gap = static_cast<double>(kStreams) / rate;
    const std::string url = fmt::format("sim:ideal?ttft={0:.0f}us&itl={0:.0f}us", gap * 1e6);
    const double tokens = std::max(2.0, std::round(kSecondsPerAnswer / gap));
    PaceOptions pace;
    pace.arrivals = fmt::format("constant:rate={}", rate / tokens);
    pace.num_prompts = std::to_string(kAnswersPerStream * kStreams);
    const RunResult result =
        measured(url, "", pace, fmt::format("{:.0f}", tokens), scratch.path / "level", interrupt);
    Level level{.events_per_s = result.whole_run.output_tokens_per_s.value_or(0) / kBusyShare,
                .delay_p99_s = result.client.user_delay_p99_s};
    // The server shares this host: a rate that it did not reach proves nothing of the client.
    level.carried = level.delay_p99_s.value_or(1) < kLongestDelay && level.events_per_s > .9 * rate;
    fmt::print("  {:>9.0f} events/s asked, {:>9.0f} came, read {:>9.1f} µs after their arrival (p99): {}\n",
               rate, level.events_per_s, level.delay_p99_s.value_or(0) * 1e6,
               level.carried ? "carried" : "not carried");
    std::fflush(stdout);
    return level;
}

/// A host that freezes for a moment is not a client that cannot keep up: what was not carried is tried again.
Level best_level_at(double rate, const Scratch& scratch, const InterruptWatch& interrupt) {
    Level level = level_at(rate, scratch, interrupt);
    for (int again = 1; again < kTries && !level.carried; ++again) level = level_at(rate, scratch, interrupt);
    return level;
}

/// Doubles until a level is not carried, then halves the bracket on a logarithmic scale.
double events_ceiling(const Scratch& scratch, const InterruptWatch& interrupt) {
    double carried = 0;
    double rate = kFirstRate;
    while (rate < kLastRate) {
        const Level level = best_level_at(rate, scratch, interrupt);
        if (!level.carried) break;
        carried = level.events_per_s;
        rate *= 2;
    }
    double low = rate / 2;
    for (int i = 0; i < kBisections && carried > 0; ++i) {
        const double middle = std::sqrt(low * rate);
        const Level level = best_level_at(middle, scratch, interrupt);
        if (level.carried) {
            low = middle;
            carried = std::max(carried, level.events_per_s);
        } else {
            rate = middle;
        }
    }
    return carried;
}

double requests_ceiling(const Scratch& scratch, const InterruptWatch& interrupt) {
    PaceOptions pace;
    pace.duration = "2s";
    const RunResult result =
        measured("sim:ideal?ttft=0ms&itl=0ms", "64", pace, "1", scratch.path / "requests", interrupt);
    return result.throughput.requests_per_s.value_or(0);
}

std::uint64_t streams_ceiling() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
    return limit.rlim_cur > kSpareDescriptors ? limit.rlim_cur - kSpareDescriptors : 0;
}

void calibrate(const CalibrateCommand& command) {
    const std::filesystem::path path =
        command.out.empty() ? cards::default_ceiling_path() : std::filesystem::path(command.out);
    if (path.empty()) throw UsageError("calibrate: neither XDG_STATE_HOME nor HOME is set; use --out FILE");
    const InterruptWatch interrupt;
    const Scratch scratch;
    fmt::print("about {} streams against the simulated server on this host:\n", kStreams);
    cards::ClientCeiling ceiling;
    ceiling.events_per_s = events_ceiling(scratch, interrupt);
    if (ceiling.events_per_s == 0) {
        throw Error(ExitCode::measurement_invalid,
                    "calibrate: not even the lowest rate was carried: something else uses this host's "
                    "processors; nothing was stored");
    }
    ceiling.requests_per_s = requests_ceiling(scratch, interrupt);
    ceiling.streams = streams_ceiling();
    ceiling.cpu = cards::this_host().cpu;
    ceiling.version = version();
    ceiling.measured_at = utc_now();
    cards::store(ceiling, path);
    fmt::print(
        "this host carries, per worker: {:.0f} stream events/s, {:.0f} one-token requests/s; in all: {} "
        "streams\nthe server ran beside the client and took its share of the processor\nstored in {}\n",
        ceiling.events_per_s, ceiling.requests_per_s, ceiling.streams, path.string());
}

}  // namespace

void add_calibrate(CLI::App& app) {
    const auto command = std::make_shared<CalibrateCommand>();
    CLI::App* sub = app.add_subcommand("calibrate", "Find how much load this host's client can carry");
    sub->add_option("--out", command->out,
                    "File to store it in; only the default one is read by run and sweep "
                    "[~/.local/state/paretoken/client_ceiling.json]");
    sub->callback([command] { calibrate(*command); });
}

}  // namespace paretoken::cli
