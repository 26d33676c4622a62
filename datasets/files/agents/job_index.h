#pragma once
// Maps jobs (datasets/job.h) to the rows of a file. Turns may name their conversation (an agent) and their
// job, and lie between those of other jobs; a row that names neither is a job of its own.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/record/request.h"
#include "datasets/files/file_dataset.h"
#include "datasets/files/row_file.h"
#include "datasets/job.h"

namespace paretoken::datasets {

/// Returns what a row's prompt (not token ids) adds to a conversation; a text is one of the user.
Messages messages_of(Prompt prompt);

/// Counts the assistant's messages at the front, which are the recorded reply to the turn before.
std::size_t recorded_replies(const Messages& messages);

struct TurnPlace {
    static constexpr std::uint32_t kNone = UINT32_MAX;

    std::uint32_t row = 0;        ///< number among the rows that hold requests
    std::uint32_t part = 0;       ///< number of the turn in the row
    std::uint32_t reply = kNone;  ///< row with the recorded reply to the turn before, if it has its own

    bool operator==(const TurnPlace&) const = default;
};

class JobIndex {
  public:
    explicit JobIndex(const RowFormat& format);
    ~JobIndex();

    /// Adds the next row, and returns whether it begins a job as far as its names tell. Turns without a
    /// request are left out. `with_replies`: follow-ups must begin with the recorded reply. Throws UsageError
    /// by RowPlace::refuse() on rows that do not fit together, and on too many rows or turns.
    bool add(const Row& row, bool with_replies, const RowPlace& place);

    /// Ends the index. Throws UsageError naming the line of a turn that waits for an unknown turn or in a
    /// circle, of a job in which no turn can start, and of one of more than 65,535 turns.
    void finish(const std::string& path);

    bool has_conversations() const { return has_conversations_; }
    /// Returns whether a row states a job, or a pause between turns.
    bool has_jobs() const { return has_jobs_; }
    std::size_t size() const { return jobs_; }
    std::uint32_t turns(std::size_t job) const;
    std::shared_ptr<const JobGraph> graph(std::size_t job) const;
    TurnPlace place_of(std::size_t job, std::uint32_t turn) const;
    /// Returns the recorded time of a job in seconds; nothing if it has none, or is no job with a name.
    std::optional<double> time_of(std::size_t job) const;
    /// Returns what the user should know of the times of turns, as sentences without a full stop.
    std::vector<std::string> notes() const;

  private:
    struct Item;   ///< a turn of a draft
    struct Draft;  ///< a job with names, while the file is read
    /// A job while the file is read: a draft, or a row with `turns` turns that names nothing.
    struct Slot {
        std::uint32_t at;     ///< number of the row, or of the draft
        std::uint32_t turns;  ///< 0 for a draft
    };
    void begin_slots(std::size_t rows);
    Draft& draft_of(const Row& turn, bool& begins);
    void read_time(const Row& turn, const Draft& draft, bool begins, RowJob& job, const RowPlace& place);
    bool add_turn(const Row& turn, TurnPlace at, bool with_replies, const RowPlace& place);
    void check_turn(const Row& turn, const Draft& draft, bool with_replies, const RowPlace& place) const;
    void refuse_second(const Row& row, const RowPlace& place) const;
    std::string key_of(const Row& turn) const;
    void add_reply(const Row& reply, std::uint32_t row, const RowPlace& place);
    void join_by_edges(const std::string& path);
    static void set_times(Draft& draft);
    void keep(Draft& draft, const std::string& path);

    /// Whether the turns' ids are ids of the whole file, and a job consists of the agents that these connect.
    /// Otherwise they are ids of the job that the row names.
    bool by_edges_;
    bool pauses_from_times_;
    JobFields fields_;
    bool has_jobs_ = false;
    bool has_conversations_ = false;
    std::size_t rows_ = 0;
    std::size_t jobs_ = 0;
    std::size_t pauses_ = 0;        ///< turns whose pauses are made of their times
    std::size_t unused_times_ = 0;  ///< turns whose times are not used
    // Only while the file is read, from the first row on that has names or several turns.
    std::vector<Slot> slots_;
    std::vector<std::unique_ptr<Draft>> drafts_;
    std::unordered_map<std::string, std::uint32_t> names_;  ///< draft by the name of its job
    /// The places of the turns of all jobs, and where those of each job begin. Empty if job i is row i.
    std::vector<TurnPlace> places_;
    std::vector<std::uint32_t> begins_;
    std::vector<std::optional<double>> times_;  ///< of the jobs; empty if job i is row i
    /// The graphs of the jobs that are more than a conversation without pauses.
    std::unordered_map<std::size_t, std::shared_ptr<const JobGraph>> graphs_;
};

}  // namespace paretoken::datasets
