#include "cli/micro/micro_cache.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <filesystem>

#include "cards/card_file.h"
#include "cards/gpu_devices.h"
#include "cards/host.h"
#include "core/error.h"
#include "reports/analysis/micro/micro_machine.h"
#include "reports/files/file_io.h"

namespace paretoken::cli {
namespace {

namespace fs = std::filesystem;

std::optional<fs::path> cache_file() {
    const auto folder = [](const char* variable) -> std::optional<fs::path> {
        const char* const value = std::getenv(variable);
        if (value == nullptr || *value != '/') return {};  // relative paths are to be ignored
        return fs::path(value);
    };
    if (const auto cache = folder("XDG_CACHE_HOME")) return *cache / "paretoken" / "micro.json";
    if (const auto home = folder("HOME")) return *home / ".cache" / "paretoken" / "micro.json";
    return {};
}

}  // namespace

std::optional<std::string> keep_micro(const std::string& json) {
    const auto path = cache_file();
    if (!path) return {};
    try {
        fs::create_directories(path->parent_path());
        reports::write_file_atomically(*path, json);
    } catch (const std::exception&) {
        return {};
    }
    return path->string();
}

KeptMicro kept_micro() {
    const auto path = cache_file();
    std::error_code absent;
    if (!path || !fs::exists(*path, absent)) return {};
    try {
        const std::string name = "the kept micro.json";
        auto of_machine =
            reports::results_of_machine(reports::parse_micro_results(cards::read_card_file(*path), name),
                                        cards::this_host(), cards::gpus_of_driver());
        KeptMicro kept{.results = std::move(of_machine.same)};
        if (kept.results.empty()) {
            kept.note = fmt::format("the last result of `paretoken micro` was not used: {}; measure again",
                                    fmt::join(of_machine.others, "; "));
            return kept;
        }
        kept.note = fmt::format(
            "the limit uses what `paretoken micro` measured on this machine on {}; --no-micro leaves it out",
            kept.results.front().date.substr(0, 10));
        return kept;
    } catch (const Error& error) {
        return {.note = fmt::format("the last result of `paretoken micro` was not used: {}; measure again",
                                    error.what())};
    }
}

}  // namespace paretoken::cli
