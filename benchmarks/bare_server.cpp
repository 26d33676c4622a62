// A server with a send loop only: it answers any POST below /v1/ with a stream of chunks on an absolute
// schedule, each one write of exactly kChunkBytes on the wire. It computes nothing, spins on its core while
// it streams, and records the time of each write: it gives client_cost the load and the truth.
//
//   paretoken-bare-server [--port 0] [--cpu N] [--ttft 20ms] [--itl 20ms] [--phase arrival|spread|lockstep]
//
// arrival: the first chunk comes ttft after its request's arrival. spread: it comes after ttft and a fraction
// of itl that differs between requests (evenly spread, in any order of arrival). lockstep: it comes at the
// next tick of a common grid. GET /truth returns, and forgets, the finished streams: records of native
// little-endian i64 received_ns, i64 due_ns of the first chunk, u32 id bytes, u32 chunks, the id, and an i64
// per chunk (CLOCK_MONOTONIC just before its write). GET /stats: JSON about the loop itself since the last
// request for it.
#include <fmt/format.h>
#include <linux/errqueue.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <exception>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "benchmarks/sockets.h"

namespace paretoken::bare {
namespace {

constexpr std::size_t kChunkBytes = 262;
constexpr std::size_t kDataBytes = 255;  ///< "0ff" CRLF data CRLF
constexpr std::int64_t kNever = INT64_MAX;
constexpr std::int64_t kRetry = 1'000'000;  ///< ns until a full socket is tried again
constexpr std::int64_t kStall = 100'000;    ///< gap between two clock readings, in ns, that counts as lost
constexpr int kSendsBetweenPolls = 16;
constexpr std::int64_t kMostTokens = 1'000'000;

volatile sig_atomic_t over = 0;

enum class Phase { arrival, spread, lockstep };

Phase phase_named(const std::string& name) {
    if (name == "arrival") return Phase::arrival;
    if (name == "spread") return Phase::spread;
    if (name == "lockstep") return Phase::lockstep;
    throw std::runtime_error(fmt::format("--phase {}: arrival, spread or lockstep", name));
}

struct Plan {
    std::int64_t ttft_ns = 20'000'000;
    std::int64_t itl_ns = 20'000'000;
    Phase phase = Phase::spread;
};

/// Returns when the first chunk of the number-th request is due.
std::int64_t first_due(const Plan& plan, std::int64_t received_ns, std::uint64_t number,
                       std::int64_t origin_ns) {
    const std::int64_t earliest = received_ns + plan.ttft_ns;
    switch (plan.phase) {
        case Phase::arrival:
            return earliest;
        case Phase::spread: {
            constexpr std::uint64_t kGoldenRatio = 0x9E3779B97F4A7C15;  // multiples of it fill 2^64 evenly
            const double fraction = static_cast<double>((number * kGoldenRatio) >> 11) * 0x1p-53;
            return earliest + static_cast<std::int64_t>(fraction * static_cast<double>(plan.itl_ns));
        }
        case Phase::lockstep:
            break;
    }
    const std::int64_t ticks = (earliest - origin_ns + plan.itl_ns - 1) / plan.itl_ns;
    return origin_ns + ticks * plan.itl_ns;
}

/// The constant chunk and the last one. Content is padded so that both have kChunkBytes.
class Chunks {
  public:
    Chunks() : plain_(chunk("null")), last_(chunk("\"length\"")) { id_at_ = plain_.find("0000000000000000"); }

    std::string& plain(std::uint64_t number) { return named(plain_, number); }
    std::string& last(std::uint64_t number) { return named(last_, number); }

  private:
    static std::string chunk(std::string_view finish_reason) {
        const std::string before =
            "data: "
            "{\"id\":\"chatcmpl-0000000000000000\",\"object\":\"chat.completion.chunk\",\"created\":"
            "1795248095,"
            "\"model\":\"bare-server\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" ";
        const std::string after = fmt::format(
            "\"}},\"logprobs\":null,\"finish_reason\":{},\"token_ids\":null}}]}}\n\n", finish_reason);
        const std::size_t letters = kDataBytes - before.size() - after.size();
        std::string text =
            fmt::format("{:03x}\r\n{}{}{}\r\n", kDataBytes, before, std::string(letters, 'e'), after);
        if (text.size() != kChunkBytes) throw std::logic_error("a chunk of the wrong size");
        return text;
    }

    std::string& named(std::string& text, std::uint64_t number) const {
        constexpr char kDigits[] = "0123456789abcdef";
        for (std::size_t i = 16; i-- > 0; number >>= 4) text[id_at_ + i] = kDigits[number & 15];
        return text;
    }

    std::string plain_;
    std::string last_;
    std::size_t id_at_ = 0;
};

/// Converts realtime stamps to the monotonic clock.
class ClockOffset {
  public:
    std::int64_t monotonic(const timespec& realtime) {
        const std::int64_t now = monotonic_ns();
        if (now - measured_ > 50'000'000) measure();
        return realtime.tv_sec * std::int64_t{1'000'000'000} + realtime.tv_nsec + offset_;
    }

  private:
    void measure() {
        std::int64_t tightest = kNever;
        for (int i = 0; i < 5; ++i) {
            timespec real{};
            const std::int64_t before = monotonic_ns();
            clock_gettime(CLOCK_REALTIME, &real);
            measured_ = monotonic_ns();
            if (measured_ - before >= tightest) continue;
            tightest = measured_ - before;
            offset_ = before + tightest / 2 - (real.tv_sec * std::int64_t{1'000'000'000} + real.tv_nsec);
        }
    }

    std::int64_t measured_ = -kNever / 2;
    std::int64_t offset_ = 0;
};

struct Truth {
    std::string id;
    std::int64_t received_ns = 0;
    std::int64_t first_due_ns = 0;
    std::vector<std::int64_t> written_ns = {};
};

struct Connection {
    int fd = -1;
    std::string request = {};  ///< bytes of the next request so far
    std::int64_t received_ns = 0;
    bool streaming = false;
    std::uint64_t number = 0;  ///< number of its request among all
    std::int64_t tokens = 0;
    bool include_usage = false;
    std::int64_t prompt_tokens = 0;
    std::string unsent = {};  ///< rest of a chunk that the socket did not accept
    Truth truth = {};
};

/// Returns the integer after "key": in a body; bodies are small, and nothing else has these names.
std::int64_t number_after(std::string_view body, std::string_view key, std::int64_t otherwise) {
    const std::size_t at = body.find(key);
    if (at == std::string_view::npos) return otherwise;
    std::size_t from = at + key.size();
    while (from < body.size() && (body[from] == ':' || body[from] == ' ')) ++from;
    std::int64_t value = otherwise;
    std::from_chars(body.data() + from, body.data() + body.size(), value);
    return value;
}

/// Returns a header's value; the case of names does not matter.
std::string_view header(std::string_view head, std::string_view name) {
    std::size_t line = head.find("\r\n");
    while (line != std::string_view::npos && line + 2 < head.size()) {
        line += 2;
        const std::size_t end = std::min(head.find("\r\n", line), head.size());
        std::string_view text = head.substr(line, end - line);
        if (text.size() > name.size() && text[name.size()] == ':' &&
            strncasecmp(text.data(), name.data(), name.size()) == 0) {
            text.remove_prefix(name.size() + 1);
            while (text.starts_with(' ')) text.remove_prefix(1);
            return text;
        }
        line = end < head.size() ? end : std::string_view::npos;
    }
    return {};
}

std::string answer_text(int status, std::string_view type, std::string_view body) {
    return fmt::format("HTTP/1.1 {} {}\r\ncontent-type: {}\r\ncontent-length: {}\r\n\r\n{}", status,
                       status == 200 ? "OK" : "Not Found", type, body.size(), body);
}

void append_raw(std::string& out, const void* value, std::size_t bytes) {
    out.append(static_cast<const char*>(value), bytes);
}

std::string encoded(const std::vector<Truth>& streams) {
    std::string out;
    for (const Truth& stream : streams) {
        const auto id_bytes = static_cast<std::uint32_t>(stream.id.size());
        const auto chunks = static_cast<std::uint32_t>(stream.written_ns.size());
        append_raw(out, &stream.received_ns, 8);
        append_raw(out, &stream.first_due_ns, 8);
        append_raw(out, &id_bytes, 4);
        append_raw(out, &chunks, 4);
        out += stream.id;
        append_raw(out, stream.written_ns.data(), 8 * stream.written_ns.size());
    }
    return out;
}

class Server {
  public:
    Server(const Plan& plan, std::uint16_t port) : plan_(plan), origin_ns_(monotonic_ns()) {
        listener_ = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        const int on = 1;
        setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        request_receive_stamps(listener_);
        sockaddr_in address = loopback(port);
        socklen_t length = sizeof address;
        if (bind(listener_, reinterpret_cast<sockaddr*>(&address), length) != 0)
            fail(fmt::format("port {}", port));
        if (listen(listener_, 16384) != 0) fail("listen");
        getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length);
        port_ = ntohs(address.sin_port);
        epoll_ = epoll_create1(EPOLL_CLOEXEC);
        watch(listener_);
    }

    std::uint16_t port() const { return port_; }

    /// Runs until a signal. Spins while anything streams, sleeps otherwise.
    void run() {
        while (over == 0) {
            serve_requests(streaming_ > 0 ? 0 : 200);
            look_at_clock();
            for (int i = 0; i < kSendsBetweenPolls && !due_.empty() && due_.top().at_ns <= now_ns_; ++i) {
                send_next();
                look_at_clock();
            }
        }
    }

  private:
    struct Due {
        std::int64_t at_ns;
        std::int64_t scheduled_ns;  ///< scheduled time; it is later only when a socket was full
        int fd;
        std::uint64_t number;
        bool operator>(const Due& other) const { return at_ns > other.at_ns; }
    };

    void watch(int fd) {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.fd = fd;
        if (epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) fail("epoll_ctl");
    }

    /// Adds the time between two clock readings of a spinning loop, which the host took away.
    void look_at_clock() {
        const std::int64_t now = monotonic_ns();
        if (streaming_ > 0 && spinning_) {
            const std::int64_t gap = now - now_ns_;
            if (gap > kStall) stalled_ns_ += gap;
            streamed_ns_ += gap;
        }
        spinning_ = streaming_ > 0;
        now_ns_ = now;
    }

    void serve_requests(int timeout_ms) {
        std::array<epoll_event, 64> events;
        const int ready = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), timeout_ms);
        for (int i = 0; i < ready; ++i) {
            const int fd = events[static_cast<std::size_t>(i)].data.fd;
            if (fd == listener_) {
                accept_all();
            } else {
                read_request(*connections_[static_cast<std::size_t>(fd)]);
            }
        }
    }

    void accept_all() {
        while (true) {
            const int fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
            if (fd < 0) return;
            set_nodelay(fd);
            if (connections_.size() <= static_cast<std::size_t>(fd)) {
                connections_.resize(static_cast<std::size_t>(fd) + 1);
            }
            connections_[static_cast<std::size_t>(fd)] = std::make_unique<Connection>(Connection{.fd = fd});
            watch(fd);
        }
    }

    void drop(Connection& connection) {
        if (connection.streaming) --streaming_;
        const int fd = connection.fd;
        close(fd);
        connections_[static_cast<std::size_t>(fd)].reset();
    }

    void read_request(Connection& connection) {
        std::array<char, 65536> bytes;
        alignas(cmsghdr) std::array<char, 256> control;
        iovec piece{bytes.data(), bytes.size()};
        msghdr message{};
        message.msg_iov = &piece;
        message.msg_iovlen = 1;
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        const ssize_t n = recvmsg(connection.fd, &message, 0);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (n <= 0) return drop(connection);
        connection.received_ns = stamp_of(message);
        connection.request.append(bytes.data(), static_cast<std::size_t>(n));
        answer_if_complete(connection);
    }

    std::int64_t stamp_of(msghdr& message) {
        for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
            if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_TIMESTAMPING) continue;
            scm_timestamping stamps;
            std::memcpy(&stamps, CMSG_DATA(c), sizeof stamps);
            if (stamps.ts[0].tv_sec != 0) return offset_.monotonic(stamps.ts[0]);
        }
        ++unstamped_;
        return monotonic_ns();
    }

    void answer_if_complete(Connection& connection) {
        const std::size_t head_end = connection.request.find("\r\n\r\n");
        if (head_end == std::string::npos) return;
        const std::string_view head(connection.request.data(), head_end);
        const std::string_view length = header(head, "content-length");
        std::size_t body_bytes = 0;
        std::from_chars(length.data(), length.data() + length.size(), body_bytes);
        if (connection.request.size() < head_end + 4 + body_bytes) return;
        if (connection.streaming) return drop(connection);  // pipelining is not supported
        const std::string_view body(connection.request.data() + head_end + 4, body_bytes);
        if (head.starts_with("POST /v1/")) {
            begin_stream(connection, head, body);
        } else {
            send_whole(connection.fd, answer_to(head.substr(0, head.find("\r\n"))));
        }
        connection.request.clear();
    }

    std::string answer_to(std::string_view request_line) {
        if (request_line.starts_with("GET /v1/models ")) {
            return answer_text(200, "application/json",
                               "{\"object\":\"list\",\"data\":[{\"id\":\"bare-server\",\"object\":\"model\","
                               "\"owned_by\":\"bare\",\"max_model_len\":1000000}]}");
        }
        if (request_line.starts_with("GET /health ")) return answer_text(200, "text/plain", "ok\n");
        if (request_line.starts_with("GET /truth ")) {
            const std::string body = encoded(finished_);
            finished_.clear();
            return answer_text(200, "application/octet-stream", body);
        }
        if (request_line.starts_with("GET /stats ")) return answer_text(200, "application/json", stats());
        return answer_text(404, "application/json",
                           "{\"error\":{\"message\":\"not served here\",\"code\":404}}");
    }

    std::string stats() {
        std::sort(lateness_ns_.begin(), lateness_ns_.end());
        const auto late = [&](double p) {
            if (lateness_ns_.empty()) return std::int64_t{0};
            return lateness_ns_[static_cast<std::size_t>(p * static_cast<double>(lateness_ns_.size() - 1))];
        };
        const std::string text = fmt::format(
            "{{\"chunks\":{},\"late_p50_ns\":{},\"late_p99_ns\":{},\"late_max_ns\":{},\"stalled_ns\":{},"
            "\"streamed_ns\":{},\"full_sockets\":{},\"unstamped\":{},\"streaming\":{}}}",
            lateness_ns_.size(), late(0.5), late(0.99), late(1), stalled_ns_, streamed_ns_, full_sockets_,
            unstamped_, streaming_);
        lateness_ns_.clear();
        stalled_ns_ = streamed_ns_ = 0;
        full_sockets_ = unstamped_ = 0;
        return text;
    }

    /// Sends an answer of any size, at times when nothing streams.
    static void send_whole(int fd, std::string_view bytes) {
        while (!bytes.empty()) {
            const ssize_t n = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (n > 0) {
                bytes.remove_prefix(static_cast<std::size_t>(n));
            } else if (errno == EAGAIN) {
                usleep(100);
            } else {
                return;  // the peer has closed; the next read notices it
            }
        }
    }

    void begin_stream(Connection& connection, std::string_view head, std::string_view body) {
        const std::int64_t given = number_after(body, "\"max_tokens\"", 16);
        connection.tokens =
            std::clamp(number_after(body, "\"max_completion_tokens\"", given), std::int64_t{1}, kMostTokens);
        connection.include_usage = body.find("\"include_usage\":true") != std::string_view::npos;
        connection.prompt_tokens = static_cast<std::int64_t>(body.size() / 4);
        connection.number = ++requests_;
        const std::int64_t due = first_due(plan_, connection.received_ns, connection.number, origin_ns_);
        connection.truth = {.id = std::string(header(head, "x-request-id")),
                            .received_ns = connection.received_ns,
                            .first_due_ns = due};
        connection.truth.written_ns.reserve(static_cast<std::size_t>(connection.tokens));
        connection.streaming = true;
        ++streaming_;
        send_whole(connection.fd,
                   "HTTP/1.1 200 OK\r\nserver: bare\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
                   "transfer-encoding: chunked\r\n\r\n");
        due_.push({due, due, connection.fd, connection.number});
    }

    void send_next() {
        const Due due = due_.top();
        due_.pop();
        Connection* connection = connections_[static_cast<std::size_t>(due.fd)].get();
        if (connection == nullptr || connection->number != due.number) return;  // it was closed
        const bool last =
            static_cast<std::int64_t>(connection->truth.written_ns.size()) + 1 >= connection->tokens;
        if (!connection->unsent.empty()) return send_rest(*connection, due, last);
        if (!last) return send_chunk(*connection, due, chunks_.plain(due.number), false);
        send_chunk(*connection, due, chunks_.last(due.number) + ending(*connection), true);
    }

    static std::string ending(const Connection& connection) {
        std::string text;
        if (connection.include_usage) {
            const std::string usage = fmt::format(
                "data: "
                "{{\"id\":\"chatcmpl-{:016x}\",\"object\":\"chat.completion.chunk\",\"created\":1795248095,"
                "\"model\":\"bare-server\",\"choices\":[],\"usage\":{{\"prompt_tokens\":{},\"total_tokens\":{"
                "},"
                "\"completion_tokens\":{}}}}}\n\n",
                connection.number, connection.prompt_tokens, connection.prompt_tokens + connection.tokens,
                connection.tokens);
            text = fmt::format("{:x}\r\n{}\r\n", usage.size(), usage);
        }
        return text + "e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n";
    }

    /// Makes one write. Its time is taken just before; a full socket is tried again later, and counted.
    void send_chunk(Connection& connection, const Due& due, std::string_view bytes, bool last) {
        const std::int64_t at = monotonic_ns();
        const ssize_t n = send(connection.fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (n == static_cast<ssize_t>(bytes.size())) return sent(connection, due, at, last);
        if (n < 0 && errno != EAGAIN) return drop(connection);
        connection.unsent = bytes.substr(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
        ++full_sockets_;
        due_.push({monotonic_ns() + kRetry, due.scheduled_ns, due.fd, due.number});
    }

    void send_rest(Connection& connection, const Due& due, bool last) {
        const std::string rest = std::move(connection.unsent);
        connection.unsent.clear();
        send_chunk(connection, due, rest, last);
    }

    void sent(Connection& connection, const Due& due, std::int64_t at, bool last) {
        connection.truth.written_ns.push_back(at);
        lateness_ns_.push_back(at - due.scheduled_ns);
        if (!last) {
            const std::int64_t next = due.scheduled_ns + plan_.itl_ns;
            return due_.push({next, next, due.fd, due.number});
        }
        finished_.push_back(std::move(connection.truth));
        connection.streaming = false;
        --streaming_;
    }

    Plan plan_;
    std::int64_t origin_ns_;
    int listener_ = -1;
    int epoll_ = -1;
    std::uint16_t port_ = 0;
    std::vector<std::unique_ptr<Connection>> connections_;  ///< connections by descriptor
    std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
    Chunks chunks_;
    ClockOffset offset_;
    std::vector<Truth> finished_;
    std::uint64_t requests_ = 0;
    std::int64_t streaming_ = 0;

    std::int64_t now_ns_ = 0;
    bool spinning_ = false;
    std::int64_t stalled_ns_ = 0;
    std::int64_t streamed_ns_ = 0;
    std::vector<std::int64_t> lateness_ns_;
    std::uint64_t full_sockets_ = 0;
    std::uint64_t unstamped_ = 0;
};

void run(int argc, char** argv) {
    Options options(argc, argv);
    const auto port = static_cast<std::uint16_t>(options.number("port", 0));
    const std::int64_t cpu = options.number("cpu", -1);
    const Plan plan{.ttft_ns = options.nanoseconds("ttft", 20'000'000),
                    .itl_ns = options.nanoseconds("itl", 20'000'000),
                    .phase = phase_named(options.text("phase", "spread"))};
    options.done();
    if (plan.itl_ns == 0) throw std::runtime_error("--itl 0: chunks on a schedule need a time between them");
    if (cpu >= 0) pin_to(static_cast<int>(cpu));
    signal(SIGTERM, [](int) { over = 1; });
    signal(SIGINT, [](int) { over = 1; });
    Server server(plan, port);
    fmt::print("serving on http://127.0.0.1:{}\n", server.port());
    std::fflush(stdout);
    server.run();
}

}  // namespace
}  // namespace paretoken::bare

int main(int argc, char** argv) {
    try {
        paretoken::bare::run(argc, argv);
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "paretoken-bare-server: {}\n", error.what());
        return 2;
    }
}
