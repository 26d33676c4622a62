#include "reports/analysis/model/join/joined.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "cards/model.h"
#include "core/result/result.h"
#include "core/stable_sort.h"
#include "core/text/letter_case.h"
#include "core/text/model_name.h"
#include "core/validity/validity.h"
#include "reports/analysis/model/choice.h"
#include "reports/analysis/model/join/figures_of_run.h"
#include "reports/analysis/model/join/gaps.h"
#include "reports/analysis/model/join/run_limits.h"
#include "reports/analysis/model/loaded_run.h"
#include "reports/analysis/model/utilisation.h"
#include "reports/document/table.h"

namespace paretoken::reports {

namespace {

ReportPoint point_of(LoadedRun run) {
    ReportPoint point;
    point.directory = std::move(run.directory);
    point.result = std::move(run.result);
    point.load_label = load_label_of(point.result);
    point.load = load_of(point.result);
    point.open_loop = point.result.open_loop();
    point.reached = point.open_loop || point.load <= static_cast<double>(requests_sent(point.result));
    point.output_tokens_per_s = positive(point.result.throughput.at(figure::kOutputTokens));
    if (const auto* held = percentile_of(point.result, "interactivity_tok_per_s", kCertifiedPercentile)) {
        point.interactivity = positive(held->value);
        point.certified = point.interactivity && held->certified;
    }
    return point;
}

/// Gives the second and every further run of a load a name of its own.
void name_repeats(std::vector<ReportPoint>& points) {
    std::map<std::string, std::size_t> seen;
    for (ReportPoint& point : points)
        if (const std::size_t number = ++seen[point.load_label]; number > 1)
            point.load_label += fmt::format(", run {}", number);
}

/// Whether `a` measured their common load better: with many more requests, or as many but certified.
bool is_better_run(const ReportPoint& a, const ReportPoint& b) {
    if (a.open_loop != b.open_loop || a.load != b.load) return false;
    constexpr double kLonger = 1.5;
    const auto a_ok = static_cast<double>(a.result.counts.ok);
    const auto b_ok = static_cast<double>(b.result.counts.ok);
    if (a_ok >= kLonger * b_ok || b_ok >= kLonger * a_ok) return a_ok > b_ok;
    return a.certified && !b.certified;
}

/// Stores in each run of a repeated load the usable run that measured it best. A short run that had luck then
/// does not stand for a load that a longer run measured.
void find_better_runs(std::vector<ReportPoint>& points) {
    for (ReportPoint& point : points) {
        const ReportPoint* best = &point;
        for (const ReportPoint& other : points)
            if (is_better_run(other, *best) && unfit_because(other, {}).empty()) best = &other;
        if (best != &point) point.better_run = best->load_label;
    }
}

std::string model_title(const Served& served, const RunResult& result, const cards::ModelCard* known) {
    const std::string asked = result.provenance.model;
    if (served.simulated || known == nullptr) return asked.empty() ? "unnamed model" : shown_model(asked);
    const cards::ModelCard& card = *known;
    if (lower_case(card.name).find(card.weight_dtype) != std::string::npos) return card.name;
    return card.name + " " + card.weight_dtype;
}

/// The mean of a length over the requests of each run: "512", or "892 to 3,600" if it differs by more than a
/// tenth between runs, as where the classes of requests have other shares at another load.
std::string range_of(const std::vector<ReportPoint>& points, double Lengths::*member) {
    constexpr double kAlike = 1.1;
    double least = kInfinity;
    double most = 0;
    for (const ReportPoint& point : points) {
        const double length = lengths_of(point.result).*member;
        least = std::min(least, length);
        most = std::max(most, length);
    }
    if (most <= kAlike * least) return tokens_text(lengths_of(points.front().result).*member);
    return fmt::format("{} to {}", tokens_text(least), tokens_text(most));
}

/// "72 % of input cached", or the range over the runs.
std::string cached_text(const std::vector<ReportPoint>& points) {
    double least = 1;
    double most = 0;
    for (const ReportPoint& point : points) {
        const auto share = cached_share(point.result);
        if (!share) return "cache hits not reported";
        least = std::min(least, *share);
        most = std::max(most, *share);
    }
    const auto low = fmt::format("{:.0f}", least * 100);
    const auto high = fmt::format("{:.0f}", most * 100);
    return fmt::format("{} % of input cached", low == high ? low : low + " to " + high);
}

/// The workload in words, "512 in : 128 out, chat, 40 % of input cached"; prices per million depend on it.
std::string workload_title(const std::vector<ReportPoint>& points) {
    const RunResult& first = points.front().result;
    std::string text =
        fmt::format("{} in : {} out", range_of(points, &Lengths::input), range_of(points, &Lengths::output));
    if (!first.workload.endpoint.empty()) text += ", " + first.workload.endpoint;
    text += ", " + cached_text(points);
    if (const std::string& other = first.provenance.measured_by; !other.empty())
        text += ", measured by " + other;
    return text;
}

std::vector<Totals> works_of(const std::vector<ReportPoint>& points) {
    std::vector<Totals> works;
    for (const ReportPoint& point : points) works.push_back(work_of(point.result));
    return works;
}

/// The batch at which a curve ends when no cap is known: at least twice the largest measured batch.
double curve_end(const std::vector<ReportPoint>& points) {
    constexpr double kLeast = 16;
    double most = kLeast;
    for (const ReportPoint& point : points) most = std::max(most, 2 * batch_of(point.result).value_or(0));
    return std::exp2(std::ceil(std::log2(most)));
}

std::vector<std::string> beaten_limits(const Configuration& configuration) {
    std::vector<std::string> errors;
    for (const ReportPoint& point : configuration.points) {
        const double tolerance = point.limit_tolerance.value_or(0);
        constexpr double kRelativeRounding = 1e-6;
        if (!point.of_limit || *point.of_limit <= 1 + tolerance + kRelativeRounding ||
            point.result.validity.verdict == Verdict::invalid)
            continue;
        const std::string allowed =
            tolerance > 0 ? fmt::format(" (the window's edges explain {} %)", significant(tolerance * 100))
                          : "";
        errors.push_back(fmt::format(
            "{}: measured {} output tok/s, {} % of the hardware limit{}. No run can be faster than the "
            "limit: the model card ({}), the token counts, the cache hits or the bandwidth it was computed "
            "from are wrong.",
            point.load_label, significant(point.output_tokens_per_s), significant(*point.of_limit * 100),
            allowed, configuration.limit_terms.empty() ? "" : configuration.limit_terms.front().source));
    }
    return errors;
}

/// Adds the largest tolerance of the points to the terms of the limit.
void add_tolerance(Configuration& configuration) {
    std::optional<double> largest;
    for (const ReportPoint& point : configuration.points)
        if (point.limit_tolerance && point.of_limit)
            largest = std::max(largest.value_or(0), *point.limit_tolerance);
    if (largest)
        configuration.limit_terms.push_back({"tolerance for the edges of a window, at most", *largest * 100,
                                             "%",
                                             "mean requests in flight ÷ prompts answered in the window"});
}

void add_limit(Configuration& configuration, const LimitInputs& inputs,
               const std::optional<AppliedPrice>& price) {
    const std::vector<Totals> works = works_of(configuration.points);
    const double end = curve_end(configuration.points);
    configuration.hard_limit = limit_curve(inputs, LimitKind::hard, works, end);
    configuration.no_overlap = limit_curve(inputs, LimitKind::no_overlap, works, end);
    configuration.size_aware = limit_curve(inputs, LimitKind::size_aware, works, end);
    configuration.reachable = limit_curve(inputs, LimitKind::reachable, works, end);
    for (auto* curve : {&configuration.hard_limit, &configuration.size_aware, &configuration.no_overlap,
                        &configuration.reachable})
        price_curve(*curve, price);
    configuration.limit_terms = inputs.terms;
    configuration.dropped_terms = inputs.dropped;
    for (ReportPoint& point : configuration.points) hold_against_limit(point, inputs);
    add_tolerance(configuration);
    configuration.errors = beaten_limits(configuration);
}

}  // namespace

AnswerInputs answer_inputs(const Configuration& configuration, const LimitInputs& inputs,
                           const std::optional<AppliedPrice>& price) {
    const ReportPoint* point = answer_point(configuration);
    if (point == nullptr) return {};
    const Totals work = work_of(point->result);
    const auto at_this_speed = [&](const LimitInputs& with) {
        auto limit = limit_at_interactivity(with, LimitKind::hard, work, *point->interactivity,
                                            curve_end(configuration.points));
        if (limit && price)
            limit->usd_per_m_output = usd_per_m_output(price->least_usd_per_s, limit->output_tokens_per_s);
        return limit;
    };
    AnswerInputs answer;
    answer.floor = at_this_speed(inputs);
    LimitInputs uncapped = inputs;
    uncapped.max_sequences.reset();
    answer.most_in_memory = batch_cap(uncapped, work);
    if (!answer.most_in_memory) answer.most_computed = curve_end(configuration.points);
    if (!answer.floor || answer.floor->batch != inputs.max_sequences) return answer;
    answer.without_slots = at_this_speed(uncapped);
    if (answer.without_slots && answer.without_slots->batch < answer.floor->batch + 1)
        answer.without_slots.reset();
    return answer;
}

namespace {

/// The name of the model without its number formats, which all runs of one model share.
std::string served_model(const Provenance& provenance, const cards::ModelCard* model) {
    if (model != nullptr) return model->name;
    return provenance.model_card ? provenance.model_card->name : provenance.model;
}

/// The basis and date of a price. Fronts compare dollars only if both are equal; the card's name does not
/// matter.
std::string basis_of(const std::optional<AppliedPrice>& price) {
    return price ? fmt::format("{}, {}", price->rate.basis, price->card->as_of) : "";
}

/// The card that the limit is computed from, as a user would name it. A simulated server uses a card that is
/// shipped.
std::string card_spec_of(const LoadedRun& run, const JoinOptions& options) {
    if (const cards::ModelCard* selected = selected_card(run, options.models); selected != nullptr)
        for (const CardChoice& choice : options.models)
            if (&choice.card == selected) return parse_card_spec(choice.text).card;
    const auto& note = run.result.provenance.model_card;
    if (!note) return {};
    if (!note->spec.empty()) return options.known_models.contains(note->hash) ? note->spec : "";
    return fmt::format("{}:weights={},kv={}", note->name, note->weights, note->kv);
}

}  // namespace

Joined joined(RunGroup group, const JoinOptions& options) {
    Joined out;
    Configuration& configuration = out.configuration;
    const cards::ModelCard* model = model_of(group.runs, options);
    if (!options.what_ifs.empty()) out.card_spec = card_spec_of(group.runs.front(), options);
    configuration.labels = std::move(group.labels);
    for (const LoadedRun& run : group.runs)
        if (!configuration.quality) configuration.quality = quality_of(run, options.quality);
    configuration.precision = precision_of(group.runs.front(), model);
    for (LoadedRun& run : group.runs) configuration.points.push_back(point_of(std::move(run)));
    sort_stably(configuration.points, [](const ReportPoint& a, const ReportPoint& b) {
        return a.open_loop != b.open_loop ? b.open_loop : a.load < b.load;
    });
    name_repeats(configuration.points);
    find_better_runs(configuration.points);
    const RunResult& first = configuration.points.front().result;
    const Served served = served_by(first, options);
    configuration.hardware = hardware_title(served, first.provenance);
    configuration.model = model_title(served, first, model);
    configuration.title = fmt::format("{} on {}", configuration.model, configuration.hardware);
    if (const std::string labels = text_of(configuration.labels, configuration.title); !labels.empty())
        configuration.title += ", " + labels;
    configuration.workload = workload_title(configuration.points);
    configuration.served = served_model(first.provenance, served.simulated ? nullptr : model);

    out.price = applied_price(served, options);
    if (!out.price) configuration.missing.push_back(why_no_price(served, options));
    configuration.price_basis = basis_of(out.price);
    out.limit = limit_of(served, first, model, configuration.missing);
    mention_other_micro(served, options, configuration.missing);
    if (out.limit) out.micro = served.micro;
    if (out.limit && !served.micro.empty() && served.datasheet)
        out.datasheet = limit_inputs(
            *model, hardware_of_datasheet(*served.datasheet, served.priced ? served.priced->count : 1,
                                          model->weight_dtype));
    for (auto* inputs : {&out.limit, &out.datasheet})
        if (*inputs && !served.simulated) cap_at_slots(**inputs, configuration.points);
    for (ReportPoint& point : configuration.points) {
        if (!out.price) break;
        const AppliedPrice during = price_during(*out.price, point.result);
        out.price->least_usd_per_s = std::min(out.price->least_usd_per_s, during.usd_per_s);
        if (!lacks_requests(point.result)) point.cost = cost_of(point.result, during);
        if (point.result.reported)
            if (const auto rate = positive(point.result.reported->at("output_tokens_per_s")))
                point.reported_usd_per_m_output = usd_per_m_output(during.usd_per_s, *rate);
    }
    if (out.limit) add_limit(configuration, *out.limit, out.price);
    if (out.limit)
        add_gaps(configuration, gap_inputs_of(*out.limit, out.datasheet, first.provenance), served, model);
    if (out.limit)
        for (ReportPoint& point : configuration.points)
            point.utilisation =
                utilisation_of(gap_run_of(point), out.datasheet ? *out.datasheet : *out.limit);
    if (out.datasheet) {
        configuration.datasheet = limit_curve(*out.datasheet, LimitKind::hard, works_of(configuration.points),
                                              curve_end(configuration.points));
        price_curve(configuration.datasheet, out.price);
    }
    out.served = served;
    return out;
}

}  // namespace paretoken::reports
