// The events.jsonl of MLCommons' endpoints: one event per line. Samples that were issued between the marks of
// the session count. It has no numbers of tokens; the texts in it are not kept.

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "reports/files/file_io.h"
#include "reports/files/interop/readers/foreign_json.h"
#include "reports/files/interop/readers/foreign_load.h"
#include "reports/files/interop/readers/foreign_readers.h"
#include "reports/files/interop/readers/foreign_request.h"

namespace paretoken::reports {
namespace {

using Json = nlohmann::json;

struct EndpointsSample {
    double issued_s = 0;
    std::vector<double> chunks_s = {};
    std::optional<double> complete_s = {};
    std::string error = {};
};

/// Collects the samples of a log.
class EndpointsLog {
  public:
    void add(const Json& event, const std::string& where) {
        const std::string type = text_in(event, {"event_type"});
        if (type == "session.start_performance_tracking") tracking_ = true;
        if (type == "session.stop_performance_tracking") tracking_ = false;
        const std::string id = text_in(event, {"sample_uuid"});
        if (id.empty()) return;
        if (type == "sample.issued") {
            if (tracking_) sample_of(id).issued_s = time_of(event, where);
            return;
        }
        const auto found = by_id_.find(id);
        if (found == by_id_.end()) return;
        EndpointsSample& sample = samples_[found->second];
        if (type == "sample.recv_first") {
            sample.chunks_s.assign(1, time_of(event, where));  // a retry receives its first chunk again
        } else if (type == "sample.recv_non_first") {
            sample.chunks_s.push_back(time_of(event, where));
        } else if (type == "sample.complete") {
            sample.complete_s = time_of(event, where);
        } else if (type.starts_with("error.")) {
            sample.error = type;
        }
    }

    const std::vector<EndpointsSample>& samples() const { return samples_; }

  private:
    EndpointsSample& sample_of(const std::string& id) {
        const auto [found, is_new] = by_id_.try_emplace(id, samples_.size());
        if (is_new) samples_.emplace_back();
        return samples_[found->second];
    }

    static double time_of(const Json& event, const std::string& where) {
        const auto ns = number_in(event, {"timestamp_ns"});
        if (!ns || *ns < 0 || *ns > 4e18)
            refuse_foreign(where, "\"timestamp_ns\" is not a time in nanoseconds");
        return *ns / 1e9;
    }

    bool tracking_ = false;
    std::map<std::string, std::size_t> by_id_;
    std::vector<EndpointsSample> samples_;
};

ForeignRequest endpoints_request(const EndpointsSample& sample, double began) {
    ForeignRequest request;
    request.sent_s = sample.issued_s - began;
    for (const double time : sample.chunks_s) request.chunks_s.push_back(time - sample.issued_s);
    std::ranges::sort(request.chunks_s);
    if (sample.complete_s) request.latency_s = *sample.complete_s - sample.issued_s;
    request.error = sample.error;
    request.failed = !sample.error.empty();
    request.cancelled = !request.failed && !sample.complete_s;
    return request;
}

}  // namespace

bool is_endpoints(std::string_view text) {
    return text.starts_with('{') && text.find("\"event_type\"") != text.npos &&
           text.find("\"timestamp_ns\"") != text.npos && text.find("\"sample_uuid\"") != text.npos;
}

std::vector<ForeignRun> endpoints_runs(const std::filesystem::path& file) {
    EndpointsLog log;
    for_each_foreign_line(file, [&](const Json& event, const std::string& where) { log.add(event, where); });
    if (log.samples().empty())
        refuse_foreign(file.string(),
                       "it holds no sample that was issued between start_performance_tracking and "
                       "stop_performance_tracking");
    double began = log.samples().front().issued_s;
    for (const EndpointsSample& sample : log.samples()) began = std::min(began, sample.issued_s);
    auto requests = std::make_shared<std::vector<ForeignRequest>>();
    for (const EndpointsSample& sample : log.samples()) requests->push_back(endpoints_request(sample, began));
    ForeignLoad load{.tool = "MLCommons endpoints", .requests = requests->size()};
    std::vector<ForeignRun> runs;
    runs.push_back(run_of_requests(
        load, {Fact::output_tokens, Fact::input_tokens, Fact::cached_tokens, Fact::server_counters},
        std::move(requests)));
    return runs;
}

}  // namespace paretoken::reports
