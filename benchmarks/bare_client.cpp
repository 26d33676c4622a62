// The baseline client: epoll, read, memmem for the blank line between events. It parses nothing, takes no
// stamps and records only counts. Its cost per event is the baseline with which client_cost compares
// paretoken.
//
//   paretoken-bare-client --port P [--streams 64] [--tokens 100] [--requests STREAMS] [--cpu N] [--body-bytes
//   400]
//
// Closed loop over kept-alive connections. Prints one JSON line: token events, reads, the share of events
// that shared a read with the one before, CPU and wall seconds from the first request to the last answer.
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/sockets.h"

namespace paretoken::bare {
namespace {

constexpr std::string_view kEnd = "\n\r\n0\r\n\r\n";  ///< end of last event's data, its chunk and the body
constexpr std::size_t kTailBytes = 8;
constexpr std::int64_t kTailEvents = 2;  ///< usage and [DONE], which are not tokens

struct Load {
    std::uint16_t port = 0;
    std::int64_t streams = 64;
    std::int64_t tokens = 100;
    std::int64_t requests = 64;
    std::size_t body_bytes = 400;
};

struct Stream {
    int fd = -1;
    char before = 0;                    ///< last byte of the read before, because a blank line may be cut
    std::array<char, kTailBytes> tail;  ///< last bytes of the answer so far
};

struct Counts {
    std::int64_t events = 0;
    std::int64_t coalesced = 0;
    std::int64_t reads = 0;
    std::int64_t requests = 0;
};

std::string request_text(const Load& load) {
    std::string body = fmt::format(
        "{{\"model\":\"bare-server\",\"stream\":true,\"stream_options\":{{\"include_usage\":true}},\"ignore_"
        "eos\":true,"
        "\"max_tokens\":{},\"messages\":[{{\"role\":\"user\",\"content\":\"",
        load.tokens);
    const std::string_view after = "\"}]}";
    body.append(std::max(load.body_bytes, body.size() + after.size()) - body.size() - after.size(), 'a');
    body += after;
    return fmt::format(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/json\r\n"
        "Accept: text/event-stream\r\nX-Request-Id: bare\r\nContent-Length: {}\r\n\r\n{}",
        load.port, body.size(), body);
}

class Client {
  public:
    explicit Client(const Load& load) : load_(load), request_(request_text(load)), epoll_(epoll_create1(0)) {
        for (std::int64_t i = 0; i < load.streams; ++i) streams_.push_back(connected());
        for (Stream& stream : streams_) {
            epoll_event event{};
            event.events = EPOLLIN;
            event.data.ptr = &stream;
            if (epoll_ctl(epoll_, EPOLL_CTL_ADD, stream.fd, &event) != 0) fail("epoll_ctl");
        }
    }

    Counts run() {
        for (Stream& stream : streams_) begin(stream);
        std::array<epoll_event, 256> ready;
        while (counts_.requests < load_.requests) {
            const int n = epoll_wait(epoll_, ready.data(), static_cast<int>(ready.size()), -1);
            for (int i = 0; i < n; ++i) {
                read_from(*static_cast<Stream*>(ready[static_cast<std::size_t>(i)].data.ptr));
            }
        }
        return counts_;
    }

  private:
    Stream connected() const {
        Stream stream{.fd = socket(AF_INET, SOCK_STREAM, 0), .tail = {}};
        const sockaddr_in address = loopback(load_.port);
        if (connect(stream.fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
            fail(fmt::format("cannot connect to port {}", load_.port));
        }
        set_nodelay(stream.fd);
        set_nonblocking(stream.fd);
        return stream;
    }

    void begin(Stream& stream) {
        if (begun_ == load_.requests) return;
        ++begun_;
        stream.before = 0;
        stream.tail = {};
        const ssize_t n = send(stream.fd, request_.data(), request_.size(), MSG_NOSIGNAL);
        if (n != static_cast<ssize_t>(request_.size())) fail("send");
    }

    void read_from(Stream& stream) {
        const ssize_t n = read(stream.fd, buffer_.data(), buffer_.size());
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (n <= 0) throw std::runtime_error("the server closed a connection");
        ++counts_.reads;
        const std::string_view bytes(buffer_.data(), static_cast<std::size_t>(n));
        std::int64_t events = blank_lines(stream, bytes);
        const bool over = ends(stream, bytes);
        if (over) events -= kTailEvents;
        counts_.events += events;
        counts_.coalesced += std::max<std::int64_t>(events - 1, 0);
        if (!over) return;
        ++counts_.requests;
        begin(stream);
    }

    static std::int64_t blank_lines(Stream& stream, std::string_view bytes) {
        std::int64_t found = stream.before == '\n' && bytes.front() == '\n' ? 1 : 0;
        const char* at = bytes.data();
        const char* end = at + bytes.size();
        while ((at = static_cast<const char*>(memmem(at, static_cast<std::size_t>(end - at), "\n\n", 2))) !=
               nullptr) {
            at += 2;
            ++found;
        }
        stream.before = bytes.back();
        return found;
    }

    /// Returns whether the answer is complete with these bytes.
    static bool ends(Stream& stream, std::string_view bytes) {
        auto& tail = stream.tail;
        static_assert(kEnd.size() == kTailBytes);
        if (bytes.size() >= kTailBytes) {
            std::memcpy(tail.data(), bytes.data() + bytes.size() - kTailBytes, kTailBytes);
        } else {
            const std::string joined = std::string(tail.data(), kTailBytes).append(bytes);
            std::memcpy(tail.data(), joined.data() + bytes.size(), kTailBytes);
        }
        return std::memcmp(tail.data(), kEnd.data(), kTailBytes) == 0;
    }

    Load load_;
    std::string request_;
    int epoll_;
    std::vector<Stream> streams_;
    std::array<char, 65536> buffer_;
    std::int64_t begun_ = 0;
    Counts counts_;
};

void run(int argc, char** argv) {
    Options options(argc, argv);
    Load load{.port = static_cast<std::uint16_t>(options.number("port", 0)),
              .streams = options.number("streams", 64),
              .tokens = options.number("tokens", 100),
              .body_bytes = static_cast<std::size_t>(options.number("body-bytes", 400))};
    load.requests = options.number("requests", load.streams);
    const std::int64_t cpu = options.number("cpu", -1);
    options.done();
    if (load.streams == 0 || load.tokens == 0) throw std::runtime_error("--streams and --tokens begin at 1");
    load.streams = std::min(load.streams, load.requests);
    if (cpu >= 0) pin_to(static_cast<int>(cpu));
    Client client(load);
    const std::int64_t began_ns = monotonic_ns();
    const std::int64_t cpu_before_ns = process_cpu_ns();
    const Counts counts = client.run();
    const double cpu_s = static_cast<double>(process_cpu_ns() - cpu_before_ns) * 1e-9;
    const double wall_s = static_cast<double>(monotonic_ns() - began_ns) * 1e-9;
    fmt::print(
        "{{\"events\":{},\"requests\":{},\"reads\":{},\"coalesced_share\":{},\"cpu_s\":{},\"wall_s\":{}}}\n",
        counts.events, counts.requests, counts.reads,
        static_cast<double>(counts.coalesced) / static_cast<double>(counts.events), cpu_s, wall_s);
}

}  // namespace
}  // namespace paretoken::bare

int main(int argc, char** argv) {
    try {
        paretoken::bare::run(argc, argv);
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "paretoken-bare-client: {}\n", error.what());
        return 2;
    }
}
