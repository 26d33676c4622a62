#include "loadgen/http/tls.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "core/error.h"
#include "loadgen/http/certificate_store.h"

namespace paretoken::http {
namespace {

constexpr const char* kNoAuthorities =
    " (this machine has no certificate store: install the package ca-certificates, or name a file with "
    "--ca-file or the environment variable SSL_CERT_FILE)";

bool is_newest_error(int reason) {
    const unsigned long code = ERR_peek_last_error();
    return ERR_GET_LIB(code) == ERR_LIB_SSL && ERR_GET_REASON(code) == reason;
}

/// Returns whether the newest error is an alert that a server sends if it misses the client's certificate.
bool misses_certificate() {
    constexpr std::array kAlerts = {SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE, SSL_R_SSLV3_ALERT_BAD_CERTIFICATE,
                                    SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED};
    return std::ranges::any_of(kAlerts, is_newest_error);
}

std::string newest_openssl_error() {
    const unsigned long code = ERR_peek_last_error();
    ERR_clear_error();
    if (code == 0) return "OpenSSL gives no reason";
    const char* reason = ERR_reason_error_string(code);
    return reason != nullptr ? reason : fmt::format("OpenSSL error {}", code);
}

bool is_address(const std::string& host) {
    unsigned char bytes[16];
    return inet_pton(AF_INET, host.c_str(), bytes) == 1 || inet_pton(AF_INET6, host.c_str(), bytes) == 1;
}

}  // namespace

struct TlsContext::State {
    SSL_CTX* context = nullptr;
    bool has_authorities = true;  ///< whether a certificate store or a file of the user's was found
    std::mutex mutex;
    std::map<std::string, SSL_SESSION*> newest;  ///< by host, that of the newest ticket

    ~State() {
        for (const auto& [host, session] : newest) SSL_SESSION_free(session);
        SSL_CTX_free(context);
    }
    /// Continues the newest session with the host, so that it needs no full handshake.
    void resume(SSL* ssl, const std::string& host) {
        const std::lock_guard lock(mutex);
        const auto found = newest.find(host);
        if (found != newest.end()) SSL_set_session(ssl, found->second);
    }
    static int keep(SSL* ssl, SSL_SESSION* session) {
        auto* const state = static_cast<State*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
        const auto& host = *static_cast<const std::string*>(SSL_get_app_data(ssl));
        const std::lock_guard lock(state->mutex);
        SSL_SESSION_free(std::exchange(state->newest[host], session));
        return 1;  // the session is ours now
    }
};

TlsContext::TlsContext(const TlsOptions& options) : state_(std::make_unique<State>()) {
    state_->context = SSL_CTX_new(TLS_client_method());
    if (state_->context == nullptr) throw RuntimeError("OpenSSL: " + newest_openssl_error());
    SSL_CTX_set_min_proto_version(state_->context, TLS1_2_VERSION);
    SSL_CTX_set_mode(state_->context, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_read_ahead(state_->context, 1);
    SSL_CTX_set_verify(state_->context, options.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
    SSL_CTX_set_default_verify_paths(state_->context);
    if (options.verify) {
        const CertificateStore store = certificate_store(places_of_this_machine());
        if (!store.bundle.empty())
            SSL_CTX_load_verify_locations(state_->context, store.bundle.c_str(), nullptr);
        state_->has_authorities = store.found || !options.ca_file.empty();
    }
    SSL_CTX_set_app_data(state_->context, state_.get());
    SSL_CTX_set_session_cache_mode(state_->context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(state_->context, State::keep);
    if (!options.ca_file.empty() &&
        SSL_CTX_load_verify_locations(state_->context, options.ca_file.c_str(), nullptr) != 1) {
        throw UsageError(
            fmt::format("--ca-file '{}': {}; expected a PEM file", options.ca_file, newest_openssl_error()));
    }
}

TlsContext::~TlsContext() = default;

namespace {

// A BIO that reads from bytes that it does not own. OpenSSL's memory BIO would copy them first.

int read_from_span(BIO* bio, char* into, int size) {
    auto& unused = *static_cast<std::span<const char>*>(BIO_get_data(bio));
    BIO_clear_retry_flags(bio);
    if (unused.empty()) {
        BIO_set_retry_read(bio);
        return -1;
    }
    const std::size_t taken = std::min(unused.size(), static_cast<std::size_t>(size));
    std::memcpy(into, unused.data(), taken);
    unused = unused.subspan(taken);
    return static_cast<int>(taken);
}

long control_span(BIO*, int command, long, void*) {
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}

BIO* bio_of(std::span<const char>& unused) {
    static BIO_METHOD* const method = [] {
        BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "received bytes");
        BIO_meth_set_read(made, read_from_span);
        BIO_meth_set_ctrl(made, control_span);
        return made;
    }();
    BIO* bio = BIO_new(method);
    BIO_set_data(bio, &unused);
    BIO_set_init(bio, 1);
    return bio;
}

}  // namespace

struct TlsSession::State {
    SSL* ssl = nullptr;
    std::string host;
    bool has_authorities = true;     // as TlsContext::State
    bool asks_certificate = false;   // whether the server has asked for a certificate of the client
    std::span<const char> received;  // what the session has not used yet
    BIO* out = nullptr;              // owned by ssl
    ~State() { SSL_free(ssl); }
    static int note_request(SSL*, void* state) {
        static_cast<State*>(state)->asks_certificate = true;
        return 1;
    }
};

TlsSession::TlsSession(const TlsContext& context, const std::string& host)
    : state_(std::make_unique<State>()) {
    state_->ssl = SSL_new(context.state_->context);
    state_->out = BIO_new(BIO_s_mem());
    SSL_set_bio(state_->ssl, bio_of(state_->received), state_->out);
    SSL_set_connect_state(state_->ssl);
    state_->host = host;
    state_->has_authorities = context.state_->has_authorities;
    SSL_set_app_data(state_->ssl, &state_->host);
    SSL_set_cert_cb(state_->ssl, State::note_request, state_.get());
    context.state_->resume(state_->ssl, host);
    if (is_address(host)) {
        X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(state_->ssl), host.c_str());
    } else {
        SSL_set_tlsext_host_name(state_->ssl, host.c_str());
        SSL_set1_host(state_->ssl, host.c_str());
    }
}

TlsSession::~TlsSession() = default;

void TlsSession::put_ciphertext(std::span<const char> bytes) {
    state_->received = bytes;
}

bool TlsSession::may_have_plaintext() const {
    return !state_->received.empty() || SSL_has_pending(state_->ssl) != 0;
}

TlsSession::Progress TlsSession::judged(int result) {
    switch (SSL_get_error(state_->ssl, result)) {
        case SSL_ERROR_NONE:
        case SSL_ERROR_WANT_READ:
        case SSL_ERROR_WANT_WRITE:
            return Progress::ok;
        case SSL_ERROR_ZERO_RETURN:
            return Progress::closed;
        default:
            break;
    }
    if (is_newest_error(SSL_R_CERTIFICATE_VERIFY_FAILED))
        failure_ = fmt::format("the server's certificate was refused: {}{}",
                               X509_verify_cert_error_string(SSL_get_verify_result(state_->ssl)),
                               state_->has_authorities ? "" : kNoAuthorities);
    else if (state_->asks_certificate && misses_certificate())
        failure_ = "the server asks for a client certificate, which paretoken cannot send";
    else
        failure_ = newest_openssl_error();
    ERR_clear_error();
    return Progress::failed;
}

TlsSession::Progress TlsSession::shake_hands() {
    ERR_clear_error();
    const int result = SSL_do_handshake(state_->ssl);
    established_ = result == 1;
    return judged(result);
}

TlsSession::Progress TlsSession::take_plaintext(std::span<char> into, std::size_t& taken) {
    taken = 0;
    const int n = SSL_read(state_->ssl, into.data(), static_cast<int>(into.size()));
    if (n > 0) {
        taken = static_cast<std::size_t>(n);
        return Progress::ok;
    }
    // Clearing old errors of the thread before each read would take a sixth of the time to decrypt an event;
    // SSL_get_error would take such an error for one of this read.
    if (SSL_want_read(state_->ssl) != 0) return Progress::ok;
    return judged(n);
}

TlsSession::Progress TlsSession::put_plaintext(std::span<const char> bytes) {
    ERR_clear_error();
    return judged(SSL_write(state_->ssl, bytes.data(), static_cast<int>(bytes.size())));
}

void TlsSession::take_ciphertext(std::string& out) {
    const std::size_t waiting = BIO_ctrl_pending(state_->out);
    const std::size_t before = out.size();
    out.resize(before + waiting);
    if (waiting > 0) BIO_read(state_->out, out.data() + before, static_cast<int>(waiting));
}

}  // namespace paretoken::http
