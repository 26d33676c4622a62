#include "cli/micro/micro_program.h"

#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <string_view>

#include "core/error.h"
#include "experiments/server/child_process.h"

namespace paretoken::cli {

std::filesystem::path microbench_program(const std::filesystem::path& directory) {
    constexpr std::string_view kName = "paretoken-microbench";
    if (auto found = experiments::installed_file(directory, kName)) return *std::move(found);
    const auto [beside, installed] = experiments::places_of(directory, kName);
    throw RuntimeError(fmt::format(
        "micro: the program paretoken-microbench is missing: neither '{}' nor '{}' exists; install or build "
        "paretoken again, which includes it",
        beside.string(), installed.string()));
}

void run_microbench(const std::vector<std::string>& arguments, const std::stop_token& stop,
                    const std::function<void(const std::string&)>& on_line) {
    constexpr std::string_view kComplaint = "error: ";
    constexpr auto kPatience = std::chrono::minutes(30);  // for one row; the slowest take seconds
    experiments::ChildProcess child(microbench_program(experiments::own_directory()), arguments);
    std::string complaint;
    {
        const std::stop_callback end(stop, [&] { child.signal(SIGTERM); });
        while (const auto line = child.read_line(kPatience)) {
            on_line(*line);
            if (line->starts_with(kComplaint)) complaint = line->substr(kComplaint.size());
        }
    }
    if (stop.stop_requested()) throw RuntimeError("micro: interrupted; nothing was written");
    const int status = child.wait();
    if (status == static_cast<int>(ExitCode::ok) || status == static_cast<int>(ExitCode::measurement_invalid))
        return;
    if (!complaint.empty() && status == static_cast<int>(ExitCode::usage))
        throw UsageError("micro: " + complaint);
    if (!complaint.empty()) throw RuntimeError("micro: " + complaint);
    throw RuntimeError(
        fmt::format("micro: paretoken-microbench ended with status {}; run it by hand, in the directory of "
                    "paretoken, to see why",
                    status));
}

}  // namespace paretoken::cli
