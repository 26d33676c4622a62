#pragma once
// A server that the user gives as a command. Its process group is ended with the object, and also if this
// process is killed, by a guard process that reads a pipe and copies the server's output into the log.
#include <sys/types.h>

#include <filesystem>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/record/provenance.h"
#include "core/text/secrets.h"
#include "core/units.h"

namespace paretoken {
struct LoadPlan;
}

namespace paretoken::experiments {

class Watcher;

/// The most bytes of a server's output that are kept: its beginning and the last 16 KiB.
inline constexpr std::size_t kLongestServerLog = std::size_t{64} << 20;

struct ServerCommandLine {
    std::string text;           ///< the command; "{port}" becomes a free port, also in `environment`
    std::filesystem::path log;  ///< file for standard output and standard error; replaced
    Duration patience = std::chrono::minutes(10);  ///< longest time until it is ready
    bool shell = false;  ///< whether /bin/sh runs the text; else it is split into words
    std::vector<std::string> environment = {};  ///< "NAME=VALUE", added to this process's environment
    /// URL where the server will listen, unless there is a "{port}". Empty: the first printed URL of the
    /// loopback at which a process of the server's group listens.
    std::string url = {};
    std::string ready_url = {};  ///< URL or path for is_ready()
    Secrets secrets = {};        ///< hidden in the stored command and in the log
};

/// The server could not be started, was not ready in time, or has ended.
class ServerFailed : public RuntimeError {
  public:
    using RuntimeError::RuntimeError;
};

class CommandServer {
  public:
    /// Starts the server and blocks until it is ready. Throws UsageError for a text that cannot be split;
    /// ServerFailed, with the server's last lines, when it cannot be started, ends or is not ready in time,
    /// or something listens at `url`; RuntimeError when `stop` is requested, or the log cannot be written.
    CommandServer(const ServerCommandLine& command, Watcher& watcher, const std::stop_token& stop);
    ~CommandServer();
    CommandServer(const CommandServer&) = delete;
    CommandServer& operator=(const CommandServer&) = delete;

    const std::string& url() const { return url_; }
    const std::filesystem::path& log() const { return log_; }
    /// Returns the command without the port filled in, the version that the server reports, and the time
    /// until it was ready. The caller of the constructor may set the other fields.
    const ServerStart& start() const { return start_; }
    ServerStart& start() { return start_; }

    /// Returns whether the started process has ended. May be called from any thread.
    bool has_ended();

    /// Asks the whole process group to end, then kills it. Does nothing if it was ended already.
    void end();

    /// Ends the group of a server that has ended by itself, and says how, with its last lines.
    std::string how_it_ended();

  private:
    void wait_until_ready(const ServerCommandLine& command, Watcher& watcher, const std::stop_token& stop);
    std::string last_words();

    pid_t group_ = -1;
    pid_t guard_ = -1;
    int guard_pipe_ = -1;
    std::mutex mutex_;  ///< guards status_
    std::optional<int> status_;
    std::string url_;
    std::filesystem::path log_;
    ServerStart start_;
};

/// Returns whether `ready_url` (a URL or a path) answers with 200. If it is empty, /health must, or, if that
/// answers with another status below 500, /v1/models with any status below 500. No answer within 5 s is not
/// ready. Throws UsageError for a URL that cannot be parsed, RuntimeError when its host is unknown.
bool is_ready(const std::string& url, const std::string& ready_url);

/// Blocks until is_ready(). Throws as that does, ServerFailed after `patience`, RuntimeError on `stop`.
void wait_until_ready(const std::string& url, const std::string& ready_url, Duration patience,
                      Watcher& watcher, const std::stop_token& stop);

/// Runs the command of --after-run-cmd with the port of the plan's first server; its output goes to standard
/// error. Throws UsageError when it cannot be split, RuntimeError when it cannot be started or fails.
void run_after(const LoadPlan& plan);

/// Returns each "http://HOST:PORT" and "https://HOST:PORT" in a server's output once, in the order of the
/// output, without one within which the text ends. The hosts 0.0.0.0 and [::] become 127.0.0.1.
std::vector<std::string> urls_in(std::string_view printed);

/// Returns the last `count` lines that are not blank, each cut to 400 bytes, joined by " | ".
std::string last_lines(std::string_view text, std::size_t count);

/// Returns a TCP port of the loopback that nobody listens on at this moment. Throws RuntimeError.
int free_port();

}  // namespace paretoken::experiments
