#pragma once
// The classes of a load, each with arrivals, caps, a dataset and a priority of its own. Every worker starts
// requests of all classes. The indexes of the k-th of n classes, counted from 0, are k, k + n, k + 2n, …
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "loadgen/load/class_load.h"
#include "loadgen/load/dispatch.h"
#include "loadgen/load/jobs.h"

namespace paretoken::loadgen {

/// The requests of a load that one worker starts: decides what to start and keeps the state of jobs.
class Mix {
  public:
    Mix(const std::vector<ClassLoad>& classes, Share share, TimePoint begin);

    /// Returns the next step like Dispatcher::next(), over all classes in turn.
    Step next(TimePoint now);
    /// Returns the number of classes. Their numbers (Planned::part) are 0 to parts() − 1.
    std::size_t parts() const { return parts_.size(); }
    /// Returns Dispatcher::next_planned() of class `part`.
    std::optional<Planned> next_planned(std::size_t part) const;

    /// Returns the request of a Start, without its id. `outline` is that of Jobs::request().
    Request request(const Planned& planned, bool outline = false) const;
    /// Returns the record of a Start, with the values that are known before it is sent.
    RequestRecord record_of(const Start& start) const;
    bool needs_answer(const Planned& planned) const;
    /// Returns Jobs::session_of() of the request.
    std::optional<Session> session_of(const Planned& planned) const;

    /// Returns Jobs::token_of() of the request.
    const std::string* token_of(const Planned& planned, const TokenKey& key) const;
    /// Keeps a token from the answer of a request for later requests of its job.
    void keep_token(const RequestRecord& record, const TokenKey& key, const std::string& token);

    /// Notes that the request of a Start was started with this prompt.
    void started(const Start& start, Prompt prompt);
    void on_first_token(const RequestKey& request, TimePoint at);
    /// Reports the end of a request. `takes_answer`: the record's answer may be taken out of it.
    void finished(RequestRecord& record, TimePoint slot_free, bool takes_answer);
    void stop();

    /// Returns whether no class starts anything more.
    bool has_started_all() const;
    /// Returns Dispatcher::ran_dry() of the first class that had nothing more to start.
    std::optional<TimePoint> ran_dry() const;
    /// Returns Dispatcher::ended_by() of that class; nothing if there is none.
    std::optional<StopKind> ended_by() const;

  private:
    struct Part {
        Dispatcher dispatcher;
        Jobs jobs;
        std::string name;
        std::string body;  ///< JSON fields that its requests carry
        std::vector<ModelShare> models;
        std::uint64_t seed = 0;
    };
    Part& part_of(const RequestKey& request) { return parts_[request.index % parts_.size()]; }
    const Part* first_dry() const;
    /// Returns the key by which the dispatcher and the jobs know a request. Primers are no warm-ups there.
    RequestKey planned_key(const RequestKey& request) const;

    std::vector<Part> parts_;
    std::set<std::uint64_t> primers_;  ///< primers in flight, by index; there are no other warm-ups then
    std::size_t turn_ = 0;             ///< class that is asked first
};

}  // namespace paretoken::loadgen
