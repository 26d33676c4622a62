#include "simulator/answers/protocol.h"

namespace paretoken::sim {

const ProtocolTraits& traits_of(Endpoint endpoint) {
    switch (endpoint) {
        case Endpoint::chat:
            return kChat;
        case Endpoint::completions:
            return kCompletions;
    }
    return kChat;
}

}  // namespace paretoken::sim
