#include "experiments/run.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "core/error.h"
#include "core/plan/shard.h"
#include "core/result/slo.h"
#include "core/run/result_of.h"
#include "core/validity/validity.h"
#include "experiments/quality.h"
#include "experiments/run/begun.h"
#include "experiments/run/recording.h"
#include "experiments/server/companions.h"
#include "experiments/server/load.h"
#include "experiments/server/redaction.h"
#include "experiments/server/resolve.h"
#include "experiments/server/server_command.h"
#include "experiments/server/target.h"
#include "experiments/session.h"
#include "experiments/watcher.h"
#include "loadgen/interruption.h"
#include "loadgen/progress.h"
#include "reports/analysis/sweep/sweep.h"
#include "reports/files/output_directory.h"
#include "reports/files/recorded_files.h"
#include "reports/files/run_directory.h"
#include "reports/files/shards.h"

namespace paretoken::experiments {
namespace {

namespace fs = std::filesystem;

/// Ends a load when the server that was started for it has ended, or when the outer interruption requests it.
class WhileServed {
  public:
    WhileServed(CommandServer* server, const loadgen::Interruption& outer) {
        passed_on_.follow(outer);
        if (server != nullptr)
            watch_ = std::jthread([this, server](const std::stop_token& over) { watch(*server, over); });
    }

    loadgen::Interruption interruption() const { return passed_on_.interruption(); }

  private:
    void watch(CommandServer& server, const std::stop_token& over) {
        constexpr auto kPoll = std::chrono::milliseconds(100);
        while (!over.stop_requested() && !server.has_ended()) std::this_thread::sleep_for(kPoll);
        if (!over.stop_requested()) passed_on_.interrupt();
    }

    loadgen::PassedOn passed_on_;
    std::jthread watch_;  // last: it ends before what it uses
};

/// Tells the watcher of a load's begin and end, even if an exception ends it.
class Watching {
  public:
    Watching(Watcher& watcher, const std::string& label, const loadgen::Progress& progress,
             const loadgen::Limits& limits)
        : watcher_(watcher) {
        watcher_.load_begins(label, progress, limits);
    }
    ~Watching() { watcher_.load_ends(); }
    Watching(const Watching&) = delete;
    Watching& operator=(const Watching&) = delete;

  private:
    Watcher& watcher_;
};

/// Returns the plan with the URL of the server that a command started for it.
LoadPlan at_url(LoadPlan asked, const CommandServer* server) {
    if (server != nullptr) asked.targets = {server->url()};
    return asked;
}

/// Writes the end of the records and the result, as far as the disk allows. Returns what failed.
std::string written(const RunResult& result, const Recorded& recorded, const fs::path& directory) {
    try {
        reports::write_ended(directory, recorded);
        reports::write_run(directory, result);
    } catch (const RuntimeError& error) {
        return recorded.lost.empty() ? error.what() : recorded.lost;
    }
    return recorded.lost;
}

/// Gives a load the part of this process, and lets it hear of the others.
void make_together(Load& load, Shard part, Companions& others) {
    load.options.shard = part;
    load.options.decides = others.leads();
    load.options.exchange = [&others](loadgen::StopMonitor& monitor, loadgen::Progress& progress) {
        others.exchange(monitor, progress);
    };
    load.when_over = [&others] { others.load_ends(); };
}

/// Measures what this process makes of a load. `together`: its part of a load that it makes with others.
Measured measured_here(const Target& target, const LoadPlan& asked, const std::optional<Shard>& together,
                       const fs::path& directory, const Session& session) {
    Load load = target.load_for(asked);
    Companions* const others = together ? target.companions() : nullptr;
    if (together) make_together(load, *together, *others);
    warn_of(load, target, session.watcher);
    CommandServer* const server = target.started_server();
    const bool leads = load.options.shard.number == 0;
    if (leads && load.plan.server.reset_cache) target.reset_cache();
    Recorded recorded{.begun = begun_of(load, target, session.invocation, directory)};
    const Judging judging = judging_of(load.plan, recorded.begun.workload, session.watcher);
    reports::remove_run(directory);
    reports::write_begun(directory, recorded.begun, judging);
    target.get_ready(load);
    if (others != nullptr) load.options.began = others->begin();
    Recording recording(directory, load, target);
    loadgen::Progress progress;
    {
        std::optional<Watching> watching;  // virtual time is short, and its runs may go on side by side
        if (!target.in_virtual_time())
            watching.emplace(session.watcher, reports::load_label_of(recorded.begun), progress,
                             combined(load.options.classes).limits);
        const WhileServed while_served(server, session.interruption);
        std::optional<loadgen::OnInterruption> passes_on;
        if (others != nullptr)
            passes_on.emplace(
                while_served.interruption(), [others] { others->stop_starting(); },
                [others] { others->cut_off(); });
        recorded.observed = target.make(load, recording.sink(), progress, while_served.interruption());
    }
    recording.finish(recorded);
    std::string answers_not_written;
    if (leads && !load.plan.probe.empty() && !recorded.observed.interrupted) {
        const WhileServed while_served(server, session.interruption);
        const auto quality = quality_of(target, asked, while_served.interruption());
        recorded.observed.interrupted = !quality.has_value();
        if (quality) recorded.probe = kept_outcome(*quality, directory, answers_not_written);
    }
    redact(recorded, target.secrets());
    RunResult result = result_of(recorded, judging);
    redact(result, target.secrets());
    std::string failure = written(result, recorded, directory);
    if (failure.empty()) failure = std::move(answers_not_written);
    if (result.partial && server != nullptr && server->has_ended())
        throw ServerFailed(target.secrets().redacted(server->how_it_ended()));
    return {std::move(result), directory, std::move(failure)};
}

/// Makes the part of this process, lets the others send theirs, and joins all into one run.
Measured measured_together(const Target& target, const LoadPlan& asked, Shard part, const fs::path& directory,
                           const Session& session) {
    const fs::path parts = directory / kShardsName;
    fs::remove_all(parts);
    reports::remove_run(directory);
    const Measured own = measured_here(target, asked, part, parts / std::to_string(part.number), session);
    if (!own.not_written.empty()) throw RuntimeError(own.not_written);
    Companions::Gathered gathered = target.companions()->gather(parts);
    gathered.directories.push_back(own.directory);
    RunResult joined = reports::join_shards(gathered.directories, directory, gathered.clock_errors_s);
    // The parts of a load that lacks one can be joined with it, if it is found.
    if (gathered.directories.size() == part.count) fs::remove_all(parts);
    return {std::move(joined), directory, ""};
}

/// Measures a load with others, as the one that decides or as another one.
Measured measured_with(Companions& others, const Target& target, const LoadPlan& asked,
                       const fs::path& directory, const Session& session) {
    const Shard part = others.divide(asked);
    const auto together = part.count > 1 ? std::optional(part) : std::nullopt;
    if (!others.leads() || !together) return measured_here(target, asked, together, directory, session);
    try {
        return measured_together(target, asked, part, directory, session);
    } catch (...) {
        others.abandon();
        throw;
    }
}

}  // namespace

Measured measure(const Target& target, const LoadPlan& asked, const fs::path& directory,
                 const Session& session) {
    Companions* const others = target.companions();
    LoadPlan plan = at_url(asked, target.started_server());
    if (others != nullptr && plan.salt.empty()) plan.salt = fresh_salt();  // all make the same prompts
    Measured measured = others != nullptr ? measured_with(*others, target, plan, directory, session)
                                          : measured_here(target, plan, std::nullopt, directory, session);
    const bool leads = others != nullptr ? others->leads() : shard_of(plan).number == 0;
    if (leads && !measured.result.partial && !plan.server.after_run_command.empty()) run_after(plan);
    return measured;
}

void require_valid(const Measured& measured) {
    if (!measured.not_written.empty()) throw RuntimeError(measured.not_written);
    const RunResult& result = measured.result;
    if (result.partial) {
        const std::string lost = lost_records(result);
        throw RuntimeError(fmt::format("{}; the partial result is in {}", lost.empty() ? "interrupted" : lost,
                                       measured.directory.string()));
    }
    if (result.validity.verdict != Verdict::invalid) return;
    std::string reasons;
    for (const Reason& reason : result.validity.reasons) {
        if (reason.severity != Verdict::invalid) continue;
        reasons += (reasons.empty() ? "" : "; ") + reason.text;
    }
    throw Error(ExitCode::measurement_invalid, fmt::format("the measurement is invalid: {}", reasons));
}

void require_slos(const RunResult& result, bool met) {
    const auto texts_of = [&](auto wanted) {
        std::string texts;
        for (const SloResult& slo : result.slo)
            if (wanted(slo)) texts += (texts.empty() ? "" : "; ") + slo_text(result, slo);
        return texts;
    };
    const std::string missed =
        texts_of([](const SloResult& slo) { return slo.verdict == SloVerdict::missed && slo.shown; });
    if (!missed.empty()) throw Error(ExitCode::gate_failed, missed);
    const std::string open = texts_of([&](const SloResult& slo) {
        return slo.verdict == SloVerdict::within ? met : slo.verdict != SloVerdict::met;
    });
    if (!open.empty()) throw Error(ExitCode::gate_inconclusive, open);
}

void require_whole(const Measured& run, const Target& target, const std::string& then) {
    if (!run.not_written.empty()) throw RuntimeError(run.not_written);
    if (run.result.partial) throw RuntimeError("interrupted; " + then);
    if (run.result.counts.ok == 0) target.require_answer();
}

void require_descriptors(std::uint64_t streams) {
    constexpr std::uint64_t kBesidesStreams = 64;  // files, timers, pipes, and those of the simulated server
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
    const std::uint64_t needed = streams + kBesidesStreams;
    if (needed <= limit.rlim_cur) return;
    throw RuntimeError(
        fmt::format("{} requests in flight need {} file descriptors, and this process may open {}; lower "
                    "--concurrency, or raise the limit (ulimit -n {})",
                    streams, needed, static_cast<std::uint64_t>(limit.rlim_cur), needed));
}

}  // namespace paretoken::experiments
