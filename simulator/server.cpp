#include "simulator/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <numeric>
#include <unordered_map>
#include <variant>

#include "core/error.h"
#include "core/random.h"
#include "core/version.h"
#include "simulator/answers/api_error.h"
#include "simulator/answers/telemetry.h"
#include "simulator/answers/wire.h"
#include "simulator/connection.h"
#include "simulator/engine/engine.h"
#include "simulator/engine/replicas.h"
#include "simulator/exchange.h"
#include "simulator/listener.h"
#include "simulator/session_token.h"
#include "simulator/truth.h"

namespace paretoken::sim {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kScratchBytes = 64 << 10;
constexpr int kStepsBetweenPolls = 64;  // if the schedule is late, before sockets are polled

std::int64_t unix_seconds() {
    using namespace std::chrono;
    return duration_cast<std::chrono::seconds>(system_clock::now().time_since_epoch()).count();
}

bool has_prefix_cache(const Profile& profile) {
    return profile.timing == Timing::batching && profile.prefix_cache != 0;
}

ServedModel served_model(const ServerOptions& options) {
    const Profile& profile = options.profile;
    return {.name = options.model.empty() ? profile.model : options.model,
            .context_limit = context_limit(profile),
            .vocabulary = profile.vocabulary,
            .block_tokens = has_prefix_cache(profile) ? profile.block_tokens : 0,
            .dialect = options.dialect,
            .max_num_seqs = std::max<std::int64_t>(1, profile.max_num_seqs),
            .recalls = profile.answers == Answers::recall};
}

ServerOptions with_context_limit(ServerOptions options) {
    if (options.max_model_len) options.profile.max_model_len = *options.max_model_len;
    return options;
}

std::unique_ptr<TlsIdentity> identity_of(const ServerOptions& options) {
    if (options.tls_certificate.empty()) return nullptr;
    return std::make_unique<TlsIdentity>(options.tls_certificate, options.tls_key);
}

}  // namespace

class Server::Loop final : public ConnectionOwner, public std::enable_shared_from_this<Server::Loop> {
  public:
    Loop(asio::io_context& io, const ServerOptions& options)
        : options_(with_context_limit(options)),
          model_(served_model(options_)),
          dialect_(traits_of(options_.dialect)),
          keep_alive_(options_.keep_alive.value_or(dialect_.keep_alive)),
          pieces_(model_.vocabulary),
          engines_(options_.profile, options_.engine_seed.value_or(options_.seed), options_.replicas),
          identity_(identity_of(options_)),
          io_(io),
          acceptor_(listening(io, options_.host, options_.port)),
          timer_(io),
          accept_pause_(io),
          idle_timer_(io),
          created_(unix_seconds()) {}

    void start() {
        accept();
        if (keep_alive_.idle > Duration{}) close_idle_ones();
    }
    void stop();
    bool secure() const { return identity_ != nullptr; }
    tcp::endpoint endpoint() const { return acceptor_.local_endpoint(); }

    void on_request(Connection& connection, HttpRequest request) override;
    void on_bad_http(Connection& connection, BadHttp what, std::string_view reason) override;
    void on_closed(Connection& connection) override;
    std::string_view affinity_header() const override { return options_.affinity_header; }
    std::string_view session_token_header() const override { return options_.session_token; }

  private:
    struct Route {
        std::string_view method;
        std::string_view target;
        void (Loop::*answer)(Connection&, HttpRequest&);
        bool (*is_in)(const DialectTraits& dialect) = nullptr;  ///< whether it has the route; null: all have
    };
    static const Route kRoutes[];  ///< the routes besides those of the protocols

    void accept();
    void on_accepted(tcp::socket socket);
    void close_idle_ones();

    void answer_health(Connection& connection, HttpRequest& request);
    void answer_version(Connection& connection, HttpRequest& request);
    void answer_models(Connection& connection, HttpRequest& request);
    void answer_metrics(Connection& connection, HttpRequest& request);
    void answer_tokenize(Connection& connection, HttpRequest& request);
    void answer_detokenize(Connection& connection, HttpRequest& request);
    void answer_props(Connection& connection, HttpRequest& request);
    void answer_profile(Connection& connection, HttpRequest& request);
    void answer_truth(Connection& connection, HttpRequest& request);
    void clear_truth(Connection& connection, HttpRequest& request);
    void reset_prefix_cache(Connection& connection, HttpRequest& request);
    void generate(Connection& connection, HttpRequest& request, Endpoint endpoint);
    std::unique_ptr<AnswerWriter> writer_for(const Exchange& exchange, const std::string& id,
                                             Framing framing) const;
    void begin_exchange(Connection& connection, HttpRequest& request, GenerationRequest generation);
    void reply(Connection& connection, const HttpRequest& request, int status, std::string_view type,
               std::string_view body);
    void reply(Connection& connection, const HttpRequest& request, const ApiError& error) {
        reply(connection, request, error.status, dialect_.types.json, error.body);
    }
    void reply(Connection& connection, const HttpRequest& request,
               const std::variant<std::string, ApiError>& answer);

    void wake();
    void advance();
    void wait_until(TimePoint end);
    void deliver(const Step& step);
    HttpHead head_of(const Exchange& exchange) const;
    void write_tokens(Exchange& exchange, const Emission& emission, TimePoint due);
    void note_events(Exchange& exchange, const Emission& emission);
    void write_answer(Exchange& exchange);
    void write_affected(std::uint64_t id, Exchange& exchange, const Emission& emission, TimePoint due);
    std::string events_of(Exchange& exchange, const Group& group);
    void put(Exchange& exchange, Group group);
    void write_group(Exchange& exchange, const Group& group);
    void break_off(std::uint64_t id, Exchange& exchange, Misbehaviour what, std::string last_events);
    void hold_back(std::uint64_t id, Exchange& exchange, Duration time);
    void let_go(std::uint64_t id);
    void end_exchange(std::uint64_t id, bool complete);
    void send_heads();
    void send_head(Exchange& exchange);
    void count(const Exchange& exchange, bool complete);

    ServerOptions options_;
    ServedModel model_;
    const DialectTraits& dialect_;
    KeepAliveLimits keep_alive_;
    PieceMemory pieces_;  ///< pieces that were tokenized
    Replicas engines_;
    std::unique_ptr<TlsIdentity> identity_;
    asio::io_context& io_;
    tcp::acceptor acceptor_;
    asio::steady_timer timer_;
    asio::steady_timer accept_pause_;
    asio::steady_timer idle_timer_;
    std::int64_t created_;
    bool stopped_ = false;

    std::unordered_map<Connection*, std::shared_ptr<Connection>> connections_;
    std::unordered_map<std::uint64_t, Exchange> exchanges_;
    std::vector<std::uint64_t> heads_to_send_;
    std::uint64_t last_exchange_ = 0;
    bool wake_posted_ = false;
    int polls_left_ = 0;  ///< socket polls left until the next step may be decided
    std::optional<TimePoint> timer_for_;

    TruthLog truth_;
    Telemetry telemetry_;
    std::string frame_;  ///< buffer that every write reuses
    std::array<char, kScratchBytes> scratch_{};
};

const Server::Loop::Route Server::Loop::kRoutes[] = {
    {"GET", "/v1/models", &Loop::answer_models},
    {"GET", "/health", &Loop::answer_health},
    {"GET", "/version", &Loop::answer_version, [](const DialectTraits& dialect) { return dialect.version; }},
    {"GET", "/props", &Loop::answer_props,
     [](const DialectTraits& dialect) { return dialect.props != nullptr; }},
    {"POST", "/tokenize", &Loop::answer_tokenize},
    {"POST", "/detokenize", &Loop::answer_detokenize},
    {"GET", "/metrics", &Loop::answer_metrics},
    {"GET", "/sim/profile", &Loop::answer_profile},
    {"GET", "/sim/truth", &Loop::answer_truth},
    {"DELETE", "/sim/truth", &Loop::clear_truth},
    {"POST", "/reset_prefix_cache", &Loop::reset_prefix_cache},
};

// Connections.

void Server::Loop::accept() {
    acceptor_.async_accept([self = shared_from_this()](error_code ec, tcp::socket socket) {
        if (self->stopped_) return;
        if (!ec) {
            self->on_accepted(std::move(socket));
            return self->accept();
        }
        // Probably no descriptors are left: waiting connections are accepted when others have ended.
        self->accept_pause_.expires_after(std::chrono::milliseconds(20));
        self->accept_pause_.async_wait([self](error_code cancelled) {
            if (!cancelled && !self->stopped_) self->accept();
        });
    });
}

void Server::Loop::on_accepted(tcp::socket socket) {
    error_code ec;
    socket.set_option(tcp::no_delay(true), ec);
    if (!ec) socket.non_blocking(true, ec);
    if (ec) return;  // the peer has closed already
    auto connection = std::make_shared<Connection>(std::move(socket), *this, scratch_, identity_.get());
    connections_.emplace(connection.get(), connection);
    connection->start();
}

/// Closes connections idle for too long, at most a quarter of the limit too late.
void Server::Loop::close_idle_ones() {
    idle_timer_.expires_after(keep_alive_.idle / 4);
    idle_timer_.async_wait([self = shared_from_this()](error_code cancelled) {
        if (cancelled || self->stopped_) return;
        const TimePoint before = Clock::now() - self->keep_alive_.idle;
        std::vector<std::shared_ptr<Connection>> idle;
        for (const auto& [key, connection] : self->connections_)
            if (connection->idle() && connection->idle_since <= before) idle.push_back(connection);
        for (const auto& connection : idle) connection->close();
        self->close_idle_ones();
    });
}

void Server::Loop::on_closed(Connection& connection) {
    if (connection.exchange != 0) {
        engines_.abort(connection.exchange);
        end_exchange(connection.exchange, false);
        wake();
    }
    // The connection must not be destroyed within its own call.
    if (auto node = connections_.extract(&connection)) asio::post(io_, [kept = std::move(node.mapped())] {});
}

void Server::Loop::stop() {
    stopped_ = true;
    error_code ignored;
    acceptor_.close(ignored);
    timer_.cancel();
    accept_pause_.cancel();
    idle_timer_.cancel();
    while (!connections_.empty()) connections_.begin()->second->close();
}

// Requests.

void Server::Loop::on_request(Connection& connection, HttpRequest request) {
    ++connection.requests;
    if (keep_alive_.requests > 0 && connection.requests >= keep_alive_.requests) request.keep_alive = false;
    const bool guarded = !options_.api_key.empty() && request.target.starts_with("/v1");
    if (guarded && request.authorization != "Bearer " + options_.api_key) {
        return reply(connection, request, dialect_.unauthorized());
    }
    bool known_target = false;
    for (const Endpoint endpoint : kEndpoints) {
        if (traits_of(endpoint).path != request.target) continue;
        if (request.method == "POST") return generate(connection, request, endpoint);
        known_target = true;
    }
    for (const Route& route : kRoutes) {
        const bool offered = route.is_in == nullptr || route.is_in(dialect_);
        if (route.target != request.target || !offered) continue;
        const bool head_of_it = request.method == "HEAD" && route.method == "GET";
        if (route.method == request.method || head_of_it) return (this->*route.answer)(connection, request);
        known_target = true;
    }
    reply(connection, request, known_target ? dialect_.method_not_allowed() : dialect_.not_found());
}

void Server::Loop::on_bad_http(Connection& connection, BadHttp what, std::string_view reason) {
    const ApiError error = what == BadHttp::too_large ? body_too_large(options_.dialect)
                                                      : malformed_http(options_.dialect, reason);
    connection.send(http_answer({.status = error.status,
                                 .content_type = dialect_.types.json,
                                 .keep_alive = false,
                                 .dialect = options_.dialect},
                                error.body));
    connection.finish(false);
}

void Server::Loop::reply(Connection& connection, const HttpRequest& request, int status,
                         std::string_view type, std::string_view body) {
    const bool keep_alive = request.keep_alive && !(dialect_.closes_on_errors && status >= 400);
    const HttpHead head{.status = status,
                        .content_type = type,
                        .length = body.size(),
                        .keep_alive = keep_alive,
                        .dialect = options_.dialect};
    connection.send(request.method == "HEAD" ? http_head(head) : http_answer(head, body));
    connection.finish(keep_alive);
}

void Server::Loop::reply(Connection& connection, const HttpRequest& request,
                         const std::variant<std::string, ApiError>& answer) {
    if (const auto* error = std::get_if<ApiError>(&answer)) return reply(connection, request, *error);
    reply(connection, request, 200, dialect_.types.json, std::get<std::string>(answer));
}

void Server::Loop::answer_health(Connection& connection, HttpRequest& request) {
    reply(connection, request, 200, dialect_.types.json, dialect_.health);
}

void Server::Loop::answer_version(Connection& connection, HttpRequest& request) {
    reply(connection, request, 200, dialect_.types.json,
          fmt::format(R"({{"version":"paretoken {}"}})", version()));
}

void Server::Loop::answer_models(Connection& connection, HttpRequest& request) {
    reply(connection, request, 200, dialect_.types.json, dialect_.models(model_, created_));
}

void Server::Loop::answer_metrics(Connection& connection, HttpRequest& request) {
    reply(connection, request, 200, dialect_.types.prometheus,
          dialect_.metrics(telemetry_, engines_.state(), options_.profile, model_.name));
}

void Server::Loop::answer_tokenize(Connection& connection, HttpRequest& request) {
    reply(connection, request, tokenize_answer(request.body, model_, pieces_));
}

void Server::Loop::answer_detokenize(Connection& connection, HttpRequest& request) {
    reply(connection, request, detokenize_answer(request.body, model_, pieces_));
}

void Server::Loop::answer_props(Connection& connection, HttpRequest& request) {
    reply(connection, request, 200, dialect_.types.json, dialect_.props(model_));
}

void Server::Loop::answer_profile(Connection& connection, HttpRequest& request) {
    reply(connection, request, 200, dialect_.types.json,
          profile_answer(options_.profile.name, limit_terms(options_.profile)));
}

void Server::Loop::answer_truth(Connection& connection, HttpRequest& request) {
    reply(connection, request, 200, dialect_.types.json, truth_.json());
}

void Server::Loop::clear_truth(Connection& connection, HttpRequest& request) {
    truth_.clear();
    reply(connection, request, 200, dialect_.types.json, "{}");
}

/// Answers like vLLM: 200 whether or not anything could be forgotten.
void Server::Loop::reset_prefix_cache(Connection& connection, HttpRequest& request) {
    (void)engines_.reset_prefix_cache();
    reply(connection, request, 200, dialect_.types.json, "");
}

void Server::Loop::generate(Connection& connection, HttpRequest& request, Endpoint endpoint) {
    auto parsed = parse_generation(endpoint, request.body, model_);
    if (const auto* error = std::get_if<ApiError>(&parsed)) return reply(connection, request, *error);
    if (!request.session_token.empty() && !is_session_token(options_.seed, request.session_token))
        return reply(connection, request,
                     api_error(options_.dialect, endpoint,
                               {.message = fmt::format("the header {} has a token that no answer has set",
                                                       options_.session_token)}));
    if (!options_.faults.empty()) {
        const int status = faults_of_answer(options_.faults, options_.seed, last_exchange_ + 1).status;
        if (status != 0) {
            ++last_exchange_;
            return reply(connection, request, overloaded(options_.dialect, endpoint, status));
        }
    }
    begin_exchange(connection, request, std::get<GenerationRequest>(std::move(parsed)));
}

std::unique_ptr<AnswerWriter> Server::Loop::writer_for(const Exchange& exchange, const std::string& id,
                                                       Framing framing) const {
    const GenerationRequest& request = exchange.request;
    return answer_writer({.dialect = options_.dialect,
                          .endpoint = request.endpoint,
                          .stream = request.stream,
                          .include_usage = request.include_usage,
                          .continuous_usage = request.continuous_usage,
                          .token_ids = request.return_token_ids,
                          .timings_per_token = request.timings_per_token,
                          .reasoning_model = options_.profile.reasoning != ReasoningPart{},
                          .id = id,
                          .created = unix_seconds(),
                          .model = model_.name,
                          .vocabulary = model_.vocabulary,
                          .prompt_tokens = request.prompt_tokens,
                          .max_tokens = request.max_tokens,
                          .prompt_token_ids = request.prompt_token_ids,
                          .framing = framing,
                          .plan = exchange.plan});
}

void Server::Loop::begin_exchange(Connection& connection, HttpRequest& request,
                                  GenerationRequest generation) {
    const std::uint64_t id = ++last_exchange_;
    std::string name = request.request_id.empty()
                           ? fmt::format("{:016x}", derived_seed(options_.seed, "request id", id))
                           : std::move(request.request_id);
    const std::uint64_t seed = derived_seed(options_.seed, name);
    InjectedFaults injected;
    if (!options_.faults.empty()) injected = faults_of_answer(options_.faults, options_.seed, id);
    const bool streams = generation.stream;
    const bool affected = streams && injected != InjectedFaults{};
    const bool to_the_end = request.http_1_0 || (affected && injected.close_delimited);
    const Framing framing = to_the_end ? Framing::until_close : Framing::chunked;
    Exchange exchange{.connection = &connection,
                      .request = std::move(generation),
                      .writer = nullptr,
                      .wants_truth = request.wants_truth,
                      .keep_alive = request.keep_alive && !(to_the_end && streams),
                      .framing = framing,
                      .affected = nullptr};
    exchange.plan = answer_plan(exchange.request, options_.profile, seed);
    exchange.writer = writer_for(exchange, name, affected ? Framing::until_close : framing);
    if (affected) {
        exchange.affected = std::make_unique<Affected>();
        exchange.affected->injected = injected;
    }
    exchange.truth.affinity = request.affinity;
    if (!options_.session_token.empty()) {
        // The token decides the engine.
        exchange.truth.session_token = std::move(request.session_token);
        request.affinity = exchange.truth.session_token.empty()
                               ? session_token(options_.seed, derived_seed(options_.seed, "session", id))
                               : exchange.truth.session_token;
        exchange.truth.set_session_token = request.affinity;
        exchange.further_headers = fmt::format("{}: {}\r\n", options_.session_token, request.affinity);
    }
    exchange.truth.id = std::move(name);
    exchange.truth.received = exchange.truth.admitted = request.received;
    exchange.truth.kernel_stamp = request.kernel_stamp;
    exchange.truth.prompt_tokens = exchange.request.prompt_tokens;
    exchange.truth.reasoning_tokens = exchange.plan.reasoning_tokens;
    exchange.truth.due.reserve(static_cast<std::size_t>(std::min<std::int64_t>(exchange.plan.tokens, 1024)));
    EngineRequest work{
        .id = id, .prompt_tokens = exchange.request.prompt_tokens, .output_tokens = exchange.plan.tokens};
    if (model_.block_tokens > 0) {
        auto identity = std::make_shared<TokenIdentity>();
        identity->blocks = std::move(exchange.request.prompt_blocks);
        identity->rest = exchange.request.after_prompt;
        identity->answer_seed = seed;
        identity->vocabulary = model_.vocabulary;
        work.identity = std::move(identity);
    }
    engines_.submit(work, request.received, request.affinity);
    connection.exchange = id;
    const auto place = exchanges_.emplace(id, std::move(exchange)).first;
    if (affected && injected.header_delay > Duration{}) hold_back(id, place->second, injected.header_delay);
    if (streams) heads_to_send_.push_back(id);
    wake();
}

// The schedule.

/// Makes advance() run soon, once for all requests that came in together.
void Server::Loop::wake() {
    if (wake_posted_ || stopped_) return;
    wake_posted_ = true;
    asio::post(io_, [self = shared_from_this()] {
        self->wake_posted_ = false;
        self->advance();
    });
}

/// Delivers the steps that are due and waits for the next one.
///
/// A step's batch is every request that had reached this host when the step began, which is when the step
/// before it ended. After a delivery the sockets are therefore polled before the next step is decided (twice,
/// because the first poll may have begun before). A client that answers a token with a new request is later
/// than that, as with a real engine.
void Server::Loop::advance() {
    if (stopped_) return;
    if (polls_left_ > 0) {
        --polls_left_;
        return wake();
    }
    for (int steps = 0; steps < kStepsBetweenPolls; ++steps) {
        const auto end = engines_.begin_step();
        if (!end) return send_heads();
        if (*end > Clock::now()) {
            send_heads();
            return wait_until(*end);
        }
        deliver(engines_.end_step());
        if (options_.profile.timing == Timing::batching) {
            polls_left_ = 2;
            break;
        }
    }
    wake();
}

/// Waits until `end`. Timers are up to 100 µs late, so the last part polls sockets and the clock instead.
void Server::Loop::wait_until(TimePoint end) {
    const TimePoint polling = end - options_.spin;
    if (polling <= Clock::now()) return wake();
    if (timer_for_ == polling) return;
    timer_for_ = polling;
    timer_.expires_at(polling);
    timer_.async_wait([self = shared_from_this()](error_code cancelled) {
        if (cancelled) return;
        self->timer_for_.reset();
        self->advance();
    });
}

void Server::Loop::deliver(const Step& step) {
    for (const Admission& admission : step.admitted) {
        const auto found = exchanges_.find(admission.id);
        if (found == exchanges_.end()) continue;
        found->second.truth.admitted = step.begin;
        if (has_prefix_cache(options_.profile)) found->second.truth.cached_tokens = admission.cached_tokens;
    }
    for (const Emission& emission : step.emitted) {
        const auto found = exchanges_.find(emission.id);
        if (found == exchanges_.end()) continue;
        Exchange& exchange = found->second;
        exchange.truth.due.insert(exchange.truth.due.end(), static_cast<std::size_t>(emission.tokens),
                                  step.end);
        if (exchange.affected) {
            write_affected(emission.id, exchange, emission, step.end);
            continue;
        }
        if (exchange.request.stream) write_tokens(exchange, emission, step.end);
        if (!emission.last) continue;
        if (!exchange.request.stream) write_answer(exchange);
        end_exchange(emission.id, true);
    }
}

HttpHead Server::Loop::head_of(const Exchange& exchange) const {
    return {.content_type = dialect_.types.events,
            .framing = exchange.framing,
            .keep_alive = exchange.keep_alive,
            .gzip = exchange.affected && exchange.affected->injected.gzip,
            .further = exchange.further_headers,
            .dialect = options_.dialect};
}

void Server::Loop::write_tokens(Exchange& exchange, const Emission& emission, TimePoint due) {
    if (emission.index == 0) {
        frame_.clear();
        if (!exchange.head_sent) frame_ = http_head(head_of(exchange));
        exchange.head_sent = true;
        if (!exchange.opened) exchange.writer->append_opening(frame_);
        exchange.opened = true;
        if (!frame_.empty()) exchange.connection->send(frame_);
    }
    frame_.clear();
    AnswerState state = state_of(exchange.truth, due);
    if (exchange.wants_truth) state.truth = EventTruth{.due = due, .written = Clock::now()};
    exchange.writer->append_tokens(frame_, emission.index, emission.tokens, state);
    note_events(exchange, emission);
    state.events = static_cast<std::int64_t>(exchange.truth.tokens.size());
    if (emission.last) exchange.writer->append_closing(frame_, state);
    const TimePoint now = state.truth ? state.truth->written : Clock::now();
    if (!exchange.truth.written.empty()) {
        telemetry_.inter_token_latency.add(seconds(now - exchange.truth.written.back()));
    }
    exchange.truth.written.resize(exchange.truth.tokens.size(), now);
    exchange.connection->send(frame_);
    if (emission.index == 0) exchange.truth.first_sent = Clock::now();
}

void Server::Loop::note_events(Exchange& exchange, const Emission& emission) {
    exchange.writer->append_event_tokens(exchange.truth.tokens, emission.index, emission.tokens);
}

/// Writes tokens of an answer with faults. `exchange` may not exist afterwards.
void Server::Loop::write_affected(std::uint64_t id, Exchange& exchange, const Emission& emission,
                                  TimePoint due) {
    Affected& affected = *exchange.affected;
    const InjectedFaults& how = affected.injected;
    if (const auto inside = strike_inside(how, emission)) {
        Emission before = emission;
        before.tokens = *inside - emission.index;
        before.last = false;
        write_affected(id, exchange, before, due);
        const auto found = exchanges_.find(id);
        if (found == exchanges_.end() || found->second.affected->ended) return;
        return write_affected(id, found->second, rest_of(emission, *inside), due);
    }
    if (strikes(how.reset_after, emission)) {
        Connection& connection = *exchange.connection;
        exchange.truth.cut_by = name_of(Misbehaviour::reset);
        engines_.abort(id);
        end_exchange(id, false);
        return connection.reset();
    }
    if (strikes(how.error_after, emission))
        return break_off(id, exchange, Misbehaviour::error_chunk,
                         failure_events(options_.dialect, exchange.request.endpoint));
    if (strikes(how.truncate_after, emission)) return break_off(id, exchange, Misbehaviour::truncate, "");
    if (strikes(how.stall_after, emission)) hold_back(id, exchange, how.stall);
    if (!exchange.opened) affected.group.opening = exchange.opened = true;
    affected.group.tokens.push_back({.emission = emission,
                                     .due = due,
                                     .ping = how.ping_every > 0 && any_multiple(how.ping_every, emission)});
    if (!emission.last && affected.group.count() < how.coalesce) return;
    affected.group.end = emission.last;
    put(exchange, std::exchange(affected.group, {}));
    affected.ended = emission.last;
    if (emission.last && !affected.hold) end_exchange(id, true);
}

/// Returns the events of a group, without faults, as they are written now, and notes them in the truth log.
std::string Server::Loop::events_of(Exchange& exchange, const Group& group) {
    TruthEntry& truth = exchange.truth;
    const TimePoint begin = Clock::now();
    std::string events;
    if (group.opening) exchange.writer->append_opening(events);
    for (const DueTokens& tokens : group.tokens) {
        if (tokens.ping) events += ": ping\n\n";
        AnswerState state = state_of(truth, tokens.due);
        if (exchange.wants_truth) state.truth = EventTruth{.due = tokens.due, .written = begin};
        exchange.writer->append_tokens(events, tokens.emission.index, tokens.emission.tokens, state);
        note_events(exchange, tokens.emission);
        state.events = static_cast<std::int64_t>(truth.tokens.size());
        if (tokens.emission.last) exchange.writer->append_closing(events, state);
    }
    truth.written.resize(truth.tokens.size(), exchange.wants_truth ? begin : Clock::now());
    return events += group.last_events;
}

/// Writes a group with the exchange's faults injected, or keeps it while a fault holds it back.
void Server::Loop::put(Exchange& exchange, Group group) {
    if (exchange.affected->hold) {
        exchange.affected->held_back.push_back(std::move(group));
    } else {
        write_group(exchange, group);
    }
}

void Server::Loop::write_group(Exchange& exchange, const Group& group) {
    Affected& affected = *exchange.affected;
    const bool chunked = exchange.framing == Framing::chunked;
    if (!exchange.head_sent) send_head(exchange);
    std::string body = events_with_faults(affected.injected, events_of(exchange, group));
    if (affected.injected.gzip) body = affected.gzip.wrap(body, group.end);
    auto writes = writes_with_faults(affected.injected, body, chunked);
    if (group.end && chunked) {
        writes.resize(std::max<std::size_t>(1, writes.size()));
        writes.back() += "0\r\n\r\n";
    }
    for (const std::string& bytes : writes) exchange.connection->send(bytes);
}

/// Ends an answer early; its HTTP message looks complete.
void Server::Loop::break_off(std::uint64_t id, Exchange& exchange, Misbehaviour what,
                             std::string last_events) {
    Affected& affected = *exchange.affected;
    exchange.truth.cut_by = name_of(what);
    engines_.abort(id);
    affected.group.last_events = std::move(last_events);
    affected.group.end = true;
    put(exchange, std::exchange(affected.group, {}));
    affected.ended = true;
    if (!affected.hold) end_exchange(id, true);
}

void Server::Loop::hold_back(std::uint64_t id, Exchange& exchange, Duration time) {
    auto& hold = exchange.affected->hold;
    hold = std::make_unique<asio::steady_timer>(io_, Clock::now() + time);
    hold->async_wait([self = shared_from_this(), id](error_code cancelled) {
        if (!cancelled) self->let_go(id);
    });
}

void Server::Loop::let_go(std::uint64_t id) {
    const auto found = exchanges_.find(id);
    if (found == exchanges_.end()) return;
    Exchange& exchange = found->second;
    Affected& affected = *exchange.affected;
    affected.hold.reset();
    if (!exchange.head_sent) send_head(exchange);
    for (const Group& group : affected.held_back) write_group(exchange, group);
    affected.held_back.clear();
    if (affected.ended) end_exchange(id, true);
}

void Server::Loop::write_answer(Exchange& exchange) {
    const std::string body = exchange.writer->whole(state_of(exchange.truth, exchange.truth.due.back()));
    const std::string answer = http_answer({.content_type = dialect_.types.json,
                                            .keep_alive = exchange.keep_alive,
                                            .further = exchange.further_headers,
                                            .dialect = options_.dialect},
                                           body);
    exchange.truth.written.push_back(Clock::now());
    exchange.truth.tokens.push_back(static_cast<std::int32_t>(exchange.plan.tokens));
    exchange.connection->send(answer);
}

void Server::Loop::end_exchange(std::uint64_t id, bool complete) {
    auto node = exchanges_.extract(id);
    if (node.empty()) return;
    Exchange& exchange = node.mapped();
    count(exchange, complete);
    exchange.truth.complete = complete;
    const auto written =
        std::accumulate(exchange.truth.tokens.begin(), exchange.truth.tokens.end(), std::int64_t{0});
    exchange.truth.reasoning_tokens = std::min(exchange.truth.reasoning_tokens, written);
    truth_.add(std::move(exchange.truth));
    exchange.connection->exchange = 0;
    if (complete) exchange.connection->finish(exchange.keep_alive);
}

void Server::Loop::count(const Exchange& exchange, bool complete) {
    const TruthEntry& truth = exchange.truth;
    telemetry_.generation_tokens += truth.due.size();
    if (!complete || !truth.cut_by.empty() || truth.written.empty()) {
        ++telemetry_.aborted;
        return;
    }
    ++(exchange.plan.finish_reason == "length" ? telemetry_.reached_length : telemetry_.stopped);
    telemetry_.prompt_tokens += static_cast<std::uint64_t>(truth.prompt_tokens);
    telemetry_.cached_tokens += static_cast<std::uint64_t>(truth.cached_tokens.value_or(0));
    telemetry_.longest_sequence = std::max(
        telemetry_.longest_sequence, static_cast<std::uint64_t>(truth.prompt_tokens) + truth.due.size());
    const double decode = seconds(truth.due.back() - truth.due.front());
    telemetry_.time_to_first_token.add(seconds(truth.due.front() - truth.received));
    telemetry_.queue_time.add(seconds(truth.admitted - truth.received));
    telemetry_.prefill_time.add(seconds(truth.due.front() - truth.admitted));
    telemetry_.decode_time.add(decode);
    telemetry_.request_latency.add(seconds(truth.written.back() - truth.received));
    if (truth.due.size() > 1) {
        telemetry_.time_per_output_token.add(decode / static_cast<double>(truth.due.size() - 1));
    }
}

/// Sends the heads of streams at once, as real servers do, unless their first token is due already.
void Server::Loop::send_heads() {
    for (const std::uint64_t id : heads_to_send_) {
        const auto found = exchanges_.find(id);
        if (found == exchanges_.end() || found->second.head_sent) continue;
        Exchange& exchange = found->second;
        if (exchange.affected && exchange.affected->hold) continue;
        send_head(exchange);
    }
    heads_to_send_.clear();
}

/// Sends the head of a stream, and the opening with it if the protocol has it at once.
void Server::Loop::send_head(Exchange& exchange) {
    exchange.head_sent = true;
    std::string bytes = http_head(head_of(exchange));
    const bool opens = !exchange.opened && exchange.writer->opens_at_once();
    exchange.opened |= opens;
    if (opens && !exchange.affected) exchange.writer->append_opening(bytes);
    exchange.connection->send(bytes);
    if (opens && exchange.affected) write_group(exchange, {.opening = true});
}

Server::Server(asio::io_context& io, const ServerOptions& options)
    : loop_(std::make_shared<Loop>(io, options)) {}

Server::~Server() = default;

void Server::start() {
    loop_->start();
}

void Server::stop() {
    loop_->stop();
}

std::uint16_t Server::port() const {
    return loop_->endpoint().port();
}

std::string Server::url() const {
    const auto address = loop_->endpoint().address();
    const std::string host = address.is_v6() ? fmt::format("[{}]", address.to_string()) : address.to_string();
    return fmt::format("{}://{}:{}", loop_->secure() ? "https" : "http", host, port());
}

}  // namespace paretoken::sim
