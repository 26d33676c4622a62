#include "benchmarks/sockets.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/net_tstamp.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <stdexcept>

namespace paretoken::bare {
namespace {

std::int64_t nanoseconds_of(clockid_t clock) {
    timespec t{};
    clock_gettime(clock, &t);
    return t.tv_sec * std::int64_t{1'000'000'000} + t.tv_nsec;
}

}  // namespace

std::int64_t monotonic_ns() {
    return nanoseconds_of(CLOCK_MONOTONIC);
}

std::int64_t process_cpu_ns() {
    return nanoseconds_of(CLOCK_PROCESS_CPUTIME_ID);
}

void fail(const std::string& what) {
    throw std::runtime_error(fmt::format("{}: {}", what, std::strerror(errno)));
}

void pin_to(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) fail(fmt::format("--cpu {}", cpu));
}

void set_nodelay(int fd) {
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void set_nonblocking(int fd) {
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

void request_receive_stamps(int fd) {
    const int flags = SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE;
    setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &flags, sizeof flags);
}

sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    return address;
}

Options::Options(int argc, char** argv) {
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!std::string_view(argv[i]).starts_with("--")) {
            throw std::runtime_error(fmt::format("{} is no option; write --name value", argv[i]));
        }
        given_.push_back({argv[i] + 2, argv[i + 1]});
    }
    if (argc % 2 == 0) throw std::runtime_error(fmt::format("{} has no value", argv[argc - 1]));
}

const std::string* Options::find(std::string_view name) {
    for (Given& option : given_) {
        if (option.name != name) continue;
        option.used = true;
        return &option.value;
    }
    return nullptr;
}

std::int64_t Options::number(std::string_view name, std::int64_t otherwise) {
    const std::string* text = find(name);
    if (text == nullptr) return otherwise;
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
    if (error != std::errc{} || end != text->data() + text->size() || value < 0) {
        throw std::runtime_error(fmt::format("--{} {}: write a whole number", name, *text));
    }
    return value;
}

std::int64_t Options::nanoseconds(std::string_view name, std::int64_t otherwise) {
    const std::string* text = find(name);
    if (text == nullptr) return otherwise;
    double value = 0;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
    const std::string_view unit(end, static_cast<std::size_t>(text->data() + text->size() - end));
    const double scale = unit == "us" ? 1e3 : unit == "ms" ? 1e6 : unit == "s" ? 1e9 : 0;
    if (error != std::errc{} || scale == 0 || value < 0) {
        throw std::runtime_error(fmt::format("--{} {}: write a time such as 20ms, 300us or 1s", name, *text));
    }
    return static_cast<std::int64_t>(value * scale);
}

std::string Options::text(std::string_view name, std::string_view otherwise) {
    const std::string* text = find(name);
    return text == nullptr ? std::string(otherwise) : *text;
}

void Options::done() const {
    for (const Given& option : given_) {
        if (!option.used) throw std::runtime_error(fmt::format("--{}: no such option", option.name));
    }
}

}  // namespace paretoken::bare
