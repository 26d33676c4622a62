#pragma once
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>

namespace paretoken::testing {

/// A self-signed certificate and its key, in files that are removed with this object.
struct Certificate {
    std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("paretoken_tls_test_" + std::to_string(getpid()));
    std::string certificate_file = folder / "cert.pem";
    std::string key_file = folder / "key.pem";

    Certificate() {
        std::filesystem::create_directories(folder);
        EVP_PKEY* key = EVP_EC_gen("P-256");
        X509* certificate = X509_new();
        X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
        X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
        X509_set_pubkey(certificate, key);
        X509_sign(certificate, key, EVP_sha256());
        FILE* file = std::fopen(certificate_file.c_str(), "w");
        PEM_write_X509(file, certificate);
        std::fclose(file);
        file = std::fopen(key_file.c_str(), "w");
        PEM_write_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr);
        std::fclose(file);
        X509_free(certificate);
        EVP_PKEY_free(key);
    }
    ~Certificate() { std::filesystem::remove_all(folder); }
    Certificate(const Certificate&) = delete;
    Certificate& operator=(const Certificate&) = delete;
};

}  // namespace paretoken::testing
