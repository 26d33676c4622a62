#include "tests/support/paths.h"

namespace paretoken::paths {

std::string source_dir() {
    return PARETOKEN_SOURCE_DIR;
}

std::string binary_dir() {
    return PARETOKEN_BINARY_DIR;
}

}  // namespace paretoken::paths
