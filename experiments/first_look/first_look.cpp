#include "experiments/first_look/first_look.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/record/record.h"
#include "core/stable_sort.h"
#include "experiments/first_look/steps.h"
#include "experiments/run.h"
#include "experiments/session.h"
#include "experiments/sweep/cells.h"
#include "experiments/sweep/sweep.h"
#include "experiments/watcher.h"
#include "loadgen/probe/endpoint.h"
#include "reports/analysis/sweep/sweep.h"
#include "reports/files/run_directory.h"

namespace paretoken::experiments {
namespace {

namespace fs = std::filesystem;
using reports::SpeedAtDepth;
using reports::SpeedOfCrowd;

constexpr std::uint64_t kPilotPrompt = 32;
constexpr std::uint64_t kPilotAnswer = 16;
constexpr std::uint64_t kRequestsAtDepth = 4;  // fewer if there is no time
constexpr std::uint64_t kRounds = 3;           // requests of each person in a crowd
constexpr std::uint64_t kMostPeople = 256;
constexpr double kShareOfDepths = .45;  // of the time; the rest is for crowds
constexpr double kShareOfAnswer = .04;  // of the time, at most

Cell prompts_of(std::uint64_t tokens) {
    return {{"isl", fmt::format("{}", tokens)}};
}

Cell answers_of(std::uint64_t tokens) {
    return {{"osl", fmt::format("{}", tokens)}};
}

/// The state of a first look, and what its runs have in common.
class Looking {
  public:
    Looking(const Target& target, const FirstLookPlan& plan, const fs::path& directory,
            const Session& session)
        : target_(target),
          plan_(plan),
          directory_(directory),
          session_(session),
          sweep_{.asked = plan.asked},
          left_s_(seconds(plan.time)) {}

    reports::FirstLook look() {
        const Pace pilot = measure_pilot();
        answer_tokens_ = answer_tokens_for(pilot, kShareOfAnswer * seconds(plan_.time));
        sweep_.asked = in_cell(sweep_.asked, answers_of(answer_tokens_));
        sweep_.levels = {1};
        sweep_.cells = {};
        for (const std::uint64_t depth : depths_within(plan_.depths, answer_tokens_, target_.facts().context))
            sweep_.cells.push_back(prompts_of(depth));
        file_ = fresh_sweep(sweep_, session_.invocation);
        file_.points.clear();
        measure_depths(pilot);
        measure_crowds();
        return std::move(found_);
    }

  private:
    Pace measure_pilot() {
        LoadPlan asked =
            at_level(in_cell(in_cell(sweep_.asked, answers_of(kPilotAnswer)), prompts_of(kPilotPrompt)),
                     Axis::concurrency, 1);
        asked.stop = {.requests = 1};
        asked.warmups = 1;
        session_.watcher.wait("one short request shows how much fits into the time");
        const Measured measured = measure(target_, asked, directory_ / "pilot", session_);
        require_whole(measured, target_, "no speed was measured yet");
        spend(measured.result);
        if (let_answers_end(measured.result)) return measure_pilot();
        if (measured.result.counts.ok == 0) refuse(measured.result);
        const SpeedAtDepth speed = reports::speed_at_depth(measured.result, kPilotPrompt, kPilotAnswer);
        return pace_of(speed);
    }

    static Pace pace_of(const SpeedAtDepth& speed) {
        return {.prompt_tokens = static_cast<double>(speed.prompt_tokens),
                .first_token_s = speed.first_token_s.value_or(0),
                .per_token_s = 1 / speed.generation_tok_per_s.value_or(1)};
    }

    void measure_depths(Pace pace) {
        const double until_s = left_s_ - kShareOfDepths * seconds(plan_.time);
        for (const Cell& cell : sweep_.cells) {
            const std::uint64_t depth = std::stoull(cell.at("isl"));
            const double each_s = estimated_s(pace, depth, answer_tokens_);
            std::uint64_t requests = requests_within(each_s, left_s_ - until_s, kRequestsAtDepth);
            if (found_.depths.empty()) requests = std::max<std::uint64_t>(requests, 1);
            if (requests == 0) break;
            RunResult result = measure_at(cell, 1, requests);
            if (let_answers_end(result)) result = measure_at(cell, 1, requests);
            if (result.counts.ok == 0 && found_.depths.empty()) refuse(result);
            if (result.counts.ok == 0) break;
            add_doubts(result, found_);
            found_.depths.push_back(reports::speed_at_depth(result, depth, answer_tokens_));
            if (found_.crowds.empty()) found_.crowds.push_back(reports::speed_of_crowd(result, 1));
            pace = pace_of(found_.depths.back());
        }
    }

    /// Returns whether all answers were too short, because the server ends them when the model does. They may
    /// end from then on, and the same load must be measured again.
    bool let_answers_end(const RunResult& result) {
        const auto short_ones = result.counts.by_outcome.find(std::string(name_of(Outcome::too_short)));
        if (!sweep_.asked.sampling.ignore_eos || short_ones == result.counts.by_outcome.end() ||
            short_ones->second < result.counts.requests)
            return false;
        sweep_.asked.sampling.ignore_eos = false;
        found_.ends_early = true;
        return true;
    }

    [[noreturn]] static void refuse(const RunResult& result) {
        const auto& examples = result.counts.example_errors;
        throw RuntimeError(fmt::format("all {} requests failed{}", result.counts.requests,
                                       examples.empty() ? "" : ": " + examples.begin()->second));
    }

    void measure_crowds() {
        const Cell& cell = sweep_.cells.front();
        while (const auto people = next_people(found_.crowds, kMostPeople)) {
            // Twice as many people wait at most about twice as long.
            const double each_s = 2 * longest_answer_s(found_.crowds);
            const std::uint64_t rounds = requests_within(each_s, left_s_, kRounds);
            if (rounds == 0) {
                found_.out_of_time = true;
                return;
            }
            const RunResult result = measure_at(cell, *people, rounds * *people);
            if (result.counts.ok > 0) add_doubts(result, found_);
            found_.crowds.push_back(reports::speed_of_crowd(result, *people));
            std::ranges::sort(found_.crowds, {}, &SpeedOfCrowd::people);
        }
    }

    static double longest_answer_s(const std::vector<SpeedOfCrowd>& crowds) {
        double longest = 0;
        for (const SpeedOfCrowd& crowd : crowds) longest = std::max(longest, crowd.answer_s.value_or(0));
        return longest;
    }

    RunResult measure_at(const Cell& cell, std::uint64_t people, std::uint64_t requests) {
        const reports::SweepPoint point = pending_point(Axis::concurrency, static_cast<double>(people), cell);
        LoadPlan asked = plan_at(sweep_, point);
        asked.stop = {.requests = requests};
        session_.watcher.point_begins(
            ++runs_, 0,
            fmt::format("{} with prompts of {} tokens",
                        people == 1 ? "one person" : fmt::format("{} people", people), cell.at("isl")),
            false);
        RunResult result = measure_point(target_, asked, file_, point, directory_, session_);
        sort_points();
        if (result.partial)
            throw RuntimeError(
                fmt::format("interrupted; the runs measured so far are in {}", directory_.string()));
        if (result.counts.ok == 0) target_.require_answer();
        spend(result);
        return result;
    }

    void sort_points() {
        const auto place = [&](const reports::SweepPoint& point) {
            const auto cell = std::ranges::find(sweep_.cells, point.cell);
            return std::pair(cell - sweep_.cells.begin(), point.load);
        };
        sort_stably(file_.points, [&](const auto& a, const auto& b) { return place(a) < place(b); });
        reports::write_sweep(directory_, file_);
    }

    void spend(const RunResult& result) { left_s_ -= result.window.run_s; }

    const Target& target_;
    const FirstLookPlan& plan_;
    const fs::path& directory_;
    const Session& session_;
    SweepPlan sweep_;
    reports::SweepFile file_;
    reports::FirstLook found_;
    double left_s_ = 0;
    std::uint64_t answer_tokens_ = kPilotAnswer;
    std::size_t runs_ = 0;
};

}  // namespace

LoadPlan opening_plan(const FirstLookPlan& plan) {
    return in_cell(in_cell(plan.asked, answers_of(kPilotAnswer)), prompts_of(plan.depths.front()));
}

reports::FirstLook first_look(const Target& target, const FirstLookPlan& plan, const fs::path& directory,
                              const Session& session) {
    return Looking(target, plan, directory, session).look();
}

}  // namespace paretoken::experiments
