#pragma once
// Model FLOPs utilisation (MFU) and model bandwidth utilisation (MBU) of a run: what the delivered tokens
// need at least, as shares of the hardware's peaks. Pure.
//
// MFU counts each computed prompt token and each output token once, with attention; the output head is
// computed once per prompt. Drafts that were wrong and prompts that were computed again do not count. MBU
// counts the weights once per decoding step and the KV cache of every decoded token; what prompts read is
// left out.
#include <optional>
#include <string>

#include "reports/model/gap.h"
#include "reports/model/limit.h"
#include "reports/model/report_model.h"

namespace paretoken::reports {

/// `peaks` says what the hardware can do and what the model needs. Nothing without output tokens, and for
/// servers of fixed times.
std::optional<Utilisation> utilisation_of(const GapRun& run, const LimitInputs& peaks);

/// "at c=8, decoding reads 62 % of the peak bandwidth (MBU) and …"; empty when nothing is known.
std::string utilisation_sentence(const ReportPoint& point);

}  // namespace paretoken::reports
