#pragma once
// Code that bare_client.cpp and bare_server.cpp share, which are the minimal programs with which benchmarks
// compare the client: clocks in nanoseconds, pinning to a core, loopback sockets, and options of the form
// --name value. It uses only plain system calls, so that it hardly affects measurements.
#include <netinet/in.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace paretoken::bare {

std::int64_t monotonic_ns();    ///< time since an arbitrary start (CLOCK_MONOTONIC)
std::int64_t process_cpu_ns();  ///< processor time that all threads of this process have used

/// Makes the calling thread run only on the core with this number. Throws std::runtime_error when the core
/// does not exist.
void pin_to(int cpu);

/// Throws std::runtime_error with `what` and the text of errno: "bind: Address already in use".
[[noreturn]] void fail(const std::string& what);

/// Sends small writes at once (TCP_NODELAY).
void set_nodelay(int fd);
void set_nonblocking(int fd);

/// Asks the kernel for software timestamps of received bytes (SO_TIMESTAMPING). Connections inherit this
/// setting from the listening socket that accepted them.
void request_receive_stamps(int fd);

/// The address 127.0.0.1 with this port.
sockaddr_in loopback(std::uint16_t port);

/// Reads `--name value` pairs. number(), nanoseconds() and text() return `otherwise` if the option is not
/// given. The constructor throws std::runtime_error for arguments that are not such pairs, number() for a
/// value that is not a whole number of at least 0, and nanoseconds() for a value that is not a time with a
/// unit (us, ms or s).
class Options {
  public:
    Options(int argc, char** argv);

    std::int64_t number(std::string_view name, std::int64_t otherwise);
    std::int64_t nanoseconds(std::string_view name, std::int64_t otherwise);  ///< "20ms", "300us", "1.5s"
    std::string text(std::string_view name, std::string_view otherwise);
    /// Throws std::runtime_error if an option was given that none of the functions above has read. Call it
    /// after all others.
    void done() const;

  private:
    struct Given {
        std::string name;
        std::string value;
        bool used = false;
    };
    const std::string* find(std::string_view name);

    std::vector<Given> given_;
};

}  // namespace paretoken::bare
