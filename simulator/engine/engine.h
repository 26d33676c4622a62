#pragma once
// Continuous batching in virtual time: takes requests with arrival times and returns steps with the tokens
// that they emitted, without clock or sockets. Invariant: a step begins exactly when the step before it
// ended, or, after idling, when the next request may begin (Profile::request_s after its arrival).
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/units.h"
#include "simulator/engine/model.h"
#include "simulator/engine/prefix_cache.h"
#include "simulator/engine/profile.h"

namespace paretoken::sim {

/// The identity of the tokens of a prompt and its answer, as far as a prefix cache needs it.
struct TokenIdentity {
    std::vector<std::uint64_t> blocks;  ///< names of the prompt's full blocks (BlockHasher)
    BlockHasher rest;                   ///< has read the prompt; names the blocks that the answer completes
    std::uint64_t answer_seed = 0;      ///< token k is answer_word(answer_seed, k)
    std::int64_t vocabulary = 0;

    bool operator==(const TokenIdentity&) const = default;
};

struct EngineRequest {
    std::uint64_t id = 0;                                ///< id of the driver; used once
    std::int64_t prompt_tokens = 1;                      ///< ≥ 1
    std::int64_t output_tokens = 1;                      ///< ≥ 1; number of tokens that are emitted
    std::shared_ptr<const TokenIdentity> identity = {};  ///< null means that no other prompt shares a prefix

    bool operator==(const EngineRequest&) const = default;
};

/// Output tokens that a request gets at once: one, or several with speculation.
struct Emission {
    std::uint64_t id = 0;
    std::int64_t index = 0;   ///< index of the first token; 0 for a request's first one
    bool last = false;        ///< whether the request is finished and forgotten
    std::int64_t tokens = 1;  ///< ≥ 1

    bool operator==(const Emission&) const = default;
};

/// A request that a step works on for the first time.
struct Admission {
    std::uint64_t id = 0;
    std::int64_t cached_tokens = 0;  ///< prompt tokens found in the prefix cache

    bool operator==(const Admission&) const = default;
};

struct Step {
    TimePoint begin;
    TimePoint end;  ///< when all of `emitted` was emitted
    StepWork work;
    std::vector<Admission> admitted;  ///< requests that it begins to process; none with fixed timing
    std::vector<Emission> emitted;
};

struct EngineState {
    std::int64_t running = 0;
    std::int64_t waiting = 0;
    std::int64_t blocks = 0;  ///< KV blocks; 0 when there is no KV cache
    std::int64_t blocks_used = 0;
    // Counters since the engine was made:
    std::uint64_t preemptions = 0;  ///< times that a request lost its blocks and had to be computed again
    /// Prompt tokens of requests at their first admission; 0 without a prefix cache.
    std::uint64_t prefix_queries = 0;
    std::uint64_t prefix_hits = 0;  ///< part of these found in the prefix cache
    std::uint64_t steps = 0;
    std::uint64_t step_sequences = 0;   ///< Σ sequences over steps
    std::uint64_t drafts = 0;           ///< number of times that drafts of a sequence were checked
    std::uint64_t draft_tokens = 0;     ///< drafts that were checked
    std::uint64_t accepted_tokens = 0;  ///< drafts that were right, including those beyond an answer's end
    std::vector<std::uint64_t> accepted_per_position = {};  ///< right drafts by position in the check, from 0

    bool operator==(const EngineState&) const = default;
};

class Engine {
  public:
    virtual ~Engine() = default;

    /// Adds a request that arrives at `at`, also a past time; no step that begins before works on it.
    /// Requests join in order of arrival. Its tokens must be above 0 and within context_limit(profile).
    virtual void submit(const EngineRequest& request, TimePoint at) = 0;

    /// Forgets an unfinished request: nothing more is emitted for it. Unknown ids are ignored.
    virtual void abort(std::uint64_t id) = 0;

    /// Returns when the next step would begin if it were decided now; nothing when there is no work.
    virtual std::optional<TimePoint> next_begin() const = 0;

    /// Decides what the next step computes, if no step is in progress, and returns when it ends. Requests
    /// that are submitted later join a later step. Returns nothing when there is no work.
    virtual std::optional<TimePoint> begin_step() = 0;

    /// Ends the step that begin_step() has begun; the latest call of begin_step() must have returned a time.
    /// The result is valid until the next call of begin_step().
    virtual const Step& end_step() = 0;

    virtual EngineState state() const = 0;

    /// Empties the prefix cache; returns false, without doing so, while a KV block is in use.
    virtual bool reset_prefix_cache() = 0;
};

/// Makes the engine for the profile's timing. Equal seeds and submissions give equal steps. `age`: how long
/// the server has run before its first request, for profiles that change.
std::unique_ptr<Engine> engine_of(const Profile& profile, std::uint64_t seed, Duration age = {});

}  // namespace paretoken::sim
