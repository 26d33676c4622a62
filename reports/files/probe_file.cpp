#include "reports/files/probe_file.h"

#include <fmt/format.h>

#include <fstream>

#include "reports/files/json.h"
#include "reports/files/run_directory.h"

namespace paretoken::reports {
namespace {

/// Calls `visit` with each line and its place in the file; a last line that is not complete JSON is left out.
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

}  // namespace

void write_probe_file(const std::filesystem::path& path, const std::vector<ProbeAnswer>& answers) {
    std::string text;
    for (const ProbeAnswer& answer : answers) {
        append_probe_line(text, answer);
        text += '\n';
    }
    write_file_atomically(path, text);
}

std::vector<ProbeAnswer> read_probe_file(const std::filesystem::path& path) {
    std::vector<ProbeAnswer> answers;
    for_each_line(path, [&](const std::string& line, const std::string& where) {
        answers.push_back(parse_probe_line(line, where));
    });
    return answers;
}

void for_each_answer(const std::filesystem::path& path, const std::function<void(const KeptAnswer&)>& visit) {
    for_each_line(path, [&](const std::string& line, const std::string& where) {
        visit(parse_answer_line(line, where));
    });
}

}  // namespace paretoken::reports
