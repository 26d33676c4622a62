#pragma once
// One run in virtual time: the schedule, dispatcher and dataset of a run over sockets drive the simulated
// engine. Invariant: the outcome is a function of the options, the dataset and their seeds.
#include "simulator/engine/profile.h"

namespace paretoken {
struct Observations;
class RecordSink;
}  // namespace paretoken

namespace paretoken::loadgen {

struct Interruption;
struct LoadOptions;
struct Progress;

/// The time at which every virtual run begins.
inline constexpr TimePoint kVirtualBegin{std::chrono::seconds(1)};

struct VirtualOptions {
    sim::Profile profile;
    /// The time in a closed loop from an answer's last token to the next request's arrival at the server.
    Duration turnaround = std::chrono::microseconds(100);
    /// The time to write one event; those of a step follow each other from its end.
    Duration write_time{};
    bool chat = true;                 ///< whether a chat template adds tokens to prompts
    bool ignore_eos = true;           ///< whether answers are as long as asked for
    std::uint64_t server_number = 0;  ///< LoadPlan::server_number
    Duration server_age{};            ///< how long the server has run before, for a profile that changes
};

/// Makes a load like make_load() with one worker; the engine's seed is that of the first class for server 0,
/// and derived for others. Requests beyond the context fail; there are no timeouts.
Observations make_virtual_load(const LoadOptions& options, const VirtualOptions& virtual_options,
                               RecordSink& sink, Progress& progress, const Interruption& interruption);

/// Returns whether a simulated server needs more of a prompt than its number of tokens.
bool reads_prompts(const sim::Profile& profile);

}  // namespace paretoken::loadgen
