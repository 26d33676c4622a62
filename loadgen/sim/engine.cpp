#include "loadgen/sim/engine.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <deque>
#include <queue>
#include <unordered_map>

#include "core/random.h"

namespace paretoken::sim {
namespace {

struct Sequence {
    EngineRequest request;
    TimePoint arrived;
    std::int64_t emitted = 0;
    std::int64_t computed = 0;  ///< tokens whose keys and values are held
    std::int64_t blocks = 0;
    std::int64_t scheduled = 0;  ///< tokens of the step under way
    bool admitted = false;       ///< has been running, perhaps before a preemption

    std::int64_t known() const { return request.prompt_tokens + emitted; }
    bool finished() const { return emitted == request.output_tokens; }
};

/// Adds one sequence's share of a step.
void add_work(StepWork& work, const Sequence& sequence, std::int64_t tokens) {
    const bool decode = sequence.emitted > 0 && sequence.computed + 1 == sequence.known();
    work.tokens += tokens;
    work.sequences += 1;
    if (decode) {
        work.decode_context_tokens += sequence.known();
    } else {
        const auto chunk = static_cast<double>(tokens);
        work.prefill_token_pairs += chunk * (static_cast<double>(sequence.computed) + chunk / 2);
    }
}

/// The scheduler of vLLM v1 without its prefix cache: one token budget for prefill and decode, running
/// sequences first, then waiting ones first come first served; without a free block the youngest running one
/// is preempted.
class BatchingEngine final : public Engine {
  public:
    BatchingEngine(const Profile& profile, std::uint64_t seed)
        : profile_(profile), jitter_(derived_seed(seed, "step jitter")), free_blocks_(profile.blocks) {}

    void submit(const EngineRequest& request, TimePoint at) override {
        assert(request.prompt_tokens > 0 && request.output_tokens > 0);
        assert(request.prompt_tokens + request.output_tokens <= kv_capacity_tokens(profile_));
        auto place = waiting_.end();
        while (place != waiting_.begin() && std::prev(place)->arrived > at) --place;
        waiting_.insert(place, Sequence{.request = request, .arrived = at});
    }

    void abort(std::uint64_t id) override {
        const auto wanted = [id](const Sequence& sequence) { return sequence.request.id == id; };
        std::erase_if(waiting_, wanted);
        std::erase_if(running_, [&](const Sequence& sequence) {
            if (wanted(sequence)) free_blocks_ += sequence.blocks;
            return wanted(sequence);
        });
    }

    std::optional<TimePoint> next_begin() const override {
        if (!running_.empty()) return last_end_;
        if (!waiting_.empty()) return std::max(last_end_, waiting_.front().arrived);
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
        std::int64_t budget = profile_.max_batched_tokens;
        if (schedule_running(budget)) schedule_waiting(budget);
        const double noise = profile_.jitter > 0 ? std::exp(profile_.jitter * jitter_.normal()) : 1.0;
        step_.end = step_.begin + from_seconds(step_seconds(profile_, step_.work) * noise);
        under_way_ = true;
        return step_.end;
    }

    const Step& end_step() override {
        assert(under_way_);
        for (Sequence& sequence : running_) {
            sequence.computed += sequence.scheduled;
            const bool emits = sequence.scheduled > 0 && sequence.computed == sequence.known();
            sequence.scheduled = 0;
            if (!emits) continue;
            const std::int64_t index = sequence.emitted++;
            step_.emitted.push_back({sequence.request.id, index, sequence.finished()});
        }
        std::erase_if(running_, [&](const Sequence& sequence) {
            if (sequence.finished()) free_blocks_ += sequence.blocks;
            return sequence.finished();
        });
        last_end_ = step_.end;
        under_way_ = false;
        return step_;
    }

    EngineState state() const override {
        return {.running = static_cast<std::int64_t>(running_.size()),
                .waiting = static_cast<std::int64_t>(waiting_.size()),
                .blocks = profile_.blocks,
                .blocks_used = profile_.blocks - free_blocks_,
                .preemptions = preemptions_};
    }

  private:
    /// Blocks for `tokens` in all, or none more than it has.
    bool reserve_blocks(Sequence& sequence, std::int64_t tokens) {
        const std::int64_t wanted = (tokens + profile_.block_tokens - 1) / profile_.block_tokens;
        const std::int64_t more = std::max<std::int64_t>(0, wanted - sequence.blocks);
        if (more > free_blocks_) return false;
        free_blocks_ -= more;
        sequence.blocks += more;
        return true;
    }

    void schedule(Sequence& sequence, std::int64_t tokens, std::int64_t& budget) {
        sequence.scheduled = tokens;
        budget -= tokens;
        add_work(step_.work, sequence, tokens);
    }

    void preempt_youngest() {
        Sequence youngest = running_.back();
        running_.pop_back();
        free_blocks_ += youngest.blocks;
        youngest.blocks = 0;
        youngest.computed = 0;
        waiting_.push_front(youngest);
        ++preemptions_;
    }

    /// Whether waiting sequences may be taken too: not when one has just been sent back.
    bool schedule_running(std::int64_t& budget) {
        const std::uint64_t preemptions_before = preemptions_;
        for (std::size_t i = 0; i < running_.size() && budget > 0; ++i) {
            const std::int64_t tokens = std::min(running_[i].known() - running_[i].computed, budget);
            while (i < running_.size() && !reserve_blocks(running_[i], running_[i].computed + tokens))
                preempt_youngest();
            if (i < running_.size()) schedule(running_[i], tokens, budget);
        }
        return preemptions_ == preemptions_before;
    }

    /// A sequence is taken when all of its prompt finds room, not just the first chunk: else a prompt that
    /// cannot be finished would be thrown out half-way, again and again.
    void schedule_waiting(std::int64_t& budget) {
        while (budget > 0 && !waiting_.empty() && waiting_.front().arrived <= step_.begin &&
               static_cast<std::int64_t>(running_.size()) < profile_.max_num_seqs) {
            Sequence& next = waiting_.front();
            const std::int64_t tokens = std::min(next.known() - next.computed, budget);
            if (!reserve_blocks(next, next.known())) return;
            schedule(next, tokens, budget);
            if (!next.admitted) step_.admitted.push_back(next.request.id);
            next.admitted = true;
            running_.push_back(next);
            waiting_.pop_front();
        }
    }

    Profile profile_;
    Random jitter_;
    std::int64_t free_blocks_;
    std::uint64_t preemptions_ = 0;
    std::vector<Sequence> running_;  ///< in order of admission
    std::deque<Sequence> waiting_;   ///< in order of arrival
    TimePoint last_end_ = TimePoint::min();
    bool under_way_ = false;
    Step step_;
};

/// Every request on its own schedule. A step is the next moment at which anything is due.
class FixedEngine final : public Engine {
  public:
    explicit FixedEngine(const Profile& profile) : ttft_(profile.ttft), itl_(profile.itl) {}

    void submit(const EngineRequest& request, TimePoint at) override {
        assert(request.output_tokens > 0);
        active_[request.id] = Sequence{.request = request, .arrived = at};
        due_.push({at + ttft_, submitted_++, request.id});
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

  private:
    struct Due {
        TimePoint at;
        std::uint64_t order;  ///< of submission, which decides among equals
        std::uint64_t id;

        bool operator>(const Due& other) const {
            return at != other.at ? at > other.at : order > other.order;
        }
    };

    /// With no time between tokens all of them are due now.
    void emit(Sequence& sequence, const Due& due) {
        do {
            const std::int64_t index = sequence.emitted++;
            step_.emitted.push_back({due.id, index, sequence.finished()});
        } while (itl_ == Duration::zero() && !sequence.finished());
        if (sequence.finished()) {
            active_.erase(due.id);
        } else {
            due_.push({sequence.arrived + ttft_ + sequence.emitted * itl_, due.order, due.id});
        }
    }

    void drop_forgotten() {
        while (!due_.empty() && !active_.contains(due_.top().id)) due_.pop();
    }

    Duration ttft_;
    Duration itl_;
    std::unordered_map<std::uint64_t, Sequence> active_;
    std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
    std::uint64_t submitted_ = 0;
    Step step_;
};

}  // namespace

std::unique_ptr<Engine> engine_of(const Profile& profile, std::uint64_t seed) {
    if (profile.timing == Timing::fixed) return std::make_unique<FixedEngine>(profile);
    return std::make_unique<BatchingEngine>(profile, seed);
}

}  // namespace paretoken::sim
