#pragma once
// What runs would come to on other hardware, in other number formats or with other cache hits: the limit
// there × the share of the limit that they reached where they were measured. An estimate is no measurement:
// it is on no front, and it is wrong where the share would change. Pure.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result/totals.h"
#include "reports/model/limit.h"
#include "reports/model/report_model.h"

namespace paretoken::reports {

/// What is to be different; what is not given stays as it was measured.
struct WhatIfSpec {
    std::string text;                      ///< as the user wrote it
    std::optional<std::string> gpu = {};   ///< name of a card
    std::optional<std::uint32_t> tp = {};  ///< GPUs that the model is spread over
    std::optional<std::string> weights = {};
    std::optional<std::string> kv = {};
    std::optional<double> hit = {};  ///< share of input tokens from a cache

    bool operator==(const WhatIfSpec&) const = default;
};

/// "gpu=h100-sxm,weights=fp8,kv=fp8,tp=2,hit=.9", each key at most once. Throws UsageError.
WhatIfSpec parse_what_if(std::string_view text);

/// The work with this share of its input tokens from a cache: the same tokens, fewer of which are computed.
Totals with_hit(Totals work, double hit);

/// One run that is to be estimated elsewhere.
struct MeasuredLoad {
    std::size_t point = 0;  ///< in its configuration
    Totals work;
    double batch = 0;  ///< requests in flight
};

/// The two limits, and what the deployment there costs.
struct WhatIfLimits {
    LimitInputs here;
    LimitInputs there;
    std::optional<double> usd_per_s = {};
    std::optional<double> hit = {};
};

/// An estimate for each of `loads` that has limits on both sides. A run above its limit counts as at the
/// limit.
std::vector<Estimate> estimates_of(const Configuration& configuration, const std::vector<MeasuredLoad>& loads,
                                   const WhatIfLimits& limits);

/// The estimate with the most output tokens/s in words, or why there is none.
std::string what_if_sentence(const ReportModel& model, const WhatIf& what_if);

}  // namespace paretoken::reports
