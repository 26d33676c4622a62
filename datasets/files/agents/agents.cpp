#include "datasets/files/agents/agents.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "core/error.h"
#include "core/plan/random_duration.h"
#include "core/random.h"
#include "datasets/synthetic/lengths.h"

namespace paretoken::datasets {
namespace {

constexpr std::int64_t kBlockTokens = 64;
constexpr std::uint64_t kMostJobs = 100'000;
constexpr std::int64_t kMostOwnTurns = 1000;  // of an agent
constexpr std::int64_t kMostFanout = 1000;    // sub-agents of a job

class JobMaker {
  public:
    JobMaker(const Spec& spec, std::uint64_t seed)
        : turns_(spec.text_or("turns", "8")),
          subturns_(spec.text_or("subturns", "3")),
          first_(spec.text_or("first", "500")),
          next_(spec.text_or("next", "200")),
          output_(spec.text_or("osl", "128")),
          tool_(spec.text_or("tool", "2s")),
          prefix_(static_cast<std::int64_t>(parse_count(spec.text_or("prefix", "1024")))),
          seed_(seed) {
        const std::string fanout = spec.text_or("fanout", "2");
        if (fanout != "0") fanout_.emplace(fanout);
    }

    /// Returns the first turn of a job, which holds the others.
    Row job(std::uint64_t number) const {
        Random random(derived_seed(seed_, "agents", number));
        const std::int64_t helpers = fanout_ ? std::min(fanout_->draw(random), kMostFanout) : 0;
        const std::int64_t fewest = helpers > 0 ? 2 : 1;
        const std::int64_t turns = std::clamp(turns_.draw(random), fewest, kMostOwnTurns);
        const std::int64_t spawner =
            helpers > 0 ? static_cast<std::int64_t>(random.uniform() * static_cast<double>(turns - 1)) : 0;
        Job job{.number = number, .random = random};
        add_agent(job, turns, "");
        for (std::int64_t i = 0; i < helpers; ++i) {
            const std::int64_t own = std::clamp<std::int64_t>(subturns_.draw(job.random), 1, kMostOwnTurns);
            add_agent(job, own, id_of(0, spawner));
            Row& joining = job.rows[static_cast<std::size_t>(spawner) + 1];
            joining.job.after.push_back(job.rows.back().job.id);
            joining.job.tool_s = 0;  // the sub-agents are the tool
        }
        Row first = std::move(job.rows.front());
        first.further.assign(std::make_move_iterator(job.rows.begin() + 1),
                             std::make_move_iterator(job.rows.end()));
        return first;
    }

  private:
    struct Job {
        std::uint64_t number;
        Random random;
        std::uint64_t agents = 0;
        std::vector<Row> rows = {};
    };

    static std::string id_of(std::uint64_t agent, std::int64_t turn) {
        return fmt::format("{}.{}", agent, turn);
    }

    /// Adds the turns of an agent, which starts after a turn; with the job if `after` is empty.
    void add_agent(Job& job, std::int64_t turns, const std::string& after) const {
        const std::uint64_t agent = job.agents++;
        std::int64_t context = prefix_;
        for (std::int64_t turn = 0; turn < turns; ++turn) {
            context += (turn == 0 ? first_ : next_).draw(job.random);
            Row row{.input_tokens = context, .output_tokens = output_.draw(job.random)};
            set_blocks(row, job.number, agent);
            row.whole_prompt = true;
            row.conversation = fmt::format("{}", agent);
            row.job.name = fmt::format("{}", job.number);
            row.job.id = id_of(agent, turn);
            if (turn == 0 && !after.empty()) row.job.after.push_back(after);
            if (turn > 0) row.job.tool_s = seconds(tool_.draw(job.random));
            context += *row.output_tokens;
            job.rows.push_back(std::move(row));
        }
    }

    /// Names the whole blocks of a prompt: those of the prefix alike in all jobs, the others by agent.
    void set_blocks(Row& row, std::uint64_t job, std::uint64_t agent) const {
        row.scope = derived_seed(1, "job", job);
        row.block_tokens = kBlockTokens;
        row.shared_blocks = static_cast<std::uint64_t>(prefix_ / kBlockTokens);
        const auto blocks = static_cast<std::uint64_t>(*row.input_tokens / kBlockTokens);
        for (std::uint64_t block = 0; block < blocks; ++block)
            row.blocks.push_back(block < row.shared_blocks ? block : (agent + 1) << 32U | block);
    }

    Lengths turns_;
    Lengths subturns_;
    Lengths first_;
    Lengths next_;
    Lengths output_;
    RandomDuration tool_;
    std::optional<Lengths> fanout_;
    std::int64_t prefix_;
    std::uint64_t seed_;
};

}  // namespace

RowFormat agents_format(const Spec& spec, std::uint64_t seed) {
    spec.expect_only({"jobs", "turns", "fanout", "subturns", "prefix", "first", "next", "osl", "tool"});
    const std::uint64_t jobs = parse_count(spec.text_or("jobs", "100"));
    if (jobs < 1 || jobs > kMostJobs)
        throw UsageError(fmt::format("jobs={}: the number of jobs lies between 1 and 100k", jobs));
    RowFormat format{.name = "agents", .block_tokens = kBlockTokens, .keeps_turns = true};
    format.generate = [maker = JobMaker(spec, seed), jobs](const std::function<void(Row)>& take) {
        for (std::uint64_t job = 0; job < jobs; ++job) take(maker.job(job));
    };
    return format;
}

std::unique_ptr<Dataset> make_agents(const DatasetOptions& options) {
    DatasetOptions own = options;
    own.path = text_of(options.spec);
    own.spec.fields.erase("osl");
    return make_file_dataset(own, agents_format(options.spec, options.seed));
}

}  // namespace paretoken::datasets
