#include "cli/console_watcher.h"

#include <fmt/format.h>

#include <cstdio>

namespace paretoken::cli {

void ConsoleWatcher::warn(const std::string& text) {
    fmt::print(stderr, "paretoken: warning: {}\n", text);
}

void ConsoleWatcher::wait(const std::string& text) {
    fmt::print(stderr, "{}\n", text);
}

void ConsoleWatcher::load_begins(const std::string& label, const loadgen::Progress& progress,
                                 const loadgen::Limits& limits) {
    line_.emplace(label, progress, limits);
}

void ConsoleWatcher::load_ends() {
    line_.reset();
}

void ConsoleWatcher::point_begins(std::size_t number, std::size_t points, const std::string& label,
                                  bool already_measured) {
    fmt::print(stderr, "[{}/{}] {}{}\n", number, points, label, already_measured ? ": already measured" : "");
    std::fflush(stderr);
}

void ConsoleWatcher::point_lengthened(const std::string& label, std::uint64_t requests, std::uint64_t asked) {
    fmt::print(stderr, "  {}: {} requests instead of --num-prompts {}, which would never reach the level\n",
               label, requests, asked);
    std::fflush(stderr);
}

}  // namespace paretoken::cli
