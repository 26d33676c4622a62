#pragma once
// Sends metrics of runs to a Pushgateway of Prometheus, or to a collector of OpenTelemetry.
#include <string>
#include <vector>

#include "cli/interop/exports.h"

namespace paretoken::cli {

/// The value of --push that stands for the collector that the variables OTEL_EXPORTER_OTLP_* name.
inline constexpr std::string_view kPushOtlp = "otlp";

/// Throws a UsageError if the target is neither a URL nor kPushOtlp.
void check_push(const std::string& target);

/// Sends the runs. Throws RuntimeError if the target cannot be reached or refuses them.
void push(const std::string& target, const std::vector<LoadedExport>& runs);

}  // namespace paretoken::cli
