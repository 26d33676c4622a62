#pragma once
// Files with alerts, "paretoken/alerts/1": the rules of core/result/alerts.h as JSON, to read and to write.
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "core/result/alerts.h"

namespace paretoken::reports {

/// Throws UsageError with `where`, the key, and what was expected.
std::vector<AlertRule> parse_alerts(const std::string& text, const std::string& where);

/// Throws UsageError as parse_alerts does, and where the file cannot be read.
std::vector<AlertRule> read_alerts(const std::filesystem::path& path);

/// A file that parse_alerts() takes back.
std::string alerts_json(std::span<const AlertRule> rules);

}  // namespace paretoken::reports
