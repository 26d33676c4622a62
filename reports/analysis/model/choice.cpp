#include "reports/analysis/model/choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>
#include <tuple>

#include "core/plan/plan_arguments.h"
#include "core/result/metric_summary.h"
#include "core/result/metrics.h"
#include "core/result/overload.h"
#include "core/spec.h"
#include "core/stable_sort.h"
#include "reports/analysis/model/quality.h"
#include "reports/analysis/sweep/longer_run.h"
#include "reports/analysis/sweep/sweep.h"
#include "reports/document/table.h"

namespace paretoken::reports {
namespace {

std::string named_reasons(const Validity& validity) {
    std::vector<std::string> names;
    for (const Reason& reason : validity.reasons)
        if (reason.severity == Verdict::invalid) names.push_back(reason.check);
    return fmt::format("{}", fmt::join(names, ", "));
}

/// A value of the metric with this tag: "48.9 ms" for a time.
std::string value_text(const std::string& tag, double value) {
    const Metric* const metric = metric_named(tag);
    const bool is_time = metric != nullptr && metric->unit.starts_with("s");
    return is_time ? significant(value * 1e3) + " ms" : significant(value);
}

/// The value of a limit's metric and the limit: "ttft_p95 48.1 ms of 800 ms"
std::string margin_of(const ReportPoint& point, const Slo& slo) {
    const SloFinding found = finding_on(point.result, slo);
    if (metric_named(slo.tag) == nullptr || !found.value) return name_of(slo) + " –";
    return fmt::format("{} {} of {}", name_of(slo), value_text(slo.tag, *found.value),
                       value_text(slo.tag, slo.limit));
}

/// A value of the plan that is a whole number; nothing if it is not given or another text.
std::optional<std::uint64_t> whole_number(const PlanEcho& plan, const char* key) {
    const auto found = plan.find(key);
    std::uint64_t value = 0;
    if (found == plan.end()) return std::nullopt;
    const char* const end = found->second.data() + found->second.size();
    const auto read = std::from_chars(found->second.data(), end, value);
    return read.ec == std::errc() && read.ptr == end ? std::optional(value) : std::nullopt;
}

/// The command that measures a run again, with sentences on what it does.
struct Again {
    std::string command;
    std::string note;
};

/// Multiplies the number of requests or the duration in a plan. Returns whether it has one of them.
bool lengthen(PlanEcho& plan, double times) {
    if (const auto requests = whole_number(plan, "num_prompts")) {
        plan["num_prompts"] = fmt::format("{:.0f}", std::ceil(times * static_cast<double>(*requests)));
        return true;
    }
    const auto duration = plan.find("duration");
    if (duration == plan.end() || duration->second.empty()) return false;
    duration->second =
        paretoken::text_of(from_seconds(std::ceil(times * seconds(parse_duration(duration->second)))));
    return true;
}

/// Makes the limits of a plan those of the report, which the run must be shown to meet.
void set_limits(PlanEcho& plan, const std::vector<std::string>& slos) {
    plan["slo"] = fmt::format("{}", fmt::join(slos, ", "));
    plan["require"] = name_of(SloVerdict::met);
    const auto rules = plan.find("stop");
    if (rules == plan.end()) return;
    std::vector<std::string> others;  // a rule "slo:…" ends a run that misses one of its own limits
    for (const auto& [name, texts] : texts_of(PlanEcho{*rules}))
        if (name == "stop")
            std::ranges::copy_if(texts, std::back_inserter(others),
                                 [](const std::string& rule) { return !rule.starts_with("slo:"); });
    rules->second = fmt::format("{}", fmt::join(others, ", "));
}

/// Measures a run again with a seed that no run of the configuration has, the limits of the report, and as
/// many requests as may decide them. Request classes have options that no command line takes, so for a run
/// with classes it is the command that was given.
Again run_again(const RunResult& result, const Configuration& configuration, const std::vector<Slo>& slos,
                const std::vector<std::string>& slo_texts) {
    const bool has_classes = std::ranges::any_of(
        result.plan, [](const auto& field) { return field.first.find('.') != std::string::npos; });
    if (has_classes || !result.plan.contains("url"))
        return {result.provenance.command,
                "This is the command of the run, with its own prompts and limits."};
    std::vector<std::string> argv{"paretoken", "run"};
    PlanEcho plan = result.plan;
    std::uint64_t seed = 0;
    for (const ReportPoint& point : configuration.points)
        seed = std::max(seed, whole_number(point.result.plan, "seed").value_or(0));
    plan["seed"] = fmt::format("{}", seed + 1);
    Again again{.command = {}, .note = "This command uses new prompts."};
    const bool can_have_limits = std::ranges::all_of(slos, [](const Slo& slo) {
        return std::ranges::find(kPercentiles, slo.p.value_or(kSloPercentile)) != std::end(kPercentiles);
    });
    if (!can_have_limits)
        again.note += " It leaves out the limits, because a run has none on such percentiles.";
    if (!slos.empty() && can_have_limits) {
        set_limits(plan, slo_texts);
        const auto times = times_to_offer(result, slo_results(result, slos));
        if (!times)
            again.note +=
                " The run found no steady state. This one may not find one either, and then does not show "
                "that the limits are met.";
        else if (*times * result.window.run_s > kLongestOfferedS)
            again.note += fmt::format(
                " It is as long as the run was, which is too short to show that the limits are met. A "
                "run that may show it would take about {}.",
                span_text(*times * result.window.run_s));
        else if (*times > 1)
            again.note +=
                lengthen(plan, *times)
                    ? fmt::format(
                          " It has {} times as many requests, which may show that the limits are met.",
                          significant(*times, 2))
                    : " It is as long as the run was, which was too short to show that the limits are met.";
    }
    for (std::string& argument : arguments_of(plan)) argv.push_back(std::move(argument));
    for (const auto& [key, value] : result.provenance.metadata)
        argv.insert(argv.end(), {"--metadata", fmt::format("{}={}", key, value)});
    again.command = shell_line(argv);
    return again;
}

/// Whether a run costs less in the figures that a reader sees, which are rounded.
bool is_seen_cheaper(const ReportPoint& a, const ReportPoint& b) {
    if (!(cost_of(a) < cost_of(b))) return false;
    if (a.cost && b.cost) return dollars(a.cost->usd_per_m_output) != dollars(b.cost->usd_per_m_output);
    return significant(a.output_tokens_per_s) != significant(b.output_tokens_per_s);
}

/// "c=64 at $0.161"
std::string load_and_cost(const ReportPoint& point) {
    return point.load_label + (point.cost ? " at $" + dollars(point.cost->usd_per_m_output) : std::string());
}

std::string within_text(const ReportPoint& point) {
    return fmt::format("{} is {} and was measured within the limits, which is not shown at 99 %",
                       load_and_cost(point), point.cost ? "cheaper" : "faster");
}

std::string missed_text(const ReportPoint& point, const std::vector<Slo>& slos) {
    return load_and_cost(point) + ": " + missed_slo(point, slos);
}

/// Returns the limit that the smallest load misses; empty if it misses none. No larger load will meet it.
std::string missed_by_smallest(const Configuration& configuration, const std::vector<Slo>& slos) {
    const ReportPoint* smallest = nullptr;
    for (const ReportPoint& point : configuration.points)
        if (unfit_because(point, {}).empty() && (smallest == nullptr || point.load < smallest->load))
            smallest = &point;
    if (smallest == nullptr || verdict_on_all(*smallest, slos) != SloVerdict::missed) return {};
    for (const Slo& slo : slos)
        if (finding_on(smallest->result, slo).verdict == SloVerdict::missed)
            return fmt::format("{}, even at the smallest load, {}", margin_of(*smallest, slo),
                               smallest->load_label);
    return {};
}

Choice choice_of(const Configuration& configuration, std::size_t index, const std::vector<Slo>& slos,
                 const std::vector<std::string>& slo_texts) {
    Choice choice{.configuration = index};
    const ReportPoint* const shown = cheapest_fitting(configuration, true);
    const ReportPoint* const within = cheapest_fitting(configuration, false);
    const ReportPoint* nearest = nullptr;  // the cheapest point that does not fit
    for (const ReportPoint& point : configuration.points)
        if (!point.fits && point.output_tokens_per_s && point.better_run.empty() &&
            (nearest == nullptr || cost_of(point) < cost_of(*nearest)))
            nearest = &point;
    const ReportPoint* const best = shown != nullptr ? shown : within;
    if (best == nullptr) {
        choice.why_not = why_none_fits(configuration, slos);
        return choice;
    }
    choice.shown = shown != nullptr;
    if (shown != nullptr && within != nullptr && is_seen_cheaper(*within, *shown))
        choice.within = within_text(*within);
    if (nearest != nullptr && is_seen_cheaper(*nearest, *best) && unfit_because(*nearest, {}).empty())
        choice.missed = missed_text(*nearest, slos);
    choice.load_label = best->load_label;
    if (best->cost) choice.usd_per_m_output = best->cost->usd_per_m_output;
    choice.output_tokens_per_s = best->output_tokens_per_s;
    choice.interactivity = best->interactivity;
    for (const Slo& slo : slos) choice.margins.push_back(margin_of(*best, slo));
    if (std::string served = served_text(best->result); !served.empty())
        choice.margins.push_back(std::move(served));
    if (!choice.shown) choice.margins.emplace_back("within the limits, not shown at 99 %");
    if (!best->missed_own_slo.empty()) choice.margins.push_back(best->missed_own_slo);
    Again again =
        run_again(choice.within.empty() ? best->result : within->result, configuration, slos, slo_texts);
    choice.command = std::move(again.command);
    choice.command_note = std::move(again.note);
    return choice;
}

}  // namespace

std::string why_none_fits(const Configuration& configuration, const std::vector<Slo>& slos) {
    if (std::string missed = missed_by_smallest(configuration, slos); !missed.empty()) return missed;
    const ReportPoint* cheapest = nullptr;
    for (const ReportPoint& point : configuration.points)
        if (!unfit_because(point, slos).empty() &&
            (cheapest == nullptr || cost_of(point) < cost_of(*cheapest)))
            cheapest = &point;
    if (cheapest == nullptr) return "no run with output tokens";
    return fmt::format("{}: {}", cheapest->load_label, unfit_because(*cheapest, slos));
}

SloVerdict verdict_on_all(const ReportPoint& point, const std::vector<Slo>& slos) {
    SloVerdict all = SloVerdict::met;
    for (const Slo& slo : slos) all = worst_of(all, finding_on(point.result, slo).verdict);
    return all;
}

double cost_of(const ReportPoint& point) {
    if (point.cost) return point.cost->usd_per_m_output;
    return point.output_tokens_per_s ? 1 / *point.output_tokens_per_s
                                     : std::numeric_limits<double>::infinity();
}

const ReportPoint* cheapest_fitting(const Configuration& configuration, bool shown) {
    constexpr double kSame = 1.03;
    std::vector<const ReportPoint*> fitting;
    for (const ReportPoint& point : configuration.points)
        if (point.fits && shown == (point.limits.value_or(SloVerdict::met) == SloVerdict::met))
            fitting.push_back(&point);
    if (fitting.empty()) return nullptr;
    const double least = cost_of(
        **std::ranges::min_element(fitting, {}, [](const ReportPoint* point) { return cost_of(*point); }));
    std::erase_if(fitting, [&](const ReportPoint* point) { return cost_of(*point) > kSame * least; });
    return *std::ranges::max_element(
        fitting, {}, [](const ReportPoint* point) { return point->interactivity.value_or(0); });
}

std::uint64_t requests_sent(const RunResult& result) {
    return result.counts.requests + result.counts.cancelled + result.counts.warmup;
}

std::string missed_slo(const ReportPoint& point, const std::vector<Slo>& slos) {
    std::string first;
    for (const Slo& slo : slos) {
        const SloFinding found = finding_on(point.result, slo);
        const MetricSummary* summary = point.result.metric(headline_key(slo.tag, point.open_loop));
        std::string why;
        if (summary == nullptr || summary->n == 0)
            why = fmt::format("{} was not measured", slo.tag);
        else if (found.verdict == SloVerdict::missed)
            return found.value
                       ? fmt::format("misses the SLO: {} is {}, the limit {}", name_of(slo),
                                     value_text(slo.tag, *found.value), value_text(slo.tag, slo.limit))
                       : fmt::format("misses the SLO: {} falls among failures", name_of(slo));
        else if (!found.value)
            why = fmt::format("{} has no value", name_of(slo));
        else if (found.verdict == SloVerdict::insufficient)
            why = fmt::format("too few requests to tell anything about the SLO on {}", name_of(slo));
        if (first.empty()) first = std::move(why);
    }
    return first;
}

std::string unfit_because(const ReportPoint& point, const std::vector<Slo>& slos) {
    if (point.result.validity.verdict == Verdict::invalid) {
        const std::string names = named_reasons(point.result.validity);
        const std::string failures = failures_text(point.result.counts);
        return fmt::format("invalid{}{}{}{}", names.empty() ? "" : ": ", names, failures.empty() ? "" : "; ",
                           failures);
    }
    if (point.result.reported)
        return fmt::format("only figures as {} defines them are known", point.result.reported->by);
    if (!point.reached)
        return fmt::format("{} requests were never that many in flight", requests_sent(point.result));
    if (!point.output_tokens_per_s) return "no output tokens in the window";
    if (!kept_up(point.result)) return overload_text(point.result);
    if (!point.interactivity) return "no tokens/s per user: p90 falls among failures or was not measured";
    if (!point.better_run.empty()) return point.better_run + " measured this load better";
    return missed_slo(point, slos);
}

std::string missed_own_slo(const RunResult& result, const std::vector<Slo>& slos) {
    const auto planned = result.plan.find("slo");
    if (planned == result.plan.end() || result.slo.empty()) return {};
    std::vector<std::string> missed;
    for (const std::string& text : slo_texts_in(planned->second)) {
        const std::string name = name_of(parse_slo(text));
        const auto is_missed = [&](const SloResult& own) {
            return own.key == name && own.verdict == SloVerdict::missed;
        };
        const auto is_on_it = [&](const Slo& slo) { return name_of(slo) == name; };
        if (std::ranges::any_of(result.slo, is_missed) && std::ranges::none_of(slos, is_on_it))
            missed.push_back(text);
    }
    return missed.empty() ? "" : fmt::format("missed its own SLO {}", fmt::join(missed, " "));
}

std::vector<std::string> common_limits(const std::vector<Configuration>& configurations,
                                       const std::string& name) {
    std::optional<std::string> common;
    for (const Configuration& configuration : configurations) {
        for (const ReportPoint& point : configuration.points) {
            const auto found = point.result.plan.find(name);
            const std::string own = found == point.result.plan.end() ? "" : found->second;
            if (common && *common != own) return {};
            common = own;
        }
    }
    return slo_texts_in(common.value_or(""));
}

ChoiceTable choices_of(const std::vector<Configuration>& configurations, const std::vector<Slo>& slos,
                       const std::vector<std::string>& texts) {
    ChoiceTable table{.slos = texts};
    for (std::size_t i = 0; i < configurations.size(); ++i)
        table.ranked.push_back(choice_of(configurations[i], i, slos, texts));
    const auto place = [](const Choice& choice) {
        const double dollars = choice.usd_per_m_output.value_or(std::numeric_limits<double>::infinity());
        return std::tuple(!choice.why_not.empty(), dollars, -choice.output_tokens_per_s.value_or(0));
    };
    sort_stably(table.ranked, [&](const Choice& a, const Choice& b) { return place(a) < place(b); });
    return table;
}

void mark_worse_answers(ChoiceTable& table, const std::vector<Configuration>& configurations) {
    for (Choice& choice : table.ranked) {
        const auto& own = configurations[choice.configuration].quality;
        const auto better = std::ranges::find_if(table.ranked, [&](const Choice& other) {
            return is_certainly_worse(own, configurations[other.configuration].quality);
        });
        if (better == table.ranked.end()) continue;
        const Configuration& other = configurations[better->configuration];
        choice.worse_than =
            fmt::format("{} ({})", other.name.empty() ? other.title : other.name, right_text(*other.quality));
    }
}

std::string worse_answers_clause(const ReportModel& model, std::size_t configuration) {
    const auto choice = std::ranges::find(model.choice.ranked, configuration, &Choice::configuration);
    const auto& own = model.configurations[configuration].quality;
    if (choice == model.choice.ranked.end() || choice->worse_than.empty() || !own) return {};
    return fmt::format(", whose answers ({}) are certainly worse than those of {}", right_text(*own),
                       choice->worse_than);
}

bool choices_differ(const ReportModel& model, std::string Configuration::*member) {
    std::set<std::string> values;
    for (const Choice& one : model.choice.ranked)
        if (one.why_not.empty()) values.insert(model.configurations[one.configuration].*member);
    return values.size() > 1;
}

}  // namespace paretoken::reports
