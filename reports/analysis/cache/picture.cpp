#include "reports/analysis/cache/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/stable_sort.h"
#include "core/text/number_text.h"

namespace paretoken::reports {
namespace {

constexpr double kMilliseconds = 1e3;
constexpr double kPercent = 100;

std::string note_of(const CacheArm& arm, const CacheLevel& level) {
    std::string note = fmt::format("{} requests", arm.n);
    if (arm.failed > 0) note += fmt::format(", {} failed", arm.failed);
    if (arm.hits.usage) note += fmt::format(", {} of their tokens cached", percent_text(*arm.hits.usage));
    if (arm.ttft_p50_ci95)
        note +=
            fmt::format(", 95 % interval {} to {} ms", number_text(kMilliseconds * arm.ttft_p50_ci95->low),
                        number_text(kMilliseconds * arm.ttft_p50_ci95->high));
    if (!level.invalid.empty()) note += ", the run is invalid";
    return note;
}

PicturePoint point_of(double x, const CacheArm& arm, const CacheLevel& level) {
    PicturePoint point{.x = x,
                       .y = kMilliseconds * *arm.ttft_p50_s,
                       .valid = level.invalid.empty(),
                       .row = level.directory,
                       .note = note_of(arm, level)};
    if (arm.ttft_p50_ci95)
        point.interval =
            Interval{kMilliseconds * arm.ttft_p50_ci95->low, kMilliseconds * arm.ttft_p50_ci95->high};
    return point;
}

/// One series per arm, in the order of the level, at the x that `x_of` gives; an arm without an x is left
/// out.
template <class XOf>
std::vector<PictureSeries> series_by_arm(const CacheLevel& level, XOf x_of) {
    std::vector<PictureSeries> series;
    for (const CacheArm& arm : level.arms) {
        const std::optional<double> x = x_of(arm);
        if (!arm.ttft_p50_s || !x) continue;
        const std::string name = name_of(arm);
        auto found = std::ranges::find(series, name, &PictureSeries::name);
        if (found == series.end()) found = series.insert(found, PictureSeries{.name = name});
        found->points.push_back(point_of(*x, arm, level));
    }
    // The arm "repeat" goes last because only some charts show it, so that every other arm looks the same in
    // all.
    std::stable_partition(series.begin(), series.end(),
                          [](const PictureSeries& one) { return one.name != "repeat"; });
    for (PictureSeries& one : series) sort_stably(one.points, {}, &PicturePoint::x);
    return series;
}

Picture by_prefix(const CacheLevel& level) {
    return {.id = "ttft",
            .title = "Time to first token by prefix, median",
            .x_title = "Prefix, tokens",
            .y_title = "ms",
            .series = series_by_arm(
                level, [](const CacheArm& arm) { return std::optional(static_cast<double>(arm.prefix)); })};
}

/// The chart of the medians over the tokens that the server had to process, with the fit through all
/// requests.
Picture by_uncached(const CacheLevel& level) {
    Picture picture{
        .id = "fit",
        .title = "Time to first token by tokens that were not cached",
        .x_title = "Prompt tokens that were not cached",
        .y_title = "ms",
        .series = series_by_arm(
            level,
            [](const CacheArm& arm) { return arm.arm == "repeat" ? std::nullopt : uncached_tokens(arm); }),
        .linear_x = true};
    std::set<double> places{0};
    for (PictureSeries& one : picture.series) {
        one.style = "points";
        for (const PicturePoint& point : one.points) places.insert(point.x);
    }
    PictureSeries line{.name = "fit", .style = "fit"};
    for (const double x : places)
        line.points.push_back(
            {.x = x, .y = kMilliseconds * seconds_at(*level.fit, x), .valid = true, .row = level.directory});
    picture.series.push_back(std::move(line));
    return picture;
}

std::vector<Picture> pictures_of(const CacheLevel& level) {
    std::vector<Picture> pictures;
    if (Picture ttft = by_prefix(level); !ttft.series.empty()) pictures.push_back(std::move(ttft));
    if (level.fit) pictures.push_back(by_uncached(level));
    return pictures;
}

template <class X>
PictureSeries shares_of(const std::map<X, double>& found) {
    PictureSeries series{.name = "found again"};
    for (const auto& [x, share] : found)
        series.points.push_back({.x = static_cast<double>(x), .y = kPercent * share, .valid = true});
    return series;
}

Picture picture_of(const WorkingSet& set) {
    Picture picture{.id = "working-set",
                    .title = "Found again, by prefixes that are used in turn",
                    .x_title = "Prefixes in turn",
                    .y_title = "% of their tokens",
                    .series = {shares_of(set.found)}};
    if (set.held > 0) picture.marks.push_back({"held", static_cast<double>(set.held)});
    if (set.lost) picture.marks.push_back({"lost", static_cast<double>(*set.lost)});
    return picture;
}

Picture picture_of(const IdleTime& time) {
    Picture picture{.id = "idle-time",
                    .title = "Found again, by idle time",
                    .x_title = "Idle time, s",
                    .y_title = "% of the prefix",
                    .series = {shares_of(time.found)}};
    if (time.held_s) picture.marks.push_back({"kept", *time.held_s});
    if (time.lost_s) picture.marks.push_back({"gone", *time.lost_s});
    return picture;
}

}  // namespace

std::string name_of(const CacheArm& arm) {
    return arm.arm == "shared" ? fmt::format("shared {:.0f} %", kPercent * arm.hit) : arm.arm;
}

std::optional<double> uncached_tokens(const CacheArm& arm) {
    if (!arm.prompt_tokens) return std::nullopt;
    if (!arm.hits.usage && arm.arm != "cold") return std::nullopt;
    return *arm.prompt_tokens * (1 - arm.hits.usage.value_or(0));
}

double seconds_at(const TtftFit& fit, double uncached_tokens) {
    const double square = fit.per_token2_s ? fit.per_token2_s->value : 0;
    return fit.base_s.value + uncached_tokens * (fit.per_token_s.value + uncached_tokens * square);
}

CachePicture picture_of(const LoadedCache& cache) {
    CachePicture picture{.directory = cache.directory, .report = cache.report, .levels = {}};
    for (const CacheLevel& level : cache.report.levels) picture.levels.push_back(pictures_of(level));
    if (cache.report.working_set && !cache.report.working_set->found.empty())
        picture.pictures.push_back(picture_of(*cache.report.working_set));
    if (cache.report.idle_time && !cache.report.idle_time->found.empty())
        picture.pictures.push_back(picture_of(*cache.report.idle_time));
    return picture;
}

}  // namespace paretoken::reports
