#include "reports/files/server_lines.h"

#include <fmt/format.h>

#include <cmath>
#include <system_error>
#include <utility>

#include "reports/files/json_text.h"

namespace paretoken::reports {

std::string server_line(double at_s, const std::map<std::string, double>& fields, const std::string& place) {
    std::string line = fmt::format("{{\"at_s\":{}", at_s);
    if (!place.empty()) line += fmt::format(",\"place\":{}", json_text(place));
    for (const auto& [key, value] : fields)
        if (std::isfinite(value)) line += fmt::format(",{}:{}", json_text(key), value);
    return line + "}";
}

ServerLines::ServerLines(std::filesystem::path path, TimePoint epoch)
    : path_(std::move(path)), epoch_(epoch) {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
}

void ServerLines::add(TimePoint at, const std::map<std::string, double>& fields, const std::string& place) {
    const std::lock_guard lock(mutex_);
    if (!file_.is_open()) file_.open(path_, std::ios::app);
    file_ << server_line(seconds(at - epoch_), fields, place) << '\n' << std::flush;
}

}  // namespace paretoken::reports
