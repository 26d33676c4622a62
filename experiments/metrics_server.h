#pragma once
// Serves our own figures on /metrics while a command goes on, on a thread of its own. One request at a time
// is enough for what reads it, and a reader that stalls is dropped.
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/units.h"
#include "loadgen/progress.h"
#include "reports/interop/exposition.h"

namespace paretoken::experiments {

struct WatchState;

class MetricsServer {
  public:
    /// The text to serve; `open_metrics`: the reader asked for that format.
    using Text = std::function<std::string(bool open_metrics)>;

    /// `address`: "127.0.0.1:9464", "[::1]:9464"; port 0 takes a free one. Throws UsageError for what is no
    /// address, RuntimeError where it cannot be listened on.
    explicit MetricsServer(const std::string& address);
    ~MetricsServer();
    MetricsServer(const MetricsServer&) = delete;
    MetricsServer& operator=(const MetricsServer&) = delete;

    std::string url() const;  ///< "http://127.0.0.1:9464/metrics"

    /// What is served from now on. `text` is called from the server's thread until it is replaced; when this
    /// returns, the one before is not called any more.
    void publish(Text text);

  private:
    void run(const std::stop_token& over);
    void answer(int connection);

    int listener_ = -1;
    std::string authority_;
    std::mutex mutex_;  ///< of text_, held while it is called
    Text text_;
    std::jthread thread_;
};

/// The figures of a watch's last interval, and counters over all of them.
std::vector<reports::MetricFamily> families_of(const WatchState& state);

/// The counters of a run that goes on.
std::vector<reports::MetricFamily> families_of(const loadgen::Progress& progress);

}  // namespace paretoken::experiments
