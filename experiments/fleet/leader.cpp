#include "experiments/fleet/leader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>
#include <utility>

#include "core/plan/plan.h"
#include "core/plan/plan_classes.h"
#include "experiments/fleet/order.h"
#include "experiments/fleet/timing.h"
#include "experiments/server/resolve.h"
#include "reports/files/file_io.h"
#include "reports/files/recorded_files.h"

namespace paretoken::experiments {
namespace {

namespace fs = std::filesystem;

constexpr int kClockExchanges = 20;

/// Returns how many shards a load can be divided between: each needs a slot of a closed loop.
std::uint32_t parts_of(const LoadPlan& asked, std::uint32_t shards) {
    std::uint64_t parts = shards;
    for (const RequestClass& of : with_load(with_dataset(asked)).classes)
        for (const Cap& cap : caps_of(of)) parts = std::min(parts, std::max<std::uint64_t>(1, cap.most));
    return static_cast<std::uint32_t>(parts);
}

}  // namespace

std::string Leader::Peer::name() const {
    return fmt::format("shard {} on {}", said.shard.number, said.host);
}

Leader::Leader(const Hello& own, const Listener& listener, Duration patience, Watcher& watcher,
               const std::stop_token& stop)
    : watcher_(watcher) {
    peers_.resize(own.shard.count - 1);
    try {
        wait_for_all(own, listener, patience, stop);
    } catch (const Error& error) {
        for (const auto& peer : peers_)
            if (peer) peer->channel.send(MessageKind::refused, text_of(error));
        throw;
    }
    for (const auto& peer : peers_) peer->channel.send(MessageKind::welcome);
    for (const auto& peer : peers_) peer->receiver = std::thread([this, &peer = *peer] { receive(peer); });
    alive_.emplace(kAliveEvery, [this] {
        for (const auto& peer : peers_) peer->channel.send(MessageKind::alive);
    });
}

void Leader::wait_for_all(const Hello& own, const Listener& listener, Duration patience,
                          const std::stop_token& stop) {
    constexpr Duration kLook = std::chrono::milliseconds(100);
    const TimePoint latest = Clock::now() + patience;
    std::string told;
    while (true) {
        const std::string left = missing(own.shard.count);
        if (left.empty()) return;
        if (stop.stop_requested()) throw Error(ExitCode::interrupted, "interrupted; nothing was measured");
        if (Clock::now() >= latest)
            throw RuntimeError(fmt::format("{} of {} did not come within {:g} s (--rendezvous-timeout)", left,
                                           own.shard.count, seconds(patience)));
        if (std::exchange(told, left) != left) watcher_.wait(fmt::format("waiting for {}", left));
        if (const auto socket = listener.accept(kLook)) admit(*socket, own);
    }
}

Leader::~Leader() {
    alive_.reset();
    for (const auto& peer : peers_) {
        if (!peer) continue;
        peer->channel.send(MessageKind::over);
        peer->channel.close();
        if (peer->receiver.joinable()) peer->receiver.join();
    }
}

/// Lets a process take part, or tells it why it cannot. Whatever does not begin with a hello of this load is
/// turned away.
void Leader::admit(int socket, const Hello& own) {
    constexpr Duration kHello = std::chrono::seconds(5);
    auto peer = std::make_unique<Peer>(socket);
    const auto message = peer->channel.receive(kHello);
    if (!message || message->kind != MessageKind::hello) return;
    try {
        peer->said = parse_hello(message->body);
    } catch (const UsageError&) {
        return;
    }
    if (peer->said.token != own.token) return;
    const Shard shard = peer->said.shard;
    std::string objection = objection_to(peer->said, own);
    const bool is_second = objection.empty() && peers_[shard.number - 1];
    if (is_second)
        objection = fmt::format("shard {} takes part already, on {}; start each shard once", shard.number,
                                peers_[shard.number - 1]->said.host);
    if (objection.empty()) {
        peers_[shard.number - 1] = std::move(peer);
        return;
    }
    peer->channel.send(MessageKind::refused, text_of(UsageError(objection)));
    if (!is_second) throw UsageError(objection);
}

/// Returns "shards 2, 3", those that have not come; empty if all have.
std::string Leader::missing(std::uint32_t count) const {
    std::vector<std::uint32_t> numbers;
    for (std::uint32_t number = 1; number < count; ++number)
        if (!peers_[number - 1]) numbers.push_back(number);
    return numbers.empty() ? "" : shards_text(numbers);
}

void Leader::receive(Peer& peer) {
    while (auto message = peer.channel.receive(kSilence)) {
        const std::lock_guard lock(mutex_);
        take(peer, std::move(*message));
        changed_.notify_all();
    }
    const std::lock_guard lock(mutex_);
    peer.lost = true;
    changed_.notify_all();
}

/// Notes a message. The mutex is held.
void Leader::take(Peer& peer, Message message) {
    switch (message.kind) {
        case MessageKind::ready:
            peer.ready = true;
            return;
        case MessageKind::failed:
            peer.failure = parse_error(message.body);
            return;
        case MessageKind::pong:
            peer.pongs.push_back(parse_time(message.body));
            return;
        case MessageKind::news:
            peer.news.push_back(std::move(message.body));
            return;
        case MessageKind::ended:
            peer.ended = true;
            return;
        case MessageKind::sent:
            peer.sent = true;
            return;
        case MessageKind::file:
        case MessageKind::bytes:
            store(peer, message);
            return;
        default:
            return;
    }
}

/// Writes a piece of a file that a shard sends. Only files of a run are written.
void Leader::store(Peer& peer, const Message& message) {
    constexpr std::array kNames = {reports::kBegunFileName,   reports::kEndedFileName,
                                   reports::kRecordsFileName, reports::kEventsFileName,
                                   reports::kAnswersFileName, reports::kRunFileName};
    const bool begins = message.kind == MessageKind::file;
    if (begins) {
        const bool known = std::ranges::find(kNames, message.body) != kNames.end();
        peer.file = known ? std::optional(message.body) : std::nullopt;
    }
    if (!peer.file || peer.directory.empty() || peer.failure) return;
    const fs::path path = peer.directory / *peer.file;
    std::ofstream file(path, std::ios::binary | (begins ? std::ios::trunc : std::ios::app));
    if (!begins) file.write(message.body.data(), static_cast<std::streamsize>(message.body.size()));
    file.flush();
    if (!file)
        peer.failure = RuntimeError(fmt::format("cannot write {}; free space on the disk", path.string()));
}

/// Sends a message to all that make the current load.
void Leader::tell(MessageKind kind, std::string_view body) {
    for (const auto& peer : peers_) {
        const bool takes_part = [&] {
            const std::lock_guard lock(mutex_);
            return peer->takes_part && !peer->lost;
        }();
        if (takes_part) peer->channel.send(kind, body);
    }
}

/// Waits until a condition holds; the mutex is held meanwhile, except while nothing changes.
template <class Ready>
void Leader::wait(const Ready& is_ready) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, is_ready);
}

Shard Leader::divide(const LoadPlan& asked) {
    const auto shards = static_cast<std::uint32_t>(peers_.size()) + 1;
    const std::uint32_t parts = parts_of(asked, shards);
    {
        const std::lock_guard lock(mutex_);
        if (const std::string lost = lost_shards(); !lost.empty())
            throw RuntimeError(fmt::format("{} ended, so that no load can be divided any more", lost));
        told_end_ = false;
        measuring_ = true;
        for (std::uint32_t number = 1; number < shards; ++number) {
            Peer& peer = *peers_[number - 1];
            peer.takes_part = number < parts;
            peer.ready = peer.ended = peer.sent = false;
            peer.failure.reset();
            peer.news.clear();
            peer.counted = {};
            peer.clock_error.reset();
        }
    }
    for (std::uint32_t number = 1; number < parts; ++number)
        peers_[number - 1]->channel.send(MessageKind::order, text_of(Order{asked, {number, parts}}));
    return {0, parts};
}

bool Leader::is_lost(const Peer& peer) const {
    const std::lock_guard lock(mutex_);
    return peer.lost;
}

/// Returns the shards of the current load that are gone: "shard 2 on host". The mutex is held.
std::string Leader::lost_shards() const {
    std::string names;
    for (const auto& peer : peers_)
        if (peer->lost) names += (names.empty() ? "" : ", ") + peer->name();
    return names;
}

ClockOffset Leader::measured_clock(Peer& peer) {
    std::vector<ClockExchange> exchanges;
    for (int i = 0; i < kClockExchanges; ++i) {
        std::unique_lock lock(mutex_);
        peer.pongs.clear();
        const TimePoint asked = Clock::now();
        lock.unlock();
        peer.channel.send(MessageKind::ping);
        lock.lock();
        changed_.wait_for(lock, kSilence, [&] { return peer.lost || !peer.pongs.empty(); });
        const TimePoint answered = Clock::now();
        if (peer.pongs.empty()) break;
        exchanges.push_back({asked, peer.pongs.front(), answered});
    }
    return offset_of(exchanges).value_or(ClockOffset{});
}

TimePoint Leader::begin() {
    constexpr Duration kLead = std::chrono::milliseconds(200);
    const auto is_settled = [](const auto& peer) {
        return !peer->takes_part || peer->ready || peer->lost || peer->failure;
    };
    wait([&] { return std::ranges::all_of(peers_, is_settled); });
    for (const auto& peer : peers_) {
        const std::lock_guard lock(mutex_);
        if (peer->failure)
            throw Error(peer->failure->code(), fmt::format("{}: {}", peer->name(), peer->failure->what()));
        if (peer->takes_part && peer->lost) throw RuntimeError(peer->name() + " ended before the load began");
    }
    Duration longest{};
    for (const auto& peer : peers_) {
        if (!peer->takes_part) continue;
        const ClockOffset clock = measured_clock(*peer);
        const std::lock_guard lock(mutex_);
        peer->clock = clock;
        longest = std::max(longest, clock.error);
    }
    began_ = Clock::now() + kLead + 4 * longest;
    for (const auto& peer : peers_)
        if (peer->takes_part)
            peer->channel.send(MessageKind::start, text_of_time(began_ + peer->clock->offset));
    return began_;
}

void Leader::exchange(loadgen::StopMonitor& monitor, loadgen::Progress& progress) {
    std::string lost;
    std::vector<std::pair<Peer*, News>> arrived;
    {
        const std::lock_guard lock(mutex_);
        for (const auto& peer : peers_) {
            if (!peer->takes_part) continue;
            if (peer->lost && !peer->ended && lost.empty()) lost = peer->name() + " ended during the load";
            for (const std::string& text : std::exchange(peer->news, {})) try {
                    arrived.emplace_back(peer.get(), parse_news(text, began_));
                } catch (const UsageError&) {  // its requests are in its files all the same
                }
        }
    }
    for (auto& [peer, news] : arrived) {
        monitor.add(news.told);
        add(progress, peer->counted, news.counts);
        peer->counted = news.counts;
    }
    if (!lost.empty()) monitor.end({.rule = "interrupted", .at = Clock::now(), .text = std::move(lost)});
    if (const auto stopped = monitor.stopped(); stopped && !std::exchange(told_end_, true))
        tell(MessageKind::end, text_of(*stopped, began_));
}

bool Leader::all_ended() const {
    return std::ranges::all_of(peers_, [](const auto& peer) {
        return !peer->takes_part || peer->ended || peer->lost || peer->failure;
    });
}

void Leader::load_ends() {
    wait([this] { return all_ended(); });
    for (const auto& peer : peers_) {
        if (!peer->takes_part || is_lost(*peer)) continue;
        const ClockOffset after = measured_clock(*peer);
        const std::lock_guard lock(mutex_);
        peer->clock_error = error_between(*peer->clock, after);
    }
}

/// Asks the shards that have a result for their files.
void Leader::ask_for_files(const fs::path& directory) {
    for (const auto& peer : peers_) {
        if (!peer->takes_part) continue;
        peer->failed = is_lost(*peer);
        if (peer->failed) continue;
        const fs::path into = directory / std::to_string(peer->said.shard.number);
        reports::ensure_directory(into);
        {
            const std::lock_guard lock(mutex_);
            if (peer->failure) watcher_.warn(fmt::format("{}: {}", peer->name(), peer->failure->what()));
            peer->failed = peer->failure.has_value();
            peer->directory = into;
        }
        if (!peer->failed) peer->channel.send(MessageKind::send);
    }
}

Companions::Gathered Leader::gather(const fs::path& directory) {
    ask_for_files(directory);
    Gathered gathered;
    for (const auto& peer : peers_) {
        if (!peer->takes_part || peer->failed) continue;
        const std::uint32_t number = peer->said.shard.number;
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [&] { return peer->sent || peer->lost || peer->failure; });
            if (peer->failure)
                throw RuntimeError(fmt::format(
                    "the results of {}: {}; it keeps them there, and those of the other shards are in {} "
                    "(paretoken merge joins what is there)",
                    peer->name(), peer->failure->what(), directory.string()));
            if (!peer->sent) continue;
        }
        if (peer->clock_error) gathered.clock_errors_s[number] = seconds(*peer->clock_error);
        peer->channel.send(MessageKind::received);
        gathered.directories.push_back(peer->directory);
    }
    const std::lock_guard lock(mutex_);
    measuring_ = false;
    return gathered;
}

void Leader::abandon() noexcept {
    if (!std::exchange(measuring_, false)) return;
    tell(MessageKind::cut);
    const std::lock_guard lock(mutex_);
    for (const auto& peer : peers_) peer->takes_part = false;
}

}  // namespace paretoken::experiments
