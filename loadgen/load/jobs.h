#pragma once
// The jobs (datasets/job.h) of one class that one worker has opened and that have turns to come. Makes the
// requests of their turns, and keeps the prompts and answers that later turns inherit.
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/record/event_source.h"
#include "core/record/record.h"
#include "datasets/dataset.h"
#include "loadgen/load/job_progress.h"
#include "loadgen/load/schedule.h"

namespace paretoken::loadgen {

/// What a request belongs to: each is named by the index of its first request.
struct Session {
    std::uint64_t conversation = 0;
    std::uint64_t job = 0;
    std::optional<std::uint64_t> parent = {};
    bool is_final = false;  ///< whether it is the last turn of its conversation
};

/// What a session token belongs to within a job.
struct TokenKey {
    std::uint32_t name = 0;          ///< number of its header
    std::uint32_t target = 0;        ///< number of the server
    std::uint64_t conversation = 0;  ///< the conversation; 0 if it is the token of the whole job

    auto operator<=>(const TokenKey&) const = default;
};

class Jobs {
  public:
    /// `dataset` must outlive this. `step`: distance between the indexes of a job's turns.
    explicit Jobs(const datasets::Dataset& dataset, std::uint32_t step = 1)
        : dataset_(&dataset), step_(step) {}

    /// Returns the request of an entry of the schedule, a job's first turn, or of a turn that started() or
    /// ended() returned. With `outline`, the prompt may be in another form or empty (Dataset::outline()).
    Request request(const Planned& planned, bool outline = false) const;

    /// Sets the position of the request in its conversation and its job, unless it is a job by itself.
    void place(RequestRecord& record, const Planned& planned) const;

    /// Returns the indexes of the first requests of the request's conversation and job, and of the agent that
    /// started its agent; nothing for a dataset of single requests.
    std::optional<Session> session_of(const Planned& planned) const;

    /// Returns whether the request is a primer (JobGraph::primers), which counts as a warm-up.
    bool is_primer(const Planned& planned) const;

    /// Returns whether a later turn needs the answer's text.
    bool needs_answer(const Planned& planned) const;

    /// Returns the latest token that keep_token() got for the request's job; null if there is none.
    const std::string* token_of(const Planned& planned, const TokenKey& key) const;
    /// Keeps a token until the job of a started request ends. `warmup` is that of the job.
    void keep_token(const RequestRecord& record, bool warmup, const TokenKey& key, const std::string& token);

    /// Notes that a request was started with this prompt; returns the turns that start with its job.
    std::vector<FollowUp> started(const Planned& planned, Prompt prompt);

    /// Notes that a request has ended, and returns the turns that may start now. If a turn needs the answer's
    /// text, it is moved out of `record` if `takes_answer`, otherwise it is copied.
    Ended ended(RequestRecord& record, bool takes_answer);

  private:
    using Graph = std::shared_ptr<const datasets::JobGraph>;
    struct Kept {
        Prompt prompt;
        std::string reply = {};
        std::uint32_t heirs = 0;  ///< turns to come that inherit it
    };
    struct Open {
        Planned first;
        JobProgress progress;
        std::map<std::uint32_t, Kept> kept = {};  ///< by turn
        std::uint32_t in_flight = 0;              ///< requests
        std::map<TokenKey, std::string> tokens = {};
    };

    Graph graph_of(const Planned& planned) const;
    FollowUp follow_up(const Open& open, std::uint32_t turn) const;
    void release_history(Open& open, const Planned& planned);

    const datasets::Dataset* dataset_;
    std::uint32_t step_;
    std::map<RequestKey, Open> open_;  ///< open jobs by their first request
};

}  // namespace paretoken::loadgen
