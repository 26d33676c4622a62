#pragma once
// Computes the model FLOPs utilisation (MFU) and the model bandwidth utilisation (MBU) of a run. MFU counts
// each computed prompt token and each output token once, with attention; wrong drafts and recomputed prompts
// do not count. MBU counts the weights once per decoding step and the KV cache of every decoded token.
#include <optional>
#include <string>

#include "reports/analysis/model/gap.h"
#include "reports/analysis/model/limit.h"
#include "reports/analysis/model/report_model.h"

namespace paretoken::reports {

/// The utilisation by `peaks`; nothing without output or peaks, and for fixed simulated times.
std::optional<Utilisation> utilisation_of(const GapRun& run, const LimitInputs& peaks);

/// "At c=8 decoding reads 62 % of the peak bandwidth (MBU; …"; empty when nothing is known.
std::string utilisation_sentence(const ReportPoint& point);

}  // namespace paretoken::reports
