#include "core/text/content_hash.h"

#include <fmt/format.h>

namespace paretoken {

void ContentHash::add(std::string_view bytes) {
    constexpr std::uint64_t kPrime = 1099511628211ULL;
    for (const char c : bytes) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * kPrime;
}

std::string ContentHash::text() const {
    return fmt::format("{:016x}", hash_);
}

std::string content_hash(std::string_view bytes) {
    ContentHash hash;
    hash.add(bytes);
    return hash.text();
}

}  // namespace paretoken
