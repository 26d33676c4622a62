#include "loadgen/probe/endpoint.h"

namespace paretoken::loadgen {

std::string target_of(const EndpointOptions& options) {
    if (options.path.empty()) return std::string(options.url.api_path(options.body.protocol->path));
    return options.path.starts_with('/') ? options.path : "/" + options.path;
}

}  // namespace paretoken::loadgen
