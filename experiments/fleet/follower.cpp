#include "experiments/fleet/follower.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "core/error.h"
#include "experiments/fleet/news.h"
#include "experiments/fleet/timing.h"
#include "reports/files/file_io.h"
#include "reports/files/recorded_files.h"

namespace paretoken::experiments {
namespace {

namespace fs = std::filesystem;

constexpr Duration kRetry = std::chrono::milliseconds(200);

/// Connects to a place and introduces this process. Throws RuntimeError if shard 0 is not there.
std::unique_ptr<Channel> introduced(Hello hello, const MeetingPlace& place) {
    constexpr Duration kConnect = std::chrono::seconds(2);
    hello.token = place.token;
    std::string why = "nobody answered";
    for (const std::string& host : place.hosts) {
        try {
            auto channel = std::make_unique<Channel>(connected(host, place.port, kConnect));
            if (channel->send(MessageKind::hello, text_of(hello))) return channel;
        } catch (const RuntimeError& error) {
            why = error.what();
        }
    }
    throw RuntimeError(why);
}

}  // namespace

Follower::Follower(const Hello& own, const Finds& find, Duration patience, const std::stop_token& stop) {
    const TimePoint latest = Clock::now() + patience;
    std::string why = "its file is not in the directory of the rendezvous; is it started?";
    while (!channel_) {
        if (stop.stop_requested()) throw Error(ExitCode::interrupted, "interrupted; nothing was measured");
        const TimePoint now = Clock::now();
        if (now >= latest)
            throw RuntimeError(fmt::format("shard 0 did not answer within {:g} s (--rendezvous-timeout): {}",
                                           seconds(patience), why));
        try {
            if (const auto place = find()) channel_ = introduced(own, *place);
            if (channel_) why = "it was reached, and did not begin; does it wait for another shard?";
        } catch (const RuntimeError& error) {  // it may come later
            why = error.what();
        }
        // Shard 0 welcomes all when the last one has come. Somebody else closes the connection.
        const auto answer = channel_ ? channel_->receive(std::max(latest - now, kRetry)) : std::nullopt;
        if (answer && answer->kind == MessageKind::refused) throw parse_error(answer->body);
        if (answer && answer->kind == MessageKind::welcome) break;
        channel_.reset();
        std::this_thread::sleep_for(kRetry);
    }
    alive_.emplace(kAliveEvery, [this] { channel_->send(MessageKind::alive); });
    receiver_ = std::thread([this] { receive(); });
}

Follower::~Follower() {
    alive_.reset();
    channel_->close();
    receiver_.join();
}

void Follower::receive() {
    while (auto message = channel_->receive(kSilence)) {
        if (message->kind == MessageKind::ping) {  // at once, because the round trip bounds the clock's error
            channel_->send(MessageKind::pong, text_of_time(Clock::now()));
            continue;
        }
        const std::lock_guard lock(mutex_);
        take(std::move(*message));
        changed_.notify_all();
    }
    const std::lock_guard lock(mutex_);
    gone_ = true;
    stop_.request_stop();
    cut_.request_stop();
    changed_.notify_all();
}

/// Notes a message. The mutex is held.
void Follower::take(Message message) {
    switch (message.kind) {
        case MessageKind::over:
            over_ = true;
            return;
        case MessageKind::end:
            end_ = std::move(message.body);
            return;
        case MessageKind::stop:
            stop_.request_stop();
            return;
        case MessageKind::cut:
            stop_.request_stop();
            cut_.request_stop();
            inbox_.push_back(std::move(message));
            return;
        default:
            inbox_.push_back(std::move(message));
            return;
    }
}

/// Returns the next message of a kind; nothing if shard 0 is gone, or gives the order up.
std::optional<Message> Follower::awaited(MessageKind kind) {
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, [&] { return gone_ || over_ || !inbox_.empty(); });
        if (inbox_.empty()) return std::nullopt;
        Message message = std::move(inbox_.front());
        inbox_.pop_front();
        if (message.kind == kind) return message;
        // A load that was cut off still has an end; before its begin, the order is given up.
        if (message.kind == MessageKind::cut && kind == MessageKind::start) return std::nullopt;
    }
}

std::optional<Order> Follower::next_order(const LoadPlan& own, const std::stop_token& stop) {
    const std::stop_callback wakes(stop, [this] {
        const std::lock_guard lock(mutex_);
        gone_ = true;
        changed_.notify_all();
    });
    const auto message = awaited(MessageKind::order);
    if (stop.stop_requested()) throw RuntimeError("interrupted while waiting for shard 0");
    const std::lock_guard lock(mutex_);
    if (!message && over_) return std::nullopt;
    if (!message) throw RuntimeError("shard 0 is gone, and no result of this shard is missing");
    stop_ = {};
    cut_ = {};
    end_.reset();
    order_ = parse_order(message->body, own);
    return order_;
}

loadgen::Interruption Follower::interruption() const {
    return {stop_.get_token(), cut_.get_token()};
}

void Follower::fail(const Error& error) {
    channel_->send(MessageKind::failed, text_of(error));
}

TimePoint Follower::begin() {
    channel_->send(MessageKind::ready);
    const auto message = awaited(MessageKind::start);
    if (!message) throw RuntimeError("shard 0 gave the load up before it began");
    return began_ = parse_time(message->body);
}

void Follower::exchange(loadgen::StopMonitor& monitor, loadgen::Progress& progress) {
    channel_->send(MessageKind::news,
                   text_of(News{.told = monitor.take_told(), .counts = counts_of(progress)}, began_));
    const auto end = [this] {
        const std::lock_guard lock(mutex_);
        return end_;
    }();
    if (end) monitor.end(parse_stopped(*end, began_));
}

void Follower::load_ends() {
    channel_->send(MessageKind::ended);
    // What this process computes next would disturb shards on the same host that have not ended.
    (void)awaited(MessageKind::send);
}

bool Follower::send_file(const fs::path& path) {
    constexpr std::size_t kPiece = std::size_t{1} << 20;
    std::ifstream file(path, std::ios::binary);
    if (!file) return true;  // not every run has every file
    if (!channel_->send(MessageKind::file, path.filename().string())) return false;
    std::string piece(kPiece, '\0');
    while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())), file.gcount() > 0)
        if (!channel_->send(MessageKind::bytes,
                            std::string_view(piece).substr(0, static_cast<std::size_t>(file.gcount()))))
            return false;
    return true;
}

bool Follower::send_files(const fs::path& directory) {
    for (const std::string_view name :
         {reports::kBegunFileName, reports::kRecordsFileName, reports::kEventsFileName,
          reports::kAnswersFileName, reports::kEndedFileName})
        if (!send_file(directory / name)) return false;
    return channel_->send(MessageKind::sent) && awaited(MessageKind::received).has_value();
}

}  // namespace paretoken::experiments
