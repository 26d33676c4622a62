#include "simulator/session_token.h"

#include <fmt/format.h>

#include <charconv>

#include "core/random.h"

namespace paretoken::sim {

std::string session_token(std::uint64_t seed, std::uint64_t session) {
    return fmt::format("{:016x}{:016x}", session, derived_seed(seed, "session token", session));
}

bool is_session_token(std::uint64_t seed, std::string_view token) {
    const std::string_view digits = token.substr(0, 16);
    std::uint64_t session = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), session, 16);
    return token == session_token(seed, session);
}

}  // namespace paretoken::sim
