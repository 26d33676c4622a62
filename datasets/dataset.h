#pragma once
// The source of requests, as jobs (datasets/job.h). The first request of a job, its opening, is a pure
// function of (seed, salt, i); follow-ups also depend on the turns that they continue.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/record/request.h"
#include "core/units.h"

namespace paretoken::datasets {

struct JobGraph;

/// The turn that a follow-up continues.
struct Said {
    const Prompt& prompt;    ///< prompt of the turn before
    std::string_view reply;  ///< the answer to it
};

class Dataset {
  public:
    virtual ~Dataset() = default;

    /// Returns the opening of job `index`. Thread-safe. From size() on the requests repeat from the
    /// first one, with ids of their own. Throws RuntimeError when a file can no longer be read.
    virtual Request request(std::uint64_t index) const = 0;

    /// Returns request(index) for callers that only need its lengths: its prompt may have another form, or be
    /// empty if the lengths are known.
    virtual Request outline(std::uint64_t index) const { return request(index); }

    /// Returns whether turns() may be above 1.
    virtual bool has_conversations() const { return false; }

    /// Returns whether the dataset states jobs, whose results are told for each job. If it does not, the jobs
    /// are conversations or single requests.
    virtual bool has_jobs() const { return false; }

    /// Returns the number of turns of the job that request(index) opens.
    virtual std::uint32_t turns(std::uint64_t /*index*/) const { return 1; }

    /// Returns the graph of that job, which has turns(index) turns.
    virtual std::shared_ptr<const JobGraph> job(std::uint64_t index) const;

    /// Returns turn `turn` ≥ 1 of the job that request(index) opens, below turns(index). `said` is the turn
    /// whose history it continues; it is used only if there is one and needs_replies() is true.
    virtual Request follow_up(std::uint64_t index, std::uint32_t turn, const Said& said) const;

    /// Returns follow_up() for callers that only need its lengths, in the manner of outline().
    virtual Request outline_of_follow_up(std::uint64_t index, std::uint32_t turn, const Said& said) const {
        return follow_up(index, turn, said);
    }

    /// Returns whether follow-ups continue from the server's answers instead of the dataset's replies.
    virtual bool needs_replies() const { return false; }

    /// Returns the number of different openings; nothing if there is no limit.
    virtual std::optional<std::uint64_t> size() const { return std::nullopt; }

    /// Returns the number of openings after which their prompts repeat word for word; nothing if all are new.
    virtual std::optional<std::uint64_t> repeats_after() const { return std::nullopt; }

    /// Returns the number of different prompts among those openings; nothing if all differ.
    virtual std::optional<std::uint64_t> different_prompts() const { return std::nullopt; }

    /// Returns the recorded time of the opening of job `index`, counted from the first opening;
    /// nothing in a dataset without times. Times never descend. `index` must be below size().
    virtual std::optional<Duration> recorded_time(std::uint64_t /*index*/) const { return std::nullopt; }

    /// Returns a description for people: "synthetic:isl=512,osl=128".
    virtual std::string description() const = 0;

    /// Returns the hash of the file's content (core/text/content_hash.h); empty if the dataset is not a file.
    virtual std::string content() const { return {}; }

    /// Returns the line of the first prompt of token ids in a file; nothing if there is none.
    virtual std::optional<std::size_t> line_of_token_ids() const { return std::nullopt; }

    /// Returns sentences without a full stop for the user, such as one on rows of a file that were left out.
    virtual std::vector<std::string> notes() const { return {}; }

    /// Returns the share of all prompt tokens that a cache of unlimited size, with whole blocks and for each
    /// job alone, would find; nothing if the prompts have no blocks. It reads all turns.
    virtual std::optional<double> best_possible_hit() const { return std::nullopt; }

    /// Return the mean number of prompt tokens and of output tokens per request; nothing if it is not known.
    virtual std::optional<double> mean_input_tokens() const { return std::nullopt; }
    virtual std::optional<double> mean_output_tokens() const { return std::nullopt; }
};

/// "SALT-7", or "7" without a salt.
std::string request_id(const std::string& salt, std::uint64_t index);

}  // namespace paretoken::datasets
