#pragma once
// Reads and writes alert files ("paretoken/alerts/1"): the rules of core/result/alerts.h as JSON.
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "core/result/alerts.h"

namespace paretoken::reports {

/// Reads alerts from the text of an alert file. Throws a UsageError that names the file (`where`) and the key
/// or line, also for two alerts with the same name.
std::vector<AlertRule> parse_alerts(const std::string& text, const std::string& where);

/// Reads alerts from a file. Throws UsageError like parse_alerts(), and when the file cannot be read.
std::vector<AlertRule> read_alerts(const std::filesystem::path& path);

/// The rules as the text of a file that parse_alerts() can read.
std::string alerts_json(std::span<const AlertRule> rules);

}  // namespace paretoken::reports
