#pragma once
// The names under which requests of conversations and jobs carry the id of what they belong to: HTTP headers
// and fields of the body, by which routers keep a session on one server.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace paretoken {

/// What an id names. All ids are of one play of the load, so that two plays of a recorded job have different
/// ones. A request without a conversation or job is one by itself.
enum class SessionScope : std::uint8_t {
    conversation,  ///< the chain of turns, which in a job is an agent
    job,           ///< the job, which a conversation without a job is itself
    parent,        ///< the agent that started the agent; requests of agents without one carry nothing
    final_turn,    ///< no id: "true" in the last turn of a conversation, and nothing in the others
};

struct SessionName {
    std::string name;
    SessionScope scope = SessionScope::conversation;

    bool operator==(const SessionName&) const = default;
};

/// Reads "X-Session-ID", "X-Session-ID=job", "X-Parent=parent", "X-Final=final"; agent is another word for
/// conversation. Throws UsageError for an unknown scope or a name that is no token of RFC 9110.
SessionName parse_session_name(std::string_view text);

/// Do the same for a header, and for a field of a body. Throw UsageError also for a name that requests have
/// for something else, such as Content-Length and "messages".
SessionName parse_session_header(std::string_view text);
SessionName parse_session_field(std::string_view text);

/// Reads the texts of --session-header: none if there is one text "none"; the usual headers if there are no
/// texts. Throws UsageError if "none" stands beside others.
std::vector<SessionName> session_headers_of(const std::vector<std::string>& texts);

/// Reads a text of --session-token, which has the form of parse_session_header(). Throws UsageError for the
/// scopes parent and final, of which no server sets a token.
SessionName parse_session_token(std::string_view text);

/// The headers of data with conversations or jobs unless others are asked for.
inline constexpr std::string_view kUsualSessionHeaders[] = {"X-Session-Affinity", "X-Correlation-ID"};

}  // namespace paretoken
