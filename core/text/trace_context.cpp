#include "core/text/trace_context.h"

#include <fmt/format.h>

#include "core/text/content_hash.h"

namespace paretoken {

std::string traceparent_of(std::string_view request_id) {
    const auto part = [&](std::string_view name) {
        return content_hash(fmt::format("{} {}", name, request_id));
    };
    return fmt::format("00-{}{}-{}-01", part("trace"), part("trace, second half"), part("span"));
}

}  // namespace paretoken
