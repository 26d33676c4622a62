#pragma once
// Reads files of one JSON value per line.
#include <filesystem>
#include <functional>
#include <string>

namespace paretoken::reports {

/// Calls `visit` with each line that is not empty and its place in the file ("server.jsonl:7"). A missing
/// file counts as an empty one. A last line that is not complete JSON is left out, because a crash can cut it
/// off.
void for_each_line(const std::filesystem::path& path,
                   const std::function<void(const std::string& line, const std::string& where)>& visit);

}  // namespace paretoken::reports
