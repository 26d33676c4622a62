#include <fmt/format.h>

#include "core/result/metrics.h"

#include <algorithm>
#include "reports/analysis/model/front.h"
#include "reports/files/json/report_fields.h"
#include "reports/files/json/report_json.h"

namespace paretoken::reports {
namespace {

Json value_or_null(const std::optional<double>& value) {
    return value ? Writer::json_of(*value) : Json();
}

/// [p50, p95, p99] of one metric, and for each of them whether it has enough samples.
Json percentiles_of(const RunResult& run, std::string_view key) {
    Json values = Json::array();
    Json certified = Json::array();
    for (const double p : {.5, .95, .99}) {
        const MetricSummary* metric = run.metric(key);
        const PercentileValue* value = metric ? metric->at(p) : nullptr;
        values.push_back(value ? value_or_null(value->value) : Json());
        certified.push_back(value && value->certified);
    }
    return {{"values", values}, {"certified", certified}};
}

/// One array for every pair of axes: [1] on the front, [0] unfit for it, or [2, within noise, configuration,
/// point] with the point that dominates it.
Json chart_places(const ReportPoint& point) {
    Json places = Json::array();
    for (const FrontPlace& place : point.places) {
        if (place.dominated_by)
            places.push_back({2, place.within_noise ? 1 : 0, place.dominated_by->configuration,
                              place.dominated_by->point});
        else
            places.push_back({place.on_front ? 1 : 0});
    }
    return places;
}

Json chart_xs(const ReportPoint& point) {
    Json xs = Json::array();
    for (const FrontX& x : front_xs()) xs.push_back(value_or_null(front_value(point, x)));
    return xs;
}

/// The axes that the page can draw the front with.
Json chart_axes(const FrontNote& front) {
    Json xs = Json::array();
    for (const FrontX& x : front_xs()) {
        xs.push_back(
            {{"name", x.name}, {"title", x.title}, {"short", x.brief}, {"more", x.higher_is_better}});
        const auto limit = std::ranges::find(front.limits, x.name, &AxisLimit::x);
        if (limit != front.limits.end())
            xs.back()["limit"] = {{"value", Writer::json_of(limit->value)}, {"text", limit->text}};
    }
    Json ys = Json::array();
    for (const FrontY& y : front_ys())
        ys.push_back(
            {{"name", y.name}, {"title", y.title}, {"short", y.brief}, {"more", y.higher_is_better}});
    return {
        {"xs", xs}, {"ys", ys}, {"x", front.over_time ? std::string(kDateAxis) : front.x}, {"y", front.y}};
}

/// The distinct commands of all runs, so that each is written once; a run holds the index of its command.
class Commands {
  public:
    std::size_t place_of(const std::string& command) {
        const auto [found, is_new] = places_.try_emplace(command, places_.size());
        if (is_new) list_.push_back(command);
        return found->second;
    }
    const Json& list() const { return list_; }

  private:
    std::map<std::string, std::size_t> places_;
    Json list_ = Json::array();
};

Json chart_point(const ReportPoint& point, Commands& commands) {
    const auto& cost = point.cost;
    const auto interval = point.result.throughput.interval(figure::kOutputTokens);
    return {{"label", point.load_label},
            {"load", Writer::json_of(point.load)},
            {"open", point.open_loop},
            {"xs", chart_xs(point)},
            {"places", chart_places(point)},
            {"tps", value_or_null(point.output_tokens_per_s)},
            {"tpsCi", interval ? Writer::json_of(*interval) : Json()},
            {"usd", cost ? Writer::json_of(cost->usd_per_m_output) : Json()},
            {"usdCi",
             cost && cost->usd_per_m_output_ci95 ? Writer::json_of(*cost->usd_per_m_output_ci95) : Json()},
            {"limitTps", value_or_null(point.limit_output_tokens_per_s)},
            {"ofLimit", value_or_null(point.of_limit)},
            {"band", cost && cost->price_band ? Writer::json_of(*cost->price_band) : Json()},
            {"certified", point.certified},
            {"invalid", point.result.validity.verdict == Verdict::invalid},
            {"slo", point.limits ? Json(name_of(*point.limits)) : Json()},
            {"whyNot", point.why_not.starts_with("dominated by") ? "" : point.why_not},
            {"at", point.result.provenance.started_at},
            {"gpus", std::max<std::uint32_t>(point.result.provenance.hardware_count, 1)},
            {"command", commands.place_of(point.result.provenance.command)},
            {"ttft", percentiles_of(point.result, headline_key("ttft", point.open_loop))},
            {"itl", percentiles_of(point.result, "itl_s")}};
}

Json chart_curve(const std::vector<LimitPoint>& points) {
    Json curve = Json::array();
    for (const LimitPoint& point : points)
        curve.push_back({{"x", Writer::json_of(point.interactivity)},
                         {"tps", Writer::json_of(point.output_tokens_per_s)},
                         {"usd", value_or_null(point.usd_per_m_output)},
                         {"batch", Writer::json_of(point.batch)}});
    return curve;
}

Json chart_configuration(const Configuration& configuration, Commands& commands) {
    Json points = Json::array();
    for (const ReportPoint& point : configuration.points) {
        points.push_back(chart_point(point, commands));
        if (!point.reached) points.back()["hidden"] = true;
    }
    bool open_loop = false;
    bool closed_loop = false;
    for (const ReportPoint& point : configuration.points) (point.open_loop ? open_loop : closed_loop) = true;
    return {{"title", configuration.title},
            {"name", configuration.name.empty() ? configuration.title : configuration.name},
            {"workload", configuration.workload},
            {"points", points},
            {"limit", chart_curve(configuration.hard_limit)},
            {"datasheet", chart_curve(configuration.datasheet)},
            {"sizeAware", chart_curve(configuration.size_aware)},
            {"reachable", chart_curve(configuration.reachable)},
            {"openLoop", open_loop},
            {"closedLoop", closed_loop}};
}

/// Estimates have an x only for interactivity; no other axis is estimated.
Json chart_what_if(const WhatIf& what_if) {
    Json points = Json::array();
    for (const Estimate& estimate : what_if.points)
        points.push_back({{"label", estimate.load_label},
                          {"x", value_or_null(estimate.interactivity)},
                          {"tps", Writer::json_of(estimate.output_tokens_per_s)},
                          {"usd", value_or_null(estimate.usd_per_m_output)},
                          {"ofLimit", Writer::json_of(estimate.of_limit)}});
    return {{"configuration", what_if.configuration},
            {"asked", what_if.asked},
            {"title", what_if.title},
            {"gpus", what_if.gpus},
            {"points", points}};
}

/// A number rounded to four significant digits, because a page holds many numbers.
Json brief(double value) {
    if (!std::isfinite(value)) return {};
    const double rounded = std::stod(fmt::format("{:.4g}", value));
    constexpr double kMostExact = 1e15;
    const bool is_whole = std::floor(rounded) == rounded && std::abs(rounded) < kMostExact;
    return is_whole ? Json(static_cast<std::int64_t>(rounded)) : Json(rounded);
}

/// Whether a point says nothing but its place.
bool is_bare(const PicturePoint& point) {
    return point.valid && point.row.empty() && point.note.empty() && !point.interval;
}

/// A series. If its points say nothing but their places, they are two lists of numbers, because a page may
/// have many of them.
Json chart_series(const PictureSeries& series) {
    Json json = {{"name", series.name}, {"style", series.style}};
    if (!std::ranges::all_of(series.points, is_bare)) {
        json["points"] = Writer::json_of(series.points);
        return json;
    }
    Json xs = Json::array();
    Json ys = Json::array();
    for (const PicturePoint& point : series.points) {
        xs.push_back(brief(point.x));
        ys.push_back(brief(point.y));
    }
    json["xs"] = std::move(xs);
    json["ys"] = std::move(ys);
    return json;
}

Json chart_picture(const Chart& chart) {
    const Picture& picture = chart.picture;
    Json series = Json::array();
    for (const PictureSeries& one : picture.series) series.push_back(chart_series(one));
    return {{"id", chart.id},
            {"xTitle", picture.x_title},
            {"yTitle", picture.y_title},
            {"series", std::move(series)},
            {"lines", Writer::json_of(picture.lines)},
            {"marks", Writer::json_of(picture.marks)},
            {"linearX", picture.linear_x},
            {"logFrom", chart.log_from}};
}

Json chart_bars(const BarChart& chart) {
    Json bars = Json::array();
    for (const Bar& bar : chart.bars.bars)
        bars.push_back({{"name", bar.name}, {"title", bar.title}, {"total", Writer::json_of(bar.total)}});
    Json parts = Json::array();
    for (const BarPart& part : chart.bars.parts) {
        Json lengths = Json::array();
        for (const std::optional<double>& length : part.lengths) lengths.push_back(value_or_null(length));
        parts.push_back({{"name", part.name},
                         {"group", part.group},
                         {"colour", part.colour},
                         {"lengths", std::move(lengths)}});
    }
    return {{"id", chart.id},
            {"unit", chart.bars.unit},
            {"xTitle", chart.bars.x_title},
            {"bars", std::move(bars)},
            {"parts", std::move(parts)}};
}

}  // namespace

std::string chart_json(const ReportModel& model, const std::vector<Section>& sections) {
    Commands commands;
    Json configurations = Json::array();
    for (const Configuration& configuration : model.configurations)
        configurations.push_back(chart_configuration(configuration, commands));
    Json what_ifs = Json::array();
    for (const WhatIf& what_if : model.what_ifs) what_ifs.push_back(chart_what_if(what_if));
    Json pictures = Json::array();
    for (const Chart* chart : charts_of(sections)) pictures.push_back(chart_picture(*chart));
    Json bars = Json::array();
    for (const BarChart* chart : bar_charts_of(sections)) bars.push_back(chart_bars(*chart));
    const std::string text = text_of({{"axes", chart_axes(model.front)},
                                      {"separate", !model.front.separate.empty() && !model.front.anyway},
                                      {"configurations", configurations},
                                      {"commands", commands.list()},
                                      {"whatIfs", what_ifs},
                                      {"pictures", pictures},
                                      {"bars", bars}},
                                     -1);
    std::string safe;
    safe.reserve(text.size());
    for (const char c : text) {
        if (c == '<')
            safe += "\\u003c";
        else
            safe += c;
    }
    return safe;
}

}  // namespace paretoken::reports
