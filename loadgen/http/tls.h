#pragma once
// TLS without I/O, through OpenSSL's memory BIOs. The transport keeps the socket, so that the kernel's stamp
// of a ciphertext segment can be kept for its plaintext.
#include <memory>
#include <span>
#include <string>

namespace paretoken::http {

struct TlsOptions {
    bool verify = true;        ///< whether certificates are verified; --insecure turns it off
    std::string ca_file = {};  ///< certificate authorities besides the system's (PEM); empty means none
};

/// Certificates and settings shared by all sessions of a process. Threads may share it.
class TlsContext {
  public:
    explicit TlsContext(const TlsOptions& options);  ///< throws UsageError for an unreadable ca_file
    ~TlsContext();
    TlsContext(const TlsContext&) = delete;
    TlsContext& operator=(const TlsContext&) = delete;

  private:
    friend class TlsSession;
    struct State;
    std::unique_ptr<State> state_;
};

class TlsSession {
  public:
    /// `host`: the name or address that the server's certificate must have.
    TlsSession(const TlsContext& context, const std::string& host);
    ~TlsSession();
    TlsSession(const TlsSession&) = delete;
    TlsSession& operator=(const TlsSession&) = delete;

    /// `ok`: perhaps more ciphertext is needed. `closed`: the peer has ended TLS. `failed`: see failure().
    enum class Progress { ok, closed, failed };

    /// Gives the session bytes that came from the peer. They must stay valid until all of them are used,
    /// which is the case when shake_hands() or take_plaintext() has no more to do; none may be unused before.
    void put_ciphertext(std::span<const char> bytes);

    /// Continues the handshake. `ok` without established() means that more ciphertext is needed.
    Progress shake_hands();
    bool established() const { return established_; }

    /// Writes the next piece of plaintext into `into`; `taken` is 0 when there is none yet.
    Progress take_plaintext(std::span<char> into, std::size_t& taken);
    /// Returns whether take_plaintext() may have more: unused or decrypted bytes.
    bool may_have_plaintext() const;

    /// Encrypts bytes for the peer; take_ciphertext() returns the result. Only when established().
    Progress put_plaintext(std::span<const char> bytes);

    /// Appends the ciphertext that must be sent to the peer.
    void take_ciphertext(std::string& out);

    /// Returns why a step failed, as a text for people. If a certificate is the problem, the text names it.
    const std::string& failure() const { return failure_; }

  private:
    Progress judged(int result);

    struct State;
    std::unique_ptr<State> state_;
    bool established_ = false;
    std::string failure_;
};

}  // namespace paretoken::http
