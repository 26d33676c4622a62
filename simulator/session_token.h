#pragma once
// The tokens by which the simulated router keeps the requests of a session on one engine. A token holds the
// session's number and a check of it, so that no state is needed to tell whether a server has made it.
#include <cstdint>
#include <string>
#include <string_view>

namespace paretoken::sim {

std::string session_token(std::uint64_t seed, std::uint64_t session);

/// Returns whether session_token() has made the token with this seed.
bool is_session_token(std::uint64_t seed, std::string_view token);

}  // namespace paretoken::sim
