#include "reports/files/probe_file.h"

#include "reports/files/file_io.h"
#include "reports/files/json/json_lines.h"
#include "reports/files/json/record_lines.h"

namespace paretoken::reports {
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
