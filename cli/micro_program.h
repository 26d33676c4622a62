#pragma once
// Where the program of the microbenchmarks is.
#include <filesystem>

namespace paretoken::cli {

/// Returns the path of paretoken-microbench for a paretoken in `directory`: beside it, as in a build and in a
/// Python environment, or below the prefix of an installation, in libexec/paretoken. Throws RuntimeError
/// naming both places if it is in neither.
std::filesystem::path microbench_program(const std::filesystem::path& directory);

}  // namespace paretoken::cli
