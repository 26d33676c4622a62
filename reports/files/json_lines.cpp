#include "reports/files/json_lines.h"

#include <fmt/format.h>

#include <fstream>

#include "reports/files/json.h"

namespace paretoken::reports {

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
