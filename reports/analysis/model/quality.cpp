#include "reports/analysis/model/quality.h"

#include <fmt/format.h>

#include <algorithm>

#include "cards/json_value.h"
#include "core/error.h"
#include "core/statistics.h"
#include "reports/analysis/model/labels.h"
#include "reports/document/table.h"

namespace paretoken::reports {
namespace {

using cards::JsonCursor;

double share_in(const JsonCursor& value) {
    if (!value.is_number() || value.number() < 0 || value.number() > 1)
        value.complain("a share of right answers from 0 to 1");
    return value.number();
}

QualityScore score_in(const JsonCursor& value, const std::string& where) {
    value.expect_only({"label", "score", "n"});
    const JsonCursor label = value.at("label", "the label of the runs, as \"precision=q8_0\"");
    QualityScore score{.selector = parse_card_spec(label.string() + ":-").selector,
                       .score = share_in(value.at("score", "a share of right answers from 0 to 1")),
                       .n = value.at("n", "how many answers were scored").positive(),
                       .source = where};
    if (score.selector.empty()) label.complain("LABEL=VALUE, as \"precision=q8_0\"");
    return score;
}

/// The score of one task by the first known metric that it has.
std::optional<double> score_of_task(const JsonCursor& task) {
    for (const char* metric : {"acc,none", "exact_match,strict-match", "exact_match,none", "acc_norm,none"})
        if (const auto found = task.find(metric)) return share_in(*found);
    return {};
}

/// The mean score of all tasks in a result of lm-evaluation-harness, weighted by their numbers of samples.
QualityScore harness_score(const JsonCursor& root, const std::string& where, const Labels& selector) {
    if (selector.empty())
        throw UsageError(fmt::format(
            "--quality {}: a result of lm-evaluation-harness does not say which runs it is for; write "
            "LABEL=VALUE:{}",
            where, where));
    const JsonCursor samples = root.at("n-samples", "how many answers each task scored");
    double right = 0;
    double all = 0;
    for (const auto& [name, task] : root.at("results", "scores by task").members()) {
        const auto score = score_of_task(task);
        if (!score) continue;
        const JsonCursor of = samples.at(name, "how many answers the task scored");
        const double n = of.at("effective", "how many answers were scored").positive();
        right += *score * n;
        all += n;
    }
    if (!(all > 0)) root.complain("a task with acc or exact_match");
    return {selector, right / all, all, where};
}

bool is_for(const Labels& labels, const Labels& selector) {
    return std::ranges::all_of(selector, [&](const auto& wanted) {
        const auto found = labels.find(wanted.first);
        return found != labels.end() && found->second == wanted.second;
    });
}

}  // namespace

std::vector<QualityScore> parse_quality(std::string_view json, const std::string& where,
                                        const Labels& selector) {
    const cards::JsonValue value = cards::parse_json_value(json, where);
    const JsonCursor root(value, where);
    if (root.is_object()) return {harness_score(root, where, selector)};
    if (!selector.empty())
        throw UsageError(fmt::format(
            "--quality {}: its scores have labels of their own; leave the label before the file out", where));
    std::vector<QualityScore> scores;
    for (const JsonCursor& element : root.elements()) scores.push_back(score_in(element, where));
    if (scores.empty()) root.complain("at least one score");
    return scores;
}

std::optional<Quality> quality_of(const LoadedRun& run, const std::vector<QualityScore>& scores) {
    const Labels labels = labels_of(run);
    const QualityScore* found = nullptr;
    for (const QualityScore& score : scores) {
        if (!is_for(labels, score.selector)) continue;
        if (found != nullptr)
            throw UsageError(
                fmt::format("--quality: the scores of {} in {} and of {} in {} are both for the run in {}",
                            text_of(found->selector), found->source, text_of(score.selector), score.source,
                            run.directory));
        found = &score;
    }
    if (found != nullptr)
        return Quality{found->score, found->n, wilson_interval(found->score, found->n), found->source};
    if (!run.result.quality) return {};
    const ProbeScore& own = *run.result.quality;
    return Quality{own.score, static_cast<double>(own.n), own.ci95, run.directory, own.probe};
}

bool are_comparable(const std::optional<Quality>& a, const std::optional<Quality>& b) {
    return a && b && a->probe == b->probe;
}

bool is_certainly_worse(const std::optional<Quality>& a, const std::optional<Quality>& b) {
    return are_comparable(a, b) && a->ci95.high < b->ci95.low;
}

std::string right_text(const Quality& quality) {
    return significant(quality.score * 100) + " % right";
}

std::string quality_text(const Quality& quality, const std::string& worse_than) {
    return fmt::format(
        "{} % of its {} answers are right (95 % interval {} to {} %).{}", significant(quality.score * 100),
        tokens_text(quality.n), significant(quality.ci95.low * 100), significant(quality.ci95.high * 100),
        worse_than.empty() ? "" : fmt::format(" They are certainly worse than those of {}.", worse_than));
}

void refuse_unmatched(const std::vector<LoadedRun>& runs, const std::vector<QualityScore>& scores) {
    for (const QualityScore& score : scores) {
        const bool found = std::ranges::any_of(
            runs, [&](const LoadedRun& run) { return is_for(labels_of(run), score.selector); });
        if (!found && !runs.empty())
            throw UsageError(fmt::format("--quality {}: no run has {}; the labels are {}", score.source,
                                         text_of(score.selector), known_labels(runs)));
    }
}

std::string precision_of(const LoadedRun& run, const cards::ModelCard* card) {
    Labels labels = labels_of(run);
    if (card != nullptr) {
        labels["weights"] = card->weight_dtype;
        labels["kv"] = card->kv_dtype;
    }
    std::erase_if(labels, [](const auto& label) {
        return label.first != "weights" && label.first != "kv" && label.first != "precision" &&
               label.first != "quantization";
    });
    return text_of(labels);
}

}  // namespace paretoken::reports
