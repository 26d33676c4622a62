#include "loadgen/http/transport.h"

#include <linux/net_tstamp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "loadgen/http/tls.h"

namespace paretoken::http {
namespace {

constexpr std::size_t kKeptBytes = 1024;  ///< so that a sent prompt is not kept during its answer
/// The most bytes that a turn of a socket sends, because a long prompt must not delay the reads of others.
constexpr std::size_t kMostBytesPerTurn = std::size_t{128} << 10;
// Edge-triggered events tell once of what has arrived, so that a wake-up does not list the sockets of the
// last one again. The bytes must then be read to the end: see read_all.
constexpr std::uint32_t kReadable = EPOLLIN | EPOLLRDHUP | EPOLLET;
/// The most reads of one socket in one round, because a peer that sends faster than we read must not delay
/// deadlines and other sockets.
constexpr int kMostReadsPerTurn = 2;

int open_socket(int family, bool kernel_stamps) {
    const int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
    if (fd < 0) return fd;
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (!kernel_stamps) return fd;
    // This comes before connect, so that the first segment is stamped too. Without permission, reads are
    // stamped in user space.
    const int stamps = SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE;
    setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &stamps, sizeof stamps);
    return fd;
}

/// Returns false, with the reason in errno, when the kernel refuses at once (no route, or no port left).
bool begin_connecting(int fd, const Address& address) {
    return connect(fd, reinterpret_cast<const sockaddr*>(&address.storage), address.length) == 0 ||
           errno == EINPROGRESS;
}

}  // namespace

Transport::Transport(Drain& drain, const Address& address, const TlsContext* tls, const std::string& host,
                     TransportSink& sink)
    : drain_(drain), sink_(sink), began_(Clock::now()) {
    if (tls != nullptr) tls_ = std::make_unique<TlsSession>(*tls, host);
    fd_ = open_socket(address.storage.ss_family, drain_.kernel_stamps());
    const bool begun = fd_ >= 0 && begin_connecting(fd_, address);
    if (!begun) {
        start_failure_ = std::strerror(errno);
        state_ = State::ended;
        close_socket();
        return;
    }
    try {
        drain_.add(fd_, *this, EPOLLOUT | kReadable);  // the first event tells of success and refusal
    } catch (...) {
        close_socket();
        throw;
    }
}

void Transport::close_socket() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
}

Transport::~Transport() {
    if (fd_ < 0) return;
    drain_.remove(fd_, *this);
    close_socket();
}

bool Transport::is_reset() const {
    constexpr int kPatience = 5;  // milliseconds: some servers end their half of the connection first
    pollfd ended{.fd = fd_, .events = 0, .revents = 0};
    return poll(&ended, 1, kPatience) > 0;  // POLLHUP or POLLERR: both halves are over
}

void Transport::on_ready(std::uint32_t events) {
    if (state_ == State::connecting) {
        finish_connecting();
        return;
    }
    if ((events & EPOLLOUT) != 0 && state_ != State::ended) flush();
    const bool over = (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
    if ((over || (events & EPOLLIN) != 0) && state_ != State::ended) read_all(over);
}

void Transport::finish_connecting() {
    int error = 0;
    socklen_t length = sizeof error;
    getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0) {
        end(TransportEnd::connect_failed, std::strerror(error));
        return;
    }
    connected_ = Clock::now();
    drain_.change(fd_, *this, kReadable);
    if (tls_ == nullptr) {
        opened();
        return;
    }
    state_ = State::shaking_hands;
    go_on_with_handshake();
}

void Transport::go_on_with_handshake() {
    const auto progress = tls_->shake_hands();
    tls_->take_ciphertext(pending_);
    if (!pending_.empty()) flush();
    if (state_ == State::ended) return;
    if (progress != TlsSession::Progress::ok) {
        end(TransportEnd::tls_failed, tls_->failure());
    } else if (tls_->established()) {
        opened();
    }
}

void Transport::opened() {
    state_ = State::open;
    ConnectTimes times;
    times.tcp = connected_ - began_;
    if (tls_ != nullptr) times.tls = Clock::now() - connected_;
    sink_.on_open(times);
}

void Transport::send(std::shared_ptr<const std::string> bytes) {
    request_ = std::move(bytes);
    request_from_ = 0;
    flush();
}

std::string_view Transport::unsent() const {
    if (tls_ != nullptr) return std::string_view(pending_).substr(pending_from_);
    return request_ ? std::string_view(*request_).substr(request_from_) : std::string_view();
}

/// Encrypts the next piece of the request when the piece before was sent. Returns false if there is none.
bool Transport::refill() {
    if (tls_ == nullptr || !request_ || request_from_ == request_->size()) return false;
    const std::size_t size = std::min(kMostBytesPerTurn, request_->size() - request_from_);
    tls_->put_plaintext(std::span(request_->data() + request_from_, size));
    request_from_ += size;
    tls_->take_ciphertext(pending_);
    return true;
}

void Transport::flush() {
    std::size_t sent = 0;
    while (!unsent().empty() || refill()) {
        if (sent >= kMostBytesPerTurn) {
            waits_for_writable_ = false;  // registering again causes an event in the drain's next round
            return want_writable(true);
        }
        const std::string_view bytes = unsent().substr(0, kMostBytesPerTurn);
        const TimePoint before = Clock::now();
        const long n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (n < 0) {
            if (errno == EAGAIN || errno == EWOULDBLOCK) {
                want_writable(true);
            } else if (errno != EPIPE && errno != ECONNRESET) {
                end(TransportEnd::broken, std::strerror(errno));
            }
            // After EPIPE or ECONNRESET an answer may still be readable: the read reports the end.
            return;
        }
        sent += static_cast<std::size_t>(n);
        if (tls_ == nullptr) {
            request_from_ += static_cast<std::size_t>(n);
        } else {
            pending_from_ += static_cast<std::size_t>(n);
            if (pending_from_ == pending_.size()) clear_pending();
        }
        if (request_ && request_from_ == request_->size() && pending_.empty()) {
            request_ = nullptr;
            sink_.on_sent(before, Clock::now() - before);
        }
    }
    want_writable(false);
}

void Transport::clear_pending() {
    pending_from_ = 0;
    if (pending_.capacity() > kKeptBytes) {
        pending_ = {};
    } else {
        pending_.clear();
    }
}

void Transport::want_writable(bool wanted) {
    if (wanted == waits_for_writable_) return;
    waits_for_writable_ = wanted;
    drain_.change(fd_, *this, wanted ? kReadable | EPOLLOUT : kReadable);
}

/// Reads all available bytes. A read that did not fill the buffer has taken everything, but a close that
/// arrived with the bytes causes no event of its own.
void Transport::read_all(bool over) {
    for (int reads = 0; reads < kMostReadsPerTurn; ++reads) {
        if (!read_once(over) || state_ == State::ended) return;
    }
    // There may be more: registering again causes an event in the drain's next round.
    drain_.change(fd_, *this, waits_for_writable_ ? kReadable | EPOLLOUT : kReadable);
}

/// Reads once. Returns whether there may be more to read.
bool Transport::read_once(bool over) {
    Read read;
    const long n = drain_.receive(fd_, read);
    if (n < 0) {
        if (errno == EINTR) return true;
        if (errno == EAGAIN || errno == EWOULDBLOCK) return false;
        const bool shaking = state_ == State::shaking_hands;
        end(shaking ? TransportEnd::tls_failed : TransportEnd::broken, std::strerror(errno));
        return false;
    }
    if (n == 0) {
        if (state_ == State::shaking_hands) {
            end(TransportEnd::tls_failed, "the server closed the connection during the TLS handshake");
        } else {
            end(TransportEnd::closed_by_peer, "the server closed the connection");
        }
        return false;
    }
    const bool filled = read.filled;
    if (tls_ == nullptr) {
        sink_.on_read(read);
    } else {
        push_plaintext(read);
    }
    return filled || over;
}

void Transport::push_plaintext(const Read& ciphertext) {
    tls_->put_ciphertext(ciphertext.bytes);
    if (state_ == State::shaking_hands) {
        go_on_with_handshake();
        if (state_ != State::open) return;
    }
    std::array<char, 16384 + kReadPadding> plaintext;  // one TLS record
    while (state_ == State::open) {
        std::size_t taken = 0;
        const auto progress =
            tls_->take_plaintext({plaintext.data(), plaintext.size() - kReadPadding}, taken);
        if (taken > 0) {
            any_plaintext_ = true;
            Read read = ciphertext;
            read.bytes = {plaintext.data(), taken};
            sink_.on_read(read);
            if (!tls_->may_have_plaintext()) return;
            continue;
        }
        if (progress == TlsSession::Progress::closed)
            end(TransportEnd::closed_by_peer, "the server closed the TLS connection");
        if (progress == TlsSession::Progress::failed)
            end(any_plaintext_ ? TransportEnd::broken : TransportEnd::tls_failed, tls_->failure());
        return;
    }
}

void Transport::end(TransportEnd how, const std::string& why) {
    state_ = State::ended;
    drain_.remove(fd_, *this);
    sink_.on_end(how, why);
}

}  // namespace paretoken::http
