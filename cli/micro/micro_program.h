#pragma once
// Finds and runs the program of the microbenchmarks.
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

namespace paretoken::cli {

/// Returns the path of paretoken-microbench for a paretoken in `directory`: beside it, or in
/// libexec/paretoken below the prefix. Throws RuntimeError naming both places if it is in neither.
std::filesystem::path microbench_program(const std::filesystem::path& directory);

/// Runs paretoken-microbench to its end, and calls `on_line` with each line that it prints. A request to stop
/// ends it. Throws RuntimeError, or the error that it printed, with its exit code.
void run_microbench(const std::vector<std::string>& arguments, const std::stop_token& stop,
                    const std::function<void(const std::string&)>& on_line);

}  // namespace paretoken::cli
