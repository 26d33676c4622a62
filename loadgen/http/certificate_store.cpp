#include "loadgen/http/certificate_store.h"

#include <fmt/format.h>
#include <openssl/x509.h>

#include <cstdlib>
#include <filesystem>

#include "core/error.h"

namespace paretoken::http {
namespace {

/// The files in which distributions keep the authorities, all in one.
constexpr const char* kBundles[] = {
    "/etc/ssl/certs/ca-certificates.crt",                 // Debian, Ubuntu, Arch, Alpine
    "/etc/pki/tls/certs/ca-bundle.crt",                   // Fedora and RHEL
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // Fedora since 42
    "/etc/ssl/ca-bundle.pem",                             // openSUSE
};

}  // namespace

CertificateStore certificate_store(const CertificatePlaces& places) {
    bool named = false;
    for (const char* variable : {"SSL_CERT_FILE", "SSL_CERT_DIR"}) {
        const std::string place = places.variable(variable);
        if (place.empty()) continue;
        // A list of directories has colons.
        if (place.find(':') == std::string::npos && !places.exists(place))
            throw UsageError(
                fmt::format("the environment variable {} names '{}', which does not exist", variable, place));
        named = true;
    }
    if (named || places.exists(places.openssl_file) || places.exists(places.openssl_directory))
        return {.found = true, .bundle = ""};
    for (const char* bundle : kBundles) {
        if (places.exists(bundle)) return {.found = true, .bundle = bundle};
    }
    return {};
}

CertificatePlaces places_of_this_machine() {
    return {.variable =
                [](const char* name) {
                    const char* value = std::getenv(name);
                    return std::string(value == nullptr ? "" : value);
                },
            .exists =
                [](const std::string& path) {
                    std::error_code unreadable;
                    return std::filesystem::exists(path, unreadable);
                },
            .openssl_file = X509_get_default_cert_file(),
            .openssl_directory = X509_get_default_cert_dir()};
}

}  // namespace paretoken::http
