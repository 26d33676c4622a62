#pragma once
// The server's end of TLS without I/O: ciphertext in, plaintext out, and back, through OpenSSL's memory BIOs.
// The socket stays with the connection, and so does the kernel's stamp of what came in.
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

    /// Takes what came in: plaintext is appended to `plain`, what the protocol itself has to say to `reply`.
    /// False when the session is over, properly or not; `reply` may then still hold an alert to send.
    bool open(std::string_view cipher, std::string& plain, std::string& reply);

    /// Appends `plain` as ciphertext. The handshake must be done.
    void seal(std::string_view plain, std::string& cipher);

    /// Appends the farewell.
    void end(std::string& cipher);

  private:
    void take_output(std::string& out);

    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace paretoken::sim
