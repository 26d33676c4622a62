#pragma once
// A dataset whose requests are the rows of a file. Each format has its own function that reads a row; the
// rest is common to all: the file is checked, hashed and indexed once, and a row is read again whenever it is
// needed. A row without a prompt gets a generated prompt of its length.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/record/request.h"
#include "datasets/catalog.h"
#include "datasets/files/row_file.h"

namespace paretoken::datasets {

/// The part of a turn in a job (datasets/job.h), as a row states it.
struct RowJob {
    /// An agent that the turn starts.
    struct Start {
        std::string agent;        ///< name of its conversation
        bool fork = false;        ///< whether it inherits the turn's history
        bool background = false;  ///< whether nobody waits for it

        bool operator==(const Start&) const = default;
    };

    std::string name = {};                       ///< the job; empty means that the conversation is the job
    std::string id = {};                         ///< name of the turn, for others that wait for it
    std::vector<std::string> after = {};         ///< ids of turns that it waits for
    std::vector<std::string> after_agents = {};  ///< conversations whose last turns it waits for
    std::vector<Start> starts = {};
    std::string fork_of = {};   ///< id of the turn whose history it inherits; empty: it starts afresh
    double delay_s = 0;         ///< pause before it, from the end of the turns that it waits for
    double tool_s = 0;          ///< time of tools before it, in addition to `delay_s`
    bool states_pause = false;  ///< whether its format states its pause, so that its time is none
    /// Whether it starts at its time, and waits for no turn before it in its conversation.
    bool starts_at_time = false;
    bool background = false;  ///< whether nobody waits for its agent

    bool operator==(const RowJob&) const = default;
};

struct Row {
    std::optional<Prompt> prompt = {};  ///< if absent, a prompt of `input_tokens` tokens is generated
    std::optional<std::int64_t> input_tokens = {};
    std::optional<std::int64_t> output_tokens = {};
    std::optional<double> at_s = {};         ///< time of the request in seconds; its zero is arbitrary
    std::vector<std::uint64_t> blocks = {};  ///< names of the prompt's blocks; equal names mean equal content
    /// If not 0, names of blocks hold only among rows of the same scope and one play of their job.
    std::uint64_t scope = 0;
    /// With a scope: the number of first blocks whose names hold in the whole file and for every play.
    std::uint64_t shared_blocks = 0;
    std::int64_t block_tokens = 0;  ///< tokens per block; 0 means RowFormat::block_tokens
    bool is_reply = false;          ///< whether it is the recorded reply to the turn before, and no turn
    bool whole_prompt = false;      ///< whether the prompt has the history already, which no turn then adds
    std::string request_class = {};
    std::string slo = {};                   ///< limits: "ttft:500 tpot:20"; empty means the run's
    std::string conversation = {};          ///< name of its conversation; rows of equal name are its turns
    std::optional<std::int64_t> turn = {};  ///< number of the turn from 0, if the row has it
    RowJob job = {};                        ///< its part in a job, if the row states one
    std::vector<Row> further = {};          ///< further turns, if this row holds several
    std::string model = {};
    std::string body = {};  ///< text of a JSON object that is merged into the request's body
    /// Why the row (or the turn, in a row of several) holds no request, as a continuation of "left out, ";
    /// empty if it holds one. One of a trace with 0 input tokens or 0 output tokens holds none either.
    std::string_view unusable = {};
    std::vector<std::string_view> left_out = {};  ///< such reasons for what the row does not even list
    std::vector<std::string_view> remarks =
        {};  ///< what to know of the row, each as a continuation of "rows "
    std::optional<std::int64_t> stated_number = {};  ///< its number in its conversation, only for remarks
    std::vector<std::string> unknown_fields = {};    ///< names of fields that have no effect

    bool operator==(const Row&) const = default;
};

/// Returns whether one of the turns of a row holds a request.
bool holds_request(const Row& row);

/// Returns the name of the i-th block of a row, for one play of its job, among all rows and plays.
std::uint64_t name_of_block(const Row& row, std::size_t i, std::uint64_t play = 0);

/// The names that a format has for what its rows state of a job.
struct JobFields {
    std::string_view id = "id";
    std::string_view after = "after";
    /// If a row holds a whole job or agent: the field with its name, which no other row may have.
    std::string_view whole = {};

    bool operator==(const JobFields&) const = default;
};

/// A format: the layout of its files and the function that reads a row.
struct RowFormat {
    std::string_view name;
    RowLayout layout = RowLayout::lines;
    /// Reads a row; place.refuse() refuses a wrong one. `header` is the first line of a csv, else empty.
    /// Thread-safe. `text` must have RowFile::kPadding readable bytes behind it.
    std::function<Row(std::string_view text, const std::string& header, const RowPlace& place)> read = {};
    std::int64_t block_tokens = 0;          ///< tokens per block, if rows have blocks
    std::uint32_t most_turns = UINT16_MAX;  ///< largest number of turns from one row; later ones are left out
    /// Whether the ids of turns hold for the whole file: jobs are the agents that wait for each other.
    bool jobs_by_edges = false;
    /// Whether a turn that waits for others and states no pause waits for as long as lies between its
    /// recorded time and that of the turn before in its agent.
    bool pauses_from_times = false;
    JobFields fields = {};  ///< names for messages
    /// Looks at a file before its rows are read, and completes the format for it; may be empty.
    std::function<void(const std::string& path, RowFormat& format)> look = {};
    /// Returns remarks on a row (Row::remark) that follow from the rows before it; may be empty. Set by
    /// `look`, because it has a state.
    std::function<std::vector<std::string_view>(const Row& row)> follow = {};
    /// Refuses a file whose rows have all been read, if they do not fit the format together; may be empty.
    std::function<void(const std::string& path)> end = {};
    /// Makes the rows, for a dataset that is generated and has no file; otherwise empty. Needs `keeps_turns`.
    std::function<void(const std::function<void(Row)>& take)> generate = {};
    std::string note = {};  ///< what the user should know of the file, as a sentence without a full stop
    /// What the user should know if rows follow each other faster than those of any public trace.
    std::string note_if_fast = {};
    bool body_of_opening = false;        ///< whether a turn without a body has that of its job's first turn
    bool keeps_turns = false;            ///< whether turns are kept in memory (datasets/files/kept_turns.h)
    std::string_view known_fields = {};  ///< names of the fields of a row, for formats that tell unknown ones
};

/// Makes the dataset. "osl" is for rows that have no number of output tokens. Rows without a request are
/// counted in Dataset::notes(). Throws the errors of RowFile and of the reader, and UsageError if osl is
/// wrong or has no effect, the prose is too short, rows do not fit together, or none is left.
std::unique_ptr<Dataset> make_file_dataset(const DatasetOptions& options, const RowFormat& format);

}  // namespace paretoken::datasets
