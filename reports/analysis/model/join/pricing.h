#pragma once
// The price of the hardware that served, and the costs that follow from it.
#include <optional>
#include <string>
#include <vector>

#include "cards/price.h"
#include "core/result/result.h"
#include "reports/analysis/cost/cost.h"
#include "reports/analysis/model/join.h"
#include "reports/analysis/model/join/served.h"
#include "reports/analysis/model/report_model.h"

namespace paretoken::reports {

struct AppliedPrice {
    const cards::PriceCard* card = nullptr;
    cards::PricedHardware hardware;
    std::optional<std::string> basis;  ///< price basis that the user asked for
    cards::HourlyRate rate;            ///< hourly rate with the power that the card states
    double usd_per_s = 0;              ///< cost per second, after utilisation and availability
    /// Lowest cost per second among the configuration's runs, which differ where power was measured. Limits
    /// are priced at it, so that they stay below every run.
    double least_usd_per_s = 0;
};

std::optional<AppliedPrice> applied_price(const Served& served, const JoinOptions& options);

/// The price during a run, with the power that was measured meanwhile.
AppliedPrice price_during(const AppliedPrice& price, const RunResult& result);

/// Returns a note on each price card that prices no run, because one before it has prices of the same
/// hardware.
std::vector<std::string> notes_on_unused_cards(const std::vector<std::optional<AppliedPrice>>& prices,
                                               const JoinOptions& options);

std::string why_no_price(const Served& served, const JoinOptions& options);

std::optional<PointCost> cost_of(const RunResult& result, const AppliedPrice& price);

void apply_split(std::vector<Configuration>& configurations,
                 const std::vector<std::optional<AppliedPrice>>& prices, SplitRule rule);

std::optional<CostSheet> cost_sheet_of(const ReportModel& model,
                                       const std::vector<std::optional<AppliedPrice>>& prices,
                                       const JoinOptions& options);

/// The cost of all runs of the report: the duration of every run at the full hourly rate.
std::optional<double> cost_of_measuring(const std::vector<Configuration>& configurations,
                                        const std::vector<std::optional<AppliedPrice>>& prices);

}  // namespace paretoken::reports
