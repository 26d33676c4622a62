#include "reports/files/server_lines.h"

#include <fmt/format.h>

#include <cmath>
#include <system_error>
#include <utility>

namespace paretoken::reports {

std::string server_line(double at_s, const std::map<std::string, double>& fields) {
    std::string line = fmt::format("{{\"at_s\":{}", at_s);
    for (const auto& [key, value] : fields)
        if (std::isfinite(value)) line += fmt::format(",\"{}\":{}", key, value);
    return line + "}";
}

ServerLines::ServerLines(std::filesystem::path path, TimePoint epoch)
    : path_(std::move(path)), epoch_(epoch) {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
}

void ServerLines::add(TimePoint at, const std::map<std::string, double>& fields) {
    const std::lock_guard lock(mutex_);
    if (!file_.is_open()) file_.open(path_, std::ios::app);
    file_ << server_line(seconds(at - epoch_), fields) << '\n' << std::flush;
}

}  // namespace paretoken::reports
