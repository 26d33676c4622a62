#pragma once
// One thread's share of the load: its own io_context, drain, connections and client; nothing shared with
// other workers but the sink and the progress counters. Asks the dispatcher what is next, waits until the
// absolute time, starts it, and hands every finished record on.
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <optional>
#include <vector>

#include "core/histogram.h"
#include "core/record_sink.h"
#include "datasets/dataset.h"
#include "loadgen/client.h"
#include "loadgen/dispatch.h"
#include "loadgen/http/drain.h"
#include "loadgen/http/pool.h"
#include "loadgen/progress.h"

namespace paretoken::loadgen {

struct WorkerOptions {
    std::uint32_t number = 0;
    http::Address address;
    const http::TlsContext* tls = nullptr;  ///< null: plain
    std::string host;                       ///< what the certificate must name
    ClientOptions client;
    std::string id_prefix;  ///< request ids are prefix + index: unique over runs
};

/// CPU time of the worker's thread over one tick.
struct CpuSample {
    TimePoint at;
    double share = 0;  ///< of one core
};

struct WorkerReport {
    std::vector<RequestRecord> records;
    ClientCounters client;
    http::Pool::Facts connections;
    Histogram read_delay;
    Duration largest_clock_jump{};
    std::vector<CpuSample> cpu;
    std::optional<TimePoint> ran_dry;
};

class Worker final : private ClientSink {
  public:
    Worker(const WorkerOptions& options, const Dispatcher& dispatcher, const datasets::Dataset& dataset,
           RecordSink& sink, Progress& progress);
    ~Worker() override;

    void run();   ///< on the worker's own thread; returns when all is done
    void stop();  ///< from any thread: starts nothing more and cancels what is in flight

    WorkerReport take_report();  ///< after run()

  private:
    void on_finished(RequestRecord record, TimePoint over_at) override;
    void dispatch();
    void start(const Start& start);
    void wait_until(TimePoint when);
    void tick();
    void sample_cpu(TimePoint now);
    void end();
    PreparedRequest prepared(std::uint64_t index, bool warmup) const;

    WorkerOptions options_;
    boost::asio::io_context io_{1};
    http::Drain drain_;
    http::Pool pool_;
    Client client_;
    Dispatcher dispatcher_;
    const datasets::Dataset& dataset_;
    RecordSink& sink_;
    Progress& progress_;
    boost::asio::steady_timer dispatch_timer_;
    boost::asio::steady_timer tick_timer_;
    std::optional<TimePoint> waiting_until_;
    WorkerReport report_;
    TimePoint cpu_sampled_at_;
    Duration cpu_before_{};
    bool dispatching_ = false;
    bool ended_ = false;
};

}  // namespace paretoken::loadgen
