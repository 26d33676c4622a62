#include "datasets/begun_inside.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "core/error.h"
#include "core/random.h"
#include "core/spec.h"

namespace paretoken::datasets {
namespace {

constexpr std::string_view kOption = "--start-inside";

/// Returns the last left-out turn of each agent that goes on, and of the first agent.
std::map<std::uint32_t, std::uint32_t> primers_of(const JobGraph& whole, std::uint32_t before) {
    std::map<std::uint32_t, std::uint32_t> last;
    for (std::uint32_t turn = 0; turn < before; ++turn) last[whole.turns[turn].agent] = turn;
    const auto goes_on = [&](std::uint32_t agent) {
        return agent == whole.turns[0].agent ||
               std::any_of(whole.turns.begin() + before, whole.turns.end(),
                           [agent](const JobTurn& turn) { return turn.agent == agent; });
    };
    std::erase_if(last, [&](const auto& held) { return !goes_on(held.first); });
    return last;
}

class BegunInside final : public Dataset {
  public:
    BegunInside(std::unique_ptr<Dataset> dataset, const BeginShares& shares, std::uint64_t seed,
                std::uint64_t jobs)
        : inner_(std::move(dataset)) {
        for (std::uint64_t number = 0; number < jobs; ++number) {
            const auto whole = inner_->job(number);
            Random random(derived_seed(seed, "start inside", number));
            const double share = shares.low + (shares.high - shares.low) * random.uniform();
            const auto before = static_cast<std::uint32_t>(share * static_cast<double>(whole->turns.size()));
            CutJob cut = cut_job(*whole, before, shares.further);
            for (const JobTurn& turn : cut.graph.turns)
                if (turn.history && inner_->needs_replies())
                    throw UsageError(fmt::format(
                        "{}: turns continue the server's answers, and those before the start are not there; "
                        "give --replies recorded",
                        kOption));
            cut_.push_back({std::make_shared<const JobGraph>(std::move(cut.graph)), std::move(cut.turns)});
        }
    }

    Request request(std::uint64_t index) const override {
        return turn_of(index, 0, kNothing, &Dataset::request, &Dataset::follow_up);
    }
    Request outline(std::uint64_t index) const override {
        return turn_of(index, 0, kNothing, &Dataset::outline, &Dataset::outline_of_follow_up);
    }
    Request follow_up(std::uint64_t index, std::uint32_t turn, const Said& said) const override {
        return turn_of(index, turn, said, &Dataset::request, &Dataset::follow_up);
    }
    Request outline_of_follow_up(std::uint64_t index, std::uint32_t turn, const Said& said) const override {
        return turn_of(index, turn, said, &Dataset::outline, &Dataset::outline_of_follow_up);
    }

    bool has_conversations() const override { return inner_->has_conversations(); }
    bool has_jobs() const override { return true; }
    bool needs_replies() const override { return inner_->needs_replies(); }
    std::uint32_t turns(std::uint64_t index) const override {
        return index < cut_.size() ? static_cast<std::uint32_t>(cut_[index].turns.size())
                                   : inner_->turns(index);
    }
    std::shared_ptr<const JobGraph> job(std::uint64_t index) const override {
        return index < cut_.size() ? cut_[index].graph : inner_->job(index);
    }
    std::optional<std::uint64_t> size() const override { return inner_->size(); }
    std::optional<Duration> recorded_time(std::uint64_t index) const override {
        return inner_->recorded_time(index);
    }
    std::string description() const override { return inner_->description(); }
    std::string content() const override { return inner_->content(); }
    std::vector<std::string> notes() const override { return inner_->notes(); }
    std::optional<double> best_possible_hit() const override { return inner_->best_possible_hit(); }
    std::optional<double> mean_input_tokens() const override { return inner_->mean_input_tokens(); }
    std::optional<double> mean_output_tokens() const override { return inner_->mean_output_tokens(); }

  private:
    using Opening = Request (Dataset::*)(std::uint64_t) const;
    using FollowUp = Request (Dataset::*)(std::uint64_t, std::uint32_t, const Said&) const;
    struct Cut {
        std::shared_ptr<const JobGraph> graph;
        std::vector<std::uint32_t> turns;
    };

    Request turn_of(std::uint64_t index, std::uint32_t turn, const Said& said, Opening opening,
                    FollowUp further) const {
        const bool is_cut = index < cut_.size();
        const std::uint32_t whole = is_cut ? cut_[index].turns[turn] : turn;
        Request request = whole == 0 ? ((*inner_).*opening)(index) : ((*inner_).*further)(index, whole, said);
        if (is_cut && turn < cut_[index].graph->primers) request.wanted_output_tokens = 1;
        return request;
    }

    inline static const Prompt kEmpty = Messages{};
    inline static const Said kNothing{.prompt = kEmpty, .reply = {}};

    std::unique_ptr<Dataset> inner_;
    std::vector<Cut> cut_;
};

}  // namespace

BeginShares parse_begin_shares(std::string_view text) {
    const std::size_t plus = text.find('+');
    const std::string_view range = text.substr(0, plus);
    const std::size_t dots = range.find("..");
    const auto low = range.substr(0, dots);
    const auto high = dots == std::string_view::npos ? low : range.substr(dots + 2);
    constexpr double kMost = 65535;
    const auto number = [](std::string_view part) {
        return naming(kOption, [part] { return parse_number(part); });
    };
    const double further = plus == std::string_view::npos ? 0 : number(text.substr(plus + 1));
    const BeginShares shares{number(low), number(high),
                             static_cast<std::uint32_t>(std::clamp(further, 0.0, kMost))};
    if (!(shares.low >= 0) || !(shares.low <= shares.high) || !(shares.high < 1) || further != shares.further)
        throw UsageError(
            fmt::format("{} {}: expected shares of a job's turns from 0 to below 1, such as 0.25..0.75, or "
                        "also a number of further turns for the warm-up: 0.25..0.75+10",
                        kOption, text));
    return shares;
}

namespace {

/// Leaves out the first turns of a job; those of agents that go on become primers.
CutJob without_first_turns(const JobGraph& whole, std::uint32_t before) {
    CutJob cut;
    if (before == 0) {
        cut.graph = whole;
        for (std::uint32_t turn = 0; turn < whole.turns.size(); ++turn) cut.turns.push_back(turn);
        return cut;
    }
    const auto primers = primers_of(whole, before);
    std::map<std::uint32_t, std::uint32_t> primer_of;  // by agent, as a turn of the cut job
    for (const auto& [agent, turn] : primers) cut.turns.push_back(turn);
    std::ranges::sort(cut.turns);
    cut.graph.primers = static_cast<std::uint32_t>(cut.turns.size());
    std::map<std::uint32_t, std::uint32_t> place;
    for (std::uint32_t turn = 0; turn < cut.turns.size(); ++turn) {
        JobTurn primer = whole.turns[cut.turns[turn]];
        primer_of[primer.agent] = place[cut.turns[turn]] = turn;
        primer.after.clear();
        primer.history.reset();
        primer.delay = primer.tool = Duration{};
        cut.graph.turns.push_back(std::move(primer));
    }
    for (std::uint32_t turn = before; turn < whole.turns.size(); ++turn) {
        JobTurn kept = whole.turns[turn];
        const auto own = primer_of.find(kept.agent);
        for (std::uint32_t& other : kept.after)
            other = other >= before ? place.at(other) : own != primer_of.end() ? own->second : 0;
        if (kept.after.empty()) kept.after.push_back(0);  // it starts with the job
        std::ranges::sort(kept.after);
        kept.after.erase(std::unique(kept.after.begin(), kept.after.end()), kept.after.end());
        if (kept.history) {
            const auto found = place.find(*kept.history);
            kept.history = found == place.end() ? std::nullopt : std::optional(found->second);
        }
        place[turn] = static_cast<std::uint32_t>(cut.graph.turns.size());
        cut.turns.push_back(turn);
        cut.graph.turns.push_back(std::move(kept));
    }
    return cut;
}

}  // namespace

CutJob cut_job(const JobGraph& whole, std::uint32_t before, std::uint32_t further) {
    CutJob cut = without_first_turns(whole, before);
    JobGraph& graph = cut.graph;
    const auto most = static_cast<std::uint32_t>(graph.turns.size() - 1);
    const std::uint32_t end = std::min(most, graph.primers + std::min(further, most));
    for (std::uint32_t turn = graph.primers; turn < end; ++turn)
        graph.turns[turn].delay = graph.turns[turn].tool = Duration{};
    graph.primers = std::max(graph.primers, end);
    return cut;
}

std::unique_ptr<Dataset> begun_inside(std::unique_ptr<Dataset> dataset, const BeginShares& shares,
                                      std::uint64_t seed, std::uint64_t jobs) {
    if (!dataset->has_jobs())
        throw UsageError(
            fmt::format("{}: {} states no jobs of agents; leave it out, or take a dataset with jobs", kOption,
                        dataset->description()));
    return std::make_unique<BegunInside>(std::move(dataset), shares, seed, jobs);
}

}  // namespace paretoken::datasets
