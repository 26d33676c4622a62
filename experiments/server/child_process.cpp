#include "experiments/server/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

#include "core/error.h"
#include "core/version.h"

extern char** environ;

namespace paretoken::experiments {
namespace {

struct Pipe {
    int read = -1;
    int write = -1;
};

Pipe open_pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw RuntimeError(fmt::format("pipe: {}", std::strerror(errno)));
    return {ends[0], ends[1]};
}

int exit_status_of(int status) {
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Starts the program in a process group of its own, so that Ctrl-C reaches only us; we tell the child.
pid_t spawn(const std::filesystem::path& program, const std::vector<std::string>& arguments,
            const Pipe& input, const Pipe& output) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input.read, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output.write, STDOUT_FILENO);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t ignored_here;  // main() ignores these signals, which other programs do not expect
    sigemptyset(&ignored_here);
    sigaddset(&ignored_here, SIGPIPE);
    sigaddset(&ignored_here, SIGXFSZ);
    posix_spawnattr_setsigdefault(&attributes, &ignored_here);
    sigset_t none_blocked;  // a thread of ours may block the signals by which the child is ended
    sigemptyset(&none_blocked);
    posix_spawnattr_setsigmask(&attributes, &none_blocked);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);

    std::vector<char*> argv{const_cast<char*>(program.c_str())};
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    pid_t pid = -1;
    const int failed = posix_spawn(&pid, program.c_str(), &actions, &attributes, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (failed != 0) {
        throw RuntimeError(fmt::format("cannot start '{}': {}", program.string(), std::strerror(failed)));
    }
    return pid;
}

}  // namespace

ChildProcess::ChildProcess(const std::filesystem::path& program, const std::vector<std::string>& arguments) {
    const Pipe input = open_pipe();
    const Pipe output = open_pipe();
    input_ = input.write;
    output_ = output.read;
    try {
        pid_ = spawn(program, arguments, input, output);
    } catch (...) {
        for (const int fd : {input.read, input.write, output.read, output.write}) close(fd);
        throw;
    }
    close(input.read);
    close(output.write);
}

ChildProcess::~ChildProcess() {
    close(input_);
    for (const auto& [number, patience] : {std::pair{0, 20}, {SIGTERM, 100}, {SIGKILL, 1000}}) {
        if (number != 0) signal(number);
        for (int i = 0; i < patience && !status_; ++i) {
            int status = 0;
            if (waitpid(pid_, &status, WNOHANG) == pid_) status_ = exit_status_of(status);
            if (!status_) std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
    }
    close(output_);
}

std::optional<std::string> ChildProcess::take_line() {
    const auto newline = unread_.find('\n');
    if (newline == std::string::npos) return std::nullopt;
    std::string line = unread_.substr(0, newline);
    unread_.erase(0, newline + 1);
    return line;
}

std::optional<std::string> ChildProcess::read_line(Duration patience) {
    const TimePoint deadline = Clock::now() + patience;
    while (true) {
        if (auto line = take_line()) return line;
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
        pollfd waiting{.fd = output_, .events = POLLIN, .revents = 0};
        if (left <= 0) return std::nullopt;
        const int ready = ::poll(&waiting, 1, static_cast<int>(left));
        if (ready == 0) return std::nullopt;
        if (ready < 0) continue;  // interrupted
        char bytes[4096];
        const ssize_t n = read(output_, bytes, sizeof bytes);
        if (n == 0 || (n < 0 && errno != EINTR)) return std::nullopt;
        if (n > 0) unread_.append(bytes, static_cast<std::size_t>(n));
    }
}

void ChildProcess::signal(int number) {
    if (!status_) kill(pid_, number);
}

int ChildProcess::wait() {
    while (!status_) {
        int status = 0;
        if (waitpid(pid_, &status, 0) == pid_) status_ = exit_status_of(status);
    }
    return *status_;
}

std::filesystem::path own_directory() {
    return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

std::array<std::filesystem::path, 2> places_of(const std::filesystem::path& directory,
                                               std::string_view name) {
    return {directory / name, (directory / libexec_from_bin() / "paretoken" / name).lexically_normal()};
}

std::optional<std::filesystem::path> installed_file(const std::filesystem::path& directory,
                                                    std::string_view name) {
    for (const auto& place : places_of(directory, name)) {
        std::error_code unreadable;
        if (std::filesystem::is_regular_file(place, unreadable)) return place;
    }
    return std::nullopt;
}

}  // namespace paretoken::experiments
