#include "simulator/engine/engine.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <deque>
#include <queue>
#include <unordered_map>

#include "core/random.h"
#include "simulator/engine/host_tier.h"
#include "simulator/engine/tokenizer.h"

namespace paretoken::sim {
namespace {

/// The state of a sequence besides its counts.
struct Holding {
    TimePoint arrived;
    bool admitted = false;  ///< whether it has been running, perhaps before a preemption
    std::vector<PrefixCache::Block> blocks;
    bool identified = false;           ///< whether its blocks have names
    std::vector<std::uint64_t> names;  ///< names of all full blocks of the known tokens
    std::size_t named = 0;             ///< number of blocks whose names the cache knows
    BlockHasher rest;
    std::uint64_t answer_seed = 0;
    std::int64_t vocabulary = 0;
};

/// The counts of a sequence that every step uses; the rest is behind a pointer.
struct Sequence {
    std::uint64_t id = 0;
    std::int64_t prompt_tokens = 0;
    std::int64_t output_tokens = 0;
    std::int64_t emitted = 0;
    std::int64_t computed = 0;   ///< tokens whose keys and values are stored
    std::int64_t scheduled = 0;  ///< known tokens in the current step
    std::int64_t drafts = 0;     ///< drafts in the current step
    std::int64_t room = 0;       ///< tokens that fit into its blocks
    std::unique_ptr<Holding> holding;

    std::int64_t known() const { return prompt_tokens + emitted; }
    bool finished() const { return emitted == output_tokens; }
};

Sequence sequence_of(const EngineRequest& request, TimePoint at, bool prefix_cache) {
    Sequence sequence{.id = request.id,
                      .prompt_tokens = request.prompt_tokens,
                      .output_tokens = request.output_tokens,
                      .holding = std::make_unique<Holding>()};
    Holding& holding = *sequence.holding;
    holding.arrived = at;
    if (!prefix_cache || !request.identity) return sequence;
    holding.identified = true;
    holding.names = request.identity->blocks;
    holding.rest = request.identity->rest;
    holding.answer_seed = request.identity->answer_seed;
    holding.vocabulary = request.identity->vocabulary;
    return sequence;
}

bool decodes(const Sequence& sequence) {
    return sequence.emitted > 0 && sequence.computed + 1 == sequence.known();
}

void add_work(StepWork& work, const Sequence& sequence, std::int64_t window) {
    work.tokens += sequence.scheduled + sequence.drafts;
    work.drafts += sequence.drafts;
    work.sequences += 1;
    if (decodes(sequence)) {
        work.decode_context_tokens += sequence.known();
        work.windowed_context_tokens += std::min(sequence.known(), window);
    } else {
        const auto chunk = static_cast<double>(sequence.scheduled);
        const double pairs = chunk * (static_cast<double>(sequence.computed) + chunk / 2);
        work.prefill_token_pairs += pairs;
        work.windowed_token_pairs += std::min(pairs, chunk * static_cast<double>(window));
    }
}

/// Computes pauses of the engine as busy time passes.
class HiccupClock {
  public:
    HiccupClock(const Hiccups& hiccups, std::uint64_t seed) : hiccups_(hiccups), random_(seed) {
        if (hiccups_.every > Duration{}) until_next_ = wait();
    }

    /// Returns the pauses added to a step of this length.
    Duration within(Duration busy) {
        Duration added{};
        if (hiccups_.every <= Duration{}) return added;
        for (until_next_ -= busy; until_next_ <= Duration{}; until_next_ += wait())
            added += hiccups_.shortest +
                     from_seconds(random_.uniform() * seconds(hiccups_.longest - hiccups_.shortest));
        return added;
    }

  private:
    Duration wait() {
        return std::max(Duration{1}, from_seconds(random_.exponential() * seconds(hiccups_.every)));
    }

    Hiccups hiccups_;
    Random random_;
    Duration until_next_{};
};

/// The number of KV blocks that fit into the host's memory.
std::size_t blocks_in(const Profile& profile) {
    const double block_bytes = profile.kv_bytes_per_token * static_cast<double>(profile.block_tokens);
    return profile.prefix_cache == 0 || block_bytes <= 0
               ? 0
               : static_cast<std::size_t>(profile.kv_offload_bytes / block_bytes);
}

/// The scheduler of vLLM v1: one token budget for prefill and decode, running sequences first, then waiting
/// ones in order of arrival; without a free block the youngest running sequence is preempted. A prefix is
/// looked up at admission. Blocks are named when the step that fills them is decided, so that a later request
/// of the same step shares them.
class BatchingEngine final : public Engine {
  public:
    BatchingEngine(const Profile& profile, std::uint64_t seed, Duration age)
        : profile_(profile),
          age_(age),
          times_(profile),
          jitter_(derived_seed(seed, "step jitter")),
          hiccups_(profile.hiccup, derived_seed(seed, "hiccups")),
          speculation_seed_(derived_seed(seed, "speculation")),
          context_limit_(context_limit(profile)),
          cache_(profile.blocks),
          host_(blocks_in(profile)) {
        state_.accepted_per_position.resize(static_cast<std::size_t>(profile.speculative_tokens));
    }

    void submit(const EngineRequest& request, TimePoint at) override {
        assert(request.prompt_tokens > 0 && request.output_tokens > 0);
        assert(request.prompt_tokens + request.output_tokens <= kv_capacity_tokens(profile_));
        const TimePoint ready = at + from_seconds(profile_.request_s);
        auto place = waiting_.end();
        while (place != waiting_.begin() && std::prev(place)->holding->arrived > ready) --place;
        waiting_.insert(place, sequence_of(request, ready, profile_.prefix_cache != 0));
    }

    void abort(std::uint64_t id) override {
        const auto wanted = [id](const Sequence& sequence) { return sequence.id == id; };
        if (const auto running = std::ranges::find_if(running_, wanted); running != running_.end()) {
            cache_.release(running->holding->blocks);
            running_.erase(running);
            return;
        }
        // Most requests that are given up are among the first that arrived.
        const auto waiting = std::ranges::find_if(waiting_, wanted);
        if (waiting != waiting_.end()) waiting_.erase(waiting);
    }

    std::optional<TimePoint> next_begin() const override {
        if (!running_.empty()) return last_end_;
        if (!waiting_.empty()) return std::max(last_end_, waiting_.front().holding->arrived);
        return std::nullopt;
    }

    std::optional<TimePoint> begin_step() override {
        if (under_way_) return step_.end;
        const auto begin = next_begin();
        if (!begin) return std::nullopt;
        step_.begin = *begin;
        step_.work = {};
        step_.admitted.clear();
        step_.emitted.clear();
        change_speeds(*begin);
        std::int64_t budget = profile_.max_batched_tokens;
        if (schedule_running(budget)) schedule_waiting(budget);
        const double noise = profile_.jitter > 0 ? std::exp(profile_.jitter * jitter_.normal()) : 1.0;
        const double slower = profile_.drift > 0 ? drift_at(profile_, *begin - *first_begin_) : 1.0;
        const Duration busy = from_seconds(times_.seconds_of(step_.work) * noise * slower);
        step_.end = step_.begin + busy + hiccups_.within(busy);
        ++state_.steps;
        state_.step_sequences += static_cast<std::uint64_t>(step_.work.sequences);
        under_way_ = true;
        return step_.end;
    }

    const Step& end_step() override {
        assert(under_way_);
        bool any_finished = false;
        for (Sequence& sequence : running_) {
            sequence.computed += sequence.scheduled;
            const bool emits = sequence.scheduled > 0 && sequence.computed == sequence.known();
            sequence.scheduled = 0;
            if (emits) any_finished |= emit(sequence, 1 + accepted_drafts(sequence));
            sequence.drafts = 0;
        }
        if (any_finished) {
            std::erase_if(running_, [&](const Sequence& sequence) {
                if (sequence.finished()) cache_.release(sequence.holding->blocks);
                return sequence.finished();
            });
        }
        last_end_ = step_.end;
        under_way_ = false;
        return step_;
    }

    EngineState state() const override {
        EngineState state = state_;
        state.running = static_cast<std::int64_t>(running_.size());
        state.waiting = static_cast<std::int64_t>(waiting_.size());
        state.blocks = profile_.blocks;
        state.blocks_used = profile_.blocks - cache_.idle();
        return state;
    }

    bool reset_prefix_cache() override {
        if (!cache_.forget()) return false;
        host_.forget();
        return true;
    }

  private:
    /// Returns the number of right drafts: a function of the seed, the request and the token, independent of
    /// other requests.
    std::int64_t accepted_drafts(const Sequence& sequence) {
        if (sequence.drafts == 0) return 0;
        Random random(speculation_seed_ ^ (sequence.id * 0x9e3779b97f4a7c15U) ^
                      (static_cast<std::uint64_t>(sequence.emitted) * 0xbf58476d1ce4e5b9U));
        std::int64_t accepted = 0;
        while (accepted < sequence.drafts && random.uniform() < profile_.acceptance) ++accepted;
        ++state_.drafts;
        state_.draft_tokens += static_cast<std::uint64_t>(sequence.drafts);
        state_.accepted_tokens += static_cast<std::uint64_t>(accepted);
        for (std::int64_t i = 0; i < accepted; ++i)
            ++state_.accepted_per_position[static_cast<std::size_t>(i)];
        return accepted;
    }

    /// Emits up to `tokens` tokens; those beyond the answer's end are dropped.
    bool emit(Sequence& sequence, std::int64_t tokens) {
        const std::int64_t first = sequence.emitted;
        const std::int64_t count = std::min(tokens, sequence.output_tokens - first);
        sequence.emitted += count;
        sequence.computed += count - 1;
        step_.emitted.push_back({sequence.id, first, sequence.finished(), count});
        Holding& holding = *sequence.holding;
        for (std::int64_t index = first; holding.identified && index < first + count; ++index) {
            const auto token = token_id_of(answer_word(holding.answer_seed, index), holding.vocabulary);
            if (const auto name = holding.rest.add(static_cast<std::uint64_t>(token)))
                holding.names.push_back(*name);
        }
        return sequence.finished();
    }

    std::int64_t blocks_for(std::int64_t tokens) const {
        return (tokens + profile_.block_tokens - 1) / profile_.block_tokens;
    }

    /// Allocates blocks for `tokens` tokens in all; if that fails, allocates none.
    bool reserve_blocks(Sequence& sequence, std::int64_t tokens) {
        if (tokens <= sequence.room) return true;
        const std::int64_t more = blocks_for(tokens - sequence.room);
        if (!allocate({}, more, sequence.holding->blocks)) return false;
        sequence.room += more * profile_.block_tokens;
        return true;
    }

    /// The tokens for which a sequence gets blocks when it is taken up.
    std::int64_t tokens_to_hold(const Sequence& sequence) const {
        if (profile_.admission == AdmissionRule::prompt) return sequence.known();
        const std::int64_t end =
            sequence.prompt_tokens + sequence.output_tokens + profile_.speculative_tokens;
        return std::min(end, kv_capacity_tokens(profile_));
    }

    /// Allocates blocks for all known tokens, including blocks in the cache, or allocates nothing. With
    /// AdmissionRule::no_evict, the tokens of the answer get their blocks too. At least one token is left to
    /// compute, because its output is needed. `budget`: the tokens that this step can still compute.
    bool take_up(Sequence& sequence, std::int64_t budget) {
        Holding& holding = *sequence.holding;
        const auto most = static_cast<std::size_t>((sequence.known() - 1) / profile_.block_tokens);
        const std::span names = std::span(holding.names).first(std::min(holding.names.size(), most));
        const std::size_t hit = cache_.contiguous_hit(names);
        const std::size_t found = hit + host_.wanted(names.subspan(hit));
        const std::int64_t known_before = static_cast<std::int64_t>(found) * profile_.block_tokens;
        const bool beside_another = step_.work.prefill_token_pairs > 0;
        if (profile_.chunked_prefill == 0 && beside_another && sequence.known() - known_before > budget)
            return false;
        const std::int64_t wanted = blocks_for(tokens_to_hold(sequence));
        if (!allocate(names.first(hit), wanted - static_cast<std::int64_t>(hit), holding.blocks))
            return false;
        for (std::size_t i = hit; i < found; ++i) cache_.name(holding.blocks[i], names[i]);
        step_.work.loaded_tokens += static_cast<std::int64_t>(found - hit) * profile_.block_tokens;
        holding.named = found;
        sequence.room = wanted * profile_.block_tokens;
        sequence.computed = known_before;
        return true;
    }

    /// Allocates blocks in the GPU's memory. What they displace goes to the host's memory.
    bool allocate(std::span<const std::uint64_t> hit, std::int64_t fresh,
                  std::vector<PrefixCache::Block>& held) {
        displaced_.clear();
        if (!cache_.allocate(hit, fresh, held, &displaced_)) return false;
        for (const std::uint64_t name : displaced_) host_.keep(name);
        return true;
    }

    /// Returns the drafts to check in a step: none before the first token, none beyond the
    /// context.
    std::int64_t drafts_for(const Sequence& sequence, std::int64_t budget) const {
        if (profile_.speculative_tokens == 0 || !decodes(sequence)) return 0;
        const std::int64_t room = std::min(budget - 1, context_limit_ - sequence.known());
        return std::clamp<std::int64_t>(room, 0, profile_.speculative_tokens);
    }

    void schedule(Sequence& sequence, std::int64_t tokens, std::int64_t drafts, std::int64_t& budget) {
        sequence.scheduled = tokens;
        sequence.drafts = drafts;
        budget -= tokens + drafts;
        add_work(step_.work, sequence, profile_.window);
        Holding& holding = *sequence.holding;
        if (!holding.identified) return;
        const auto full = static_cast<std::size_t>((sequence.computed + tokens) / profile_.block_tokens);
        for (; holding.named < full; ++holding.named)
            cache_.name(holding.blocks[holding.named], holding.names[holding.named]);
    }

    /// Makes the changes of Profile::later that are due at a time.
    void change_speeds(TimePoint at) {
        if (!first_begin_) first_begin_ = at - age_;
        const Duration since = at - *first_begin_;
        const auto due = std::ranges::count_if(
            profile_.later, [&](const LaterChange& change) { return change.after <= since; });
        if (due == 0) return;
        profile_ = profile_at(profile_, since);
        profile_.later.erase(profile_.later.begin(), profile_.later.begin() + due);
        times_ = StepTimes(profile_);
    }

    void preempt_youngest() {
        Sequence youngest = std::move(running_.back());
        running_.pop_back();
        cache_.release(youngest.holding->blocks);
        youngest.holding->named = 0;
        youngest.room = 0;
        youngest.computed = 0;
        waiting_.push_front(std::move(youngest));
        ++state_.preemptions;
    }

    /// Schedules running sequences. Returns whether waiting ones may be taken too: not after a preemption.
    bool schedule_running(std::int64_t& budget) {
        const std::uint64_t preemptions_before = state_.preemptions;
        for (std::size_t i = 0; i < running_.size() && budget > 0; ++i) {
            const std::int64_t tokens = std::min(running_[i].known() - running_[i].computed, budget);
            const std::int64_t drafts = drafts_for(running_[i], budget);
            while (i < running_.size() &&
                   !reserve_blocks(running_[i], running_[i].computed + tokens + drafts))
                preempt_youngest();
            if (i < running_.size()) schedule(running_[i], tokens, drafts, budget);
        }
        return state_.preemptions == preemptions_before;
    }

    /// Takes waiting sequences. A sequence is taken if all of its prompt fits, not just the first chunk,
    /// because a prompt that cannot be finished would be preempted half-way, again and again.
    void schedule_waiting(std::int64_t& budget) {
        while (budget > 0 && !waiting_.empty() && waiting_.front().holding->arrived <= step_.begin &&
               static_cast<std::int64_t>(running_.size()) < profile_.max_num_seqs) {
            Sequence& next = waiting_.front();
            if (!take_up(next, budget)) return;
            if (!next.holding->admitted) note_admission(next);
            schedule(next, std::min(next.known() - next.computed, budget), 0, budget);
            running_.push_back(std::move(next));
            waiting_.pop_front();
        }
    }

    void note_admission(Sequence& sequence) {
        sequence.holding->admitted = true;
        step_.admitted.push_back({sequence.id, sequence.computed});
        if (profile_.prefix_cache == 0) return;
        state_.prefix_queries += static_cast<std::uint64_t>(sequence.prompt_tokens);
        state_.prefix_hits += static_cast<std::uint64_t>(sequence.computed);
    }

    Profile profile_;
    Duration age_;
    StepTimes times_;
    Random jitter_;
    HiccupClock hiccups_;
    std::uint64_t speculation_seed_;
    std::int64_t context_limit_;
    PrefixCache cache_;
    HostTier host_;
    std::vector<std::uint64_t> displaced_;
    EngineState state_;              ///< counters; state() fills in the rest
    std::vector<Sequence> running_;  ///< running sequences in order of admission
    std::deque<Sequence> waiting_;   ///< waiting sequences in order of arrival
    TimePoint last_end_ = TimePoint::min();
    std::optional<TimePoint> first_begin_;  ///< less the age
    bool under_way_ = false;
    Step step_;
};

/// Gives every request its own schedule. A step is the next time at which any token is due.
class FixedEngine final : public Engine {
  public:
    FixedEngine(const Profile& profile, Duration age) : profile_(profile), age_(age) {}

    /// The times of a request are those of its arrival, if they change.
    void submit(const EngineRequest& request, TimePoint at) override {
        assert(request.output_tokens > 0);
        if (!first_arrival_) first_arrival_ = at - age_;
        Timed timed{.output_tokens = request.output_tokens, .arrived = at};
        timed.ttft = profile_.ttft;
        timed.itl = profile_.itl;
        if (profile_.drift > 0 || !profile_.later.empty()) {
            const Duration since = std::max(Duration{}, at - *first_arrival_);
            const Profile now = profile_at(profile_, since);
            timed.ttft = from_seconds(seconds(now.ttft) * drift_at(now, since));
            timed.itl = from_seconds(seconds(now.itl) * drift_at(now, since));
        }
        due_.push({at + timed.ttft, submitted_++, request.id});
        active_[request.id] = timed;
    }

    void abort(std::uint64_t id) override {
        active_.erase(id);
        drop_forgotten();
    }

    std::optional<TimePoint> next_begin() const override {
        if (due_.empty()) return std::nullopt;
        return due_.top().at;
    }

    std::optional<TimePoint> begin_step() override { return next_begin(); }

    const Step& end_step() override {
        assert(!due_.empty());
        step_.begin = step_.end = due_.top().at;
        step_.work = {};
        step_.admitted.clear();
        step_.emitted.clear();
        while (!due_.empty() && due_.top().at == step_.end) {
            const Due due = due_.top();
            due_.pop();
            if (const auto found = active_.find(due.id); found != active_.end()) emit(found->second, due);
        }
        drop_forgotten();
        return step_;
    }

    EngineState state() const override { return {.running = static_cast<std::int64_t>(active_.size())}; }

    bool reset_prefix_cache() override { return true; }  // it has no cache

  private:
    struct Timed {
        std::int64_t output_tokens = 0;
        TimePoint arrived;
        Duration ttft{};
        Duration itl{};
        std::int64_t emitted = 0;

        bool finished() const { return emitted == output_tokens; }
    };
    struct Due {
        TimePoint at;
        std::uint64_t order;  ///< order of submission, for equal times
        std::uint64_t id;

        bool operator>(const Due& other) const {
            return at != other.at ? at > other.at : order > other.order;
        }
    };

    /// Emits the tokens that are due; without time between tokens, all of them.
    void emit(Timed& sequence, const Due& due) {
        do {
            const std::int64_t index = sequence.emitted++;
            step_.emitted.push_back({due.id, index, sequence.finished()});
        } while (sequence.itl == Duration::zero() && !sequence.finished());
        if (sequence.finished()) {
            active_.erase(due.id);
        } else {
            due_.push(
                {sequence.arrived + sequence.ttft + sequence.emitted * sequence.itl, due.order, due.id});
        }
    }

    void drop_forgotten() {
        while (!due_.empty() && !active_.contains(due_.top().id)) due_.pop();
    }

    Profile profile_;
    Duration age_;
    std::optional<TimePoint> first_arrival_;  ///< less the age
    std::unordered_map<std::uint64_t, Timed> active_;
    std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
    std::uint64_t submitted_ = 0;
    Step step_;
};

}  // namespace

std::unique_ptr<Engine> engine_of(const Profile& profile, std::uint64_t seed, Duration age) {
    if (profile.timing == Timing::fixed) return std::make_unique<FixedEngine>(profile, age);
    return std::make_unique<BatchingEngine>(profile, seed, age);
}

}  // namespace paretoken::sim
