#include "cli/micro_program.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/version.h"

namespace paretoken::cli {

std::filesystem::path microbench_program(const std::filesystem::path& directory) {
    constexpr const char* kName = "paretoken-microbench";
    const auto beside = directory / kName;
    const auto installed = (directory / libexec_from_bin() / "paretoken" / kName).lexically_normal();
    for (const auto& place : {beside, installed}) {
        std::error_code unreadable;
        if (std::filesystem::is_regular_file(place, unreadable)) return place;
    }
    throw RuntimeError(fmt::format(
        "micro: the program paretoken-microbench is missing: neither '{}' nor '{}' exists; install or build "
        "paretoken again, which includes it",
        beside.string(), installed.string()));
}

}  // namespace paretoken::cli
