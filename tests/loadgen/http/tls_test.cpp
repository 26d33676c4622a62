#include "loadgen/http/tls.h"

#include <gtest/gtest.h>
#include <openssl/err.h>

#include <array>
#include <string>

#include "simulator/tls.h"
#include "tests/support/certificate.h"

namespace paretoken::http {
namespace {

using Progress = TlsSession::Progress;

/// A client's session that has shaken hands with a session of the simulated server.
struct ShakenHands {
    testing::Certificate files;
    sim::TlsIdentity identity{files.certificate_file, files.key_file};
    sim::TlsSession server{identity};
    TlsContext context{{.verify = false}};
    TlsSession client{context, "127.0.0.1"};

    ShakenHands() {
        std::string to_server;
        client.shake_hands();
        client.take_ciphertext(to_server);
        while (!to_server.empty()) {
            std::string plain;
            std::string to_client;
            EXPECT_TRUE(server.open(to_server, plain, to_client));
            client.put_ciphertext(to_client);
            if (!client.established()) client.shake_hands();
            EXPECT_EQ(read_all(), "");  // tickets
            to_server.clear();
            client.take_ciphertext(to_server);
        }
        EXPECT_TRUE(client.established());
    }

    /// Takes plaintext for as long as there may be some, as the transport does.
    std::string read_all() {
        std::string plain;
        std::array<char, 16384> bytes;
        std::size_t taken = 0;
        while (client.established() && client.may_have_plaintext()) {
            EXPECT_EQ(client.take_plaintext(bytes, taken), Progress::ok);
            if (taken == 0) break;
            plain.append(bytes.data(), taken);
        }
        return plain;
    }
};

TEST(ClientTls, GivesEveryRecordWhateverThePiecesTheyComeIn) {
    ShakenHands both;
    for (const std::size_t piece : {1U, 7U, 300U, 100'000U}) {
        std::string cipher;
        std::string sent;
        for (int i = 0; i < 40; ++i) {
            const std::string event(i % 10 == 5 ? 20'000 : 262, static_cast<char>('a' + i % 26));
            both.server.seal(event, cipher);
            sent += event;
        }
        std::string read;
        for (std::size_t at = 0; at < cipher.size(); at += piece) {
            const std::string part = cipher.substr(at, piece);  // a buffer that is reused, as the drain's is
            both.client.put_ciphertext(part);
            read += both.read_all();
        }
        EXPECT_EQ(read, sent) << piece;
    }
}

TEST(ClientTls, TakesNoOlderErrorOfTheThreadForOneOfItsReads) {
    ShakenHands both;
    std::string cipher;
    both.server.seal("an event", cipher);
    ERR_raise(ERR_LIB_USER, ERR_R_INTERNAL_ERROR);
    both.client.put_ciphertext(std::string_view(cipher).substr(0, 10));
    EXPECT_EQ(both.read_all(), "");
    both.client.put_ciphertext(std::string_view(cipher).substr(10));
    EXPECT_EQ(both.read_all(), "an event");
    ERR_clear_error();
}

}  // namespace
}  // namespace paretoken::http
