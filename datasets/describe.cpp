#include "datasets/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "core/statistics.h"
#include "datasets/files/seen_blocks.h"
#include "datasets/files/turn_file.h"

namespace paretoken::datasets {
namespace {

std::optional<LengthSummary> summary_of(std::vector<double> values, std::uint64_t rows) {
    if (values.empty() || values.size() != rows) return std::nullopt;
    std::ranges::sort(values);
    return LengthSummary{.mean = moments_of(values).mean,
                         .p50 = percentile(values, .5),
                         .p95 = percentile(values, .95),
                         .p99 = percentile(values, .99),
                         .max = values.back()};
}

/// Finds the largest sum of amounts within one interval. Intervals are equally long, and times ascend.
class Peak {
  public:
    explicit Peak(double length_s) : length_s_(length_s) {}

    void add(double at_s, double amount) {
        const double stretch = std::floor(at_s / length_s_);
        if (stretch != stretch_) sum_ = 0;
        stretch_ = stretch;
        sum_ += amount;
        most_ = std::max(most_, sum_);
    }
    /// Returns the largest sum per second; if `seconds` is shorter than an interval, the mean over `seconds`.
    double per_s(double seconds) const { return most_ / std::min(length_s_, seconds); }

  private:
    double length_s_;
    double stretch_ = -1;
    double sum_ = 0;
    double most_ = 0;
};

class Rate {
  public:
    void add(double at_s, double amount) {
        sum_ += amount;
        for (Peak& peak : peaks_) peak.add(at_s, amount);
    }
    /// Counts a time shorter than one second as one second.
    RateSummary summary(double seconds) const {
        seconds = std::max(seconds, 1.0);
        return {.mean = sum_ / seconds,
                .peak_second = peaks_[0].per_s(seconds),
                .peak_minute = peaks_[1].per_s(seconds),
                .peak_hour = peaks_[2].per_s(seconds)};
    }

  private:
    double sum_ = 0;
    std::array<Peak, 3> peaks_{Peak(1), Peak(60), Peak(3600)};
};

/// Counts the requests of each hour.
class Hours {
  public:
    void add(double at_s) {
        if (at_s >= kMost * kSecondsOfHour) return;
        const auto hour = static_cast<std::size_t>(at_s / kSecondsOfHour);
        if (hour >= counts_.size()) counts_.resize(hour + 1);
        ++counts_[hour];
    }
    std::vector<double> per_s(double seconds) const {
        if (seconds >= kMost * kSecondsOfHour) return {};
        std::vector<double> rates;
        for (const double count : counts_) {
            const double left = seconds - kSecondsOfHour * static_cast<double>(rates.size());
            if (left < kSecondsOfHour / 2) break;
            rates.push_back(count / std::min(kSecondsOfHour, left));
        }
        return rates;
    }

  private:
    static constexpr double kSecondsOfHour = 3600;
    static constexpr double kMost = 366 * 24;
    std::vector<double> counts_;
};

/// The requests and prompt tokens of a file over its time. Times ascend.
class Traffic {
  public:
    void add(double at_s, std::optional<std::int64_t> input_tokens) {
        if (!first_s_) first_s_ = at_s;
        last_s_ = at_s;
        const double since = at_s - *first_s_;
        requests_.add(since, 1);
        hours_.add(since);
        tokens_.add(since, static_cast<double>(input_tokens.value_or(0)));
    }
    void describe(FileDescription& description) const {
        if (!first_s_) return;
        description.seconds = last_s_ - *first_s_;
        description.requests_per_s = requests_.summary(*description.seconds);
        description.hours = hours_.per_s(*description.seconds);
        if (description.input) description.prompt_tokens_per_s = tokens_.summary(*description.seconds);
    }

  private:
    std::optional<double> first_s_;
    double last_s_ = 0;
    Rate requests_;
    Rate tokens_;
    Hours hours_;
};

/// A prefix cache of unlimited size. It finds the first blocks of a prompt up to one that no prompt had
/// before.
class InfiniteCache {
  public:
    /// `jobs_in_rows`: every row of the file holds a whole job, so that the blocks of a job can be forgotten
    /// when the next one begins.
    explicit InfiniteCache(bool jobs_in_rows) : jobs_in_rows_(jobs_in_rows) {}

    void add(const Row& row, std::int64_t block_tokens) {
        const std::int64_t input = row.input_tokens.value_or(0);
        if (jobs_in_rows_ && row.scope != scope_ && row.shared_blocks == 0) {
            seen_ = {};
            begun_ = {};
        }
        scope_ = row.scope;
        const std::size_t known = fronts_.known(row, row.conversation);
        const std::size_t blocks = row.blocks.size();
        if (blocks == 0) return;
        // Blocks that are forgotten with their job need no names that differ from those of other jobs.
        const bool own_names = jobs_in_rows_ && row.shared_blocks == 0;
        const auto name = [&](std::size_t i) { return own_names ? row.blocks[i] : name_of_block(row, i); };
        std::size_t hits = known;
        while (hits < blocks && seen_.contains(name(hits))) ++hits;
        blocks_ += static_cast<double>(blocks);
        tokens_ += static_cast<double>(std::min(input, end_of(blocks, block_tokens)));
        block_hits_ += static_cast<double>(hits);
        token_hits_ += static_cast<double>(std::min(input, tokens_of(hits, name, block_tokens)));
        for (std::size_t i = known; i < blocks; ++i) seen_.insert(name(i));
        if (hits > 0 && hits < blocks) begun_.erase(name(hits - 1));
        note_end(name(blocks - 1), hits < blocks, input - end_of(blocks - 1, block_tokens), block_tokens);
    }
    void describe(FileDescription& description) const {
        if (blocks_ == 0) return;
        description.block_hits = block_hits_ / blocks_;
        if (tokens_ > 0) description.token_hits = token_hits_ / tokens_;
    }

  private:
    /// Returns the tokens that are known of the first `hits` blocks.
    std::int64_t tokens_of(std::size_t hits, const auto& name, std::int64_t block_tokens) const {
        if (hits == 0) return 0;
        const auto last = begun_.find(name(hits - 1));
        return end_of(hits - 1, block_tokens) + (last == begun_.end() ? block_tokens : last->second);
    }
    /// Notes how far the last block of a prompt goes, which no prompt may have had whole.
    void note_end(std::uint64_t last, bool is_new, std::int64_t tokens, std::int64_t block_tokens) {
        if (tokens >= block_tokens) {
            begun_.erase(last);
        } else if (is_new) {
            begun_[last] = std::max<std::int64_t>(tokens, 0);
        } else if (const auto known = begun_.find(last); known != begun_.end()) {
            known->second = std::max(known->second, tokens);
        }
    }

    bool jobs_in_rows_;
    std::uint64_t scope_ = 0;
    Fronts<std::string> fronts_;
    SeenBlocks seen_;
    std::unordered_map<std::uint64_t, std::int64_t> begun_;  ///< block → its tokens, if it was never whole
    double blocks_ = 0;
    double tokens_ = 0;
    double block_hits_ = 0;
    double token_hits_ = 0;
};

/// Returns the depth of each agent of a job: 1 for those that start with it.
std::vector<std::uint32_t> depths_of(const JobGraph& graph) {
    std::vector<std::uint32_t> depths;
    for (const JobTurn& turn : graph.turns) {
        if (turn.number > 0) continue;
        std::uint32_t depth = 1;
        for (const std::uint32_t other : turn.after)
            depth = std::max(depth, depths[graph.turns[other].agent] + 1);
        if (depths.size() <= turn.agent) depths.resize(turn.agent + std::size_t{1});
        depths[turn.agent] = depth;
    }
    return depths;
}

/// A turn with a time, and its prompt tokens.
struct TimedTurn {
    double at_s = 0;
    std::optional<std::int64_t> input_tokens = {};
};

/// Returns when the turns of a job start if answers take no time, in seconds since the job's start.
std::vector<double> starts_of(const JobGraph& graph) {
    std::vector<double> starts;
    for (const JobTurn& turn : graph.turns) {
        double ready = 0;
        for (const std::uint32_t other : turn.after) ready = std::max(ready, starts[other]);
        starts.push_back(ready + seconds(turn.delay + turn.tool));
    }
    return starts;
}

/// Describes the jobs of a file. Adds their turns to `timed` if the file has times.
JobSummary job_summary_of(const TurnFile& file, const RowFormat& format, std::vector<TimedTurn>& timed) {
    JobSummary jobs{.jobs = file.jobs().size()};
    std::vector<double> turns;
    std::vector<double> agents;
    std::vector<double> delays;
    std::vector<double> tools;
    JobCache cache;
    for (std::size_t job = 0; job < file.jobs().size(); ++job) {
        const auto graph = file.jobs().graph(job);
        const std::vector<std::uint32_t> depths = depths_of(*graph);
        turns.push_back(static_cast<double>(graph->turns.size()));
        agents.push_back(static_cast<double>(depths.size()));
        jobs.depth = std::max<std::uint64_t>(jobs.depth, *std::ranges::max_element(depths));
        const std::optional<Duration> begin = file.recorded_time(job);
        const std::vector<double> starts = begin ? starts_of(*graph) : std::vector<double>();
        std::vector<std::int64_t> last(depths.size(), 0);
        cache.next_job();
        for (std::uint32_t number = 0; number < graph->turns.size(); ++number) {
            const JobTurn& turn = graph->turns[number];
            const Row row = file.turn(job, number);
            const std::int64_t tokens = row.prompt ? 0 : row.input_tokens.value_or(0);
            if (tokens < std::exchange(last[turn.agent], tokens)) ++jobs.shrinking;
            if (turn.number == 0 && turn.background) ++jobs.background_agents;
            for (const std::uint32_t other : turn.after)
                if (graph->turns[other].agent != turn.agent) ++jobs.waits_between_agents;
            if (number > 0) delays.push_back(seconds(turn.delay));
            if (number > 0) tools.push_back(seconds(turn.tool));
            cache.add(row, turn.agent, format.block_tokens);
            if (begin) timed.push_back({seconds(*begin) + starts[number], row.input_tokens});
        }
    }
    for (const double n : agents) jobs.agents += static_cast<std::uint64_t>(n);
    for (const double n : turns) jobs.turns += static_cast<std::uint64_t>(n);
    jobs.turns_per_job = *summary_of(turns, turns.size());
    jobs.agents_per_job = *summary_of(agents, agents.size());
    jobs.delay_s = summary_of(delays, delays.size());
    jobs.tool_s = summary_of(tools, tools.size());
    jobs.best_hit = cache.hit();
    return jobs;
}

}  // namespace

FileDescription description_of(const std::string& path, const RowFormat& format) {
    FileDescription description{.format = std::string(format.name)};
    std::vector<double> input;
    std::vector<double> output;
    std::vector<double> total;
    Traffic traffic;
    double last_s = 0;
    InfiniteCache cache(format.keeps_turns);
    const auto add = [&](const Row& row) {
        if (row.is_reply || !row.unusable.empty()) return;
        ++description.rows;
        if (row.input_tokens) input.push_back(static_cast<double>(*row.input_tokens));
        if (row.output_tokens) output.push_back(static_cast<double>(*row.output_tokens));
        if (row.input_tokens && row.output_tokens) total.push_back(input.back() + output.back());
        cache.add(row, row.block_tokens > 0 ? row.block_tokens : format.block_tokens);
    };
    const TurnFile file(path, format, false, [&](const Row& row, const RowPlace&) {
        add(row);
        // The turns of a conversation without names are one row of their format.
        const bool named = !row.conversation.empty();
        for (const Row& turn : row.further)
            if (named) add(turn);
        if (!row.at_s) return;
        last_s = std::max(last_s, *row.at_s);
        traffic.add(last_s, row.input_tokens);
    });
    description.notes = file.notes();
    if (file.jobs().has_jobs() || file.jobs().has_conversations()) {
        std::vector<TimedTurn> timed;
        description.jobs = job_summary_of(file, format, timed);
        std::ranges::sort(timed, {}, &TimedTurn::at_s);
        traffic = {};
        for (const TimedTurn& turn : timed) traffic.add(turn.at_s, turn.input_tokens);
    }
    description.input = summary_of(input, description.rows);
    description.output = summary_of(output, description.rows);
    description.total = summary_of(total, description.rows);
    traffic.describe(description);
    cache.describe(description);
    if (description.total)
        description.max_model_len = static_cast<std::int64_t>(std::ceil(1.2 * description.total->p99));
    return description;
}

}  // namespace paretoken::datasets
