#pragma once
// A server that the user gives as a command of the shell, started for a measurement and stopped after it. Its
// process group ends with this object, and also when this process is killed: a process of its own watches for
// that. What the server prints goes to a file.
#include <sys/types.h>

#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "core/units.h"
#include "experiments/watcher.h"

namespace paretoken::experiments {

struct ServerCommandLine {
    std::string text;                              ///< "{port}" in it becomes a free port
    std::filesystem::path log;                     ///< its standard output and standard error; replaced
    Duration patience = std::chrono::minutes(10);  ///< until it answers
};

class CommandServer {
  public:
    /// Blocks until GET /v1/models is answered: at the port that replaced "{port}", else at the first http
    /// URL that the server prints. Throws RuntimeError with the server's last lines when it ends before, or
    /// does not answer in time, or when `stop` is requested.
    CommandServer(const ServerCommandLine& command, Watcher& watcher, const std::stop_token& stop);
    ~CommandServer();  ///< asks the whole group to end, then makes it
    CommandServer(const CommandServer&) = delete;
    CommandServer& operator=(const CommandServer&) = delete;

    const std::string& url() const { return url_; }

  private:
    void wait_until_ready(const ServerCommandLine& command, Watcher& watcher, const std::stop_token& stop);
    bool has_ended();  ///< whether the process that was started has
    void end();

    pid_t group_ = -1;
    pid_t guard_ = -1;
    int guard_pipe_ = -1;
    int status_ = -1;  ///< exit status, once it has ended
    std::string url_;
};

/// The first "http://HOST:PORT" or "https://…" in what a server has printed; empty when there is none. A host
/// that means every address becomes the loopback.
std::string url_in(std::string_view printed);

/// The last `count` lines that are not blank, joined by " | ".
std::string last_lines(std::string_view text, std::size_t count);

/// A TCP port of the loopback that nobody listens on at this moment. Throws RuntimeError.
int free_port();

}  // namespace paretoken::experiments
