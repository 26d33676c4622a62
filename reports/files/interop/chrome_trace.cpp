#include "reports/files/interop/chrome_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "core/record/event_source.h"
#include "core/result/result.h"
#include "reports/files/events.h"
#include "reports/files/json/json_text.h"
#include "reports/files/recorded_files.h"
#include "reports/files/records.h"
#include "reports/files/run_directory.h"

namespace paretoken::reports {
namespace {

constexpr int kRequests = 1;  ///< process number of the client in the trace
constexpr int kServer = 2;

double microseconds(TimePoint time) {
    return seconds(time - TimePoint{}) * 1e6;
}

class Trace {
  public:
    explicit Trace(std::ostream& out) : out_(out) { out_ << "{\"displayTimeUnit\":\"ms\",\"traceEvents\":["; }
    ~Trace() = default;
    Trace(const Trace&) = delete;
    Trace& operator=(const Trace&) = delete;

    void name_process(int process, std::string_view name) {
        event(fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"tid":0,"args":{{"name":{}}}}})",
                          process, json_text(name)));
    }
    /// Writes a span of a request. `arguments` holds the members of a JSON object.
    void span(std::string_view name, int lane, TimePoint begin, TimePoint end,
              std::string_view arguments = {}) {
        if (end < begin) return;
        event(fmt::format(
            R"({{"ph":"X","cat":"request","name":{},"pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},"args":{{{}}}}})",
            json_text(name), kRequests, lane, microseconds(begin), seconds(end - begin) * 1e6, arguments));
    }
    void gauge(std::string_view name, double at_s, double value) {
        event(fmt::format(R"({{"ph":"C","name":{0},"pid":{1},"tid":0,"ts":{2:.3f},"args":{{{0}:{3}}}}})",
                          json_text(name), kServer, at_s * 1e6, value));
    }
    void finish() { out_ << "\n]}\n"; }

  private:
    void event(const std::string& text) {
        out_ << (first_ ? "\n" : ",\n") << text;
        first_ = false;
    }

    std::ostream& out_;
    bool first_ = true;
};

struct Stall {
    TimePoint begin;
    TimePoint end;
};
using Stalls = std::map<RequestKey, std::vector<Stall>>;

void add_stalls(const RequestKey& key, std::span<const StreamEvent> events, Stalls& stalls) {
    constexpr double kTimesTheMean = 5;
    constexpr auto kShortest = std::chrono::milliseconds(50);
    if (events.size() < 3) return;
    const double mean_s =
        seconds(events.back().time - events.front().time) / static_cast<double>(events.size() - 1);
    for (std::size_t i = 1; i < events.size(); ++i) {
        const Duration gap = events[i].time - events[i - 1].time;
        if (gap >= kShortest && seconds(gap) >= kTimesTheMean * mean_s)
            stalls[key].push_back({events[i - 1].time, events[i].time});
    }
}

TimePoint end_of(const RequestRecord& record) {
    return std::max(record.last_event.value_or(record.closed), record.scheduled);
}

/// Assigns requests to lanes in which they do not overlap, with as few lanes as possible.
class Lanes {
  public:
    int lane_for(TimePoint begin, TimePoint end) {
        int lane = 0;
        if (!busy_.empty() && busy_.top().first <= begin) {
            lane = busy_.top().second;
            busy_.pop();
        } else {
            lane = ++lanes_;
        }
        busy_.emplace(end, lane);
        return lane;
    }

  private:
    using Busy = std::pair<TimePoint, int>;  ///< end of the lane's last request, and the lane
    std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy_;
    int lanes_ = 0;
};

void add_request(const RequestRecord& record, int lane, const Stalls& stalls, Trace& trace) {
    const TimePoint end = end_of(record);
    std::string arguments = fmt::format(R"("outcome":{},"output_tokens":{})",
                                        json_text(name_of(record.outcome)), output_tokens_of(record));
    if (record.usage.prompt) arguments += fmt::format(R"(,"prompt_tokens":{})", *record.usage.prompt);
    if (record.usage.cached_prompt)
        arguments += fmt::format(R"(,"cached_tokens":{})", *record.usage.cached_prompt);
    if (!record.error.empty()) arguments += fmt::format(R"(,"error":{})", json_text(record.error));
    trace.span(record.id.empty() ? fmt::format("request {}", record.index) : record.id, lane,
               record.scheduled, end, arguments);
    TimePoint at = record.scheduled;
    const auto phase = [&](std::string_view name, std::optional<TimePoint> until, bool always = false) {
        if (!until || *until < at) return;
        if (always || *until > at) trace.span(name, lane, at, std::min(*until, end));
        at = *until;
    };
    phase("queue", record.started);
    phase("connect", record.ready);
    phase("send", record.sent);
    if (!record.sent) return;
    phase("prefill", record.first_event, true);
    if (!record.first_event) return;
    phase("decode", record.last_event, true);
    const auto own = stalls.find({.index = record.index, .warmup = record.warmup});
    if (own == stalls.end()) return;
    for (const Stall& stall : own->second) trace.span("stall", lane, stall.begin, std::min(stall.end, end));
}

}  // namespace

// A request is a span from the time when it was due to its last output, or to the end of its connection if it
// had no output. Inside it are the spans "queue" (from due to started), "connect" (until a connection was
// ready), "send" (until it was sent), "prefill" (until the first output) and "decode" (until the last
// output). "prefill" and "decode" add up to its end-to-end latency. Gaps between its output events that are
// at least 50 ms and at least five times its mean gap are spans "stall" inside "decode".
void write_chrome_trace(const std::filesystem::path& run_directory, std::ostream& out) {
    const RunResult run = read_run_directory(run_directory);
    const RecordFiles files = record_files_in(run_directory);
    std::vector<RequestRecord> records;
    for_each_recorded(run_directory, [&](RequestRecord&& record) { records.push_back(std::move(record)); });
    std::ranges::sort(records, [](const RequestRecord& a, const RequestRecord& b) {
        return std::pair(a.scheduled, a.index) < std::pair(b.scheduled, b.index);
    });
    Stalls stalls;
    EventsFile(files.events, TimePoint{})
        .for_each([&](const RequestKey& key, std::span<const StreamEvent> events) {
            add_stalls(key, events, stalls);
        });
    Trace trace(out);
    trace.name_process(kRequests, fmt::format("requests to {}", run.provenance.url));
    Lanes lanes;
    for (const RequestRecord& record : records)
        add_request(record, lanes.lane_for(record.scheduled, end_of(record)), stalls, trace);
    bool named = false;
    for (const Series& series : run.series) {
        if (series.source != "server") continue;
        if (!std::exchange(named, true)) trace.name_process(kServer, "server metrics");
        for (std::size_t i = 0; i < series.values.size(); ++i)
            trace.gauge(series.name, run.window.zero_s + series.times_s[i], series.values[i]);
    }
    trace.finish();
}

}  // namespace paretoken::reports
