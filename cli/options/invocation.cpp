#include "cli/options/invocation.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <utility>

#include "core/plan/plan.h"
#include "core/plan/plan_arguments.h"
#include "core/plan/shard.h"
#include "core/text/command_secrets.h"
#include "experiments/server/target.h"

namespace paretoken::cli {
namespace {

constexpr const char* kUsualVariable = "OPENAI_API_KEY";

/// Returns the name of the first proxy variable that is set; empty: none.
std::string proxy_variable() {
    for (const char* name :
         {"https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"}) {
        if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return name;
    }
    return {};
}

/// Returns the text with the secrets of each URL in it hidden. A URL begins with its scheme and ends at a
/// blank, a quotation mark or the next URL.
std::string with_redacted_urls(const std::string& text) {
    constexpr std::string_view kMark = "://";
    constexpr std::string_view kEnds = " \t\n\r\"'";
    const auto in_scheme = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' ||
               c == '-' || c == '.';
    };
    const auto next_url = [&](std::size_t from) {
        std::size_t begin = std::min(text.find(kMark, from), text.size());
        while (begin < text.size() && begin > from && in_scheme(text[begin - 1])) --begin;
        return begin;
    };
    std::size_t begin = next_url(0);
    std::string out = text.substr(0, begin);
    while (begin < text.size()) {
        const std::size_t next = next_url(text.find(kMark, begin) + kMark.size());
        const std::size_t end = std::min(next, text.find_first_of(kEnds, begin));
        out += redacted_url(text.substr(begin, end - begin));
        out.append(text, end, next - end);
        begin = next;
    }
    return out;
}

}  // namespace

std::optional<std::string> variable_of_environment(const std::string& name) {
    const char* const value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

experiments::Invocation this_invocation() {
    std::ifstream file("/proc/self/cmdline", std::ios::binary);
    std::vector<std::string> argv;
    for (std::string argument; std::getline(file, argument, '\0');) argv.push_back(argument);
    argv = without_secrets(std::move(argv));
    std::string command = shell_line(argv);
    return {std::move(argv), std::move(command)};
}

std::vector<std::string> without_secrets(std::vector<std::string> argv) {
    const auto hide = [](const std::string& header) { return header.substr(0, header.find(':')) + ": ***"; };
    for (std::size_t i = 0; i < argv.size(); ++i) {
        std::string& argument = argv[i];
        if ((argument == "-H" || argument == "--header") && i + 1 < argv.size()) {
            argv[i + 1] = hide(argv[i + 1]);
            ++i;
        } else if (argument == "--server-env" && i + 1 < argv.size()) {
            argv[i + 1] = variable_to_show(argv[i + 1]);
            ++i;
        } else if (argument.starts_with("--server-env=")) {
            argument = "--server-env=" + variable_to_show(argument.substr(13));
        } else if (argument.starts_with("--header=")) {
            argument = "--header=" + hide(argument.substr(9));
        } else if (argument.starts_with("-H")) {
            argument = "-H" + hide(argument.substr(2));
        } else {
            argument = with_redacted_urls(argument);
        }
    }
    return argv;
}

std::string api_key_in(const std::string& variable, bool required) {
    const char* held = std::getenv(variable.c_str());
    std::string key = held ? held : "";
    const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
    while (!key.empty() && is_blank(key.back())) key.pop_back();
    key.erase(key.begin(), std::ranges::find_if_not(key, is_blank));
    if (key.empty() && required)
        throw UsageError(
            fmt::format("--api-key-env {}: the environment has no such variable, or it is empty", variable));
    if (std::ranges::any_of(key, [](unsigned char c) { return c < ' ' || c == 0x7f; }))
        throw UsageError(
            fmt::format("the key in {} holds a line end or another control character, which no header can "
                        "carry; set it to the key alone",
                        variable));
    return key;
}

experiments::Access access_of(const LoadPlan& plan) {
    const bool named = !plan.api_key_env.empty();
    return {.api_key = api_key_in(named ? plan.api_key_env : kUsualVariable, named),
            .proxy_variable = proxy_variable()};
}

std::string AmountWithin::operator()(const std::string& text) const {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    const bool is_number = !text.empty() && *end == '\0' && std::isfinite(value);
    if (is_number && ((zero && value == 0) || (value >= least && value <= most))) return {};
    return fmt::format("'{}' is not {}a number from {:g} to {:g}", text, zero && least > 0 ? "0 or " : "",
                       least, most);
}

reports::OutputRequest output_request(const LoadPlan& plan, reports::OutputKind kind) {
    return {.path = plan.out,
            .fresh = fmt::format("runs/{:%Y%m%d-%H%M%S}", fmt::localtime(std::time(nullptr))),
            .kind = kind,
            .overwrite = plan.overwrite};
}

std::filesystem::path directory_of_shard(const LoadPlan& plan) {
    const reports::OutputRequest whole = output_request(plan, reports::OutputKind::run);
    std::filesystem::path directory = whole.path.empty() ? whole.fresh : whole.path;
    if (!directory.has_filename()) directory = directory.parent_path();  // "out/"
    directory += fmt::format("-shard-{}", shard_of(plan).number);
    return directory;
}

}  // namespace paretoken::cli
