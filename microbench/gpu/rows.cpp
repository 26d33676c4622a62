#include "microbench/gpu/rows.h"

#include <fmt/format.h>

namespace paretoken::microbench::gpu {
namespace {

/// Quotes a text for JSON. Quotes and backslashes are escaped, and control characters become spaces; device
/// names need nothing else.
std::string quoted(const std::string& text) {
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') result += '\\';
        result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
    return result + '"';
}

}  // namespace

std::string gpu_identity(const GpuBackend& backend) {
    if (backend.absent_because)
        return fmt::format("{{\"gpu\": null, \"because\": {}}}", quoted(*backend.absent_because));
    std::string members;
    for (const auto& [key, value] : backend.context) {
        members += fmt::format("{}{}: {}", members.empty() ? "" : ", ", quoted(key), quoted(value));
    }
    return fmt::format("{{{}}}", members);
}

#ifndef PARETOKEN_HAS_CUDA
GpuBackend gpu_backend(const GpuSettings&) {
    return {.absent_because = "no CUDA in this build"};
}
#endif

}  // namespace paretoken::microbench::gpu
