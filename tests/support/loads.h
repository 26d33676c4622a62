#pragma once
// Small loads of the real client, and counts over their records.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/catalog.h"
#include "loadgen/load/stop_monitor.h"
#include "loadgen/run.h"
#include "tests/support/arrivals.h"

namespace paretoken::testing {

/// Returns the load with `dataset` as the dataset of every request class that has none. The dataset must
/// outlive the load.
inline loadgen::LoadOptions from(loadgen::LoadOptions load, const datasets::Dataset& dataset) {
    for (loadgen::ClassLoad& of : load.classes)
        if (of.dataset == nullptr) of.dataset = &dataset;
    return load;
}

/// Returns a dataset of generated prompts. Each has `isl` tokens and asks for `osl` output tokens.
inline std::unique_ptr<datasets::Dataset> synthetic_prompts(int isl, int osl) {
    return datasets::make_dataset(
        {.spec = {.name = "synthetic",
                  .fields = {{"isl", std::to_string(isl)}, {"osl", std::to_string(osl)}}}});
}

/// Returns the request class of a load that has only one.
inline loadgen::ClassLoad& only(loadgen::LoadOptions& load) {
    return load.classes.at(0);
}

/// Returns a closed loop of chat completions on the server at `url`, without a dataset; from()
/// adds one. A request that takes 20 s is aborted.
inline loadgen::LoadOptions load_on(std::string_view url, std::uint64_t concurrency, std::uint64_t requests) {
    loadgen::LoadOptions load;
    const http::Url target = http::parse_url(url);
    only(load).arrivals = loadgen::parse_arrivals("at_once");
    only(load).concurrency = concurrency;
    only(load).limits.requests = requests;
    load.worker.targets = {
        {.address = http::resolve(target).front(),
         .host = target.host,
         .head = {.target = target.target("/v1/chat/completions"), .authority = target.authority()}}};
    load.worker.client.body.model = "m";
    load.worker.client.body.ignore_eos = true;
    load.worker.client.ignore_eos_accepted = true;
    load.worker.client.request_timeout = std::chrono::seconds(20);
    load.worker.id_prefix = "t-";
    return load;
}

/// Returns the largest number of requests that were open at the same time. A request is open from when it was
/// sent until the time `end(record)`. Every request must have been sent.
template <class End>
int most_at_once(const std::vector<RequestRecord>& records, End end) {
    std::multimap<TimePoint, int> edges;
    for (const RequestRecord& r : records) {
        edges.emplace(*r.sent, 1);
        edges.emplace(end(r), -1);
    }
    int now = 0;
    int most = 0;
    for (const auto& [when, step] : edges) most = std::max(most, now += step);
    return most;
}

/// Returns the largest number of requests that were sent and not closed at the same time.
inline int most_in_flight(const std::vector<RequestRecord>& records) {
    return most_at_once(records, [](const RequestRecord& r) { return r.closed; });
}

/// Returns the largest number of requests that waited for their first event at the same time. Every request
/// must have one.
inline int most_without_first_event(const std::vector<RequestRecord>& records) {
    return most_at_once(records, [](const RequestRecord& r) { return *r.first_event; });
}

}  // namespace paretoken::testing
