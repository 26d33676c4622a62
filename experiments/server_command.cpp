#include "experiments/server_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>

#include "core/error.h"
#include "loadgen/http/fetch.h"
#include "loadgen/http/url.h"

extern char** environ;

namespace paretoken::experiments {
namespace {

constexpr std::string_view kPort = "{port}";
constexpr auto kPoll = std::chrono::milliseconds(50);
constexpr int kPollsUntilKilled = 100;  ///< 5 s

std::string text_in(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

/// /bin/sh -c `text` in a process group of its own, with nothing to read, all output in `log`, and no signal
/// blocked or ignored.
pid_t spawn_shell(const std::string& text, const std::filesystem::path& log) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0644);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    std::vector<std::string> words{"sh", "-c", text};
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_t pid = -1;
    const int failed = posix_spawn(&pid, "/bin/sh", &actions, &attributes, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (failed != 0)
        throw RuntimeError(fmt::format("cannot start '{}' with its output in {}: {}", text, log.string(),
                                       std::strerror(failed)));
    return pid;
}

void sleep_briefly() {
    const timespec time{0, std::chrono::nanoseconds(kPoll).count()};
    ::nanosleep(&time, nullptr);
}

/// What the guard does: waits for a byte (all is well) or the end of the pipe (this process is gone, and the
/// group must go). Only calls that are allowed between fork and exec.
[[noreturn]] void guard(int pipe, pid_t group) {
    ::setpgid(0, 0);
    ::dup2(pipe, STDIN_FILENO);
    ::close_range(STDIN_FILENO + 1, ~0U, 0);
    char byte = 0;
    ssize_t got = -1;
    while ((got = ::read(STDIN_FILENO, &byte, 1)) < 0 && errno == EINTR) {
    }
    if (got == 0) {
        ::kill(-group, SIGTERM);
        for (int i = 0; i < kPollsUntilKilled && ::kill(-group, 0) == 0; ++i) sleep_briefly();
        ::kill(-group, SIGKILL);
    }
    ::_exit(0);
}

bool answers(const std::string& url) {
    const http::Url parsed = http::parse_url(url);
    const auto addresses = http::resolve(parsed);
    if (addresses.empty()) return false;
    if (parsed.tls) return true;  // whether its certificate can be trusted is the probe's question
    http::Fetcher fetcher(parsed, addresses.front(), nullptr, {});
    const http::Fetched fetched = fetcher.get("/v1/models", std::chrono::seconds(5));
    return !fetched.failure && fetched.head.status < 500;
}

}  // namespace

std::string url_in(std::string_view printed) {
    for (std::size_t begin = 0; (begin = printed.find("http", begin)) != std::string_view::npos; ++begin) {
        const std::string_view rest = printed.substr(begin);
        const std::size_t scheme = rest.starts_with("http://") ? 7 : rest.starts_with("https://") ? 8 : 0;
        if (scheme == 0) continue;
        const std::size_t end = rest.find_first_of("/ \t\r\n'\",)]", scheme + (rest[scheme] == '[' ? 1 : 0));
        if (end == std::string_view::npos) return "";  // the line may not be complete yet
        std::string url(rest.substr(0, rest[end] == ']' ? rest.find_first_of("/ \t\r\n'\",)", end) : end));
        if (url.find_first_of("0123456789", url.rfind(':')) == std::string::npos) continue;
        for (const std::string_view any : {"//0.0.0.0", "//[::]"})
            if (const auto found = url.find(any); found != std::string::npos)
                url.replace(found, any.size(), "//127.0.0.1");
        return url;
    }
    return "";
}

std::string last_lines(std::string_view text, std::size_t count) {
    std::vector<std::string> lines;
    while (!text.empty() && lines.size() < count) {
        const std::size_t newline = text.rfind('\n');
        const std::string_view line = newline == std::string_view::npos ? text : text.substr(newline + 1);
        if (line.find_first_not_of(" \t\r") != std::string_view::npos)
            lines.emplace_back(line.substr(0, 400));
        text = text.substr(0, newline == std::string_view::npos ? 0 : newline);
    }
    std::reverse(lines.begin(), lines.end());
    return fmt::format("{}", fmt::join(lines, " | "));
}

int free_port() {
    const int file = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    const bool found = file >= 0 && ::bind(file, any, length) == 0 && ::getsockname(file, any, &length) == 0;
    const int error = errno;
    if (file >= 0) ::close(file);
    if (!found) throw RuntimeError(fmt::format("no free port on 127.0.0.1: {}", std::strerror(error)));
    return ntohs(address.sin_port);
}

CommandServer::CommandServer(const ServerCommandLine& command, Watcher& watcher,
                             const std::stop_token& stop) {
    std::string text = command.text;
    if (text.find(kPort) != std::string::npos) {
        const std::string port = fmt::format("{}", free_port());
        for (std::size_t at = 0; (at = text.find(kPort, at)) != std::string::npos; at += port.size())
            text.replace(at, kPort.size(), port);
        url_ = "http://127.0.0.1:" + port;
    }
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw RuntimeError(fmt::format("pipe: {}", std::strerror(errno)));
    try {
        group_ = spawn_shell(text, command.log);
    } catch (...) {
        ::close(ends[0]);
        ::close(ends[1]);
        throw;
    }
    guard_ = ::fork();
    if (guard_ == 0) guard(ends[0], group_);
    ::close(ends[0]);
    guard_pipe_ = ends[1];
    try {
        wait_until_ready(command, watcher, stop);
    } catch (...) {
        end();
        throw;
    }
}

CommandServer::~CommandServer() {
    end();
}

void CommandServer::wait_until_ready(const ServerCommandLine& command, Watcher& watcher,
                                     const std::stop_token& stop) {
    const TimePoint began = Clock::now();
    const auto said = [&] {
        const std::string lines = last_lines(text_in(command.log), 5);
        return lines.empty()
                   ? "it printed nothing"
                   : fmt::format("its last lines (all of them: {}): {}", command.log.string(), lines);
    };
    bool told = false;
    while (true) {
        if (has_ended())
            throw RuntimeError(
                fmt::format("the server '{}' ended with exit status {} before it was ready; {}", command.text,
                            status_, said()));
        if (stop.stop_requested()) throw RuntimeError("interrupted before the server was ready");
        if (url_.empty()) url_ = url_in(text_in(command.log));
        if (!url_.empty() && answers(url_)) return;
        const auto waited = Clock::now() - began;
        if (waited > command.patience)
            throw RuntimeError(fmt::format("the server '{}' {} within {:.0f} s; {}", command.text,
                                           url_.empty() ? "did not say where it listens" : "did not answer",
                                           seconds(waited), said()));
        if (!told && waited > std::chrono::seconds(2)) {
            watcher.wait(
                fmt::format("waiting for the server to be ready (its output: {})", command.log.string()));
            told = true;
        }
        std::this_thread::sleep_for(kPoll);
    }
}

bool CommandServer::has_ended() {
    if (status_ >= 0) return true;
    int status = 0;
    if (::waitpid(group_, &status, WNOHANG) != group_) return false;
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return true;
}

void CommandServer::end() {
    if (group_ < 0) return;
    const auto group_is_empty = [this] {
        (void)has_ended();  // a zombie would count as alive
        return ::kill(-group_, 0) != 0;
    };
    ::kill(-group_, SIGTERM);
    for (int i = 0; i < kPollsUntilKilled && !group_is_empty(); ++i) std::this_thread::sleep_for(kPoll);
    ::kill(-group_, SIGKILL);
    if (status_ < 0) {
        int status = 0;
        while (::waitpid(group_, &status, 0) < 0 && errno == EINTR) {
        }
    }
    group_ = -1;
    const char byte = 0;
    [[maybe_unused]] const ssize_t written = ::write(guard_pipe_, &byte, 1);
    ::close(guard_pipe_);
    if (guard_ > 0) {
        int status = 0;
        while (::waitpid(guard_, &status, 0) < 0 && errno == EINTR) {
        }
    }
}

}  // namespace paretoken::experiments
