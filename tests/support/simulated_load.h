#pragma once
// Runs the real client with a small closed loop against a simulated server in this process, over sockets. The
// outcome has the client's records and the server's own records of the same requests.
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "datasets/catalog.h"
#include "loadgen/http/fetch.h"
#include "loadgen/progress.h"
#include "loadgen/run.h"
#include "simulator/server.h"
#include "tests/support/kept_records.h"
#include "tests/support/loads.h"

namespace paretoken::testing {

struct SimulatedLoad {
    std::string profile = "ideal?ttft=2ms&itl=2ms";
    sim::ServerOptions server = {};  ///< options of the server; `profile` above replaces their profile
    protocol::BodyOptions body = {};
    std::uint64_t requests = 6;
    std::uint64_t concurrency = 3;
    int isl = 16;
    int osl = 8;
    /// The dataset, whose agents are named in the header X-Session-Affinity; null: prompts of `isl` tokens.
    /// It must outlive the load.
    const datasets::Dataset* dataset = nullptr;
};

struct SimulatedOutcome {
    std::vector<RequestRecord> records;
    /// The server's records of the requests (GET /sim/truth), by the id that the client sent.
    std::map<std::string, nlohmann::json> truth;
    std::string metrics;  ///< text of the server's /metrics after the load
};

inline loadgen::LoadOptions load_options(const SimulatedLoad& wanted, const std::string& url) {
    loadgen::LoadOptions load = load_on(url, wanted.concurrency, wanted.requests);
    load.worker.targets.front().head.target = wanted.body.protocol->path;
    load.worker.client.body = wanted.body;
    load.worker.client.body.ignore_eos = true;
    load.worker.id_prefix = "f-";
    if (wanted.dataset != nullptr) load.worker.session_headers = {{"X-Session-Affinity"}};
    return load;
}

/// Starts the server, makes the load, asks the server for its records and its metrics, and stops it.
inline SimulatedOutcome outcome_of(const SimulatedLoad& wanted) {
    sim::ServerOptions options = wanted.server;
    options.profile = sim::profile_named(wanted.profile);
    boost::asio::io_context io{1};
    sim::Server server(io, options);
    server.start();
    std::thread thread([&] { io.run(); });
    const http::Url url = http::parse_url(server.url());
    loadgen::LoadOptions load = load_options(wanted, server.url());
    if (load.worker.client.body.model.empty()) load.worker.client.body.model = options.profile.model;
    const auto synthetic = datasets::make_dataset(
        {.spec = {.name = "synthetic",
                  .fields = {{"isl", std::to_string(wanted.isl)}, {"osl", std::to_string(wanted.osl)}}}});
    loadgen::Progress progress;
    SimulatedOutcome outcome;
    outcome.records =
        kept_outcome([&](RecordSink& sink) {
            return loadgen::make_load(from(load, wanted.dataset != nullptr ? *wanted.dataset : *synthetic),
                                      sink, progress, {});
        }).records;
    http::Fetcher fetcher(url, load.worker.targets.front().address, nullptr, {});
    const auto truth = nlohmann::json::parse(fetcher.get("/sim/truth", std::chrono::seconds(10)).body);
    for (const auto& entry : truth["requests"]) outcome.truth[entry["id"]] = entry;
    outcome.metrics = fetcher.get("/metrics", std::chrono::seconds(10)).body;
    boost::asio::post(io, [&] { server.stop(); });
    thread.join();
    return outcome;
}

}  // namespace paretoken::testing
