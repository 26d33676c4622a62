#pragma once
// Version information of this build: the project's version, and the first 12 digits of the commit it was
// built from ("unknown" outside a checkout), with "-dirty" appended if a tracked file was changed.
#include <string_view>

namespace paretoken {

std::string_view version();
std::string_view commit();

}  // namespace paretoken
