#include "reports/analysis/sweep/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "core/statistics.h"
#include "core/text/number_text.h"

namespace paretoken::reports {
namespace {

using Cell = std::map<std::string, std::string>;

struct ComparedColumn {
    std::string_view key;
    std::string_view title;
    std::optional<double> SweepPoint::*value;
    bool higher_is_better;
};
constexpr ComparedColumn kColumns[] = {
    {"output_tokens_per_s", "throughput (output tokens/s)", &SweepPoint::output_tokens_per_s, true},
    {"ttft_p50_s", "TTFT p50", &SweepPoint::ttft_p50_s, false},
    {"tpot_p50_s", "TPOT p50", &SweepPoint::tpot_p50_s, false}};

bool counts(const SweepPoint& point) {
    return point.state == PointState::done && point.verdict != Verdict::invalid;
}

/// How much better the first server is at a load: the difference of the values ÷ the smaller one; 0 if both
/// are equal, negative if the second one is better.
struct Lead {
    double load = 0;
    double by = 0;
};

/// The share of the other server's value by which the better one is better. The other server's value is the
/// smaller one if higher is better, and the larger one otherwise.
double share_of_other(const Lead& lead, bool higher_is_better) {
    const double by = std::abs(lead.by);
    return higher_is_better ? by : by / (1 + by);
}

std::vector<double> values_at(const std::vector<const SweepPoint*>& points, const std::string& server,
                              double load, const ComparedColumn& column) {
    std::vector<double> values;
    for (const SweepPoint* point : points)
        if (server_of(*point) == server && point->load == load)
            if (const auto& value = point->*column.value) values.push_back(*value);
    return values;
}

/// The share by which the first server is better; 0 if the difference is too small or not significant.
double lead_of(const Moments& first, const Moments& second, bool higher_is_better) {
    constexpr double kEqual = 0.01;
    const double difference = higher_is_better ? first.mean - second.mean : second.mean - first.mean;
    const double scale = std::min(std::abs(first.mean), std::abs(second.mean));
    if (!(scale > 0) || std::abs(difference) <= kEqual * scale) return 0;
    if (first.n > 1 && second.n > 1) {
        const auto n = static_cast<double>(first.n);
        const auto m = static_cast<double>(second.n);
        const double error = std::sqrt(first.standard_deviation * first.standard_deviation / n +
                                       second.standard_deviation * second.standard_deviation / m);
        if (std::abs(difference) <= student_t(0.95, std::min(n, m) - 1) * error) return 0;
    }
    return difference / scale;
}

std::vector<Lead> leads_of(const std::vector<const SweepPoint*>& points,
                           const std::vector<std::string>& servers, const ComparedColumn& column) {
    std::set<double> loads;
    for (const SweepPoint* point : points) loads.insert(point->load);
    std::vector<Lead> leads;
    for (const double load : loads) {
        const auto first = values_at(points, servers[0], load, column);
        const auto second = values_at(points, servers[1], load, column);
        if (first.empty() || second.empty()) continue;
        leads.push_back({load, lead_of(moments_of(first), moments_of(second), column.higher_is_better)});
    }
    return leads;
}

/// The load at which the lead is zero, between two loads at which different servers lead.
double zero_between(const Lead& low, const Lead& high) {
    const double share = low.by / (low.by - high.by);
    return std::exp(std::log(low.load) + share * (std::log(high.load) - std::log(low.load)));
}

ComparedFigure compared(const ComparedColumn& column, const std::vector<Lead>& leads,
                        const std::vector<std::string>& servers) {
    ComparedFigure figure{.figure = std::string(column.key), .loads = leads.size()};
    const auto better_at = [&](const Lead& lead) { return lead.by > 0 ? servers[0] : servers[1]; };
    const Lead* before = nullptr;  // the last load at which one of the servers is better
    for (const Lead& lead : leads) {
        if (lead.by == 0) continue;
        const double share = share_of_other(lead, column.higher_is_better);
        Interval& range = figure.lead.try_emplace(better_at(lead), Interval{share, share}).first->second;
        range = {std::min(range.low, share), std::max(range.high, share)};
        if (before != nullptr && (before->by > 0) != (lead.by > 0))
            figure.crossings.push_back({.load = zero_between(*before, lead),
                                        .low = before->load,
                                        .high = lead.load,
                                        .below = better_at(*before),
                                        .above = better_at(lead)});
        before = &lead;
    }
    if (before != nullptr && figure.crossings.empty()) figure.better = better_at(*before);
    return figure;
}

std::string load_text(double load, const std::string& axis) {
    return axis == "concurrency" ? fmt::format("{} in flight", number_text(load))
                                 : fmt::format("{} requests/s", number_text(load));
}

/// Returns " by 7.1 to 11 %", or " by 7.1 %" if there is one value; empty if it is not known.
std::string lead_text(const ComparedFigure& figure, const std::string& server) {
    const auto found = figure.lead.find(server);
    if (found == figure.lead.end()) return {};
    const std::string least = number_text(100 * found->second.low);
    const std::string most = number_text(100 * found->second.high);
    return least == most ? fmt::format(" by {} %", most) : fmt::format(" by {} to {} %", least, most);
}

std::string sentence_of(const ComparedFigure& figure, const std::string& axis) {
    const auto column = std::ranges::find(kColumns, figure.figure, &ComparedColumn::key);
    const std::string title(column == std::end(kColumns) ? std::string_view(figure.figure) : column->title);
    if (figure.loads == 0) return fmt::format("{}: no load was measured on both servers.", title);
    if (!figure.crossings.empty()) {
        std::string text = title + ":";
        // The ranges are over all loads, which one crossing divides between the servers.
        const auto lead = [&](const std::string& server) {
            return figure.crossings.size() == 1 ? lead_text(figure, server) : std::string();
        };
        for (const Crossing& crossing : figure.crossings)
            text +=
                fmt::format(" {} is better{} below about {} (between {} and {}), {}{} above.", crossing.below,
                            lead(crossing.below), load_text(crossing.load, axis), number_text(crossing.low),
                            number_text(crossing.high), crossing.above, lead(crossing.above));
        return text;
    }
    if (figure.better.empty()) return fmt::format("{}: the servers do not differ.", title);
    return fmt::format("{}: {} is better{} at every load at which they differ.", title, figure.better,
                       lead_text(figure, figure.better));
}

std::string acceptance_sentence(const std::string& server, double acceptance) {
    constexpr double kLow = 0.6;
    constexpr double kGood = 0.7;
    std::string text = fmt::format("{}: {:.3g} of the drafted tokens were accepted.", server, acceptance);
    if (acceptance < kLow)
        text +=
            " That is below 0.6: checking drafts costs more than the accepted ones save at higher loads; "
            "draft fewer tokens, or use a drafter that was trained for this model.";
    else if (acceptance < kGood)
        text += " That is below 0.7: drafts pay at low loads; compare at the highest load that is planned.";
    return text;
}

/// Returns the mean of a figure over the points of each server that have it.
std::map<std::string, double> means_of(const std::vector<const SweepPoint*>& points,
                                       const std::vector<std::string>& servers,
                                       std::optional<double> SweepPoint::*figure) {
    std::map<std::string, double> means;
    for (const std::string& server : servers) {
        std::vector<double> values;
        for (const SweepPoint* point : points)
            if (server_of(*point) == server && point->*figure) values.push_back(*(point->*figure));
        if (!values.empty()) means[server] = moments_of(values).mean;
    }
    return means;
}

/// Returns a sentence about prefix caches that served unequal shares of the same prompts; empty if they
/// served equal ones.
std::string cached_sentence(const std::map<std::string, double>& cached) {
    constexpr double kEqual = 0.05;
    if (cached.size() != 2) return {};
    const auto& [server, share] = *cached.begin();
    const auto& [other, other_share] = *cached.rbegin();
    if (std::abs(share - other_share) <= kEqual) return {};
    return fmt::format(
        "The prefix cache served {} of the prompts' tokens on {}, and {} on {}: a cache that is "
        "warm from earlier runs makes a server look faster (--reset-cache empties it).",
        percent_text(share), server, percent_text(other_share), other);
}

}  // namespace

// Two values count as equal if they differ by at most 1 % of the smaller one, or if there are repeats on both
// sides and the 95 % interval of the difference contains 0. This interval is Student's t, with the degrees of
// freedom of the side with fewer repeats.
SweepComparison comparison_of(const std::vector<SweepPoint>& points,
                              const std::vector<std::string>& servers) {
    SweepComparison comparison{.servers = servers};
    if (servers.size() != 2) return comparison;
    std::vector<Cell> cells;
    for (const SweepPoint& point : points) {
        Cell cell = without_server(point.cell);
        if (std::ranges::find(cells, cell) == cells.end()) cells.push_back(std::move(cell));
    }
    for (Cell& cell : cells) {
        std::vector<const SweepPoint*> own;
        for (const SweepPoint& point : points)
            if (counts(point) && without_server(point.cell) == cell) own.push_back(&point);
        ComparedCell held{.cell = std::move(cell)};
        for (const ComparedColumn& column : kColumns)
            held.figures.push_back(compared(column, leads_of(own, servers, column), servers));
        held.acceptance = means_of(own, servers, &SweepPoint::acceptance);
        held.cached = means_of(own, servers, &SweepPoint::cached_share);
        comparison.cells.push_back(std::move(held));
    }
    return comparison;
}

std::vector<std::string> sentences_of(const SweepComparison& comparison, const std::string& axis) {
    std::vector<std::string> sentences;
    for (const ComparedCell& cell : comparison.cells) {
        std::string where;
        for (const auto& [name, value] : cell.cell)
            where += fmt::format("{}{} {}", where.empty() ? "" : ", ", name, value);
        if (!where.empty()) where = fmt::format("At {}: ", where);
        for (const ComparedFigure& figure : cell.figures)
            sentences.push_back(where + sentence_of(figure, axis));
        for (const auto& [server, acceptance] : cell.acceptance)
            sentences.push_back(where + acceptance_sentence(server, acceptance));
        if (const std::string text = cached_sentence(cell.cached); !text.empty())
            sentences.push_back(where + text);
    }
    return sentences;
}

}  // namespace paretoken::reports
