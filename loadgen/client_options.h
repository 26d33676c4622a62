#pragma once
// The options of a client: what every request to a server has in common, and how long it may take.
#include <chrono>
#include <string>
#include <vector>

#include "core/units.h"
#include "loadgen/http/message.h"
#include "loadgen/protocol/body.h"

namespace paretoken::loadgen {

struct ClientOptions {
    http::RequestHead head;
    protocol::BodyOptions body;
    std::vector<std::string> session_tokens = {};  ///< names of the headers with tokens in answers
    bool ignore_eos_accepted = false;  ///< whether ignore_eos works; a short answer is then a failure
    bool traceparent = false;          ///< whether requests carry a W3C trace context made of their id
    Duration request_timeout = std::chrono::minutes(10);
    Duration connect_timeout = std::chrono::seconds(10);
};

/// The error of a request without an end within ClientOptions::request_timeout (loadgen/client.cpp).
std::string timeout_text(Duration timeout);

}  // namespace paretoken::loadgen
