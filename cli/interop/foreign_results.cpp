#include "cli/interop/foreign_results.h"

#include <fmt/format.h>

#include <cstdlib>
#include <system_error>

#include "core/error.h"
#include "reports/files/interop/foreign.h"
#include "reports/files/run_directory.h"

namespace paretoken::cli {
namespace {

namespace fs = std::filesystem;

bool holds_own_results(const fs::path& path) {
    try {
        (void)reports::find_result_directories(path);
        return true;
    } catch (const UsageError&) {
        return false;
    }
}

fs::path new_temporary_directory() {
    std::string name = (fs::temp_directory_path() / "paretoken-import-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
        throw RuntimeError(fmt::format("cannot create a directory in {}; set TMPDIR to another one",
                                       fs::temp_directory_path().string()));
    return name;
}

}  // namespace

ForeignResults::~ForeignResults() {
    std::error_code ignored;
    if (!directory_.empty()) fs::remove_all(directory_, ignored);
}

std::string ForeignResults::directory_of(const std::string& path) {
    std::error_code error;
    const bool is_file = fs::is_regular_file(path, error);
    if (!is_file && (holds_own_results(path) || reports::foreign_files(path).empty())) return path;
    if (directory_.empty()) directory_ = new_temporary_directory();
    const fs::path name = fs::absolute(path).lexically_normal().stem();
    const fs::path into = directory_ / std::to_string(imported_++) / name;
    reports::import_runs(path, into, {.shown = path});
    return into.string();
}

void ForeignResults::replace(std::vector<std::string>& paths) {
    for (std::string& path : paths) path = directory_of(path);
}

}  // namespace paretoken::cli
