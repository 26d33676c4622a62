#include "reports/analysis/gate/gate_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text/number_text.h"
#include "core/units.h"

namespace paretoken::reports {

std::string_view name_of(GateVerdict verdict) {
    switch (verdict) {
        case GateVerdict::pass:
            return "pass";
        case GateVerdict::fail:
            return "fail";
        case GateVerdict::inconclusive:
            return "inconclusive";
    }
    return "";
}

std::string_view name_of(GateDesign design) {
    switch (design) {
        case GateDesign::pairs:
            return "pairs";
        case GateDesign::two_sets:
            return "two_sets";
        case GateDesign::stored:
            return "stored";
        case GateDesign::within_runs:
            return "within_runs";
    }
    return "";
}

bool metrics_are_decided(const GateReport& report) {
    const auto limits = report.rows.end() - static_cast<std::ptrdiff_t>(report.policy.limits.size());
    return !report.rows.empty() && std::ranges::none_of(report.rows.begin(), limits, &GateRow::keeps_open);
}

std::uint64_t runs_of_candidate(const GateReport& report) {
    return static_cast<std::uint64_t>(std::ranges::count(report.runs, true, &GateRunNote::of_candidate));
}

bool more_runs_do_not_decide(const GateReport& report) {
    constexpr std::uint64_t kUncertain = 2;  // the number of runs is estimated from few
    if (report.design != GateDesign::stored || report.pairs < kFewestForSpread || report.looks.empty())
        return false;
    return std::ranges::none_of(report.rows, [&](const GateRow& row) {
        return row.keeps_open() && row.pairs_to_decide &&
               *row.pairs_to_decide <= kUncertain * report.looks.back().pairs;
    });
}

double percent_of(double shift, Better better) {
    return 100 * (better == Better::higher ? -std::expm1(-shift) : std::expm1(shift));
}

double shift_of_share(double share, Better better) {
    if (better != Better::higher) return std::log1p(share);
    return share < 1 ? -std::log1p(-share) : kInfinity;
}

std::string detectable_text(double shift, Better better) {
    if (shift > std::log(10.0)) return "not even a tenfold change would have failed with this data";
    return fmt::format("only a change of {} % or more would have failed with this data",
                       number_text(percent_of(shift, better)));
}

}  // namespace paretoken::reports
