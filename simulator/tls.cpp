#include "simulator/tls.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <array>

#include "core/error.h"

namespace paretoken::sim {
namespace {

struct Deleter {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
    void operator()(SSL* session) const { SSL_free(session); }
};

std::string last_error() {
    std::array<char, 256> text{};
    ERR_error_string_n(ERR_get_error(), text.data(), text.size());
    ERR_clear_error();
    return text.data();
}

}  // namespace

struct TlsIdentity::State {
    std::unique_ptr<SSL_CTX, Deleter> context{SSL_CTX_new(TLS_server_method())};
};

TlsIdentity::TlsIdentity(const std::string& certificate_file, const std::string& key_file)
    : state_(std::make_unique<State>()) {
    SSL_CTX* context = state_->context.get();
    if (context == nullptr) throw RuntimeError("serve: OpenSSL: " + last_error());
    if (SSL_CTX_use_certificate_chain_file(context, certificate_file.c_str()) != 1) {
        throw UsageError(fmt::format("serve: --tls-cert {}: not a readable PEM certificate ({})",
                                     certificate_file, last_error()));
    }
    if (SSL_CTX_use_PrivateKey_file(context, key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
        throw UsageError(fmt::format("serve: --tls-key {}: not the PEM key of the certificate ({})", key_file,
                                     last_error()));
    }
}

TlsIdentity::~TlsIdentity() = default;

struct TlsSession::State {
    std::unique_ptr<SSL, Deleter> session;
    BIO* in = nullptr;  ///< both are owned by the session
    BIO* out = nullptr;
};

TlsSession::TlsSession(const TlsIdentity& identity) : state_(std::make_unique<State>()) {
    state_->session.reset(SSL_new(identity.state_->context.get()));
    state_->in = BIO_new(BIO_s_mem());
    state_->out = BIO_new(BIO_s_mem());
    SSL_set_bio(state_->session.get(), state_->in, state_->out);
    SSL_set_accept_state(state_->session.get());
}

TlsSession::~TlsSession() = default;

bool TlsSession::open(std::string_view cipher, std::string& plain, std::string& reply) {
    SSL* session = state_->session.get();
    BIO_write(state_->in, cipher.data(), static_cast<int>(cipher.size()));
    std::array<char, 16384> piece;
    int size = 0;
    while ((size = SSL_read(session, piece.data(), static_cast<int>(piece.size()))) > 0) {
        plain.append(piece.data(), static_cast<std::size_t>(size));
    }
    const bool goes_on = SSL_get_error(session, size) == SSL_ERROR_WANT_READ;
    ERR_clear_error();
    take_output(reply);
    return goes_on;
}

void TlsSession::seal(std::string_view plain, std::string& cipher) {
    SSL_write(state_->session.get(), plain.data(), static_cast<int>(plain.size()));
    take_output(cipher);
}

void TlsSession::end(std::string& cipher) {
    SSL_shutdown(state_->session.get());
    ERR_clear_error();
    take_output(cipher);
}

void TlsSession::take_output(std::string& out) {
    char* bytes = nullptr;
    const long size = BIO_get_mem_data(state_->out, &bytes);
    if (size > 0) out.append(bytes, static_cast<std::size_t>(size));
    (void)BIO_reset(state_->out);
}

}  // namespace paretoken::sim
