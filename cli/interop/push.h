#pragma once
// Sends metrics of runs to a Pushgateway of Prometheus, or to a collector of OpenTelemetry.
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/result/result.h"
#include "reports/files/recorded_files.h"

namespace paretoken::cli {

/// A run that is exported.
struct LoadedExport {
    std::string name;  ///< name of its directory
    std::filesystem::path directory;
    RunResult result;
    reports::StoredRun stored;
};

/// The value of --push that stands for the collector that the variables OTEL_EXPORTER_OTLP_* name.
inline constexpr std::string_view kPushOtlp = "otlp";

/// Throws a UsageError if the target is neither a URL nor kPushOtlp.
void check_push(const std::string& target);

/// Sends the runs. Throws RuntimeError if the target cannot be reached or refuses them.
void push(const std::string& target, const std::vector<LoadedExport>& runs);

}  // namespace paretoken::cli
