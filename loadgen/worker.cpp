#include "loadgen/worker.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <utility>

namespace paretoken::loadgen {
namespace {

constexpr Duration kTick = std::chrono::milliseconds(100);

Duration thread_cpu_time() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

void sleep_until(TimePoint when) {
    const Duration since_boot = when.time_since_epoch();
    const auto whole = std::chrono::duration_cast<std::chrono::seconds>(since_boot);
    const timespec t{.tv_sec = static_cast<time_t>(whole.count()), .tv_nsec = (since_boot - whole).count()};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr);
}

template <class... Handlers>
struct Overloaded : Handlers... {
    using Handlers::operator()...;
};

}  // namespace

std::string request_id(const std::string& prefix, std::uint64_t index, bool warmup) {
    return fmt::format("{}{}{}", prefix, warmup ? "w" : "", index);
}

Worker::Worker(const WorkerOptions& options, const Dispatcher& dispatcher, const datasets::Dataset& dataset,
               RecordSink& sink, Progress& progress, StopMonitor& monitor)
    : options_(options),
      drain_(options.kernel_stamps),
      pool_(drain_, options.address, options.tls, options.host, options.keep_alive),
      client_(pool_, options.client, *this),
      dispatcher_(dispatcher),
      conversations_(dataset),
      sink_(sink),
      progress_(progress),
      monitor_(monitor) {}

Worker::~Worker() = default;

void Worker::run() {
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL,
          0UL);  // of this thread: waits end when they are to, not 50 µs later
    cpu_sampled_at_ = Clock::now();
    cpu_before_ = thread_cpu_time();
    http::Drain::Round round;
    while (true) {
        const TimePoint now = Clock::now();
        act(now);
        if (ended_) break;
        const bool polling = polls(now);
        round = drain_.serve(round.more || polling || more_to_start_ ? now : rest(now));
        if (polling && round.served == 0) {
            const Duration polled = Clock::now() - now;
            polled_ += polled;
            idle_ += polled;
        }
    }
    report_.connections = pool_.facts();
}

void Worker::stop() {
    stop_requested_ = true;
    drain_.wake();
}

void Worker::cut_off() {
    cut_off_requested_ = true;
    drain_.wake();
}

/// Ends what was to be ended, by a stop rule or from outside.
void Worker::obey(TimePoint now) {
    if (monitor_.is_met()) dispatcher_.stop();
    if (stop_requested_.exchange(false)) {
        dispatcher_.stop();
        cut_off_due_ = now + options_.grace;
    }
    if (cut_off_requested_.exchange(false) || now >= cut_off_due_) {
        dispatcher_.stop();
        client_.cancel_all();
        cut_off_due_ = TimePoint::max();
    }
}

/// Everything but the sockets: what was asked for from outside, what is due, what the last round left.
void Worker::act(TimePoint now) {
    obey(now);
    if (now >= tick_due_) tick(now);
    pool_.bury();
    client_.resend();
    dispatch();
}

void Worker::dispatch() {
    due_ = TimePoint::max();
    bool more = true;
    for (int started = 0; more && started < kMostStartsPerRound; ++started) {
        std::visit(Overloaded{
                       [&](const Start& next) { start(next); },
                       [&](const Wait& wait) {
                           more = false;
                           if (wait.until) due_ = *wait.until;
                       },
                       [&](const Done&) {
                           more = false;
                           ended_ = true;
                       },
                   },
                   dispatcher_.next(Clock::now()));
    }
    more_to_start_ = more;
    if (!ended_ && !more_to_start_) prepare_next();
}

/// Whether the next start is so near that waiting would only add the kernel's wake-up to its time.
bool Worker::polls(TimePoint now) const {
    return options_.spin > Duration{} && due_ != TimePoint::max() && due_ - now <= options_.spin;
}

/// Until when the sockets may be waited for. Takes a nap first when very many are ready at a time; then they
/// are only looked at.
TimePoint Worker::rest(TimePoint now) {
    TimePoint until = std::min(due_, tick_due_);
    if (options_.spin > Duration{} && due_ != TimePoint::max()) until = std::min(until, due_ - options_.spin);
    if (!options_.lazy) return until;
    const Duration nap = laziness_.nap({.now = now,
                                        .reads = drain_.reads(),
                                        .finished = report_.records.size(),
                                        .streams = client_.in_flight(),
                                        .idle = drain_.waited() + idle_});
    if (nap == Duration{}) return until;
    const TimePoint began = Clock::now();
    sleep_until(std::min(until, now + nap));
    idle_ += Clock::now() - began;
    return now;
}

PreparedRequest Worker::prepared(const Planned& planned) const {
    Request request = conversations_.request(planned);
    request.index = planned.index;
    request.id = request_id(options_.id_prefix, planned.index, planned.warmup);
    PreparedRequest prepared = client_.prepare(std::move(request));
    prepared.keep_answer = options_.keep_answers || conversations_.needs_answer(planned);
    return prepared;
}

/// Writes the next request while nothing is due, so that it only has to be sent when it is.
void Worker::prepare_next() {
    const auto next = dispatcher_.next_planned();
    if (!next || planned_ahead_ == next) return;
    prepared_ahead_ = prepared(*next);
    planned_ahead_ = next;
}

void Worker::start(const Start& start) {
    progress_.count_start(start.planned.warmup);
    const Planned& planned = start.planned;
    RequestRecord record;
    record.index = planned.index;
    record.worker = options_.number;
    record.turn = conversations_.turn_of(planned);
    record.warmup = planned.warmup;
    record.scheduled = start.scheduled;
    record.slot_wait = start.slot_wait;
    monitor_.started(record);
    const bool ready = planned_ahead_ == planned;
    if (ready) planned_ahead_.reset();
    PreparedRequest request = ready ? std::move(prepared_ahead_) : prepared(planned);
    conversations_.started(planned, std::move(request.request.prompt));
    client_.start(std::move(request), std::move(record));
}

void Worker::on_first_token(const RequestRecord& record, TimePoint at) {
    dispatcher_.on_first_token({record.index, record.warmup}, at);
}

void Worker::on_finished(RequestRecord record, TimePoint over_at) {
    const auto follow_up = conversations_.ended(record, !options_.keep_answers);
    dispatcher_.finished({record.index, record.warmup}, over_at, is_failure(record.outcome), follow_up);
    monitor_.ended(record);
    progress_.count_end(record);
    report_.records.add(record);
    sink_.record(std::move(record));
}

void Worker::tick(TimePoint now) {
    sample_cpu(now);
    client_.end_overdue(now);
    tick_due_ = now + kTick;
}

void Worker::sample_cpu(TimePoint now) {
    const Duration wall = now - cpu_sampled_at_;
    if (wall < kTick / 2) return;
    const Duration cpu = thread_cpu_time();
    const Duration worked = std::max(Duration{}, cpu - cpu_before_ - std::exchange(polled_, {}));
    report_.cpu.push_back({now, seconds(worked) / seconds(wall)});
    cpu_before_ = cpu;
    cpu_sampled_at_ = now;
}

WorkerReport Worker::take_report() {
    pool_.clear();
    report_.client = client_.counters();
    report_.read_delay = drain_.read_delay();
    report_.unstamped_delay = drain_.unstamped_delay();
    report_.largest_clock_jump = drain_.largest_clock_jump();
    report_.ran_dry = dispatcher_.ran_dry();
    report_.ended_by = dispatcher_.ended_by();
    return std::move(report_);
}

}  // namespace paretoken::loadgen
