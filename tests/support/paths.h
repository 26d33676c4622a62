#pragma once
// The paths of the project's files and of the built programs. Only paths.cpp is compiled with
// the absolute paths, so that a compiler cache serves every other test in every checkout.
#include <string>

namespace paretoken::paths {

std::string source_dir();  ///< the root of the project
std::string binary_dir();  ///< the folder of the built programs

}  // namespace paretoken::paths
