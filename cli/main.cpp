// The program: a table of commands, one place where errors become a line and an exit code.
#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdio>
#include <exception>

#include "cli/commands.h"
#include "core/error.h"
#include "core/version.h"

namespace {

using paretoken::ExitCode;

int report_failure(const char* what, ExitCode code) {
    std::fflush(stdout);
    fmt::print(stderr, "paretoken: {}\n", what);
    return static_cast<int>(code);
}

/// Help and version are answers; everything else that the parser objects to is a usage error.
int report_parse_error(const CLI::App& app, const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app.exit(error);
    const std::vector<std::string> unknown = app.remaining();
    if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && !unknown.empty()) {
        fmt::print(stderr, "paretoken: there is no command '{}'; see --help\n", unknown.front());
    } else {
        fmt::print(stderr, "paretoken: {}; see --help\n", error.what());
    }
    return static_cast<int>(ExitCode::usage);
}

/// Every stream is a descriptor: as many as the system lets this process have.
void raise_descriptor_limit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

int main(int argc, char** argv) {
    raise_descriptor_limit();
    CLI::App app{
        "Measures what an LLM endpoint delivers, what the hardware could deliver, and what a million tokens "
        "costs.",
        "paretoken"};
    app.require_subcommand(1);
    app.set_version_flag("--version",
                         fmt::format("paretoken {} ({})", paretoken::version(), paretoken::commit()));
    app.footer(
        "Exit codes: 0 ok, 1 gate failed, 2 usage, 3 runtime, 4 measurement invalid, 5 gate inconclusive.\n"
        "paretoken COMMAND --help tells each command's options.");
    for (const auto add :
         {paretoken::cli::add_run, paretoken::cli::add_sweep, paretoken::cli::add_micro,
          paretoken::cli::add_report, paretoken::cli::add_serve, paretoken::cli::add_calibrate}) {
        add(app);
    }
    try {
        app.parse(argc, argv);
        return static_cast<int>(ExitCode::ok);
    } catch (const CLI::ParseError& error) {
        return report_parse_error(app, error);
    } catch (const paretoken::Error& error) {
        return report_failure(error.what(), error.code());
    } catch (const std::exception& error) {
        return report_failure(error.what(), ExitCode::runtime);
    }
}
