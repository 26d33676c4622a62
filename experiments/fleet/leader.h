#pragma once
// Shard 0 of a load that several processes make: it waits for the others, tells them what to measure and when
// to begin, decides when the load ends, and receives what they measured.
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "experiments/fleet/channel.h"
#include "experiments/fleet/clocks.h"
#include "experiments/fleet/hello.h"
#include "experiments/fleet/news.h"
#include "experiments/server/companions.h"
#include "experiments/watcher.h"
#include "loadgen/periodic.h"

namespace paretoken::experiments {

class Leader final : public Companions {
  public:
    /// Waits until every other shard has come. Throws RuntimeError naming those that did not within
    /// `patience`, or if `stop` is requested, and UsageError if one has other options.
    Leader(const Hello& own, const Listener& listener, Duration patience, Watcher& watcher,
           const std::stop_token& stop);
    ~Leader() override;  ///< tells the others that nothing more is to be measured
    Leader(const Leader&) = delete;
    Leader& operator=(const Leader&) = delete;

    bool leads() const override { return true; }
    Shard divide(const LoadPlan& asked) override;
    TimePoint begin() override;
    void exchange(loadgen::StopMonitor& monitor, loadgen::Progress& progress) override;
    void stop_starting() override { tell(MessageKind::stop); }
    void cut_off() override { tell(MessageKind::cut); }
    void load_ends() override;
    Gathered gather(const std::filesystem::path& directory) override;
    void abandon() noexcept override;

  private:
    /// Another shard. Its thread receives all that it sends.
    struct Peer {
        explicit Peer(int socket) : channel(socket) {}
        std::string name() const;  ///< "shard 2 on host"

        Hello said = {};
        Channel channel;
        std::thread receiver = {};
        // The mutex of the Leader guards these.
        bool lost = false;        ///< whether it is gone
        bool takes_part = false;  ///< whether it makes a part of the current load
        bool ready = false;
        bool ended = false;   ///< whether its load has ended
        bool sent = false;    ///< whether it has sent its files
        bool failed = false;  ///< whether it has no files of the current load
        std::optional<Error> failure = {};
        std::vector<TimePoint> pongs = {};
        std::deque<std::string> news = {};
        ProgressCounts counted = {};
        std::optional<ClockOffset> clock = {};
        std::optional<Duration> clock_error = {};
        std::filesystem::path directory = {};  ///< where its files go
        std::optional<std::string> file = {};  ///< name of the file that it sends
    };

    void wait_for_all(const Hello& own, const Listener& listener, Duration patience,
                      const std::stop_token& stop);
    void admit(int socket, const Hello& own);
    std::string missing(std::uint32_t count) const;
    void receive(Peer& peer);
    void take(Peer& peer, Message message);
    void store(Peer& peer, const Message& message);
    void tell(MessageKind kind, std::string_view body = {});
    template <class Ready>
    void wait(const Ready& is_ready);
    bool all_ended() const;
    void ask_for_files(const std::filesystem::path& directory);
    bool is_lost(const Peer& peer) const;
    std::string lost_shards() const;
    ClockOffset measured_clock(Peer& peer);

    Watcher& watcher_;
    std::vector<std::unique_ptr<Peer>> peers_;  ///< by number, without shard 0
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    TimePoint began_;
    bool told_end_ = false;  ///< whether the others know that no more requests are to be started
    bool measuring_ = false;
    std::optional<loadgen::Periodic> alive_;
};

}  // namespace paretoken::experiments
