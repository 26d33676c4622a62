#pragma once
// Sends one generation request, and reads its answer in the same way as the load does.
#include <string>
#include <string_view>

#include "core/record/record.h"
#include "core/record/request.h"
#include "loadgen/probe/asker.h"

namespace paretoken::loadgen {

/// One generation: the answer, and what its record says.
struct Trial {
    http::Fetched fetched;
    Duration took{};
    RequestRecord record;

    bool accepted() const { return fetched.ok(); }
    bool refused_options() const {
        return !fetched.failure && (fetched.head.status == 400 || fetched.head.status == 422);
    }
};

enum class Need { must, if_quick };

Trial attempt(Asker& asker, const protocol::BodyOptions& body, const Request& request, Need need);

/// Returns a request with the fewest output tokens that the server permits.
Request small_request(Prompt prompt, const EndpointFacts& facts);

/// Ends the command because a request failed whose answer had begun, or that took a while. Servers and
/// proxies are then known to speak HTTP, and `remark` says what else is known.
[[noreturn]] void refuse_trial(const Asker& asker, const std::string& what, const Trial& trial,
                               std::string_view remark);

}  // namespace paretoken::loadgen
