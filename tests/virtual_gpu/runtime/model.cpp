#include "tests/virtual_gpu/runtime/model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "core/error.h"
#include "core/spec.h"

namespace paretoken::virtual_gpu {
namespace {

constexpr std::size_t kKibi = 1 << 10;
constexpr Limits kLimits[] = {
    {80, 164 * kKibi, 163 * kKibi, 2048, 32},  {86, 100 * kKibi, 99 * kKibi, 1536, 16},
    {89, 100 * kKibi, 99 * kKibi, 1536, 24},   {90, 228 * kKibi, 227 * kKibi, 2048, 32},
    {100, 228 * kKibi, 227 * kKibi, 2048, 32}, {120, 100 * kKibi, 99 * kKibi, 1536, 24},
};
constexpr int kThreadsByRegisters = 65536 / 64;

bool on_or_off(std::string_view key, std::string_view text) {
    if (text == "on") return true;
    if (text == "off") return false;
    throw UsageError(fmt::format("{}:{}: the value must be on or off", key, text));
}

void set(Settings& settings, std::string_view key, std::string_view text) {
    if (key == "sm") {
        settings.capability = limits_of(static_cast<int>(parse_count(text))).capability;
    } else if (key == "multiprocessors") {
        settings.multiprocessors = static_cast<int>(std::clamp<std::uint64_t>(parse_count(text), 1, 1024));
    } else if (key == "memory") {
        settings.memory_bytes = parse_count(text);
    } else if (key == "l2") {
        settings.l2_bytes = parse_count(text);
    } else if (key == "order") {
        if (text != "lazy" && text != "eager")
            throw UsageError(fmt::format("order:{}: the order must be lazy or eager", text));
        settings.lazy = text == "lazy";
    } else if (key == "seed") {
        settings.seed = parse_count(text);
    } else if (key == "graph_runs") {
        settings.graph_runs = parse_count(text);
    } else if (key == "races") {
        settings.check_races = on_or_off(key, text);
    } else if (key == "initialised") {
        settings.check_initialised = on_or_off(key, text);
    } else {
        throw UsageError(
            fmt::format("'{}' is not a property of a virtual GPU; the properties are sm, multiprocessors, "
                        "memory, l2, order, seed, graph_runs, races, initialised",
                        key));
    }
}

}  // namespace

const Limits& limits_of(int capability) {
    const auto* const found = std::find_if(std::begin(kLimits), std::end(kLimits), [&](const Limits& limits) {
        return limits.capability == capability;
    });
    if (found != std::end(kLimits)) return *found;
    std::vector<int> known;
    for (const Limits& limits : kLimits) known.push_back(limits.capability);
    throw UsageError(fmt::format("sm:{}: the known values are {}", capability, fmt::join(known, ", ")));
}

std::string Settings::name() const {
    return fmt::format("virtual GPU (sm_{})", capability);
}

Settings settings_of(std::string_view text) {
    Settings settings;
    while (!text.empty()) {
        const std::string_view field = text.substr(0, text.find(','));
        text.remove_prefix(std::min(text.size(), field.size() + 1));
        const auto colon = field.find(':');
        if (colon == std::string_view::npos)
            throw UsageError(
                fmt::format("'{}' is not a property of a virtual GPU; an example is sm:90,memory:2G", field));
        set(settings, field.substr(0, colon), field.substr(colon + 1));
    }
    return settings;
}

int resident_blocks(const Limits& limits, int threads, std::size_t shared_bytes) {
    const int warps = (threads + 31) / 32;
    const int by_threads = std::min(limits.threads_per_multiprocessor, kThreadsByRegisters) / 32 / warps;
    if (shared_bytes > limits.shared_per_block) return 0;
    const auto by_shared =
        static_cast<int>(limits.shared_per_multiprocessor / (shared_bytes + kSharedReserved));
    return std::min({by_threads, by_shared, limits.blocks_per_multiprocessor});
}

double launch_seconds(const Speeds& speeds, const LaunchReport& report, double least_s) {
    const auto bytes = static_cast<double>(report.read_bytes + report.written_bytes);
    return std::max({least_s, bytes / speeds.memory_bytes_per_s,
                     static_cast<double>(report.mma_flops) / speeds.flops_per_s});
}

}  // namespace paretoken::virtual_gpu
