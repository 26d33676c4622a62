#include "experiments/server/lifecycle.h"

#include <fmt/format.h>

#include "core/error.h"

namespace paretoken::experiments {
namespace {

constexpr std::string_view kScheme = "sim:";
constexpr std::string_view kServeReady = "paretoken serve: ";  ///< text that `serve` prints before the URL
constexpr std::string_view kDefaultProfile = "llama3-8b-h100-bf16";  ///< the default of `serve`

}  // namespace

StartedServer::StartedServer(const ServerCommand& command, std::string_view name)
    : child_(command.program, command.arguments) {
    const auto line = child_.read_line(command.patience);
    if (!line || !line->starts_with(command.ready))
        throw RuntimeError(fmt::format("the server for '{}' did not come up", name));
    const std::string rest = line->substr(command.ready.size());
    url_ = rest.substr(0, rest.find(' '));
}

bool names_simulator(const std::string& url) {
    return url.starts_with(kScheme);
}

sim::Profile simulated_profile(const std::string& url) {
    const std::string profile = url.substr(kScheme.size());
    return sim::profile_named(profile.empty() ? kDefaultProfile : profile);
}

std::unique_ptr<StartedServer> start_simulator(const std::string& url, std::uint64_t seed) {
    ServerCommand serve{
        .program = "/proc/self/exe",
        .arguments = {"serve", "--port", "0", "--until-stdin-closes", "--seed", std::to_string(seed)},
        .ready = std::string(kServeReady)};
    if (const std::string profile = url.substr(kScheme.size()); !profile.empty()) {
        (void)sim::profile_named(profile);  // a wrong profile is reported here, not by the child too
        serve.arguments.insert(serve.arguments.end(), {"--profile", profile});
    }
    try {
        return std::make_unique<StartedServer>(serve, url);
    } catch (const RuntimeError& error) {
        throw RuntimeError(fmt::format("{}; `paretoken serve --profile {}` shows why", error.what(),
                                       url.substr(kScheme.size())));
    }
}

}  // namespace paretoken::experiments
