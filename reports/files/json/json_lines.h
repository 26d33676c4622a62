#pragma once
// Reads files of one JSON value per line.
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace paretoken::reports {

bool is_complete_json(std::string_view text);

/// Calls `visit` with each line and its place ("server.jsonl:7"), except empty ones and a last one that a
/// crash cut off. A missing file counts as empty.
void for_each_line(const std::filesystem::path& path,
                   const std::function<void(const std::string& line, const std::string& where)>& visit);

}  // namespace paretoken::reports
