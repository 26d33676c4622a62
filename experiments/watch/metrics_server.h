#pragma once
// Serves our own figures on /metrics while a command goes on, on a thread of its own.
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "experiments/watch/page_server.h"
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

    std::string url() const;  ///< "http://127.0.0.1:9464/metrics"

    /// Sets the function whose text is served from now on. `text` is called from the server's thread until it
    /// is replaced; when this returns, the one before is not called any more.
    void publish(Text text);

  private:
    std::optional<ServedPage> answer(const PageRequest& request);

    std::mutex mutex_;  ///< of text_, held while it is called
    Text text_;
    PageServer server_;
    std::jthread thread_;  ///< last, so that it ends before what it uses
};

/// The figures of a watch's last interval, and counters over all of them.
std::vector<reports::MetricFamily> families_of(const WatchState& state);

/// The counters of a run that goes on.
std::vector<reports::MetricFamily> families_of(const loadgen::Progress& progress);

}  // namespace paretoken::experiments
