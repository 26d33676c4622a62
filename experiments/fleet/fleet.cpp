#include "experiments/fleet/fleet.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <thread>

#include "core/error.h"
#include "core/plan/plan_fields.h"
#include "core/plan/shard.h"
#include "experiments/fleet/follower.h"
#include "experiments/fleet/leader.h"
#include "experiments/fleet/mpi_share.h"
#include "experiments/fleet/rendezvous.h"
#include "experiments/run.h"
#include "experiments/server/launch.h"
#include "experiments/server/lifecycle.h"
#include "experiments/server/redaction.h"
#include "experiments/server/resolve.h"
#include "experiments/session.h"

namespace paretoken::experiments {
namespace {

namespace fs = std::filesystem;

void require_common_server(const LoadPlan& asked) {
    if (asked.virtual_time)
        throw UsageError(
            "--rendezvous: a run in virtual time has no clock to share; give each process its --shard, and "
            "join the results with paretoken merge");
    if (!asked.fleet.start_at.empty())
        throw UsageError("--rendezvous and --start-at both say when the shards begin; leave one out");
    for (const std::string& url : asked.targets)
        if (names_simulator(url))
            throw UsageError(
                fmt::format("{} is a server inside one process, which the other shards do not see; start "
                            "`paretoken serve` and give its URL",
                            url));
}

/// Ends a process whose part of a load failed. A launcher ends the other processes as soon as one has failed,
/// and shard 0 first tells what was lost.
[[noreturn]] void end_with(const Error& failure) {
    constexpr Duration kForShard0 = std::chrono::milliseconds(500);
    std::this_thread::sleep_for(kForShard0);
    throw Error(failure);
}

/// Returns whether one opened target serves both plans: they differ only in the amount and the times of
/// requests, and in limits.
bool same_target(const LoadPlan& a, const LoadPlan& b) {
    return !difference(a, b, [](const PlanField& field) {
        for (const std::string_view own : {"concurrency", "request_rate", "num_prompts", "duration", "stop",
                                           "salt", "arrivals", "prefill_concurrency", "max_in_flight"})
            if (field.name == own) return false;
        return field.kind == FieldKind::workload || field.kind == FieldKind::load;
    });
}

}  // namespace

bool follows(const LoadPlan& asked) {
    return !asked.fleet.rendezvous.empty() && shard_of(asked).number > 0;
}

std::shared_ptr<Companions> companions_of(const LoadPlan& asked, Watcher& watcher,
                                          const std::stop_token& stop) {
    if (asked.fleet.rendezvous.empty() || shard_of(asked).count == 1) return nullptr;
    require_common_server(asked);
    const Rendezvous at = parse_rendezvous(asked.fleet.rendezvous);
    const Listener listener(at.port);
    // An address that the user gave tells no token; the options of the processes are compared all the same.
    const bool tells = at.by_mpi() || !at.directory.empty();
    const MeetingPlace place{.hosts = hosts_of_this_machine(),
                             .port = listener.port(),
                             .token = tells ? fresh_salt() : std::string()};
    std::optional<PublishedPlace> published;
    if (!at.directory.empty()) published.emplace(at.directory, place);
    if (at.by_mpi()) (void)shared_by_mpi(text_of(place));
    return std::make_shared<Leader>(hello_of(asked, place.token), listener, asked.fleet.patience, watcher,
                                    stop);
}

void follow(const LoadPlan& asked, const Access& access, const fs::path& directory, const Session& session) {
    require_common_server(asked);
    const Rendezvous at = parse_rendezvous(asked.fleet.rendezvous);
    std::optional<MeetingPlace> told;
    if (at.by_mpi()) told = parse_place(shared_by_mpi(""));
    const auto find = [&]() -> std::optional<MeetingPlace> {
        if (told) return told;
        if (!at.directory.empty()) return published_place(at.directory);
        return MeetingPlace{.hosts = {at.host}, .port = at.port};
    };
    const auto leader = std::make_shared<Follower>(hello_of(asked, ""), find, asked.fleet.patience,
                                                   session.interruption.stop_starting);
    std::optional<LoadPlan> opened;
    std::unique_ptr<Target> target;
    std::optional<Error> failure;
    for (int number = 1;; ++number) {
        const auto order = leader->next_order(asked, session.interruption.stop_starting);
        if (!order && failure) end_with(*failure);
        if (!order) return;
        const fs::path run = directory / std::to_string(number);
        try {
            loadgen::PassedOn both;
            both.follow(session.interruption);
            both.follow(leader->interruption());
            if (!opened || !same_target(*opened, order->plan)) {
                target.reset();
                target = open_target(order->plan, access, session.watcher, both.interruption().stop_starting);
                target->set_companions(leader);
                opened = order->plan;
            }
            const Measured measured = measure(*target, order->plan, run,
                                              {session.invocation, session.watcher, both.interruption()});
            if (!measured.not_written.empty()) throw RuntimeError(measured.not_written);
        } catch (const Error& error) {
            failure.emplace(error.code(), secrets_of(asked, access.api_key).redacted(error.what()));
            leader->fail(*failure);
            continue;
        }
        if (!leader->send_files(run))
            throw RuntimeError(fmt::format(
                "shard 0 is gone; what this shard measured is in {} (paretoken merge joins the shards)",
                run.string()));
        fs::remove_all(run);
        std::error_code ignored;
        fs::remove(directory, ignored);
    }
}

}  // namespace paretoken::experiments
