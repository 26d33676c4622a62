#include "loadgen/http/certificate_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/error.h"

namespace paretoken::http {
namespace {

/// A machine with the given variables and files, and an OpenSSL that looks below /openssl.
CertificatePlaces machine(std::map<std::string, std::string> variables, std::set<std::string> files) {
    return {.variable =
                [variables = std::move(variables)](const char* name) {
                    const auto found = variables.find(name);
                    return found == variables.end() ? std::string() : found->second;
                },
            .exists = [files = std::move(files)](const std::string& path) { return files.contains(path); },
            .openssl_file = "/openssl/cert.pem",
            .openssl_directory = "/openssl/certs"};
}

constexpr const char* kDebian = "/etc/ssl/certs/ca-certificates.crt";
constexpr const char* kFedora = "/etc/pki/tls/certs/ca-bundle.crt";

TEST(CertificateStore, places_of_openssl_are_enough_where_they_exist) {
    for (const char* place : {"/openssl/cert.pem", "/openssl/certs"})
        EXPECT_EQ(certificate_store(machine({}, {place, kDebian})), (CertificateStore{true, ""}));
}

TEST(CertificateStore, a_bundle_of_another_distribution_is_found) {
    for (const char* bundle :
         {kDebian, kFedora, "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/ca-bundle.pem"})
        EXPECT_EQ(certificate_store(machine({}, {bundle})), (CertificateStore{true, bundle}));
}

TEST(CertificateStore, a_place_that_the_environment_names_replaces_the_others) {
    EXPECT_EQ(certificate_store(machine({{"SSL_CERT_FILE", "/mine.pem"}}, {"/mine.pem", kDebian})),
              (CertificateStore{true, ""}));
    EXPECT_EQ(certificate_store(machine({{"SSL_CERT_DIR", "/a:/b"}}, {kFedora})),
              (CertificateStore{true, ""}));
}

TEST(CertificateStore, a_named_place_that_does_not_exist_is_an_error_that_names_it) {
    try {
        certificate_store(machine({{"SSL_CERT_FILE", "/gone.pem"}}, {kDebian}));
        FAIL() << "no error";
    } catch (const UsageError& error) {
        EXPECT_THAT(error.what(), testing::HasSubstr("SSL_CERT_FILE"));
        EXPECT_THAT(error.what(), testing::HasSubstr("/gone.pem"));
    }
}

TEST(CertificateStore, a_machine_without_any_says_so) {
    EXPECT_EQ(certificate_store(machine({}, {})), CertificateStore{});
}

}  // namespace
}  // namespace paretoken::http
