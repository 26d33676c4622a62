#include "reports/files/watch_lines.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <utility>

#include "core/error.h"
#include "reports/document/table.h"
#include "reports/files/json/json_text.h"

namespace paretoken::reports {
namespace {

std::string drift_json(const DriftLine& drift) {
    return fmt::format(R"("{}":{{"ratio":{},"ci95":[{},{}],"n":{},"drifted":{}}})", drift.metric, drift.ratio,
                       drift.ci95.low, drift.ci95.high, drift.n, drift.drifted);
}

/// A figure with its title and unit, multiplied by `scale`; empty if the line does not have it.
std::string part(const WatchLine& line, std::string_view title, std::string_view key, double scale = 1,
                 std::string_view unit = {}) {
    const auto found = line.figures.find(std::string(key));
    if (found == line.figures.end()) return "";
    return fmt::format("{}{}{}{}", title, title.empty() ? "" : " ", significant(found->second * scale), unit);
}

}  // namespace

std::string watch_line(const WatchLine& line) {
    std::string text =
        fmt::format(R"({{"interval":{},"at":"{}","begin_s":{},"end_s":{},"requests":{},"failed":{})",
                    line.interval, line.at, line.begin_s, line.end_s, line.requests, line.failed);
    for (const auto& [key, value] : line.figures)
        if (std::isfinite(value)) text += fmt::format(",{}:{}", json_text(key), value);
    const char* separator = "";
    text += ",\"alerts\":[";
    for (const std::string& alert : line.firing) text += std::exchange(separator, ",") + json_text(alert);
    text += "],\"drift\":{";
    separator = "";
    for (const DriftLine& drift : line.drift)
        if (std::isfinite(drift.ratio) && std::isfinite(drift.ci95.low) && std::isfinite(drift.ci95.high))
            text += std::exchange(separator, ",") + drift_json(drift);
    text += "}";
    if (!line.error.empty()) text += fmt::format(",\"error\":{}", json_text(line.error));
    return text + "}";
}

std::string watch_text(const WatchLine& line) {
    constexpr double kMilliseconds = 1e3;
    constexpr double kPercent = 100;
    std::vector<std::string> parts;
    const auto add = [&parts](std::string text) {
        if (!text.empty()) parts.push_back(std::move(text));
    };
    add(line.failed > 0 ? fmt::format("{} requests, {} failed", line.requests, line.failed)
                        : fmt::format("{} requests", line.requests));
    add(part(line, "TTFT p50", "ttft_p50_s", kMilliseconds, " ms"));
    add(part(line, "p95", "ttft_p95_s", kMilliseconds, " ms"));
    add(part(line, "ITL p50", "itl_p50_s", kMilliseconds, " ms"));
    add(part(line, "p95", "itl_p95_s", kMilliseconds, " ms"));
    add(part(line, "hits", "prefix_hit_ratio", kPercent, " %"));
    add(part(line, "KV", "kv_usage", kPercent, " %"));
    add(part(line, "running", "running"));
    add(part(line, "waiting", "waiting"));
    for (const DriftLine& drift : line.drift)
        if (drift.drifted)
            add(fmt::format("{} drifted to {} times the reference (95 % interval: {} to {})", drift.metric,
                            significant(drift.ratio), significant(drift.ci95.low),
                            significant(drift.ci95.high)));
    if (!line.firing.empty()) add(fmt::format("ALERT {}", fmt::join(line.firing, ", ")));
    if (!line.error.empty()) add("error of a request: " + printable(line.error, 200));
    return fmt::format("{}  interval {}, to {:.0f} s: {}", line.at, line.interval, line.end_s,
                       fmt::join(parts, ", "));
}

WatchFile::WatchFile(std::filesystem::path path) : path_(std::move(path)), file_(path_, std::ios::trunc) {}

void WatchFile::add(const WatchLine& line) {
    file_ << watch_line(line) << '\n' << std::flush;
    if (!file_)
        throw RuntimeError(
            fmt::format("cannot write {}, so that the watch ends; is the disk full, or the directory gone?",
                        path_.string()));
}

}  // namespace paretoken::reports
