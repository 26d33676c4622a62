#include "loadgen/worker.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <utility>

#include "core/overloaded.h"

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

/// Adds a field to the JSON object `body`, or to an empty one. The name and the id need no escapes.
void add_body_field(std::string& body, std::string_view name, std::string_view id) {
    if (body.empty()) body = "{}";
    body.insert(body.size() - 1, fmt::format("{}\"{}\":\"{}\"", body.size() > 2 ? "," : "", name, id));
}

}  // namespace

Worker::Worker(const WorkerOptions& options) : options_(options), drain_(options.kernel_stamps) {
    for (const WorkerTarget& target : options.targets) links_.push_back(link_to(target));
}

std::unique_ptr<Worker::Link> Worker::link_to(const WorkerTarget& target) {
    ClientOptions client = options_.client;
    client.head = target.head;
    for (const SessionName& name : options_.session_tokens) client.session_tokens.push_back(name.name);
    return std::make_unique<Link>(*this, target, client);
}

Worker::Link::Link(Worker& worker, const WorkerTarget& target, const ClientOptions& options)
    : pool(worker.drain_, target.address, target.tls, target.host, worker.options_.keep_alive),
      client(pool, options, worker) {}

std::size_t Worker::in_flight() const {
    std::size_t all = 0;
    for (const auto& link : links_) all += link->client.in_flight();
    return all;
}

/// Chooses the server of a request. If there are several, its record names the choice.
Worker::Link& Worker::route(const PreparedRequest& request, RequestRecord& record) {
    if (links_.size() == 1) return *links_.front();
    std::vector<std::size_t> in_flight;
    for (const auto& link : links_) in_flight.push_back(link->client.in_flight());
    std::uint64_t turn = options_.number + routed_++;
    if (options_.route == Route::session) turn = record.turn ? record.turn->conversation : record.index;
    const std::size_t target = target_for(options_.route, turn, request.request.prompt, in_flight);
    record.target = static_cast<std::uint32_t>(target);
    return *links_[target];
}

Worker::~Worker() = default;

void Worker::open_connections(std::size_t connections, TimePoint latest) {
    const TimePoint began = Clock::now();
    for (std::size_t i = 0; i < links_.size(); ++i)
        links_[i]->pool.open_ahead((connections + links_.size() - 1 - i) / links_.size());
    const auto is_opening = [](const auto& link) { return link->pool.is_opening_ahead(); };
    while (Clock::now() < latest && std::ranges::any_of(links_, is_opening)) {
        drain_.serve(latest);
        for (const auto& link : links_) link->pool.free_dropped();
    }
    report_.client.connections.opening_ahead = Clock::now() - began;
}

void Worker::run(Job job) {
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL,
          0UL);  // timer slack of this thread: waits end on time, not 50 µs later
    job_.emplace(std::move(job));
    ahead_ = std::vector<Ahead>(job_->mix.parts());
    const Duration late_before = drain_.woken_late();
    began_ = cpu_sampled_at_ = Clock::now();
    cpu_before_ = thread_cpu_time();
    http::Drain::Round round;
    while (true) {
        const TimePoint now = Clock::now();
        act(now);
        if (turns_.may_start(now, round.more)) dispatch();
        if (ended_) break;
        const bool polling = polls(now);
        round = serve(now, round.more || polling || more_to_start_);
        if (polling && round.served == 0) {
            const Duration polled = Clock::now() - now;
            polled_ += polled;
            idle_ += polled;
        }
    }
    for (const auto& link : links_) report_.client.connections.add(link->pool.counts());
    const Duration all = Clock::now() - began_;
    if (all > Duration{})
        report_.client.host_lost_share = seconds(drain_.woken_late() - late_before) / seconds(all);
}

/// Returns the id of what a request belongs to, which no other play of the load has.
std::optional<std::string> Worker::session_id(const Session& session, SessionScope scope,
                                              const Planned& planned) const {
    std::optional<std::uint64_t> index;
    switch (scope) {
        case SessionScope::conversation:
            index = session.conversation;
            break;
        case SessionScope::job:
            index = session.job;
            break;
        case SessionScope::parent:
            index = session.parent;
            break;
        case SessionScope::final_turn:
            return session.is_final ? std::optional<std::string>("true") : std::nullopt;
    }
    if (!index) return std::nullopt;
    return request_id(options_.id_prefix, *index, planned.warmup);
}

/// Adds the tokens that the request's server has set for its session. It is done when the request starts,
/// because a token of a job may come while the request is ready.
void Worker::add_tokens(PreparedRequest& request, const Planned& planned, const RequestRecord& record) const {
    for (std::uint32_t name = 0; name < options_.session_tokens.size(); ++name) {
        const std::string* const token = job_->mix.token_of(planned, token_key(name, record));
        if (token == nullptr) continue;
        request.headers += fmt::format("{}: {}\r\n", options_.session_tokens[name].name, *token);
        request.tokens.push_back(*token);
    }
}

TokenKey Worker::token_key(std::uint32_t name, const RequestRecord& record) const {
    const bool of_job = options_.session_tokens[name].scope == SessionScope::job;
    return {.name = name,
            .target = record.target.value_or(0),
            .conversation = of_job || !record.turn ? 0 : record.turn->conversation};
}

void Worker::on_session_tokens(const RequestRecord& record, const std::vector<std::string>& tokens) {
    for (std::uint32_t name = 0; name < tokens.size(); ++name)
        if (!tokens[name].empty()) job_->mix.keep_token(record, token_key(name, record), tokens[name]);
}

void Worker::stop() {
    stop_requested_ = true;
    drain_.wake();
}

void Worker::cut_off() {
    cut_off_requested_ = true;
    drain_.wake();
}

/// Applies stops by a stop rule or from outside.
void Worker::obey(TimePoint now) {
    if (job_->monitor.is_met()) job_->mix.stop();
    if (stop_requested_.exchange(false)) {
        job_->mix.stop();
        cut_off_due_ = now + options_.grace;
    }
    if (cut_off_requested_.exchange(false) || now >= cut_off_due_) {
        job_->mix.stop();
        for (const auto& link : links_) link->client.cancel_all();
        cut_off_due_ = TimePoint::max();
    }
}

/// Does everything except starts and serving sockets: stops from outside, due actions, and leftovers of the
/// last round.
void Worker::act(TimePoint now) {
    obey(now);
    if (now >= tick_due_) tick(now);
    for (const auto& link : links_) {
        link->pool.free_dropped();
        link->client.resend();
        link->client.hang_up(now);
    }
}

/// Starts at most one request, so that the sockets are looked at between two starts. If a burst of starts let
/// the first token of a stream lie unread until its second arrives, one read would take both, and both would
/// get the time of the second, because the kernel stamps the last bytes of a read.
void Worker::dispatch() {
    const TimePoint began = Clock::now();
    more_to_start_ = false;
    std::visit(Overloaded{
                   [&](const Start& next) {
                       start(next);
                       more_to_start_ = true;
                   },
                   [&](const Wait& wait) { due_ = wait.until.value_or(TimePoint::max()); },
                   [&](const Done&) { ended_ = true; },
               },
               job_->mix.next(began));
    if (!ended_ && !more_to_start_) {
        if (job_->mix.has_started_all())
            close_idle();
        else
            prepare_next();
    }
    turns_.started(began, Clock::now());
}

/// Closes connections that no request needs any more: a server that serves one connection at a time accepts
/// the next one only when they are closed.
void Worker::close_idle() {
    keeps_reserve_ = false;
    for (const auto& link : links_) link->pool.close_idle();
}

/// Serves the sockets that are ready; the fewer, the nearer the next start is, so that it is hardly late.
http::Drain::Round Worker::serve(TimePoint now, bool at_once) {
    const TimePoint until = at_once ? now : rest(now);
    if (due_ == TimePoint::max()) return drain_.serve(until);
    const Duration left = due_ - Clock::now();
    const bool has_rested_until_due = !at_once && left <= Duration{};
    looked_ = !(looked_ && has_rested_until_due);
    if (!looked_) return {};
    return drain_.serve(until, sockets_before(left, http::Drain::kMostPerRound));
}

/// Returns whether the next start is so near that the kernel's wake-up would delay it.
bool Worker::polls(TimePoint now) const {
    return options_.spin > Duration{} && due_ != TimePoint::max() && due_ - now <= options_.spin;
}

/// Returns until when the sockets may be waited for. Naps first when very many are ready at a time; then they
/// are only polled.
TimePoint Worker::rest(TimePoint now) {
    TimePoint until = std::min(due_, tick_due_);
    for (const auto& link : links_) until = std::min(until, link->client.next_hang_up());
    if (options_.spin > Duration{} && due_ != TimePoint::max()) until = std::min(until, due_ - options_.spin);
    if (!options_.lazy || !options_.kernel_stamps)
        return until;  // without stamps, a nap would delay the times
    const Duration nap = laziness_.nap({.now = now,
                                        .reads = drain_.reads(),
                                        .finished = report_.records.size(),
                                        .streams = in_flight(),
                                        .idle = drain_.waited() + idle_});
    if (nap == Duration{}) return until;
    const TimePoint began = Clock::now();
    const TimePoint end = std::min(until, now + nap);
    sleep_until(end);
    const TimePoint woken = Clock::now();
    idle_ += woken - began;
    drain_.add_wake(woken - std::max(began, end));
    return now;
}

PreparedRequest Worker::prepared(const Planned& planned) {
    Request request = job_->mix.request(planned);
    request.id = request_id(options_.id_prefix, planned.index, planned.warmup);
    std::string headers;
    const bool names_sessions = !options_.session_headers.empty() || !options_.session_fields.empty();
    if (const auto session = names_sessions ? job_->mix.session_of(planned) : std::nullopt) {
        const auto id_of = [&](const SessionName& name) { return session_id(*session, name.scope, planned); };
        for (const SessionName& name : options_.session_headers)
            if (const auto id = id_of(name)) headers += fmt::format("{}: {}\r\n", name.name, *id);
        for (const SessionName& name : options_.session_fields)
            if (const auto id = id_of(name)) add_body_field(request.body, name.name, *id);
    }
    PreparedRequest prepared = any_client().prepare(std::move(request));
    prepared.headers = std::move(headers);
    prepared.keep_answer = options_.keep_answers || job_->mix.needs_answer(planned);
    return prepared;
}

/// Writes the next request of a class while nothing is due, so that it only has to be sent when it is due.
void Worker::prepare_next() {
    for (std::size_t part = 0; part < ahead_.size(); ++part) {
        const auto next = job_->mix.next_planned(part);
        if (!next || ahead_[part].planned == next) continue;
        ahead_[part] = {next, prepared(*next)};
        return;
    }
}

void Worker::start(const Start& start) {
    const Planned& planned = start.planned;
    RequestRecord record = job_->mix.record_of(start);
    job_->progress.count_start(record.warmup);
    record.worker = options_.number;
    job_->monitor.started(record);
    Ahead& ahead = ahead_[planned.part];
    const bool ready = ahead.planned == planned;
    if (ready) ahead.planned.reset();
    PreparedRequest request = ready ? std::move(ahead.request) : prepared(planned);
    request.hangs_up_after = start.hangs_up_after;
    Link& link = route(request, record);
    add_tokens(request, planned, record);
    job_->mix.started(start, std::move(request.request.prompt));
    link.client.start(std::move(request), std::move(record));
    if (keeps_reserve_ && !link.pool.has_spare()) link.pool.open_ahead(1);
}

void Worker::on_first_token(const RequestRecord& record, TimePoint at) {
    job_->mix.on_first_token({record.index, record.warmup}, at);
}

void Worker::on_finished(RequestRecord record, TimePoint over_at) {
    job_->mix.finished(record, over_at, !options_.keep_answers);
    job_->monitor.ended(record);
    job_->progress.count_end(record);
    report_.records.add(record);
    job_->sink.record(std::move(record));
}

void Worker::tick(TimePoint now) {
    sample_cpu(now);
    for (const auto& link : links_) {
        link->client.end_overdue(now);
        if (keeps_reserve_ && !link->pool.has_spare()) link->pool.open_ahead(1);
    }
    tick_due_ = now + kTick;
}

void Worker::sample_cpu(TimePoint now) {
    const Duration wall = now - cpu_sampled_at_;
    if (wall < kTick / 2) return;
    const Duration cpu = thread_cpu_time();
    const Duration worked = std::max(Duration{}, cpu - cpu_before_ - std::exchange(polled_, {}));
    cpu_.push_back({now, seconds(worked) / seconds(wall)});
    cpu_before_ = cpu;
    cpu_sampled_at_ = now;
}

WorkerReport Worker::take_report() {
    for (const auto& link : links_) {
        link->pool.clear();
        report_.client.chunks.add(link->client.counters());
    }
    report_.client.read_delay = drain_.read_delay();
    report_.client.unstamped_delay = drain_.unstamped_delay();
    report_.client.largest_clock_jump = drain_.largest_clock_jump();
    report_.client.cpu.push_back(std::move(cpu_));
    report_.ran_dry = job_->mix.ran_dry();
    report_.ended_by = job_->mix.ended_by();
    return std::move(report_);
}

}  // namespace paretoken::loadgen
