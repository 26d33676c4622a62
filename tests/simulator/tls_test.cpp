#include "simulator/tls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include "core/error.h"
#include "tests/support/certificate.h"

namespace paretoken::sim {
namespace {

using paretoken::testing::Certificate;
using ::testing::HasSubstr;

/// OpenSSL's client over memory, without verification.
class MemoryClient {
  public:
    MemoryClient() : context_(SSL_CTX_new(TLS_client_method())), session_(SSL_new(context_)) {
        SSL_set_bio(session_, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
        SSL_set_connect_state(session_);
        SSL_do_handshake(session_);
    }
    ~MemoryClient() {
        SSL_free(session_);
        SSL_CTX_free(context_);
    }
    MemoryClient(const MemoryClient&) = delete;
    MemoryClient& operator=(const MemoryClient&) = delete;

    void put(const std::string& cipher) {
        BIO_write(SSL_get_rbio(session_), cipher.data(), static_cast<int>(cipher.size()));
        if (!established()) SSL_do_handshake(session_);
    }
    std::string taken() {
        std::string cipher(BIO_ctrl_pending(SSL_get_wbio(session_)), '\0');
        if (!cipher.empty()) BIO_read(SSL_get_wbio(session_), cipher.data(), static_cast<int>(cipher.size()));
        return cipher;
    }
    bool established() const { return SSL_is_init_finished(session_) != 0; }
    void write(const std::string& plain) {
        SSL_write(session_, plain.data(), static_cast<int>(plain.size()));
    }
    std::string read() {
        std::string plain;
        char bytes[4096];
        for (int size = 0; (size = SSL_read(session_, bytes, sizeof bytes)) > 0;) plain.append(bytes, size);
        return plain;
    }
    bool ended() const { return (SSL_get_shutdown(session_) & SSL_RECEIVED_SHUTDOWN) != 0; }

  private:
    SSL_CTX* context_;
    SSL* session_;
};

TEST(Tls, CarriesBytesBothWaysWhateverThePiecesTheyComeIn) {
    const Certificate files;
    const TlsIdentity identity(files.certificate_file, files.key_file);
    for (const std::size_t piece : {1U, 7U, 100'000U}) {
        TlsSession server(identity);
        MemoryClient client;
        std::string plain;
        const auto exchange = [&] {
            std::string reply;
            const std::string cipher = client.taken();
            for (std::size_t at = 0; at < cipher.size(); at += piece) {
                EXPECT_TRUE(server.open(std::string_view(cipher).substr(at, piece), plain, reply));
            }
            client.put(reply);
        };
        for (int round = 0; round < 3 && !client.established(); ++round) exchange();
        ASSERT_TRUE(client.established());
        const std::string question(50'000, 'q');
        client.write(question);
        exchange();
        EXPECT_EQ(plain, question);
        std::string cipher;
        server.seal("an ", cipher);
        server.seal("answer", cipher);
        server.end(cipher);
        client.put(cipher);
        EXPECT_EQ(client.read(), "an answer");
        EXPECT_TRUE(client.ended());
    }
}

TEST(Tls, IsOverWhenThePeerSpeaksSomethingElse) {
    const Certificate files;
    const TlsIdentity identity(files.certificate_file, files.key_file);
    TlsSession server(identity);
    std::string plain;
    std::string reply;
    EXPECT_FALSE(server.open("GET / HTTP/1.1\r\n\r\n", plain, reply));
    EXPECT_EQ(plain, "");
}

TEST(Tls, RefusesFilesThatAreNoCertificateOrNotItsKey) {
    const Certificate files;
    try {
        const TlsIdentity identity("/nonexistent.pem", files.key_file);
        FAIL() << "accepted";
    } catch (const UsageError& error) {
        EXPECT_THAT(error.what(), HasSubstr("--tls-cert /nonexistent.pem"));
    }
    try {
        const TlsIdentity identity(files.certificate_file, files.certificate_file);
        FAIL() << "accepted";
    } catch (const UsageError& error) {
        EXPECT_THAT(error.what(), HasSubstr("--tls-key"));
    }
}

}  // namespace
}  // namespace paretoken::sim
