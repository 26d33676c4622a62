#pragma once
// Facts about this build.
#include <string_view>

namespace paretoken {

std::string_view version();

/// Returns the first 12 digits of the commit that this program was built from ("unknown" outside a checkout
/// and a source distribution), with "-dirty" appended if a tracked file was changed.
std::string_view commit();

/// Returns CMake's build type, such as "Release".
std::string_view build_type();

/// Returns the names of the instruction sets that paretoken-microbench has kernels for, the simplest first,
/// with commas between them. The program chooses among them at run time.
std::string_view cpu_kernels();

/// Returns the directory of programs that other programs start, relative to the directory of programs that
/// users start, in an installation: "../libexec".
std::string_view libexec_from_bin();

}  // namespace paretoken
