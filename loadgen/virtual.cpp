#include "loadgen/virtual.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "core/random.h"
#include "core/record/record_events.h"
#include "core/record/record_sink.h"
#include "core/run/client_report.h"
#include "core/run/observations.h"
#include "loadgen/interruption.h"
#include "loadgen/load/mix.h"
#include "loadgen/load/stop_monitor.h"
#include "loadgen/load_options.h"
#include "loadgen/progress.h"
#include "loadgen/run.h"
#include "simulator/answers/answer_plan.h"
#include "simulator/answers/recall.h"
#include "simulator/answers/wire.h"
#include "simulator/engine/engine.h"
#include "simulator/engine/prompt_tokens.h"

namespace paretoken::loadgen {
namespace {

bool is_empty(const Prompt& prompt) {
    return std::visit([](const auto& content) { return content.empty(); }, prompt);
}

/// Returns the text that a client would have read.
std::string answer_of(const sim::AnswerPlan& plan) {
    std::string text;
    for (std::int64_t k = 0; k < plan.tokens; ++k)
        if (sim::part_of(plan, k) == sim::Part::content) text += sim::piece_of(plan, k);
    return text;
}

/// Returns the words of a prompt.
std::string text_of(const Prompt& prompt) {
    if (const auto* text = std::get_if<std::string>(&prompt)) return *text;
    std::string all;
    if (const auto* messages = std::get_if<Messages>(&prompt))
        for (const Message& message : *messages) all.append(message.content).append("\n");
    return all;
}

bool caches_prefixes(const sim::Profile& profile) {
    return profile.timing == sim::Timing::batching && profile.prefix_cache != 0;
}

class VirtualRun {
  public:
    VirtualRun(const LoadOptions& load, const VirtualOptions& options, RecordSink& sink, Progress& progress)
        : load_(load),
          options_(options),
          sink_(sink),
          progress_(progress),
          seed_(load.classes.front().seed),
          engine_(
              sim::engine_of(options.profile, server_seed(seed_, options.server_number), options.server_age)),
          mix_(load.classes, {load.shard.number, load.shard.count, load.shard.count}, kVirtualBegin),
          monitor_(monitor_options(load, kVirtualBegin)),
          prefix_cache_(caches_prefixes(options.profile)) {}

    Observations outcome(const Interruption& interruption) {
        while (more_to_start_or_step()) {
            if (monitor_.is_met()) mix_.stop();
            if (!obeys(interruption)) break;  // a step of many requests takes long
        }
        Observations outcome;
        outcome.records = std::move(records_);
        report_.cpu.emplace_back();  // one worker, whose load has no meaning in virtual time
        outcome.client = std::move(report_);
        outcome.began = kVirtualBegin;
        outcome.ran_dry = mix_.ran_dry();
        outcome.interrupted = stopped_at_.has_value();
        outcome.stopped = monitor_.stopped();
        if (!outcome.stopped)
            outcome.stopped =
                ended_by(mix_.ended_by(), outcome.ran_dry.value_or(now_), combined(load_.classes).limits);
        return outcome;
    }

  private:
    /// Stops starting, and after the grace time cancels what is in flight. Returns false when the run is
    /// over.
    bool obeys(const Interruption& interruption) {
        if (interruption.cut_off.stop_requested() ||
            (stopped_at_ && latest_ >= *stopped_at_ + load_.worker.grace)) {
            if (!stopped_at_) stopped_at_ = latest_;
            cancel();
            return false;
        }
        if (!stopped_at_ && interruption.stop_starting.stop_requested()) {
            stopped_at_ = latest_ = std::max(latest_, now_);
            mix_.stop();
        }
        return true;
    }

    /// Starts a request that is due before the next step, or else makes that step. Returns false when all is
    /// done.
    bool more_to_start_or_step() {
        const auto decision = mix_.next(now_);
        if (const auto* next = std::get_if<Start>(&decision)) {
            start(*next);
            return true;
        }
        if (std::holds_alternative<Done>(decision)) return false;
        const auto& due = std::get<Wait>(decision).until;
        const auto begin = engine_->next_begin();
        if (give_up_until(std::min(due.value_or(TimePoint::max()), begin.value_or(TimePoint::max()))))
            return true;
        if (due && (!begin || *due <= *begin)) {
            now_ = *due;
            return true;
        }
        if (!begin) return false;
        (void)engine_->begin_step();
        take(engine_->end_step());
        return true;
    }

    void start(const Start& start) {
        const Planned& planned = start.planned;
        const Request request = mix_.request(planned, true);
        RequestRecord record = mix_.record_of(start);
        record.id = request_id(load_.worker.id_prefix, planned.index, planned.warmup);
        record.request_class = request.request_class;
        record.slo = request.slo;
        record.started = record.ready = std::max(now_, start.scheduled);
        const bool closed_loop = load_.classes[planned.part].arrivals.at_once;
        record.sent = record.started + (closed_loop ? options_.turnaround : Duration{});
        record.wanted_input_tokens = request.wanted_input_tokens;
        record.wanted_output_tokens = request.wanted_output_tokens;
        record.token_source = TokenSource::one_per_event;
        progress_.count_start(record.warmup);
        monitor_.started(record);
        record.closed = record.started + std::min(load_.worker.client.request_timeout,
                                                  start.hangs_up_after.value_or(Duration::max()));
        const bool goes_on = mix_.needs_answer(planned);
        mix_.started(start, goes_on ? request.prompt : Prompt());
        submit(request, std::move(record), goes_on || load_.worker.keep_answers);
    }

    void submit(const Request& request, RequestRecord record, bool keep_answer) {
        const TimePoint at = *record.sent;
        sim::EngineRequest work{.id = flights_.size()};
        work.prompt_tokens = request.wanted_input_tokens.value_or(1);
        const std::uint64_t seed = derived_seed(seed_, record.id);
        if (!is_empty(request.prompt)) identify(work, request.prompt, seed);
        const std::int64_t room = sim::context_limit(options_.profile) - work.prompt_tokens;
        sim::GenerationRequest wanted{
            .endpoint = options_.chat ? sim::Endpoint::chat : sim::Endpoint::completions,
            .max_tokens = request.wanted_output_tokens.value_or(room),
            .ignore_eos = options_.ignore_eos && request.wanted_output_tokens};
        if (options_.profile.answers == sim::Answers::recall)
            wanted.recalled = sim::recalled_from(text_of(request.prompt));
        if (room < 1 || wanted.max_tokens > room) return refuse(std::move(record), work.prompt_tokens, at);
        const sim::AnswerPlan plan = sim::answer_plan(wanted, options_.profile, seed);
        work.output_tokens = plan.tokens;
        if (keep_answer) record.answer = answer_of(plan);
        record.http_status = 200;
        record.finish_reason = plan.finish_reason;
        if (plan.reasoning_tokens > 0) record.usage.reasoning = plan.reasoning_tokens;
        record.usage.prompt = work.prompt_tokens;
        if (prefix_cache_) record.usage.cached_prompt = 0;
        record.events.reserve(static_cast<std::size_t>(work.output_tokens));
        give_ups_.emplace(record.closed, work.id);
        flights_.push_back(std::make_unique<RequestRecord>(std::move(record)));
        engine_->submit(work, at);
    }

    void identify(sim::EngineRequest& work, const Prompt& prompt, std::uint64_t seed) const {
        const auto tokens =
            sim::prompt_tokens_of(prompt, options_.chat, options_.profile.vocabulary,
                                  prefix_cache_ ? options_.profile.block_tokens : std::int64_t{0});
        work.prompt_tokens = std::max<std::int64_t>(1, tokens.count());
        if (!prefix_cache_) return;
        auto identity = std::make_shared<sim::TokenIdentity>();
        identity->blocks = tokens.blocks();
        identity->rest = *tokens.hasher();
        identity->answer_seed = seed;
        identity->vocabulary = options_.profile.vocabulary;
        work.identity = std::move(identity);
    }

    void refuse(RequestRecord record, std::int64_t prompt_tokens, TimePoint at) {
        record.http_status = 400;
        record.outcome = Outcome::http_error;
        record.error =
            fmt::format("HTTP 400: a prompt of {} tokens and its answer exceed the context of {} tokens",
                        prompt_tokens, sim::context_limit(options_.profile));
        finish(std::move(record), at);
    }

    void take(const sim::Step& step) {
        for (const sim::Admission& admission : step.admitted) {
            if (prefix_cache_) flights_[admission.id]->usage.cached_prompt = admission.cached_tokens;
        }
        TimePoint written = latest_ = step.end;
        for (const sim::Emission& emission : step.emitted) {
            written += options_.write_time;
            RequestRecord& record = *flights_[emission.id];
            if (written > record.closed) continue;  // the client has given it up
            const std::int64_t tokens = emission.index + emission.tokens;
            const bool reasoning = tokens <= record.usage.reasoning.value_or(0);
            if (record.events.empty()) mix_.on_first_token({record.index, record.warmup}, written);
            StreamEvent& event = record.events.emplace_back();
            event.time = written;
            event.tokens = static_cast<std::uint32_t>(emission.tokens);
            event.kind = reasoning ? EventKind::reasoning : EventKind::content;
            if (!emission.last) continue;
            give_ups_.erase({record.closed, emission.id});
            record.finished = written;
            record.usage.completion = tokens;
            finish(std::move(record), written);
            flights_[emission.id].reset();
        }
    }

    void finish(RequestRecord record, TimePoint end) {
        derive_from_events(record);
        record.closed = end;
        mix_.finished(record, end, !load_.worker.keep_answers);
        const auto chunks = static_cast<std::uint64_t>(record.chunks);
        report_.chunks.chunks += chunks;
        report_.chunks.stamped_chunks += chunks;
        monitor_.ended(record);
        monitor_.look(end);
        progress_.count_end(record);
        records_.add(record);
        sink_.record(std::move(record));
    }

    /// Gives up the first request whose timeout has passed, or whose user has waited long enough, by `until`.
    /// Returns false if there is none.
    bool give_up_until(TimePoint until) {
        if (give_ups_.empty() || give_ups_.begin()->first > until) return false;
        const auto [at, id] = *give_ups_.begin();
        give_ups_.erase(give_ups_.begin());
        engine_->abort(id);
        RequestRecord record = std::move(*flights_[id]);
        flights_[id].reset();
        const Duration timeout = load_.worker.client.request_timeout;
        const bool timed_out = at == record.started + timeout;
        record.outcome = timed_out ? Outcome::timed_out : Outcome::abandoned;
        record.error = timed_out ? timeout_text(timeout) : "the user hung up";
        record.finish_reason.clear();
        record.usage.completion.reset();
        finish(std::move(record), at);
        return true;
    }

    /// Cancels what is in flight when the run is ended from outside.
    void cancel() {
        mix_.stop();
        for (auto& flight : flights_) {
            if (!flight) continue;
            flight->outcome = Outcome::cancelled;
            flight->error = "the run was ended";
            finish(std::move(*flight), std::max(now_, *flight->sent));
            flight.reset();
        }
    }

    const LoadOptions& load_;
    const VirtualOptions& options_;
    RecordSink& sink_;
    Progress& progress_;
    std::uint64_t seed_;
    std::unique_ptr<sim::Engine> engine_;
    /// When each request in flight is given up if it is not over, and its id in the engine.
    std::set<std::pair<TimePoint, std::uint64_t>> give_ups_;
    Mix mix_;
    StopMonitor monitor_;
    std::optional<TimePoint> stopped_at_;  ///< when it was stopped from outside
    bool prefix_cache_;
    TimePoint now_ = kVirtualBegin;     ///< time of the next start
    TimePoint latest_ = kVirtualBegin;  ///< end of the last step
    /// Records of requests by the engine's id; null when over. `closed`: when the request is given up if it
    /// is not over.
    std::vector<std::unique_ptr<RequestRecord>> flights_;
    RequestTable records_;
    ClientReport report_;
};

}  // namespace

Observations make_virtual_load(const LoadOptions& options, const VirtualOptions& virtual_options,
                               RecordSink& sink, Progress& progress, const Interruption& interruption) {
    return VirtualRun(options, virtual_options, sink, progress).outcome(interruption);
}

bool reads_prompts(const sim::Profile& profile) {
    return caches_prefixes(profile) || profile.answers == sim::Answers::recall;
}

}  // namespace paretoken::loadgen
