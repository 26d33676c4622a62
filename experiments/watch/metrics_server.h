#pragma once
// Serves this program's own figures on /metrics for Prometheus while a command runs, on its own thread.
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "experiments/watch/page_server.h"
#include "loadgen/progress.h"
#include "reports/files/interop/exposition.h"

namespace paretoken::experiments {

struct WatchState;

class MetricsServer {
  public:
    /// Returns the text to serve; `open_metrics`: the client's Accept header asks for the OpenMetrics format.
    using Text = std::function<std::string(bool open_metrics)>;

    /// `address`: "127.0.0.1:9464", "[::1]:9464"; port 0 means a free port. Throws UsageError for a text that
    /// is not an address, RuntimeError when it cannot listen there.
    explicit MetricsServer(const std::string& address);

    std::string url() const;  ///< "http://127.0.0.1:9464/metrics"

    /// Sets the function whose text is served from now on, on the server's thread; before the first call no
    /// figures are served. The earlier function is not called after publish() has returned.
    void publish(Text text);

  private:
    std::optional<ServedPage> answer(const PageRequest& request);

    std::mutex mutex_;  ///< guards text_, and is held while text_ runs
    Text text_;
    PageServer server_;
    std::jthread thread_;  ///< last, so that it ends before the members it uses
};

/// Returns the figures of a watch's last interval, and counters over all intervals.
std::vector<reports::MetricFamily> families_of(const WatchState& state);

std::vector<reports::MetricFamily> families_of(const loadgen::Progress& progress);

}  // namespace paretoken::experiments
