#pragma once
// The options of a load and of what makes it.
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/plan/session_names.h"
#include "core/plan/shard.h"
#include "loadgen/client_options.h"
#include "loadgen/http/address.h"
#include "loadgen/load/class_load.h"
#include "loadgen/route.h"

namespace paretoken::http {
class TlsContext;
}

namespace paretoken::loadgen {

struct Progress;
class StopMonitor;

struct WorkerTarget {
    http::Address address;
    const http::TlsContext* tls = nullptr;  ///< null means plain TCP
    std::string host;                       ///< name that the certificate must have
    http::RequestHead head;                 ///< head of every request to it
};

struct WorkerOptions {
    std::uint32_t number = 0;
    std::vector<WorkerTarget> targets;  ///< servers; never empty
    Route route = Route::round_robin;   ///< choice of the server, if there are several
    ClientOptions client;               ///< options; each target replaces the head
    std::string id_prefix;              ///< prefix of request ids before the index; unique over runs
    std::vector<SessionName> session_headers = {};  ///< headers of requests of conversations and jobs
    std::vector<SessionName> session_fields = {};   ///< and fields of their bodies
    std::vector<SessionName> session_tokens = {};   ///< headers that servers set and requests return
    bool kernel_stamps = true;
    bool lazy = true;        ///< whether it may serve sockets in batches if very many are ready (laziness.h)
    Duration spin{};         ///< how long before a due start the worker polls sockets instead of sleeping
    bool keep_alive = true;  ///< false means that every request has its own connection
    bool preconnect = true;  ///< whether connections are opened before the requests that use them
    bool keep_answers = false;  ///< whether the texts of all answers go to the sink
    /// How long requests in flight are followed after stop(), before they are cancelled.
    Duration grace = std::chrono::seconds(30);
};

struct LoadOptions {
    /// The classes; there is at least one. A load that is not divided into classes has one class with an
    /// empty name. The dataset of every class must be set before the load is made.
    std::vector<ClassLoad> classes = std::vector<ClassLoad>(1);
    /// The stop rules except those of the kinds requests and duration, which are in ClassLoad::limits.
    std::vector<StopRule> rules;
    std::uint32_t workers = 1;
    Shard shard = {};  ///< the part of the load that is made; the classes are those of the whole
    std::optional<TimePoint> began;  ///< zero of the schedule; absent means now
    /// Called four times a second and at the load's end, from its own thread, to inform shards; may be empty.
    std::function<void(StopMonitor&, Progress&)> exchange = {};
    bool decides = true;   ///< whether stop rules are evaluated here; false if another shard decides
    WorkerOptions worker;  ///< options of all workers; `number` is set for each
};

}  // namespace paretoken::loadgen
