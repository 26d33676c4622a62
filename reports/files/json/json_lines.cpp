#include "reports/files/json/json_lines.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

namespace paretoken::reports {

bool is_complete_json(std::string_view text) {
    return nlohmann::json::accept(text);
}

void for_each_line(const std::filesystem::path& path,
                   const std::function<void(const std::string& line, const std::string& where)>& visit) {
    std::ifstream file(path, std::ios::binary);
    std::size_t number = 0;
    for (std::string line; std::getline(file, line);) {
        ++number;
        if (line.empty() || (file.eof() && !is_complete_json(line))) continue;
        visit(line, fmt::format("{}:{}", path.string(), number));
    }
}

}  // namespace paretoken::reports
