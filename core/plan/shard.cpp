#include "core/plan/shard.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <charconv>

#include "core/error.h"
#include "core/plan/plan.h"
#include "core/spec.h"
#include "core/text/utc.h"

namespace paretoken {
namespace {

std::optional<std::uint32_t> whole(std::string_view text) {
    std::uint32_t value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
    return value;
}

/// The variables in which a launcher tells a process its rank.
struct LauncherRow {
    std::string_view name;
    std::string_view rank;
    std::string_view size;      ///< empty: the launcher does not tell it
    std::string_view needs;     ///< a variable that must be set as well, because others set the rank too
    bool starts_copies = true;  ///< whether its processes run one command, so that they surely divide a load
    bool has_mpi = false;       ///< whether MPI can tell the processes where they meet
};
constexpr std::array kLaunchers = {
    LauncherRow{"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "", true, true},
    LauncherRow{"MPICH", "PMI_RANK", "PMI_SIZE", "", true, true},
    LauncherRow{"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_ID"},
    LauncherRow{"Kubernetes", "JOB_COMPLETION_INDEX", "", "", false},
    LauncherRow{"torchrun", "RANK", "WORLD_SIZE", "", false},
    LauncherRow{"PMIx", "PMIX_RANK", "", "", false},
};

std::optional<std::uint32_t> number_in(std::string_view name, const ReadsVariable& variable) {
    if (name.empty()) return std::nullopt;
    const auto text = variable(std::string(name));
    if (!text || text->empty()) return std::nullopt;
    const auto value = whole(*text);
    if (!value)
        throw UsageError(fmt::format(
            "the variable {} is '{}', which is no rank; correct it, or give --shard I/N", name, *text));
    return value;
}

/// The number of a process among those that a launcher started, and the launcher.
struct LaunchedRank {
    std::string launcher;
    std::uint32_t rank = 0;
    std::optional<std::uint32_t> size = {};  ///< absent if the launcher does not tell it
};

std::optional<LaunchedRank> rank_from(const LauncherRow& row, const ReadsVariable& variable) {
    if (!row.needs.empty() && !variable(std::string(row.needs))) return std::nullopt;
    const auto rank = number_in(row.rank, variable);
    if (!rank) return std::nullopt;
    const auto size = number_in(row.size, variable);
    if (size == 1U || (!size && !row.size.empty())) return std::nullopt;
    return LaunchedRank{.launcher = std::string(row.name), .rank = *rank, .size = size};
}

bool is_divided(const LoadPlan& plan) {
    return plan.fleet.shards || !plan.fleet.rendezvous.empty() || !plan.fleet.start_at.empty();
}

void require_common_start(const LoadPlan& plan, std::string_view who) {
    if (plan.virtual_time || !plan.fleet.rendezvous.empty() || !plan.fleet.start_at.empty()) return;
    throw UsageError(fmt::format(
        "{}: nothing says when the shards begin; give all of them the same --rendezvous (HOST:PORT of shard "
        "0, or a directory that all share) or the same --start-at TIME",
        who));
}

Shard launched_shard(const LoadPlan& plan, const LaunchedRank& launched) {
    const auto size = launched.size ? launched.size : plan.fleet.shards;
    if (!size)
        throw UsageError(
            fmt::format("{} gave this process the number {}, and does not tell how many there are; give "
                        "--shards N",
                        launched.launcher, launched.rank));
    if (plan.fleet.shards && *plan.fleet.shards != *size)
        throw UsageError(fmt::format("--shards {}: {} started {} processes; give the same number",
                                     *plan.fleet.shards, launched.launcher, *size));
    if (launched.rank >= *size)
        throw UsageError(
            fmt::format("{} gave this process the number {}, and there are only {} shards (0 to {})",
                        launched.launcher, launched.rank, *size, *size - 1));
    return {launched.rank, *size};
}

}  // namespace

Shard parse_shard(std::string_view text) {
    const auto slash = text.find('/');
    const auto number = whole(text.substr(0, slash));
    const auto count = slash == std::string_view::npos ? std::nullopt : whole(text.substr(slash + 1));
    if (!number || !count || *count == 0 || *count > kMostShards || *number >= *count)
        throw UsageError(fmt::format(
            "'{}' is no shard; it is a number from 0 on / the number of shards: 0/2 and 1/2 are the shards "
            "of a load in 2 parts",
            text));
    return {*number, *count};
}

Shard shard_of(const LoadPlan& plan) {
    return plan.fleet.shard.empty() ? Shard{} : parse_shard(plan.fleet.shard);
}

std::string shards_text(std::span<const std::uint32_t> numbers) {
    return fmt::format("shard{} {}", numbers.size() == 1 ? "" : "s", fmt::join(numbers, ", "));
}

LoadPlan with_shard(LoadPlan plan, const ReadsVariable& variable) {
    if (!plan.fleet.shard.empty()) {
        const Shard shard = shard_of(plan);
        if (plan.fleet.shards && *plan.fleet.shards != shard.count)
            throw UsageError(fmt::format("--shard {} and --shards {} give different numbers of shards",
                                         plan.fleet.shard, *plan.fleet.shards));
        if (shard.count > 1) require_common_start(plan, "--shard " + plan.fleet.shard);
        return plan;
    }
    for (const LauncherRow& row : kLaunchers) {
        if (!row.starts_copies && !is_divided(plan)) continue;
        const auto launched = rank_from(row, variable);
        if (!launched) continue;
        const Shard shard = launched_shard(plan, *launched);
        if (row.has_mpi && plan.fleet.rendezvous.empty() && plan.fleet.start_at.empty() && !plan.virtual_time)
            plan.fleet.rendezvous = kRendezvousByMpi;
        require_common_start(plan, fmt::format("{} started this process as {} of {}, and each would make the "
                                               "whole load (--shard 0/1 lets it)",
                                               launched->launcher, shard.number, shard.count));
        plan.fleet.shard = fmt::format("{}/{}", shard.number, shard.count);
        return plan;
    }
    if (is_divided(plan))
        throw UsageError(
            "--shards, --rendezvous and --start-at divide a load between processes, and nothing says which "
            "of them this is; give --shard I/N, or start it by mpirun, srun or a Kubernetes Indexed Job");
    return plan;
}

void require_one_process(std::string_view command, const ReadsVariable& variable) {
    for (const LauncherRow& row : kLaunchers) {
        const auto launched = row.starts_copies ? rank_from(row, variable) : std::nullopt;
        if (!launched) continue;
        throw UsageError(
            fmt::format("{} started {} processes of `paretoken {}`, which cannot be divided, so that each "
                        "would measure by itself; start one process of it, or unset {} if this is the only "
                        "one. `paretoken run` and `paretoken sweep` can be divided",
                        launched->launcher, launched->size.value_or(0), command, row.rank));
    }
}

double parse_start_at(std::string_view text) {
    if (const auto utc = epoch_of_utc(std::string(text))) return static_cast<double>(*utc);
    try {
        const double value = parse_number(std::string(text));
        if (value > 0) return value;
    } catch (const UsageError&) {  // the message below says what is expected
    }
    throw UsageError(
        fmt::format("'{}' is no time; expected UTC (2026-11-21T09:38:00Z) or a Unix time in seconds, as "
                    "`date -d '+1 minute' +%s` prints it",
                    text));
}

}  // namespace paretoken
