#pragma once
// Finds the certificate authorities that this machine trusts. OpenSSL looks where the distribution that built
// it keeps them; a portable build runs on other distributions, which keep them elsewhere.
#include <functional>
#include <string>

namespace paretoken::http {

struct CertificateStore {
    bool found = false;  ///< whether the machine has any
    std::string bundle;  ///< PEM file to load besides OpenSSL's own places; empty if those are enough

    bool operator==(const CertificateStore&) const = default;
};

/// What the search reads of the machine. `variable` returns the value of an environment variable, or "".
struct CertificatePlaces {
    std::function<std::string(const char* name)> variable;
    std::function<bool(const std::string& path)> exists;
    std::string openssl_file;       ///< where OpenSSL looks by itself
    std::string openssl_directory;  ///< where OpenSSL looks by itself
};

/// Takes the places that SSL_CERT_FILE and SSL_CERT_DIR name, else OpenSSL's own, else the first bundle of a
/// known distribution that exists. Throws UsageError if a variable names a place that does not exist.
CertificateStore certificate_store(const CertificatePlaces& places);

CertificatePlaces places_of_this_machine();

}  // namespace paretoken::http
