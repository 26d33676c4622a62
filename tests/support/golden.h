#pragma once
// Reads the files of tests/golden, most of which hold the bytes that real servers sent, and extracts the
// bodies of recorded HTTP responses.
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/paths.h"

namespace paretoken::testing {

/// Returns the path of a file. `name` is its path below tests/golden.
inline std::filesystem::path golden_path(std::string_view name) {
    return std::filesystem::path(paths::source_dir()) / "tests" / "golden" / name;
}

/// Returns the content of a file. `name` is its path below tests/golden. Throws std::runtime_error if the
/// file cannot be opened.
inline std::string golden(std::string_view name) {
    std::ifstream file(golden_path(name), std::ios::binary);
    if (!file) throw std::runtime_error("no golden file " + golden_path(name).string());
    return {std::istreambuf_iterator<char>(file), {}};
}

/// Returns the sorted paths below tests/golden of the files in a folder, as golden() takes them.
inline std::vector<std::string> golden_files(std::string_view folder) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(golden_path(folder))) {
        names.push_back(std::string(folder) + "/" + entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
}

/// Returns the chunks of the body of an HTTP response; a body that was not chunked is one chunk. Throws
/// std::runtime_error if the response has no header or a chunk has no size.
inline std::vector<std::string> body_chunks(std::string_view http) {
    const std::size_t end_of_header = http.find("\r\n\r\n");
    if (end_of_header == std::string_view::npos) throw std::runtime_error("no HTTP header");
    std::string header(http.substr(0, end_of_header));
    std::transform(header.begin(), header.end(), header.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    http.remove_prefix(end_of_header + 4);
    if (header.find("transfer-encoding: chunked") == std::string::npos) return {std::string(http)};
    std::vector<std::string> chunks;
    while (true) {
        std::size_t size = 0;
        const auto [stop, error] = std::from_chars(http.data(), http.data() + http.size(), size, 16);
        if (error != std::errc{}) throw std::runtime_error("no chunk size");
        http.remove_prefix(static_cast<std::size_t>(stop - http.data()) + 2);
        if (size == 0) return chunks;
        chunks.emplace_back(http.substr(0, size));
        http.remove_prefix(size + 2);
    }
}

/// Returns the body of an HTTP response without chunks. Throws like body_chunks().
inline std::string body_of(std::string_view http) {
    std::string body;
    for (const std::string& chunk : body_chunks(http)) body += chunk;
    return body;
}

}  // namespace paretoken::testing
