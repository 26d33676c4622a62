#pragma once
// A shard other than 0 of a divided load: it measures what shard 0 orders, and sends the results.
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "experiments/fleet/channel.h"
#include "experiments/fleet/hello.h"
#include "experiments/fleet/order.h"
#include "experiments/fleet/rendezvous.h"
#include "experiments/server/companions.h"
#include "loadgen/interruption.h"
#include "loadgen/periodic.h"

namespace paretoken::experiments {

class Follower final : public Companions {
  public:
    /// Finds out where shard 0 is; nothing while it is not known.
    using Finds = std::function<std::optional<MeetingPlace>()>;

    /// Connects to shard 0. `own` gets the token of the place. Throws RuntimeError if shard 0 does not answer
    /// within `patience`, or `stop` is requested; the error of shard 0 if it refuses this process.
    Follower(const Hello& own, const Finds& find, Duration patience, const std::stop_token& stop);
    ~Follower() override;
    Follower(const Follower&) = delete;
    Follower& operator=(const Follower&) = delete;

    /// Waits for the next order. Returns nothing when nothing more is to be measured. `own`: the plan of this
    /// process. Throws RuntimeError if shard 0 is gone, or `stop` is requested.
    std::optional<Order> next_order(const LoadPlan& own, const std::stop_token& stop);
    /// Returns the interruption that shard 0 passes on during the current order.
    loadgen::Interruption interruption() const;
    /// Tells shard 0 why the order cannot be carried out.
    void fail(const Error& error);
    /// Sends the files in a run directory when shard 0 asks; returns whether it has received them.
    bool send_files(const std::filesystem::path& directory);

    bool leads() const override { return false; }
    Shard divide(const LoadPlan&) override { return order_.shard; }
    TimePoint begin() override;
    void exchange(loadgen::StopMonitor& monitor, loadgen::Progress& progress) override;
    void stop_starting() override {}
    void cut_off() override {}
    void load_ends() override;
    Gathered gather(const std::filesystem::path&) override { return {}; }
    void abandon() noexcept override {}

  private:
    void receive();
    void take(Message message);
    bool send_file(const std::filesystem::path& path);
    std::optional<Message> awaited(MessageKind kind);

    std::unique_ptr<Channel> channel_;
    std::mutex mutex_;
    std::condition_variable changed_;
    // The mutex guards these.
    bool gone_ = false;  ///< whether shard 0 is gone
    bool over_ = false;
    std::deque<Message> inbox_;  ///< messages that are waited for
    std::optional<std::string> end_;
    std::stop_source stop_;
    std::stop_source cut_;

    Order order_;
    TimePoint began_;
    std::optional<loadgen::Periodic> alive_;
    std::thread receiver_;
};

}  // namespace paretoken::experiments
