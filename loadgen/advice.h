#pragma once
// What the refusals of servers and proxies mean, and what to tell the user. Pure functions.
#include <string>
#include <string_view>

#include "loadgen/http/url.h"

namespace paretoken::loadgen {

/// Returns the text of the whole address of a path, without secrets.
std::string address_text(const http::Url& url, std::string_view path);

/// Returns what to do about a redirect of the request for `path`: the URL to give, if `location` is that path
/// elsewhere.
std::string redirect_advice(const http::Url& url, std::string_view path, std::string_view location);

/// Returns a half-sentence about a status with which a proxy reports that the server behind it did not
/// answer; empty for any other status.
std::string gateway_note(int status);

/// Returns whether a refusal says that answers must have more tokens than `limit_name` allows.
bool wants_more_tokens(std::string_view said, std::string_view limit_name);

}  // namespace paretoken::loadgen
