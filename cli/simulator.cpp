#include "cli/simulator.h"

#include <fmt/format.h>

#include "core/error.h"
#include "loadgen/sim/profile.h"

namespace paretoken::cli {
namespace {

constexpr std::string_view kScheme = "sim:";
constexpr std::string_view kReady = "paretoken serve: ";             ///< then the URL, as cli/serve prints it
constexpr std::string_view kDefaultProfile = "llama3-8b-h100-bf16";  ///< as of serve
constexpr Duration kPatience = std::chrono::seconds(15);

std::vector<std::string> arguments_for(const std::string& target, std::uint64_t seed) {
    std::vector<std::string> arguments{
        "serve", "--port", "0", "--until-stdin-closes", "--seed", std::to_string(seed)};
    if (const std::string profile = target.substr(kScheme.size()); !profile.empty()) {
        (void)sim::profile_named(profile);  // what is wrong with it is said here, once, not by the child
        arguments.insert(arguments.end(), {"--profile", profile});
    }
    return arguments;
}

}  // namespace

bool names_simulator(const std::string& url) {
    return url.starts_with(kScheme);
}

sim::Profile simulated_profile(const std::string& url) {
    const std::string profile = url.substr(kScheme.size());
    return sim::profile_named(profile.empty() ? kDefaultProfile : profile);
}

Simulator::Simulator(const std::string& target, std::uint64_t seed)
    : child_("/proc/self/exe", arguments_for(target, seed)) {
    const auto line = child_.read_line(kPatience);
    if (!line || !line->starts_with(kReady)) {
        throw RuntimeError(
            fmt::format("the simulated server for '{}' did not come up; `paretoken serve --profile {}` "
                        "tells why",
                        target, target.substr(kScheme.size())));
    }
    const std::string rest = line->substr(kReady.size());
    url_ = rest.substr(0, rest.find(' '));
}

}  // namespace paretoken::cli
