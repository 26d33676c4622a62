#include "experiments/calibrate.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "core/error.h"
#include "core/plan/plan.h"
#include "experiments/run.h"
#include "experiments/server/target.h"
#include "experiments/session.h"
#include "experiments/watcher.h"

namespace paretoken::experiments {
namespace {

constexpr std::uint64_t kStreams = kCalibrationStreams;
constexpr double kSecondsPerAnswer = 0.75;
constexpr std::uint64_t kAnswersPerStream = 3;
/// Mean rate of a run ÷ rate with all streams busy. Streams begin one by one, over the time of one answer.
constexpr double kBusyShare = kAnswersPerStream / (kAnswersPerStream + 1.0);
constexpr double kLongestDelay = 1e-3;  ///< p99 of the time from kernel stamp to read, seconds
constexpr double kFirstRate = 8000;     ///< events per second
constexpr double kLastRate = 1e6;
constexpr int kBisections = 3;
constexpr int kTries = 2;
constexpr std::uint64_t kSpareDescriptors = 64;

/// A directory that is removed with this object, because calibration leaves one file and no runs.
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

/// The parameters that all levels of a search share.
struct Search {
    const Invocation& invocation;
    const std::stop_token& stop;
    const std::function<void(const CalibrationLevel&)>& level_done;
    Scratch scratch = {};
};

LoadPlan plan_with(const std::string& url, const std::string& osl) {
    LoadPlan plan;
    plan.targets = {url};
    plan.classes.front().dataset = {"synthetic", {{"isl", "16"}, {"osl", osl}}};
    return plan;
}

RunResult measured(const LoadPlan& plan, const std::filesystem::path& directory, const Invocation& invocation,
                   const std::stop_token& stop) {
    Watcher silent;
    const RunResult result =
        measure(*open_target(plan, {}, silent, stop), plan, directory, {invocation, silent, stop}).result;
    if (result.partial) throw RuntimeError("interrupted; nothing was stored");
    if (result.counts.failed > 0) {
        throw RuntimeError(fmt::format("{} of {} requests to the simulated server failed",
                                       result.counts.failed, result.counts.requests));
    }
    return result;
}

/// Measures a level with about kStreams streams that begin evenly spread in time. If answers began together,
/// every step would be a burst, whose last event waits until all others are read.
CalibrationLevel level_at(double rate, const Search& search) {
    const double gap = static_cast<double>(kStreams) / rate;
    const double tokens = std::max(2.0, std::round(kSecondsPerAnswer / gap));
    LoadPlan plan = plan_with(fmt::format("sim:ideal?ttft={0:.0f}us&itl={0:.0f}us", gap * 1e6),
                              fmt::format("{:.0f}", tokens));
    plan.classes.front().arrivals = Spec{"constant", {{"rate", fmt::format("{}", rate / tokens)}}};
    plan.stop.requests = kAnswersPerStream * kStreams;
    plan.stop.rules = {"diverging=off"};
    const RunResult result = measured(plan, search.scratch.path / "level", search.invocation, search.stop);
    CalibrationLevel level{
        .asked_per_s = rate,
        .events_per_s = result.whole_run.at(figure::kOutputTokens).value_or(0) / kBusyShare,
        .delay_p99_s = result.client.user_delay_p99_s};
    // The server shares this host: a rate that it did not reach proves nothing about the client.
    level.carried = level.delay_p99_s.value_or(1) < kLongestDelay && level.events_per_s > .9 * rate;
    search.level_done(level);
    return level;
}

/// Measures a level again if it was not carried, because the host may have frozen for a moment.
CalibrationLevel best_level_at(double rate, const Search& search) {
    CalibrationLevel level = level_at(rate, search);
    for (int again = 1; again < kTries && !level.carried; ++again) level = level_at(rate, search);
    return level;
}

}  // namespace

/// Doubles until a level is not carried, then halves the bracket on a logarithmic scale.
double events_ceiling(const Invocation& invocation, const std::stop_token& stop,
                      const std::function<void(const CalibrationLevel&)>& level_done) {
    const Search search{invocation, stop, level_done};
    double carried = 0;
    double rate = kFirstRate;
    while (rate < kLastRate) {
        const CalibrationLevel level = best_level_at(rate, search);
        if (!level.carried) break;
        carried = level.events_per_s;
        rate *= 2;
    }
    double low = rate / 2;
    for (int i = 0; i < kBisections && carried > 0; ++i) {
        const double middle = std::sqrt(low * rate);
        const CalibrationLevel level = best_level_at(middle, search);
        if (level.carried) {
            low = middle;
            carried = std::max(carried, level.events_per_s);
        } else {
            rate = middle;
        }
    }
    return carried;
}

double requests_ceiling(const Invocation& invocation, const std::stop_token& stop) {
    const Scratch scratch;
    LoadPlan plan = plan_with("sim:ideal?ttft=0ms&itl=0ms", "1");
    plan.classes.front().concurrency = 64;
    plan.stop.duration = std::chrono::seconds(2);
    const RunResult result = measured(plan, scratch.path / "requests", invocation, stop);
    return result.throughput.at(figure::kRequests).value_or(0);
}

std::uint64_t streams_ceiling() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
    return limit.rlim_cur > kSpareDescriptors ? limit.rlim_cur - kSpareDescriptors : 0;
}

}  // namespace paretoken::experiments
