#include "reports/analysis/model/search.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "core/result/metrics.h"
#include "core/result/slo.h"
#include "core/stable_sort.h"
#include "reports/analysis/sweep/longer_run.h"
#include "reports/document/table.h"

namespace paretoken::reports {
namespace {

constexpr double kMilliseconds = 1e3;

/// The unit of the loads. A limit on jobs is for a load of jobs, whose number is not that of the requests.
std::string unit_of(const SweepSearch& search, const std::string& axis) {
    if (axis != "concurrency") return " req/s";
    const bool of_jobs = std::ranges::any_of(search.slos, [](const std::string& text) {
        const Metric* const metric = metric_named(parse_slo(text).tag);
        return metric != nullptr && metric->of_jobs;
    });
    return of_jobs ? " jobs at once" : " in flight";
}

/// The name of the series that a point belongs to, by its verdict on the limit.
std::string_view series_name(SloVerdict verdict) {
    switch (verdict) {
        case SloVerdict::met:
            return "meets the limit";
        case SloVerdict::within:
            return "within the limit, not shown at 99 %";
        case SloVerdict::missed:
            return "misses the limit";
        case SloVerdict::insufficient:
            return "too few requests";
    }
    return "";
}

/// The chart of a limit's percentile against load; without series when no run has this percentile.
Picture picture_on(const Slo& slo, const LoadedSearch& search, const std::vector<LoadedRun>& runs) {
    const Metric* const metric = metric_named(slo.tag);
    const bool is_time = metric != nullptr && metric->unit == "s";
    const double factor = is_time ? kMilliseconds : 1;
    const std::string unit = is_time ? "ms" : metric != nullptr ? std::string(metric->unit) : "";
    Picture picture{.id = name_of(slo),
                    .title = fmt::format("{} against load", name_of(slo)),
                    .x_title = search.axis == "concurrency" ? "Requests in flight" : "Requests/s offered",
                    .y_title = unit,
                    .lines = {{"limit", slo.limit * factor}}};
    if (search.search.pass) picture.marks.push_back({"shown to meet all", *search.search.pass});
    if (search.search.within && search.search.within != search.search.pass)
        picture.marks.push_back({"within all", *search.search.within});
    if (search.search.fail) picture.marks.push_back({"misses", *search.search.fail});
    std::map<double, double> by_load;
    for (const SloVerdict verdict :
         {SloVerdict::met, SloVerdict::missed, SloVerdict::within, SloVerdict::insufficient}) {
        PictureSeries series{std::string(series_name(verdict)), {}, "points"};
        for (const LoadedRun& run : runs) {
            if (run.sweep != search.directory) continue;
            const SloFinding finding = finding_on(run.result, slo);
            if (!finding.value) continue;
            by_load[load_of(run.result)] = *finding.value * factor;  // the last run of a repeated load
            if (finding.verdict != verdict) continue;
            series.points.push_back({.x = load_of(run.result),
                                     .y = *finding.value * factor,
                                     .valid = verdict != SloVerdict::insufficient,
                                     .row = run.directory,
                                     .note = finding.shown ? "" : "not shown at 99 %"});
        }
        sort_stably(series.points, {}, &PicturePoint::x);
        picture.series.push_back(std::move(series));  // added even without points, so that all charts have
                                                      // the same colours
    }
    const auto is_empty = [](const PictureSeries& series) { return series.points.empty(); };
    if (std::ranges::all_of(picture.series, is_empty)) {
        picture.series.clear();
        return picture;
    }
    PictureSeries line{"by load", {}, "fit"};
    for (const auto& [load, value] : by_load) line.points.push_back({.x = load, .y = value, .valid = true});
    picture.series.push_back(std::move(line));
    return picture;
}

/// What the measured loads say about saturation, in sentences that begin with a blank. Empty with fewer than
/// two loads.
std::string saturation_text(const SweepSearch& search, const std::string& axis) {
    if (search.elasticity.empty() || !search.saturation || !search.most_requests_per_s) return {};
    const std::string most = significant(*search.most_requests_per_s);
    if (axis != "concurrency")
        return fmt::format(
            " {} {} req/s.",
            search.saturated_from ? "The server saturates near" : "The most that was served is", most);
    std::string text = fmt::format(" The most that was measured is {} req/s.", most);
    if (search.saturated_from)
        text += fmt::format(" Throughput hardly grows above {:g}{}: more requests only wait longer.",
                            *search.saturated_from, unit_of(search, axis));
    return text;
}

}  // namespace

std::string shown_text(const SweepSearch& answer, const std::string& axis) {
    const std::string slos = fmt::format("{}", fmt::join(answer.slos, " "));
    if (!answer.pass) return fmt::format("No load was shown at 99 % to meet {}.", slos);
    return fmt::format("{:g}{} is the highest load that was shown to meet {}.", *answer.pass,
                       unit_of(answer, axis), slos);
}

std::string within_text(const SweepSearch& answer, const std::string& axis) {
    std::string text = "No load was measured within them";
    if (answer.within && answer.within == answer.pass)
        text = "No higher load was measured within them";
    else if (answer.within)
        text = fmt::format("{:g}{} is the highest load that was measured within them ({})", *answer.within,
                           unit_of(answer, axis), answer.within_text);
    if (answer.fail) {
        const bool is_limit = std::ranges::find(answer.slos, answer.binding) != answer.slos.end();
        text += is_limit ? fmt::format("; {:g} misses {}", *answer.fail, answer.binding)
                         : fmt::format("; at {:g}, {}", *answer.fail, answer.binding);
    }
    if ((answer.within || answer.pass) && !answer.fail)
        text +=
            fmt::format("; no measured load missed the limits, so that the highest load may be above {:g}{}",
                        std::max(answer.within.value_or(0), answer.pass.value_or(0)),
                        answer.saturated_from ? "" : ": measure higher loads");
    if (answer.certify_minutes)
        text += fmt::format(". A run of about {} may show that {:g} meets them",
                            span_text(*answer.certify_minutes * 60), *answer.within);
    return text + ".";
}

std::string search_text(const SweepSearch& search, const std::string& axis) {
    std::string text = fmt::format("{} run{}; {}.", search.runs, search.runs == 1 ? "" : "s", search.ended);
    text += saturation_text(search, axis);
    if (search.at && search.of_saturation && !search.elasticity.empty())
        text +=
            fmt::format(" {:g}{} is {}{} % of saturation.", *search.at, unit_of(search, axis),
                        search.saturated_from ? "" : "at most ", significant(*search.of_saturation * 100));
    return text;
}

SearchPicture picture_of(const LoadedSearch& search, const std::vector<LoadedRun>& runs) {
    SearchPicture picture{
        .directory = search.directory,
        .slos = search.search.slos,
        .text = fmt::format("{} {} {}", shown_text(search.search, search.axis),
                            within_text(search.search, search.axis), search_text(search.search, search.axis)),
        .certify = search.search.certify,
        .narrow = search.search.narrow};
    for (const std::string& text : search.search.slos)
        if (Picture one = picture_on(parse_slo(text), search, runs); !one.series.empty())
            picture.pictures.push_back(std::move(one));
    return picture;
}

}  // namespace paretoken::reports
