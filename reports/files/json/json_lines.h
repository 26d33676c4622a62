#pragma once
// Reads files of one JSON value per line.
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace paretoken::reports {

/// Whether `text` is one complete JSON value.
bool is_complete_json(std::string_view text);

/// Calls `visit` with each line that is not empty and its place in the file ("server.jsonl:7"). A missing
/// file counts as an empty one. A last line that is not complete JSON is left out, because a crash can cut it
/// off.
void for_each_line(const std::filesystem::path& path,
                   const std::function<void(const std::string& line, const std::string& where)>& visit);

}  // namespace paretoken::reports
