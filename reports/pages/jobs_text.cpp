#include "reports/pages/jobs_text.h"

#include <fmt/format.h>

#include "core/text/number_text.h"
#include "reports/document/table.h"

namespace paretoken::reports {
namespace {

std::string percentile_text(const MetricSummary& metric, double p) {
    const PercentileValue* const at = metric.at(p);
    if (at == nullptr) return "";
    return fmt::format("p{:.0f} {} s", p * 100, at->value ? significant(*at->value) : std::string("∞"));
}

}  // namespace

std::string jobs_text(const JobResults& jobs) {
    std::string text = fmt::format("{} ok", grouped(jobs.ok));
    if (jobs.failed > 0) text += fmt::format(", {} failed", grouped(jobs.failed));
    if (jobs.unfinished > 0) text += fmt::format(", {} unfinished", grouped(jobs.unfinished));
    const MetricSummary* const time = jobs.metric("job_time_s");
    const MetricSummary* const busy = jobs.metric("job_busy_s");
    if (time != nullptr)
        text += fmt::format(" · {}, {}", percentile_text(*time, .5), percentile_text(*time, .95));
    if (time != nullptr && busy != nullptr && time->mean && busy->mean && *time->mean > 0)
        text += fmt::format(" · {:.0f} % outside tools", 100 * *busy->mean / *time->mean);
    if (jobs.jobs_per_hour) text += fmt::format(" · {} jobs/h", significant(*jobs.jobs_per_hour));
    return text;
}

std::string interactivity_text(const JobResults& jobs) {
    std::string text;
    if (jobs.e2e_normalized_interactivity_p90)
        text = fmt::format("E2E-normalized p90 {} tok/s (InferenceX)",
                           significant(*jobs.e2e_normalized_interactivity_p90));
    if (jobs.e2e_interactivity)
        text += fmt::format("{}E2E {} tok/s (MLPerf)", text.empty() ? "" : " · ",
                            significant(*jobs.e2e_interactivity));
    return text;
}

}  // namespace paretoken::reports
