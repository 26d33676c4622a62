#pragma once
// One run in virtual time: the simulated engine driven by the same schedule, dispatcher and dataset as a run
// over sockets, without sockets, threads or sleeping. Invariant: the outcome is a function of the options,
// the dataset and their seeds.
#include "loadgen/run.h"
#include "simulator/engine/profile.h"

namespace paretoken::loadgen {

/// The moment at which every virtual run begins.
inline constexpr TimePoint kVirtualBegin{std::chrono::seconds(1)};

struct VirtualOptions {
    sim::Profile profile;
    /// Closed loop: from an answer's last token to the next request's arrival at the server.
    Duration turnaround = std::chrono::microseconds(100);
    /// The time that writing one event takes: those of a step are written one after the other, beginning when
    /// the step ends.
    Duration write_time{};
    bool chat = true;        ///< what a template adds to prompts that are counted
    bool ignore_eos = true;  ///< answers are as long as asked for
};

/// As make_load, but always with one worker; the engine's seed is that of the first class.
/// Requests that the profile's context cannot hold fail as over sockets. Nothing is timed out.
LoadOutcome make_virtual_load(const LoadOptions& options, const VirtualOptions& virtual_options,
                              RecordSink& sink, Progress& progress, const Interruption& interruption);

}  // namespace paretoken::loadgen
