#include "loadgen/worker.h"

#include <fmt/format.h>
#include <time.h>

#include <boost/asio/post.hpp>
#include <utility>

namespace paretoken::loadgen {
namespace {

constexpr Duration kTick = std::chrono::milliseconds(100);

/// Warm-up requests are drawn from far behind the measured ones: no prompt is seen twice.
constexpr std::uint64_t kWarmupIndexBase = std::uint64_t{1} << 40;

Duration thread_cpu_time() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

template <class... Handlers>
struct Overloaded : Handlers... {
    using Handlers::operator()...;
};

}  // namespace

Worker::Worker(const WorkerOptions& options, const Dispatcher& dispatcher, const datasets::Dataset& dataset,
               RecordSink& sink, Progress& progress)
    : options_(options),
      drain_(io_),
      pool_(drain_, options.address, options.tls, options.host),
      client_(pool_, options.client, *this),
      dispatcher_(dispatcher),
      dataset_(dataset),
      sink_(sink),
      progress_(progress),
      dispatch_timer_(io_),
      tick_timer_(io_) {
    drain_.set_between_batches([](void* self) { static_cast<Worker*>(self)->dispatch(); }, this);
}

Worker::~Worker() = default;

void Worker::run() {
    cpu_sampled_at_ = Clock::now();
    cpu_before_ = thread_cpu_time();
    drain_.start();
    tick();
    dispatch();
    io_.run();
}

void Worker::stop() {
    boost::asio::post(io_, [this] {
        if (ended_) return;
        dispatcher_.stop();
        client_.cancel_all();
        dispatch();
    });
}

void Worker::dispatch() {
    if (dispatching_ || ended_) return;
    dispatching_ = true;
    pool_.bury();
    client_.resend();
    bool more = true;
    while (more) {
        std::visit(Overloaded{
                       [&](const Start& next) { start(next); },
                       [&](const Wait& wait) {
                           more = false;
                           if (wait.until) wait_until(*wait.until);
                       },
                       [&](const Done&) {
                           more = false;
                           end();
                       },
                   },
                   dispatcher_.next(Clock::now()));
    }
    dispatching_ = false;
}

PreparedRequest Worker::prepared(std::uint64_t index, bool warmup) const {
    Request request = dataset_.request(warmup ? kWarmupIndexBase + index : index);
    request.index = index;
    request.id = fmt::format("{}{}{}", options_.id_prefix, warmup ? "w" : "", index);
    return client_.prepare(std::move(request));
}

void Worker::start(const Start& start) {
    progress_.in_flight.fetch_add(1, std::memory_order_relaxed);
    if (!start.warmup) {
        progress_.started.fetch_add(1, std::memory_order_relaxed);
        progress_.warming_up.store(false, std::memory_order_relaxed);
    }
    RequestRecord record;
    record.index = start.index;
    record.worker = options_.number;
    record.warmup = start.warmup;
    record.scheduled = start.scheduled;
    record.slot_wait = start.slot_wait;
    client_.start(prepared(start.index, start.warmup), std::move(record));
}

void Worker::wait_until(TimePoint when) {
    if (waiting_until_ == when) return;
    waiting_until_ = when;
    dispatch_timer_.expires_at(when);
    dispatch_timer_.async_wait([this](const boost::system::error_code& ec) {
        if (ec) return;
        waiting_until_.reset();
        dispatch();
    });
}

void Worker::on_finished(RequestRecord record, TimePoint over_at) {
    dispatcher_.finished(over_at, is_failure(record.outcome));
    progress_.in_flight.fetch_sub(1, std::memory_order_relaxed);
    if (!record.warmup) {
        progress_.finished.fetch_add(1, std::memory_order_relaxed);
        if (is_failure(record.outcome)) progress_.failed.fetch_add(1, std::memory_order_relaxed);
        progress_.output_tokens.fetch_add(static_cast<std::uint64_t>(record.streamed_tokens),
                                          std::memory_order_relaxed);
    }
    sink_.record(record);
    report_.records.push_back(std::move(record));
}

void Worker::tick() {
    if (ended_) return;
    const TimePoint now = Clock::now();
    sample_cpu(now);
    client_.end_overdue(now);
    dispatch();
    if (ended_) return;
    tick_timer_.expires_at(now + kTick);
    tick_timer_.async_wait([this](const boost::system::error_code& ec) {
        if (!ec) tick();
    });
}

void Worker::sample_cpu(TimePoint now) {
    const Duration wall = now - cpu_sampled_at_;
    if (wall < kTick / 2) return;
    const Duration cpu = thread_cpu_time();
    report_.cpu.push_back({now, seconds(cpu - cpu_before_) / seconds(wall)});
    cpu_before_ = cpu;
    cpu_sampled_at_ = now;
}

void Worker::end() {
    ended_ = true;
    report_.connections = pool_.facts();
    drain_.stop();
    dispatch_timer_.cancel();
    tick_timer_.cancel();
}

WorkerReport Worker::take_report() {
    pool_.clear();
    report_.client = client_.counters();
    report_.read_delay = drain_.read_delay();
    report_.largest_clock_jump = drain_.largest_clock_jump();
    report_.ran_dry = dispatcher_.ran_dry();
    return std::move(report_);
}

}  // namespace paretoken::loadgen
