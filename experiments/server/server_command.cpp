#include "experiments/server/server_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "core/text/printable.h"
#include "experiments/server/command_line.h"
#include "experiments/server/listening.h"
#include "experiments/watcher.h"
#include "loadgen/http/address.h"
#include "loadgen/http/fetch.h"
#include "loadgen/http/tls.h"
#include "loadgen/http/url.h"

extern char** environ;

namespace paretoken::experiments {
namespace {

constexpr std::string_view kPort = "{port}";
constexpr auto kPoll = std::chrono::milliseconds(50);
constexpr const char* kSaidNothing =
    "did not say where it listens (write {port} in its command, give its URL besides it, or let it print a "
    "URL of the loopback)";
constexpr int kPollsUntilKilled = 100;  ///< these take 5 s

/// Reads at most `most` bytes of a file: the first, or the last.
std::string text_in(const std::filesystem::path& file, std::size_t most, bool from_end) {
    std::ifstream stream(file, std::ios::binary);
    if (from_end) {
        stream.seekg(0, std::ios::end);
        const std::streamoff size = stream.tellg();
        stream.seekg(std::max<std::streamoff>(0, size - static_cast<std::streamoff>(most)));
    }
    std::string text(most, '\0');
    stream.read(text.data(), static_cast<std::streamsize>(most));
    text.resize(static_cast<std::size_t>(stream.gcount()));
    return text;
}

/// A file descriptor that is closed with this object.
class File {
  public:
    explicit File(int number = -1) : number_(number) {}
    ~File() { close(); }
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    int number() const { return number_; }
    int release() { return std::exchange(number_, -1); }
    void close() {
        if (number_ >= 0) ::close(number_);
        number_ = -1;
    }

  private:
    int number_;
};

/// Returns this process's environment, with `entries` added or replaced.
std::vector<std::string> environment_with(const std::vector<std::string>& entries) {
    const auto name_of = [](std::string_view entry) { return entry.substr(0, entry.find('=')); };
    std::vector<std::string> all;
    for (char** own = environ; *own != nullptr; ++own) {
        const bool replaced = std::ranges::any_of(
            entries, [&](const std::string& entry) { return name_of(entry) == name_of(*own); });
        if (!replaced) all.emplace_back(*own);
    }
    all.insert(all.end(), entries.begin(), entries.end());
    return all;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (std::string& text : texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

/// Starts `words` in a process group of its own, with empty standard input, all output in `output`, and no
/// signal blocked or ignored. Throws ServerFailed.
pid_t spawn(std::vector<std::string> words, const std::vector<std::string>& entries, int output) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
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
    std::vector<std::string> environment = environment_with(entries);
    const std::vector<char*> argv = pointers_to(words);
    const std::vector<char*> envp = pointers_to(environment);
    pid_t pid = -1;
    const int failed = posix_spawnp(&pid, argv.front(), &actions, &attributes, argv.data(), envp.data());
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (failed != 0)
        throw ServerFailed(fmt::format("cannot start '{}': {}", words.front(), std::strerror(failed)));
    return pid;
}

void sleep_briefly() {
    const timespec time{0, std::chrono::nanoseconds(kPoll).count()};
    ::nanosleep(&time, nullptr);
}

// ---- the guard: a process that makes only calls that are allowed between fork and exec

/// Copies the server's output into its log, with the secrets hidden: the first bytes at once, the last bytes
/// at the end.
class LogCopy {
  public:
    explicit LogCopy(const std::vector<std::string>& secrets) : secrets_(secrets) {}

    /// Copies all available output. Returns false at the end of the output.
    bool copy(int from, int to) {
        while (true) {
            const ssize_t got = ::read(from, buffer_ + begun_, kRead);
            if (got < 0 && errno == EINTR) continue;
            if (got < 0) return errno == EAGAIN;
            if (got == 0) return false;
            hide_and_keep(begun_ + static_cast<std::size_t>(got), to);
        }
    }

    /// Writes the last bytes that were held back.
    void finish(int to) {
        if (begun_ < Secrets::kShortest)
            keep(buffer_, begun_, to);
        else
            keep(Secrets::kHidden.data(), Secrets::kHidden.size(), to);
        begun_ = 0;
        if (held_ == 0) return;
        static constexpr char kNote[] =
            "\n[paretoken: the log is at its limit; what follows are the last lines]\n";
        write_all(to, kNote, sizeof kNote - 1);
        const std::size_t begin = held_ > sizeof tail_ ? held_ % sizeof tail_ : 0;
        if (held_ > sizeof tail_) write_all(to, tail_ + begin, sizeof tail_ - begin);
        write_all(to, tail_, held_ > sizeof tail_ ? begin : held_);
    }

  private:
    static constexpr std::size_t kTail = std::size_t{16} << 10;

    static void write_all(int to, const char* bytes, std::size_t size) {
        while (size > 0) {
            const ssize_t written = ::write(to, bytes, size);
            if (written < 0 && errno == EINTR) continue;
            if (written <= 0) return;  // a full disk must not stop the measurement
            bytes += written;
            size -= static_cast<std::size_t>(written);
        }
    }

    /// Returns the first secret in a text and its place, the longest one if there are several; its size is 0
    /// if there is none.
    std::string_view first_secret_in(std::string_view text) const {
        std::string_view first = text.substr(text.size());
        for (const std::string& secret : secrets_) {
            const std::size_t at = text.find(secret);
            if (at == std::string_view::npos) continue;
            const std::string_view found = text.substr(at, secret.size());
            if (found.data() < first.data() || (found.data() == first.data() && found.size() > first.size()))
                first = found;
        }
        return first;
    }

    /// Returns the length of the longest end of a text with which a secret begins.
    std::size_t begun_secret_in(std::string_view text) const {
        std::size_t longest = 0;
        for (const std::string& secret : secrets_)
            for (std::size_t length = std::min({secret.size() - 1, text.size(), kMostBegun});
                 length > longest; --length)
                if (text.ends_with(std::string_view(secret).substr(0, length))) longest = length;
        return longest;
    }

    /// Keeps the first `size` bytes of the buffer with the secrets hidden, except for the end that may be the
    /// beginning of a secret.
    void hide_and_keep(std::size_t size, int to) {
        std::string_view text(buffer_, size);
        while (true) {
            const std::string_view secret = first_secret_in(text);
            if (secret.empty()) break;
            keep(text.data(), static_cast<std::size_t>(secret.data() - text.data()), to);
            keep(Secrets::kHidden.data(), Secrets::kHidden.size(), to);
            text = text.substr(static_cast<std::size_t>(secret.data() - text.data()) + secret.size());
        }
        begun_ = begun_secret_in(text);
        keep(text.data(), text.size() - begun_, to);
        std::memmove(buffer_, text.data() + text.size() - begun_, begun_);
    }

    void keep(const char* bytes, std::size_t size, int to) {
        const std::size_t room = kLongestServerLog - 2 * kTail - written_;
        const std::size_t now = size < room ? size : room;
        write_all(to, bytes, now);
        written_ += now;
        for (std::size_t i = now; i < size; ++i) tail_[held_++ % sizeof tail_] = bytes[i];
    }

    static constexpr std::size_t kMostBegun = std::size_t{16} << 10;
    static constexpr std::size_t kRead = std::size_t{4} << 10;

    const std::vector<std::string>& secrets_;
    char buffer_[kMostBegun + kRead] = {};
    std::size_t begun_ = 0;  ///< bytes at the start of the buffer that may be the beginning of a secret
    char tail_[kTail] = {};
    std::size_t held_ = 0;     ///< bytes that passed through tail_
    std::size_t written_ = 0;  ///< bytes in the log
};

/// Waits for a byte on `pipe` (all is well) or its end (our process has ended, so the group is killed).
/// Copies `output` into `log` meanwhile.
[[noreturn]] void guard(int pipe, int output, int log, pid_t group, const std::vector<std::string>& secrets) {
    constexpr int kBeyondStandard = 64;
    ::setpgid(0, 0);
    int target = 0;
    int held[3] = {};
    for (const int file : {pipe, output, log}) held[target++] = ::fcntl(file, F_DUPFD, kBeyondStandard);
    for (int i = 0; i < 3; ++i) ::dup2(held[i], i);
    ::close_range(3, ~0U, 0);
    ::fcntl(1, F_SETFL, ::fcntl(1, F_GETFL) | O_NONBLOCK);
    LogCopy copying(secrets);
    pollfd files[2] = {{.fd = 0, .events = POLLIN, .revents = 0}, {.fd = 1, .events = POLLIN, .revents = 0}};
    while (true) {
        if (::poll(files, 2, -1) < 0) continue;  // interrupted
        if (files[1].revents != 0 && !copying.copy(1, 2)) files[1].fd = -1;
        if (files[0].revents == 0) continue;
        char byte = 0;
        const ssize_t got = ::read(0, &byte, 1);
        if (got < 0) continue;
        if (got == 0) {
            ::kill(-group, SIGTERM);
            for (int i = 0; i < kPollsUntilKilled && ::kill(-group, 0) == 0; ++i) {
                copying.copy(1, 2);
                sleep_briefly();
            }
            ::kill(-group, SIGKILL);
        }
        copying.copy(1, 2);
        copying.finish(2);
        ::_exit(0);
    }
}

// ---- asking the server

/// Sends one GET request without a key; returns nothing if it fails.
std::optional<http::Fetched> asked(const std::string& url, std::string_view path, Duration patience) {
    const http::Url parsed = http::parse_url(url);
    const auto addresses = http::resolve(parsed);
    if (addresses.empty()) return std::nullopt;
    std::unique_ptr<http::TlsContext> tls;  // the probe checks its certificate
    if (parsed.tls) tls = std::make_unique<http::TlsContext>(http::TlsOptions{.verify = false});
    http::Fetched answer = http::Fetcher(parsed, addresses.front(), tls.get(), {}).get(path, patience);
    if (answer.failure) return std::nullopt;
    return answer;
}

/// Returns the version that the server reports; empty if it reports none.
std::string version_of(const std::string& url) {
    constexpr std::pair<const char*, const char*> kPlaces[] = {{"/version", "version"},
                                                               {"/props", "build_info"},
                                                               {"/get_server_info", "version"},
                                                               {"/info", "version"}};
    for (const auto& [path, key] : kPlaces) {
        const auto answer = asked(url, path, std::chrono::seconds(2));
        if (!answer || !answer->ok()) continue;
        const auto object = nlohmann::json::parse(answer->body, nullptr, false);
        if (object.is_object() && object.contains(key) && object[key].is_string())
            return printable_line(object[key].get<std::string>(), 200);
    }
    return {};
}

std::string with_port(std::string text, const std::string& port) {
    for (std::size_t at = 0; (at = text.find(kPort, at)) != std::string::npos; at += port.size())
        text.replace(at, kPort.size(), port);
    return text;
}

/// Returns whether the command or its environment is to be told the port.
bool names_port(const ServerCommandLine& command) {
    const auto names = [](const std::string& text) { return text.find(kPort) != std::string::npos; };
    return names(command.text) || std::ranges::any_of(command.environment, names);
}

std::vector<std::string> words_to_start(const ServerCommandLine& command, const std::string& port) {
    if (command.shell) return {"/bin/sh", "-c", with_port(command.text, port)};
    std::vector<std::string> words = words_of(command.text);
    for (std::string& word : words) word = with_port(std::move(word), port);
    return words;
}

int open_log(const std::filesystem::path& log) {
    const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
    if (file < 0) throw RuntimeError(fmt::format("cannot write {}: {}", log.string(), std::strerror(errno)));
    return file;
}

bool is_number(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Returns the first printed URL at which a process of the group listens; empty if there is none. The URL of
/// another server, such as a dashboard, must get neither the load nor the key.
std::string own_url_in(std::string_view printed, pid_t group) {
    for (const std::string& url : urls_in(printed)) {
        try {
            const http::Url parsed = http::parse_url(url);
            if (http::is_loopback(parsed) && listens(group, static_cast<std::uint16_t>(parsed.port)))
                return url;
        } catch (const UsageError&) {  // a port that cannot exist
        }
    }
    return {};
}

int exit_status_of(int status) {
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

std::vector<std::string> urls_in(std::string_view printed) {
    std::vector<std::string> urls;
    for (std::size_t begin = 0; (begin = printed.find("http", begin)) != std::string_view::npos; ++begin) {
        const std::string_view rest = printed.substr(begin);
        const std::size_t scheme = rest.starts_with("http://") ? 7 : rest.starts_with("https://") ? 8 : 0;
        if (scheme == 0) continue;
        const std::size_t host_end = rest.substr(scheme).starts_with('[') ? rest.find(']', scheme) : scheme;
        const std::size_t end = rest.find_first_of("/ \t\r\n'\",)]", host_end + (host_end > scheme ? 1 : 0));
        if (host_end == std::string_view::npos || end == std::string_view::npos)
            return urls;  // the line may be incomplete
        std::string url(rest.substr(0, end));
        const std::size_t colon = url.find(':', host_end);
        if (colon == std::string::npos || !is_number(std::string_view(url).substr(colon + 1))) continue;
        for (const std::string_view any : {"//0.0.0.0", "//[::]"})
            if (const auto found = url.find(any); found != std::string::npos)
                url.replace(found, any.size(), "//127.0.0.1");
        if (std::ranges::find(urls, url) == urls.end()) urls.push_back(std::move(url));
    }
    return urls;
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
    std::ranges::reverse(lines);
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

bool is_ready(const std::string& url, const std::string& ready_url) {
    constexpr auto kPatience = std::chrono::seconds(5);
    if (!ready_url.empty()) {
        const bool is_path = ready_url.front() == '/';
        const auto answer = is_path ? asked(url, ready_url, kPatience) : asked(ready_url, "", kPatience);
        return answer && answer->head.status == 200;
    }
    const auto health = asked(url, "/health", kPatience);
    if (!health || health->head.status == 200) return health.has_value();
    if (health->head.status >= 500) return false;
    const auto models = asked(url, "/v1/models", kPatience);
    return models && models->head.status < 500;
}

void wait_until_ready(const std::string& url, const std::string& ready_url, Duration patience,
                      Watcher& watcher, const std::stop_token& stop) {
    const TimePoint began = Clock::now();
    bool told = false;
    while (!is_ready(url, ready_url)) {
        if (stop.stop_requested())
            throw Error(ExitCode::interrupted, "interrupted before the server was ready");
        const auto waited = Clock::now() - began;
        if (waited > patience)
            throw ServerFailed(fmt::format("{} was not ready within {:.0f} s (--ready-timeout)",
                                           redacted_url(url), seconds(waited)));
        if (!told && waited > std::chrono::seconds(2)) {
            watcher.wait(fmt::format("waiting for {} to be ready", redacted_url(url)));
            told = true;
        }
        std::this_thread::sleep_for(4 * kPoll);
    }
}

void run_after(const LoadPlan& plan) {
    const std::string port = std::to_string(http::parse_url(plan.targets.front()).port);
    const std::string command = command_with_values(plan.server.after_run_command, {{"port", port}});
    pid_t pid = -1;
    try {
        pid = spawn(words_of(command), plan.server.environment, STDERR_FILENO);
    } catch (const ServerFailed& error) {
        throw RuntimeError(error.what());
    }
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (exit_status_of(status) != 0)
        throw RuntimeError(fmt::format("'{}' ended with exit status {}", command, exit_status_of(status)));
}

CommandServer::CommandServer(const ServerCommandLine& command, Watcher& watcher, const std::stop_token& stop)
    : url_(command.url), log_(command.log), start_{.command = command.secrets.redacted(command.text)} {
    std::string port;
    if (names_port(command)) {
        port = fmt::format("{}", free_port());
        url_ = "http://127.0.0.1:" + port;
    } else if (!url_.empty() && asked(url_, "/health", std::chrono::seconds(1))) {
        throw ServerFailed(
            fmt::format("a server already answers at {}, before '{}' is started; stop it, or write {{port}} "
                        "in the command",
                        redacted_url(url_), command.text));
    }
    std::vector<std::string> words = words_to_start(command, port);
    std::vector<std::string> environment = command.environment;
    for (std::string& entry : environment) entry = with_port(std::move(entry), port);
    int alive[2];
    int output[2];
    if (::pipe2(alive, O_CLOEXEC) != 0) throw RuntimeError(fmt::format("pipe: {}", std::strerror(errno)));
    const File alive_read(alive[0]);
    File alive_write(alive[1]);
    if (::pipe2(output, O_CLOEXEC) != 0) throw RuntimeError(fmt::format("pipe: {}", std::strerror(errno)));
    const File output_read(output[0]);
    File output_write(output[1]);
    const File log(open_log(log_));
    const TimePoint began = Clock::now();
    group_ = spawn(std::move(words), environment, output_write.number());
    output_write.close();
    guard_ = ::fork();
    if (guard_ == 0)
        guard(alive_read.number(), output_read.number(), log.number(), group_, command.secrets.known());
    const int fork_failed = guard_ < 0 ? errno : 0;
    guard_pipe_ = alive_write.release();
    try {
        if (fork_failed != 0)
            throw RuntimeError(fmt::format("cannot start a process that guards '{}': {}", command.text,
                                           std::strerror(fork_failed)));
        wait_until_ready(command, watcher, stop);
    } catch (...) {
        end();
        throw;
    }
    start_.ready_s = seconds(Clock::now() - began);
    start_.version = version_of(url_);
}

CommandServer::~CommandServer() {
    end();
}

std::string CommandServer::last_words() {
    constexpr std::size_t kEnough = std::size_t{64} << 10;
    const std::string lines = last_lines(text_in(log_, kEnough, true), 5);
    return lines.empty() ? "it printed nothing"
                         : fmt::format("its last lines (all of them: {}): {}", log_.string(), lines);
}

std::string CommandServer::how_it_ended() {
    end();  // makes the guard write the last lines
    return fmt::format("the server '{}' ended with exit status {}; {}", start_.command, status_.value_or(-1),
                       last_words());
}

void CommandServer::wait_until_ready(const ServerCommandLine& command, Watcher& watcher,
                                     const std::stop_token& stop) {
    constexpr std::size_t kFirstLines = std::size_t{1} << 20;
    const TimePoint began = Clock::now();
    bool told = false;
    while (true) {
        if (has_ended()) {
            end();
            throw ServerFailed(
                fmt::format("the server '{}' ended with exit status {} before it was ready; {}", command.text,
                            status_.value_or(-1), last_words()));
        }
        if (stop.stop_requested())
            throw Error(ExitCode::interrupted, "interrupted before the server was ready");
        if (url_.empty()) url_ = own_url_in(text_in(log_, kFirstLines, false), group_);
        if (!url_.empty() &&
            is_ready(url_, with_port(command.ready_url, std::to_string(http::parse_url(url_).port))) &&
            !has_ended())
            return;
        const auto waited = Clock::now() - began;
        if (waited > command.patience) {
            end();
            throw ServerFailed(fmt::format("the server '{}' {} within {:.0f} s (--ready-timeout); {}",
                                           command.text, url_.empty() ? kSaidNothing : "was not ready",
                                           seconds(waited), last_words()));
        }
        if (!told && waited > std::chrono::seconds(2)) {
            watcher.wait(fmt::format("waiting for the server to be ready (its output: {})", log_.string()));
            told = true;
        }
        std::this_thread::sleep_for(kPoll);
    }
}

bool CommandServer::has_ended() {
    const std::lock_guard lock(mutex_);
    if (status_ || group_ < 0) return true;
    int status = 0;
    if (::waitpid(group_, &status, WNOHANG) != group_) return false;
    status_ = exit_status_of(status);
    return true;
}

void CommandServer::end() {
    if (group_ < 0) return;
    const auto group_is_empty = [this] {
        (void)has_ended();  // reaps it: a zombie would count as alive
        return ::kill(-group_, 0) != 0;
    };
    ::kill(-group_, SIGTERM);
    for (int i = 0; i < kPollsUntilKilled && !group_is_empty(); ++i) std::this_thread::sleep_for(kPoll);
    ::kill(-group_, SIGKILL);
    {
        const std::lock_guard lock(mutex_);
        int status = 0;
        if (!status_) {
            while (::waitpid(group_, &status, 0) < 0 && errno == EINTR) {
            }
            status_ = exit_status_of(status);
        }
        group_ = -1;
    }
    if (guard_ > 0) {
        const char byte = 0;
        [[maybe_unused]] const ssize_t written = ::write(guard_pipe_, &byte, 1);
        int status = 0;
        while (::waitpid(guard_, &status, 0) < 0 && errno == EINTR) {
        }
    }
    ::close(guard_pipe_);
}

}  // namespace paretoken::experiments
