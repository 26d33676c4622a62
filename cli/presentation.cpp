#include "cli/presentation.h"

#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdlib>
#include <string_view>

namespace paretoken::cli {

void add_presentation_options(CLI::App& command, Presentation& presentation, Shows shows) {
    const char* group = "Output";
    auto* const verbose =
        command.add_flag("-v,--verbose", presentation.verbose, "Print every figure and every table")
            ->group(group);
    auto* const quiet = command
                            .add_flag("-q,--quiet", presentation.quiet,
                                      "Print the verdict only, and no progress; warnings are still printed")
                            ->group(group)
                            ->excludes(verbose);
    if (shows == Shows::text) return;
    command
        .add_flag("--json", presentation.json,
                  "Print the result as JSON, as the result file has it, instead of text")
        ->group(group)
        ->excludes(verbose)
        ->excludes(quiet);
}

bool is_able_terminal(int file) {
    const char* const terminal = std::getenv("TERM");
    return terminal != nullptr && std::string_view(terminal) != "dumb" && isatty(file) == 1;
}

bool wants_colour(int file) {
    const char* const no_colour = std::getenv("NO_COLOR");
    return (no_colour == nullptr || *no_colour == '\0') && is_able_terminal(file);
}

reports::ConsoleStyle style_of_output() {
    return {.colour = wants_colour(STDOUT_FILENO)};
}

}  // namespace paretoken::cli
