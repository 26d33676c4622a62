#pragma once
// One thread's share of the load, with its own event loop, connections and clients. Its loop acts on what is
// due, then serves sockets until the next action is due. Deadlines are absolute.
#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "core/record/record_sink.h"
#include "core/record/request_table.h"
#include "core/run/client_report.h"
#include "loadgen/client.h"
#include "loadgen/http/drain.h"
#include "loadgen/http/pool.h"
#include "loadgen/laziness.h"
#include "loadgen/load/mix.h"
#include "loadgen/load/stop_monitor.h"
#include "loadgen/load_options.h"
#include "loadgen/progress.h"

namespace paretoken::loadgen {

struct WorkerReport {
    RequestTable records;
    ClientReport client;               ///< report of this worker alone, without the host's lost share
    std::optional<TimePoint> ran_dry;  ///< Mix::ran_dry()
    /// The limit (requests or duration) that ended this worker's starts; nothing if another reason did.
    std::optional<StopKind> ended_by;
};

class Worker final : private ClientSink {
  public:
    /// Throws RuntimeError when the kernel refuses the descriptors of the event loop.
    explicit Worker(const WorkerOptions& options);
    ~Worker() override;

    /// Opens the load's connections to all servers until they are open or refused, or `latest`.
    void open_connections(std::size_t connections, TimePoint latest);
    /// Keeps a connection to each server in reserve during the load: opens the next one as soon as it is
    /// used. An open loop needs it, because its requests do not wait for a connection that becomes free.
    void keep_reserve() { keeps_reserve_ = true; }

    /// The load, and what it is reported to; these must outlive run().
    struct Job {
        Mix mix;
        RecordSink& sink;
        Progress& progress;
        StopMonitor& monitor;
    };
    void run(Job job);  ///< runs on the worker's own thread; returns when all is done
    void stop();        ///< from any thread: starts nothing more; requests in flight have the grace time
    void cut_off();     ///< from any thread: starts nothing more and cancels requests in flight

    WorkerReport take_report();  ///< called once, after run(); closes all connections

  private:
    struct Link {
        Link(Worker& worker, const WorkerTarget& target, const ClientOptions& options);
        http::Pool pool;
        Client client;
    };
    std::unique_ptr<Link> link_to(const WorkerTarget& target);
    Client& any_client() { return links_.front()->client; }  ///< all clients write the same bodies
    std::size_t in_flight() const;
    Link& route(const PreparedRequest& request, RequestRecord& record);
    void on_session_tokens(const RequestRecord& record, const std::vector<std::string>& tokens) override;
    void on_first_token(const RequestRecord& record, TimePoint at) override;
    void on_finished(RequestRecord record, TimePoint over_at) override;
    void act(TimePoint now);
    void obey(TimePoint now);
    void dispatch();
    void start(const Start& start);
    void tick(TimePoint now);
    void sample_cpu(TimePoint now);
    http::Drain::Round serve(TimePoint now, bool at_once);
    bool polls(TimePoint now) const;
    TimePoint rest(TimePoint now);
    std::optional<std::string> session_id(const Session& session, SessionScope scope,
                                          const Planned& planned) const;
    void add_tokens(PreparedRequest& request, const Planned& planned, const RequestRecord& record) const;
    TokenKey token_key(std::uint32_t name, const RequestRecord& record) const;
    PreparedRequest prepared(const Planned& planned);
    void close_idle();
    void prepare_next();

    WorkerOptions options_;
    http::Drain drain_;
    std::vector<std::unique_ptr<Link>> links_;  ///< one for each target
    std::optional<Job> job_;                    ///< set by run()
    Laziness laziness_;
    Turns turns_;
    Duration idle_{};  ///< time of naps and of polling without a result, since the start
    WorkerReport report_;
    std::vector<CpuSample> cpu_;
    struct Ahead {
        std::optional<Planned> planned;
        PreparedRequest request;
    };
    std::vector<Ahead> ahead_;  ///< one for each class of the load
    TimePoint began_;
    TimePoint due_ = TimePoint::max();  ///< time of the next start on the schedule, or of a late one
    TimePoint tick_due_;
    TimePoint cpu_sampled_at_;
    Duration cpu_before_{};
    Duration polled_{};  ///< time of polling without a result, since cpu_sampled_at_
    std::atomic<bool> stop_requested_{false};
    std::atomic<bool> cut_off_requested_{false};
    TimePoint cut_off_due_ = TimePoint::max();
    bool more_to_start_ = false;  ///< whether a request may have to be started after the next round
    bool looked_ = false;         ///< whether the latest call of serve() looked at the sockets
    bool keeps_reserve_ = false;
    bool ended_ = false;
    std::uint64_t routed_ = 0;  ///< number of requests for which a server was chosen
};

}  // namespace paretoken::loadgen
