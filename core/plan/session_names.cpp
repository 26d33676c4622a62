#include "core/plan/session_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "core/error.h"
#include "core/text/letter_case.h"

namespace paretoken {
namespace {

constexpr std::string_view kForms = "NAME, or NAME=conversation, =agent, =job, =parent or =final";

/// Headers that every request has of its own, or that say how its body is sent; in lower case.
constexpr std::array<std::string_view, 12> kOwnHeaders = {
    "host",   "content-length",  "content-type", "content-encoding", "transfer-encoding", "connection",
    "accept", "accept-encoding", "expect",       "upgrade",          "authorization",     "trailer"};

/// Fields of a body that say what is asked for, and so cannot be an id.
constexpr std::array<std::string_view, 25> kOwnFields = {"model",
                                                         "messages",
                                                         "prompt",
                                                         "input",
                                                         "system",
                                                         "stream",
                                                         "stream_options",
                                                         "max_tokens",
                                                         "max_output_tokens",
                                                         "max_completion_tokens",
                                                         "min_tokens",
                                                         "ignore_eos",
                                                         "n",
                                                         "best_of",
                                                         "temperature",
                                                         "top_p",
                                                         "top_k",
                                                         "seed",
                                                         "stop",
                                                         "tools",
                                                         "tool_choice",
                                                         "response_format",
                                                         "store",
                                                         "logprobs",
                                                         "instructions"};

/// Refuses a name that a request has for something else.
void refuse_own(const SessionName& session, std::string_view name, std::span<const std::string_view> own,
                std::string_view kind) {
    if (std::ranges::find(own, name) != own.end())
        throw UsageError(
            fmt::format("'{}' is a {} that requests have for something else; give the name by which "
                        "the router reads an id",
                        session.name, kind));
}

/// Returns whether a character may be part of a header's name (a token of RFC 9110).
bool is_token(char c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    return letter || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

SessionScope scope_named(std::string_view text, std::string_view scope) {
    if (scope == "conversation" || scope == "agent") return SessionScope::conversation;
    if (scope == "job") return SessionScope::job;
    if (scope == "parent") return SessionScope::parent;
    if (scope == "final") return SessionScope::final_turn;
    throw UsageError(fmt::format("'{}': expected {}", text, kForms));
}

}  // namespace

SessionName parse_session_name(std::string_view text) {
    const std::size_t equals = text.find('=');
    const std::string_view name = text.substr(0, equals);
    // A name with other characters is not quoted, because they may be control characters.
    if (name.empty() || !std::ranges::all_of(name, is_token))
        throw UsageError(fmt::format("expected {}, where NAME has letters, digits and '-' or '_'", kForms));
    SessionName session{.name = std::string(name)};
    if (equals != std::string_view::npos) session.scope = scope_named(text, text.substr(equals + 1));
    return session;
}

SessionName parse_session_header(std::string_view text) {
    SessionName session = parse_session_name(text);
    refuse_own(session, lower_case(session.name), kOwnHeaders, "header");
    return session;
}

SessionName parse_session_field(std::string_view text) {
    SessionName session = parse_session_name(text);
    refuse_own(session, session.name, kOwnFields, "field");
    return session;
}

SessionName parse_session_token(std::string_view text) {
    SessionName name = parse_session_header(text);
    if (name.scope == SessionScope::parent || name.scope == SessionScope::final_turn)
        throw UsageError(
            fmt::format("'{}': expected NAME, or NAME=conversation, =agent or =job, because servers set the "
                        "token of a session",
                        text));
    return name;
}

std::vector<SessionName> session_headers_of(const std::vector<std::string>& texts) {
    std::vector<SessionName> names;
    if (texts.empty())
        for (const std::string_view name : kUsualSessionHeaders) names.push_back({.name = std::string(name)});
    const bool none = std::ranges::find(texts, "none") != texts.end();
    if (none && texts.size() > 1) throw UsageError("none stands beside other headers; leave one of them out");
    if (none) return {};
    for (const std::string& text : texts) names.push_back(parse_session_header(text));
    return names;
}

}  // namespace paretoken
