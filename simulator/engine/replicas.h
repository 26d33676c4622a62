#pragma once
// Several equal engines behind one address, and the router in front of them. Each engine has its own KV
// cache and its own steps. A driver uses them as it uses one engine (simulator/engine/engine.h).
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "simulator/engine/engine.h"

namespace paretoken::sim {

class Replicas {
  public:
    /// Makes `count` engines (at least one). Each has a seed of its own.
    Replicas(const Profile& profile, std::uint64_t seed, std::size_t count);

    /// Requests of one affinity go to one engine, those without (empty) to the engines in turn.
    void submit(const EngineRequest& request, TimePoint at, std::string_view affinity);
    void abort(std::uint64_t id);

    /// Decides the next step of every engine that is not in a step, and returns when the first one ends.
    std::optional<TimePoint> begin_step();
    /// Ends the step that ends first; the latest call of begin_step() must have returned a time.
    const Step& end_step();

    EngineState state() const;  ///< the sums over all engines
    bool reset_prefix_cache();  ///< returns whether all of them were emptied

  private:
    std::vector<std::unique_ptr<Engine>> engines_;
    std::unordered_map<std::uint64_t, std::size_t>
        engine_of_request_;  ///< unfinished ones, if there are several engines
    std::size_t turn_ = 0;
    std::size_t first_ = 0;  ///< engine whose step ends first
};

}  // namespace paretoken::sim
