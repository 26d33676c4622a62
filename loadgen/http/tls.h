#pragma once
// TLS without I/O: ciphertext in, plaintext out, and back, through OpenSSL's memory BIOs. The socket stays
// with the transport, so that the kernel's stamp of a ciphertext segment can be kept for the plaintext it
// carried.
#include <memory>
#include <span>
#include <string>

namespace paretoken::http {

struct TlsOptions {
    bool verify = true;   ///< --insecure switches it off
    std::string ca_file;  ///< further certificate authorities (PEM); empty: the system's
};

/// Certificates and settings shared by all sessions of a process. Thread-safe to share once made.
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
    TlsSession(const TlsContext& context, const std::string& host);
    ~TlsSession();
    TlsSession(const TlsSession&) = delete;
    TlsSession& operator=(const TlsSession&) = delete;

    enum class Progress { ok, closed, failed };

    void put_ciphertext(std::span<const char> bytes);

    /// Goes on with the handshake. `ok` without established() means that more ciphertext is needed.
    Progress shake_hands();
    bool established() const { return established_; }

    /// Next piece of plaintext into `into`; `taken` = 0 when there is none yet.
    Progress take_plaintext(std::span<char> into, std::size_t& taken);

    Progress put_plaintext(std::span<const char> bytes);

    /// Appends what is to be sent to the peer.
    void take_ciphertext(std::string& out);

    /// Why it failed, for a person: names the certificate problem.
    const std::string& failure() const { return failure_; }

  private:
    Progress judged(int result);

    struct State;
    std::unique_ptr<State> state_;
    bool established_ = false;
    std::string failure_;
};

}  // namespace paretoken::http
