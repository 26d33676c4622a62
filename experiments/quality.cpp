#include "experiments/quality.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "core/error.h"
#include "datasets/questions.h"
#include "experiments/server/load.h"
#include "experiments/server/redaction.h"
#include "experiments/server/target.h"
#include "loadgen/interruption.h"
#include "loadgen/progress.h"
#include "reports/files/file_io.h"
#include "reports/files/probe_file.h"

namespace paretoken::experiments {
namespace {

/// Judges each answer when it arrives.
class Examiner final : public RecordSink {
  public:
    explicit Examiner(const datasets::Questions& questions) : questions_(questions) {
        for (const datasets::Expectation& expected : questions.expected)
            answers_.push_back({.question = answers_.size(),
                                .failed = true,
                                .expected = fmt::format("{} {}", name_of(expected.kind), expected.text),
                                .answer = "no answer"});
    }

    void record(RequestRecord&& record) override {
        const std::scoped_lock lock(mutex_);
        if (record.warmup || record.index >= answers_.size()) return;
        reports::ProbeAnswer& answer = answers_[record.index];
        const bool came = record.outcome == Outcome::ok;
        if (!came && failure_.empty()) failure_ = record.error;
        answer.answer = came ? std::move(record.answer) : record.error;
        answer.failed = !came;
        answer.right = came && is_met(questions_.expected[record.index], answer.answer);
    }

    std::vector<reports::ProbeAnswer> answers() && { return std::move(answers_); }
    /// Returns the error of the first request that failed; empty if none did.
    const std::string& failure() const { return failure_; }

  private:
    const datasets::Questions& questions_;
    std::mutex mutex_;
    std::vector<reports::ProbeAnswer> answers_;
    std::string failure_;
};

/// Returns the run's plan without the options that would change the answers.
LoadPlan plan_of_probe(const LoadPlan& asked, const datasets::Questions& questions) {
    constexpr std::uint64_t kInFlight = 8;
    LoadPlan plan = asked;
    const std::uint64_t slots = asked.classes.front().concurrency.value_or(kInFlight);
    plan.classes = {RequestClass{.dataset = questions.dataset,
                                 .dataset_path = questions.path,
                                 .concurrency = std::min<std::uint64_t>(slots, questions.expected.size())}};
    plan.class_specs.clear();
    plan.stop = {.requests = questions.expected.size()};
    plan.warmups = 0;
    plan.warmup_duration.reset();
    plan.prompt_form = "text";
    plan.salt_prompts = false;
    plan.text.clear();  // the questions are the prompts
    plan.text_content.clear();
    plan.keep_answers = true;
    plan.scrape = {"none"};
    plan.sampling.ignore_eos = false;
    plan.sampling.temperature = 0;
    return plan;
}

}  // namespace

Load load_of_probe(const Target& target, const LoadPlan& asked) {
    const datasets::Questions questions = datasets::questions_of(asked.probe);
    Load load = target.load_for(plan_of_probe(asked, questions));
    loadgen::WorkerOptions& worker = load.options.worker;
    worker.client.body.ignore_eos = worker.client.ignore_eos_accepted = false;
    worker.client.body.temperature = 0;
    worker.client.body.return_token_ids = false;
    return load;
}

std::optional<Quality> quality_of(const Target& target, const LoadPlan& asked,
                                  const loadgen::Interruption& interruption) {
    const datasets::Questions questions = datasets::questions_of(asked.probe);
    Load load = load_of_probe(target, asked);
    target.get_ready(load);
    Examiner examiner(questions);
    RedactingSink sink(examiner, target.secrets());
    loadgen::Progress progress;
    if (target.make(load, sink, progress, interruption).interrupted) return std::nullopt;
    Quality quality{.outcome = {.probe = questions.name,
                                .asked = questions.expected.size(),
                                .failure = examiner.failure()},
                    .answers = std::move(examiner).answers()};
    for (const reports::ProbeAnswer& answer : quality.answers) {
        quality.outcome.answered += answer.failed ? 0 : 1;
        quality.outcome.right += answer.right ? 1 : 0;
    }
    return quality;
}

ProbeOutcome kept_outcome(const Quality& quality, const std::filesystem::path& directory,
                          std::string& failure) {
    try {
        reports::write_probe_file(directory / reports::kProbeFileName, quality.answers);
    } catch (const RuntimeError& error) {
        failure = error.what();
    }
    return quality.outcome;
}

}  // namespace paretoken::experiments
