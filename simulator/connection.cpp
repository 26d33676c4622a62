#include "simulator/connection.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <optional>

#include "simulator/socket.h"

namespace paretoken::sim {
namespace {

namespace http = boost::beast::http;
using boost::asio::ip::tcp;
using boost::system::error_code;

constexpr std::uint64_t kMostBodyBytes = 64 << 20;
constexpr std::uint32_t kMostHeaderBytes = 64 << 10;
constexpr std::size_t kMostAheadBytes = 1 << 20;  // of requests that are sent before an answer ends
constexpr std::chrono::seconds kMostFarewell{2};

std::string text_of(boost::beast::string_view text) {
    return {text.data(), text.size()};
}

}  // namespace

struct Connection::Parser {
    std::optional<http::request_parser<http::string_body>> current;
    bool continued = false;  ///< whether "100 Continue" was sent

    void renew() {
        current.emplace();
        current->eager(true);
        current->body_limit(kMostBodyBytes);
        current->header_limit(kMostHeaderBytes);
        continued = false;
    }
};

Connection::Connection(tcp::socket socket, ConnectionOwner& owner, std::span<char> scratch,
                       const TlsIdentity* identity)
    : socket_(std::move(socket)),
      owner_(owner),
      scratch_(scratch),
      parser_(std::make_unique<Parser>()),
      tls_(identity == nullptr ? nullptr : std::make_unique<TlsSession>(*identity)) {
    parser_->renew();
}

Connection::~Connection() = default;

void Connection::start() {
    wait_readable();
}

void Connection::wait_readable() {
    socket_.async_wait(tcp::socket::wait_read, [self = shared_from_this()](error_code ec) {
        if (!ec) self->read();
    });
}

void Connection::wait_writable() {
    socket_.async_wait(tcp::socket::wait_write, [self = shared_from_this()](error_code ec) {
        if (!ec) self->write_pending();
    });
}

void Connection::read() {
    if (!open_) return;
    const Received received = receive(socket_.native_handle(), scratch_);
    if (received.what == Reading::closed) return close();
    if (received.what == Reading::bytes && !farewell_) {
        received_ = received.at;
        kernel_stamp_ = received.kernel_stamp;
        const bool goes_on = take_in({scratch_.data(), received.size});
        parse();
        if (!goes_on) return close();
    }
    if (open_) read_on();
}

/// Waits for further bytes. A peer that sends more requests before it has its answer is read up to a limit.
void Connection::read_on() {
    paused_ = answering_ && inbox_.size() > kMostAheadBytes;
    if (!paused_) wait_readable();
}

/// Puts received bytes into the inbox. Returns false when TLS is over.
bool Connection::take_in(std::string_view bytes) {
    if (!tls_) {
        inbox_ += bytes;
        return true;
    }
    std::string reply;
    const bool goes_on = tls_->open(bytes, inbox_, reply);
    if (!reply.empty()) put_out(reply);
    return goes_on;
}

/// Gives the inbox to the parser. Returns whether a request is complete.
bool Connection::put() {
    auto& parser = *parser_->current;
    error_code ec;
    const std::size_t used = parser.put(boost::asio::buffer(inbox_), ec);
    inbox_.erase(0, used);
    if (ec == http::error::need_more) ec = {};
    if (ec) {
        const bool large = ec == http::error::body_limit || ec == http::error::header_limit;
        inbox_.clear();
        answering_ = refused_ = true;
        owner_.on_bad_http(*this, large ? BadHttp::too_large : BadHttp::malformed, ec.message());
        return false;
    }
    if (parser.is_header_done() && !parser.is_done() && !parser_->continued &&
        parser.get()[http::field::expect] == "100-continue") {
        parser_->continued = true;
        send("HTTP/1.1 100 Continue\r\n\r\n");
    }
    return parser.is_done();
}

HttpRequest Connection::taken_request() {
    auto message = parser_->current->release();
    HttpRequest request;
    request.method = text_of(message.method_string());
    request.target = text_of(message.target());
    request.target.resize(std::min(request.target.size(), request.target.find('?')));
    request.request_id = text_of(message["X-Request-Id"]);
    request.authorization = text_of(message[http::field::authorization]);
    if (const auto name = owner_.affinity_header(); !name.empty()) request.affinity = text_of(message[name]);
    if (const auto name = owner_.session_token_header(); !name.empty())
        request.session_token = text_of(message[name]);
    request.wants_truth = message.find("X-Sim-Truth") != message.end();
    request.keep_alive = message.keep_alive();
    request.http_1_0 = message.version() < 11;
    request.received = received_;
    request.kernel_stamp = kernel_stamp_;
    request.body = std::move(message.body());
    parser_->renew();
    return request;
}

void Connection::parse() {
    if (parsing_) return;
    parsing_ = true;
    while (open_ && !answering_ && !closing_ && !inbox_.empty()) {
        if (!put()) break;
        answering_ = true;
        owner_.on_request(*this, taken_request());
    }
    parsing_ = false;
}

void Connection::send(std::string_view bytes) {
    if (!tls_) return put_out(bytes);
    std::string sealed;
    tls_->seal(bytes, sealed);
    put_out(sealed);
}

void Connection::put_out(std::string_view bytes) {
    if (!open_ || broken_) return;
    if (!pending_.empty()) {
        pending_ += bytes;
        return;
    }
    const Sent sent = send_at_once(socket_.native_handle(), bytes);
    broken_ = sent.broken;
    if (broken_ || sent.size == bytes.size()) return;
    pending_ = bytes.substr(sent.size);
    wait_writable();
}

void Connection::write_pending() {
    if (!open_) return;
    const Sent sent = send_at_once(socket_.native_handle(), pending_);
    if (sent.broken) return close();
    pending_.erase(0, sent.size);
    if (!pending_.empty()) return wait_writable();
    if (closing_) end();
}

void Connection::finish(bool keep_alive) {
    answering_ = false;
    idle_since = Clock::now();
    if (keep_alive) {
        parse();
        if (open_ && paused_) read_on();
        return;
    }
    closing_ = true;
    if (tls_) {
        std::string farewell;
        tls_->end(farewell);
        put_out(farewell);
    }
    if (pending_.empty()) end();
}

/// Closes the connection after its last answer. If the peer may still be sending, closing at once would reset
/// the connection, and the peer could lose the answer. What it sends is then thrown away until it closes, but
/// not for longer than kMostFarewell.
void Connection::end() {
    if (!refused_) return close();
    error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
    farewell_ = std::make_unique<boost::asio::steady_timer>(socket_.get_executor(), kMostFarewell);
    farewell_->async_wait([self = shared_from_this()](error_code cancelled) {
        if (!cancelled) self->close();
    });
}

void Connection::reset() {
    error_code ignored;
    socket_.set_option(tcp::socket::linger(true, 0), ignored);
    socket_.close(ignored);
    close();
}

void Connection::close() {
    if (!open_) return;
    open_ = false;
    if (farewell_) farewell_->cancel();
    error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
    socket_.close(ignored);
    owner_.on_closed(*this);
}

}  // namespace paretoken::sim
