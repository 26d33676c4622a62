#include "cli/plan/runs_directory.h"

#include <fmt/format.h>
#include <unistd.h>

namespace paretoken::cli {

RunsDirectory::RunsDirectory(const std::string& out) : kept_(!out.empty()) {
    path_ = kept_ ? std::filesystem::path(out) / "searches"
                  : std::filesystem::temp_directory_path() / fmt::format("paretoken-plan-{}", getpid());
    std::filesystem::remove_all(path_);
}

RunsDirectory::~RunsDirectory() {
    std::error_code ignored;
    if (!kept_) std::filesystem::remove_all(path_, ignored);
}

}  // namespace paretoken::cli
