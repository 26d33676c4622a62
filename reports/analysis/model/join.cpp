#include "reports/analysis/model/join.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/error.h"
#include "core/run/distinct_runs.h"
#include "core/version.h"
#include "reports/analysis/cost/cost.h"
#include "reports/analysis/model/answer.h"
#include "reports/analysis/model/choice.h"
#include "reports/analysis/model/course.h"
#include "reports/analysis/model/front.h"
#include "reports/analysis/model/join/demand.h"
#include "reports/analysis/model/join/joined.h"
#include "reports/analysis/model/join/pricing.h"
#include "reports/analysis/model/join/served.h"
#include "reports/analysis/model/join/what_ifs.h"
#include "reports/analysis/model/limit.h"
#include "reports/document/table.h"

namespace paretoken::reports {
namespace {

/// Appends a text to a comma-separated list, unless the list already contains it.
void append_distinct(std::string& list, const std::string& text) {
    if (text.empty() || list == text || list.starts_with(text + ", ") || list.ends_with(", " + text) ||
        list.find(", " + text + ", ") != std::string::npos)
        return;
    list += (list.empty() ? "" : ", ") + text;
}

SourcedTerm rate_term(const std::string& name, const AppliedPrice& price) {
    const std::string how = fmt::format("{}, {}{}", price.rate.how, price.rate.basis,
                                        earning_text(cards::earning_share(*price.card)));
    return {name, price.rate.usd_per_h, "$/h", fmt::format("{} ({})", how, price.card->name)};
}

void append_distinct(std::vector<SourcedTerm>& terms, SourcedTerm term) {
    if (std::ranges::find(terms, term) == terms.end()) terms.push_back(std::move(term));
}

/// Adds one rate for all runs, or the lowest and the highest if their measured power differs.
void add_rates(PriceNote& note, const Configuration& configuration, const AppliedPrice& price) {
    append_distinct(note.card, price.card->name);
    append_distinct(note.as_of, price.card->as_of);
    append_distinct(note.source, price.card->source);
    append_distinct(note.basis, price.rate.basis);
    append_distinct(note.currency, price.card->currency);
    std::vector<std::pair<std::string, AppliedPrice>> rates;  // load label → rate
    for (const ReportPoint& point : configuration.points) {
        rates.emplace_back(point.load_label, price_during(price, point.result));
        append_distinct(note.power, rates.back().second.rate.power);
    }
    const auto [lowest, highest] = std::minmax_element(
        rates.begin(), rates.end(),
        [](const auto& a, const auto& b) { return a.second.rate.usd_per_h < b.second.rate.usd_per_h; });
    if (lowest->second.rate.usd_per_h == highest->second.rate.usd_per_h) {
        append_distinct(note.rates, rate_term(configuration.hardware, lowest->second));
        return;
    }
    for (const auto& end : {*lowest, *highest})
        append_distinct(note.rates,
                        rate_term(fmt::format("{}, {}", configuration.hardware, end.first), end.second));
}

bool has_real_run(const std::vector<Configuration>& configurations) {
    return std::ranges::any_of(configurations, [](const Configuration& configuration) {
        return std::ranges::any_of(configuration.points, [](const ReportPoint& point) {
            return !is_simulated(point.result.provenance);
        });
    });
}

std::vector<std::string> notes_on_options(const std::vector<Configuration>& configurations,
                                          const JoinOptions& options) {
    std::set<std::string> real_models;
    for (const Configuration& configuration : configurations)
        for (const ReportPoint& point : configuration.points)
            if (!is_simulated(point.result.provenance)) real_models.insert(point.result.provenance.model);
    std::vector<std::string> notes;
    for (const CardChoice& choice : options.models) {
        if (choice.selector.empty() && real_models.size() > 1)
            notes.push_back(fmt::format(
                "the model card {} was applied to every real run, though they asked for {} models ({})",
                choice.card.name, real_models.size(), fmt::join(real_models, ", ")));
        if (real_models.empty() && !configurations.empty() && options.what_ifs.empty())
            notes.push_back(
                fmt::format("the model card {} was not used: simulated runs are compared with their profile",
                            choice.card.name));
    }
    for (const MicroResults& micro : options.micro)
        if (micro.invalid_rows > 0)
            notes.push_back(fmt::format("{} row{} of {} ({}) in micro.json {} not valid and left out",
                                        micro.invalid_rows, micro.invalid_rows == 1 ? "" : "s",
                                        micro.device.name, micro.device.id,
                                        micro.invalid_rows == 1 ? "was" : "were"));
    return notes;
}

/// The limits of the searches if all searches have the same limits; otherwise none.
std::vector<std::string> common_slos(const std::vector<SearchPicture>& searches) {
    if (searches.empty()) return {};
    const bool is_one = std::ranges::all_of(
        searches, [&](const SearchPicture& search) { return search.slos == searches.front().slos; });
    return is_one ? searches.front().slos : std::vector<std::string>();
}

/// "the search in runs/slo" or "the searches in runs/a, runs/b"
std::string names_of(const std::vector<SearchPicture>& searches) {
    std::vector<std::string> directories;
    directories.reserve(searches.size());
    for (const SearchPicture& search : searches) directories.push_back(search.directory);
    return fmt::format("the search{} in {}", searches.size() == 1 ? "" : "es", fmt::join(directories, ", "));
}

}  // namespace

ReportModel build_report(std::vector<LoadedRun> runs, const JoinOptions& options) {
    DistinctRuns distinct;
    for (const LoadedRun& run : runs) distinct.add(run.result, run.directory);
    check_gpu(runs, options);
    ReportModel model;
    model.title = options.title;
    model.generated_at = options.generated_at;
    model.version = version();
    for (const LoadedSearch& search : options.searches) model.searches.push_back(picture_of(search, runs));
    for (const LoadedCache& cache : options.caches) model.caches.push_back(picture_of(cache));
    std::set<const MicroResults*> used;
    refuse_unmatched(runs, options.models);
    refuse_unmatched(runs, options.quality);
    std::vector<std::optional<LimitInputs>> limits;  // one for each configuration
    std::vector<std::optional<AppliedPrice>> prices;
    for (RunGroup& group : grouped_runs(std::move(runs), options.group_by, cards::normalised_hardware)) {
        Joined one = joined(std::move(group), options);
        if (one.price) {
            if (!model.price) model.price.emplace();
            add_rates(*model.price, one.configuration, *one.price);
        }
        used.insert(one.micro.begin(), one.micro.end());
        for (const WhatIfSpec& spec : options.what_ifs)
            model.what_ifs.push_back(what_if_of(one, model.configurations.size(), spec, options));
        limits.push_back(std::move(one.limit));
        prices.push_back(one.price);
        model.configurations.push_back(std::move(one.configuration));
    }
    apply_split(model.configurations, prices, options.split);
    if (model.price) model.split_source = options.split.source;
    model.measurement_usd = cost_of_measuring(model.configurations, prices);
    name_configurations(model.configurations);
    std::vector<Slo> slos = options.slos;
    std::vector<std::string> slo_texts = options.slo_texts;
    std::string slos_from;
    if (slos.empty()) {
        const std::vector<std::string> of_searches = common_slos(model.searches);
        for (const char* const name : {"slo", "goodput"})
            if (slo_texts.empty()) slo_texts = common_limits(model.configurations, name);
        if (slo_texts.empty()) slo_texts = of_searches;
        if (!slo_texts.empty() && slo_texts == of_searches) slos_from = names_of(model.searches);
        for (const std::string& text : slo_texts) slos.push_back(parse_slo(text));
    }
    model.front = place_on_fronts(model.configurations, {.x = options.front_x,
                                                         .y = options.front_y,
                                                         .over_time = options.over_time,
                                                         .slos = slos,
                                                         .quality_equal = options.quality_equal,
                                                         .anyway = options.anyway});
    model.choice = choices_of(model.configurations, slos, slo_texts);
    model.choice.slos_from = std::move(slos_from);
    if (!options.quality_equal) mark_worse_answers(model.choice, model.configurations);
    for (std::size_t i = 0; i < model.configurations.size(); ++i) {
        Configuration& configuration = model.configurations[i];
        AnswerInputs inputs =
            limits[i] ? answer_inputs(configuration, *limits[i], prices[i]) : AnswerInputs{};
        inputs.slos = slos;
        inputs.worse_than = std::ranges::find(model.choice.ranked, i, &Choice::configuration)->worse_than;
        configuration.answer = answer_sentence(configuration, inputs);
    }
    if (options.demand) {
        if (slos.empty())
            throw UsageError(
                "--demand: the number of deployments depends on the limits; add e.g. --slo ttft_p95:800");
        AskedDemand asked = *options.demand;
        asked.quality_equal = options.quality_equal;
        model.demand = demand_of(model.configurations, slos, asked);
    }
    model.courses = courses_of(model.configurations);
    model.cost = cost_sheet_of(model, prices, options);
    model.notes = notes_on_options(model.configurations, options);
    for (std::string& note : notes_on_unused_cards(prices, options)) model.notes.push_back(std::move(note));
    // A result that the user named is shown, whether or not a run used its devices.
    for (const MicroResults& micro : options.micro)
        if (options.micro_note.empty() || used.contains(&micro)) model.devices.push_back(picture_of(micro));
    const bool lacks_micro = options.micro.empty() && has_real_run(model.configurations);
    if (!options.micro_note.empty() && (!used.empty() || lacks_micro))
        model.notes.push_back(options.micro_note);
    if (model.title.empty()) model.title = model.demand ? demand_title(model) : answer_title(model);
    return model;
}

}  // namespace paretoken::reports
