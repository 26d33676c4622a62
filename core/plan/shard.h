#pragma once
// A load can be divided between several processes, on one machine or on several. Each of them computes the
// whole schedule from the seed and makes its own part of it, a shard. Here is which shard a process makes.
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace paretoken {

struct LoadPlan;

/// One of the parts into which a load is divided: every `count`-th job of the schedule.
struct Shard {
    std::uint32_t number = 0;  ///< from 0
    std::uint32_t count = 1;   ///< number of parts

    bool operator==(const Shard&) const = default;
};

/// The largest number of shards of a load.
inline constexpr std::uint32_t kMostShards = 65536;

/// The value of --rendezvous by which MPI tells the processes where they meet.
inline constexpr std::string_view kRendezvousByMpi = "mpi";

/// Reads "I/N" with 0 ≤ I < N. Throws UsageError.
Shard parse_shard(std::string_view text);

/// Returns the shard of a plan; the whole load if it is not divided.
Shard shard_of(const LoadPlan& plan);

/// Reads a variable of the environment; nothing if it is not set.
using ReadsVariable = std::function<std::optional<std::string>(const std::string& name)>;

/// Returns "shard 1", or "shards 1, 2". There must be at least one number.
std::string shards_text(std::span<const std::uint32_t> numbers);

/// Returns the plan with the shard of --shard, or, if the load is divided (--shards, --rendezvous,
/// --start-at, or a process of mpirun), of the launcher: Open MPI, MPICH, srun, an Indexed Job, torchrun or
/// another one with PMIx.
/// Throws UsageError, also for a process of srun without these options.
LoadPlan with_shard(LoadPlan plan, const ReadsVariable& variable);

/// Refuses a command that cannot be divided, if a launcher started several processes of it, because each
/// would measure the whole. Throws UsageError.
void require_one_process(std::string_view command, const ReadsVariable& variable);

/// Returns the Unix time in seconds of a Unix or UTC time (--start-at). Throws UsageError for another text.
double parse_start_at(std::string_view text);

}  // namespace paretoken
