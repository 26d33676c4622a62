#include "simulator/answers/protocol.h"

namespace paretoken::sim {

const ProtocolTraits& traits_of(Endpoint endpoint) {
    switch (endpoint) {
        case Endpoint::chat:
            return kChat;
        case Endpoint::completions:
            return kCompletions;
        case Endpoint::messages:
            return kMessages;
        case Endpoint::responses:
            return kResponses;
    }
    return kChat;
}

std::string paths_of_protocols() {
    std::string paths;
    for (const Endpoint endpoint : kEndpoints) {
        if (!paths.empty()) paths += ", ";
        paths += traits_of(endpoint).path;
    }
    return paths;
}

}  // namespace paretoken::sim
