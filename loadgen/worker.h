#pragma once
// One thread's share of the load: its own drain, connections and client; nothing shared with other workers
// but the sink and the progress counters. One loop: do what is due, then serve sockets until the next thing
// is. Deadlines are absolute, so a late start never moves a later one.
#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "core/record/record_sink.h"
#include "core/record/request_table.h"
#include "core/result/histogram.h"
#include "loadgen/client.h"
#include "loadgen/http/drain.h"
#include "loadgen/http/pool.h"
#include "loadgen/laziness.h"
#include "loadgen/mix.h"
#include "loadgen/progress.h"
#include "loadgen/route.h"
#include "loadgen/stop_monitor.h"

namespace paretoken::loadgen {

/// A server that is loaded.
struct WorkerTarget {
    http::Address address;
    const http::TlsContext* tls = nullptr;  ///< null: plain
    std::string host;                       ///< what the certificate must name
    http::RequestHead head;                 ///< of every request to it
};

struct WorkerOptions {
    std::uint32_t number = 0;
    std::vector<WorkerTarget> targets;  ///< never empty
    Route route = Route::round_robin;   ///< where there are several
    ClientOptions client;               ///< its head is the target's
    std::string id_prefix;              ///< request ids are prefix + index: unique over runs
    bool kernel_stamps = true;
    bool lazy = true;           ///< may serve sockets in batches when very many are ready (laziness.h)
    Duration spin{};            ///< before a due start, the last stretch is polled instead of slept
    bool keep_alive = true;     ///< false: a connection of its own for every request
    bool keep_answers = false;  ///< the texts of all answers go to the sink
    /// After stop(), what is in flight is followed for so long before it is cancelled.
    Duration grace = std::chrono::seconds(30);
};

std::string request_id(const std::string& prefix, std::uint64_t index, bool warmup);

/// CPU time of the worker's thread over one tick, less deliberate polling.
struct CpuSample {
    TimePoint at;
    double share = 0;  ///< of one core
};

struct WorkerReport {
    RequestTable records;
    ClientCounters client;
    http::Pool::Facts connections;
    Histogram read_delay;
    Histogram unstamped_delay;  ///< at the most: Drain::unstamped_delay
    Duration largest_clock_jump{};
    std::vector<CpuSample> cpu;
    std::optional<TimePoint> ran_dry;
    std::optional<StopKind> ended_by;  ///< a limit of the load's own, when that was it
};

class Worker final : private ClientSink {
  public:
    /// Requests started between two rounds of reading: a burst of starts must not keep the first answers
    /// waiting.
    static constexpr int kMostStartsPerRound = 32;
    /// Requests started between two rounds while more sockets are ready than a round serves. Starting goes
    /// on, and reading catches up: a first token that waits until the second is there has the second's time,
    /// since the kernel stamps the last bytes of a read.
    static constexpr int kStartsWhileBehind = 1;

    Worker(const WorkerOptions& options, Mix mix, RecordSink& sink, Progress& progress, StopMonitor& monitor);
    ~Worker() override;

    void run();      ///< on the worker's own thread; returns when all is done
    void stop();     ///< from any thread: starts nothing more; what is in flight has the grace time
    void cut_off();  ///< from any thread: starts nothing more and cancels what is in flight

    WorkerReport take_report();  ///< after run()

  private:
    /// The connections to one server.
    struct Link {
        Link(Worker& worker, const WorkerTarget& target, const ClientOptions& options);
        http::Pool pool;
        Client client;
    };
    std::unique_ptr<Link> link_to(const WorkerTarget& target);
    Client& any_client() { return links_.front()->client; }  ///< all write the same bodies
    std::size_t in_flight() const;
    Link& route(const PreparedRequest& request, RequestRecord& record);
    void on_first_token(const RequestRecord& record, TimePoint at) override;
    void on_finished(RequestRecord record, TimePoint over_at) override;
    void act(TimePoint now, int most_starts);
    void obey(TimePoint now);
    void dispatch(int most_starts);
    void start(const Start& start);
    void tick(TimePoint now);
    void sample_cpu(TimePoint now);
    bool polls(TimePoint now) const;
    TimePoint rest(TimePoint now);
    PreparedRequest prepared(const Planned& planned);
    void prepare_next();

    WorkerOptions options_;
    http::Drain drain_;
    std::vector<std::unique_ptr<Link>> links_;  ///< one for each target
    Mix mix_;
    RecordSink& sink_;
    Progress& progress_;
    StopMonitor& monitor_;
    Laziness laziness_;
    Duration idle_{};  ///< napping, or polling without finding anything, since the start
    WorkerReport report_;
    /// A request that was written before it was due.
    struct Ahead {
        std::optional<Planned> planned;
        PreparedRequest request;
    };
    std::vector<Ahead> ahead_;  ///< by class of the load
    TimePoint due_;             ///< next thing on the schedule
    TimePoint tick_due_;
    TimePoint cpu_sampled_at_;
    Duration cpu_before_{};
    Duration polled_{};  ///< without finding anything, since cpu_sampled_at_
    std::atomic<bool> stop_requested_{false};
    std::atomic<bool> cut_off_requested_{false};
    TimePoint cut_off_due_ = TimePoint::max();
    bool more_to_start_ = false;  ///< dispatch() left some for after the next round
    bool ended_ = false;
};

}  // namespace paretoken::loadgen
