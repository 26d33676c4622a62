#include "core/text/trace_context.h"

#include <fmt/format.h>

#include "core/text/content_hash.h"

namespace paretoken {
namespace {

/// Returns 16 hexadecimal digits, which differ for each `name`.
std::string digits_of(std::string_view name, std::string_view request_id) {
    return content_hash(fmt::format("{} {}", name, request_id));
}

}  // namespace

std::string trace_id_of(std::string_view request_id) {
    return digits_of("trace", request_id) + digits_of("trace, second half", request_id);
}

std::string traceparent_of(std::string_view request_id) {
    return fmt::format("00-{}-{}-01", trace_id_of(request_id), digits_of("span", request_id));
}

}  // namespace paretoken
