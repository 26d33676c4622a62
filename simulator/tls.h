#pragma once
// The server's end of TLS without I/O: converts ciphertext to plaintext and back, through OpenSSL's memory
// BIOs. The connection keeps the socket and the kernel's receive stamps.
#include <memory>
#include <string>
#include <string_view>

namespace paretoken::sim {

/// A certificate (chain) and its key, from PEM files; shared by all sessions of a server.
class TlsIdentity {
  public:
    TlsIdentity(const std::string& certificate_file, const std::string& key_file);  ///< throws UsageError
    ~TlsIdentity();
    TlsIdentity(const TlsIdentity&) = delete;
    TlsIdentity& operator=(const TlsIdentity&) = delete;

  private:
    friend class TlsSession;
    struct State;
    std::unique_ptr<State> state_;
};

class TlsSession {
  public:
    explicit TlsSession(const TlsIdentity& identity);
    ~TlsSession();
    TlsSession(const TlsSession&) = delete;
    TlsSession& operator=(const TlsSession&) = delete;

    /// Takes received bytes: appends plaintext to `plain`, and the protocol's own messages to `reply`.
    /// Returns false when the session is over, properly or not; `reply` may then hold an alert to send.
    bool open(std::string_view cipher, std::string& plain, std::string& reply);

    /// Appends `plain` as ciphertext. The handshake must be done.
    void seal(std::string_view plain, std::string& cipher);

    /// Appends the closing message.
    void end(std::string& cipher);

  private:
    void take_output(std::string& out);

    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace paretoken::sim
