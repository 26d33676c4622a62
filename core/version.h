#pragma once
// Version information of this build: the project's version and the commit it was built from ("unknown"
// outside a checkout).
#include <string_view>

namespace paretoken {

std::string_view version();
std::string_view commit();

}  // namespace paretoken
