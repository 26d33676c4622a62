#include "simulator/engine/replicas.h"

#include <algorithm>

#include "core/random.h"

namespace paretoken::sim {
namespace {

void add(std::vector<std::uint64_t>& sums, const std::vector<std::uint64_t>& more) {
    sums.resize(std::max(sums.size(), more.size()));
    for (std::size_t i = 0; i < more.size(); ++i) sums[i] += more[i];
}

}  // namespace

Replicas::Replicas(const Profile& profile, std::uint64_t seed, std::size_t count) {
    engines_.push_back(engine_of(profile, seed));
    for (std::size_t i = 1; i < count; ++i)
        engines_.push_back(engine_of(profile, derived_seed(seed, "replica " + std::to_string(i))));
}

void Replicas::submit(const EngineRequest& request, TimePoint at, std::string_view affinity) {
    if (engines_.size() == 1) return engines_.front()->submit(request, at);
    const std::size_t engine =
        affinity.empty() ? turn_++ % engines_.size() : derived_seed(0, affinity) % engines_.size();
    engine_of_request_[request.id] = engine;
    engines_[engine]->submit(request, at);
}

void Replicas::abort(std::uint64_t id) {
    if (engines_.size() == 1) return engines_.front()->abort(id);
    const auto found = engine_of_request_.find(id);
    if (found == engine_of_request_.end()) return;
    engines_[found->second]->abort(id);
    engine_of_request_.erase(found);
}

std::optional<TimePoint> Replicas::begin_step() {
    std::optional<TimePoint> first;
    for (std::size_t i = 0; i < engines_.size(); ++i) {
        const auto end = engines_[i]->begin_step();
        if (!end || (first && *first <= *end)) continue;
        first = end;
        first_ = i;
    }
    return first;
}

const Step& Replicas::end_step() {
    const Step& step = engines_[first_]->end_step();
    for (const Emission& emission : step.emitted)
        if (emission.last) engine_of_request_.erase(emission.id);
    return step;
}

EngineState Replicas::state() const {
    EngineState sum = engines_.front()->state();
    for (std::size_t i = 1; i < engines_.size(); ++i) {
        const EngineState one = engines_[i]->state();
        sum.running += one.running;
        sum.waiting += one.waiting;
        sum.blocks += one.blocks;
        sum.blocks_used += one.blocks_used;
        sum.preemptions += one.preemptions;
        sum.prefix_queries += one.prefix_queries;
        sum.prefix_hits += one.prefix_hits;
        sum.steps += one.steps;
        sum.step_sequences += one.step_sequences;
        sum.drafts += one.drafts;
        sum.draft_tokens += one.draft_tokens;
        sum.accepted_tokens += one.accepted_tokens;
        add(sum.accepted_per_position, one.accepted_per_position);
    }
    return sum;
}

bool Replicas::reset_prefix_cache() {
    bool all = true;
    for (const auto& engine : engines_) all = engine->reset_prefix_cache() && all;
    return all;
}

}  // namespace paretoken::sim
