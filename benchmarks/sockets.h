#pragma once
// Code that the two bare programs share: CLOCK_MONOTONIC in nanoseconds, pinning, loopback sockets, and
// options of the form --name value. Invariant: plain system calls only, so that this code does not affect
// measurements.
#include <netinet/in.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace paretoken::bare {

std::int64_t monotonic_ns();
std::int64_t process_cpu_ns();

/// Keeps the calling thread on one core. Throws std::runtime_error when the core does not exist.
void pin_to(int cpu);

/// Throws errno as an exception: "what: why".
[[noreturn]] void fail(const std::string& what);

void set_nodelay(int fd);
void set_nonblocking(int fd);

/// Asks the kernel to stamp received bytes; connections inherit it from their listener.
void request_receive_stamps(int fd);

sockaddr_in loopback(std::uint16_t port);

/// Reads `--name value` pairs. Throws std::runtime_error for malformed or unknown ones.
class Options {
  public:
    Options(int argc, char** argv);

    std::int64_t number(std::string_view name, std::int64_t otherwise);
    std::int64_t nanoseconds(std::string_view name, std::int64_t otherwise);  ///< "20ms", "300us", "1.5s"
    std::string text(std::string_view name, std::string_view otherwise);
    void done() const;  ///< throws for options that were not read

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
