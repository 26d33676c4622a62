#include "loadgen/protocol/protocol.h"

#include <algorithm>
#include <array>

namespace paretoken::protocol {
namespace {

constexpr std::array kProtocols = {&kChat, &kCompletions, &kMessages, &kResponses};

}  // namespace

std::span<const Protocol* const> protocols() {
    return kProtocols;
}

std::string names_of_protocols() {
    std::string names;
    for (const Protocol* protocol : kProtocols) {
        if (!names.empty()) names += ", ";
        names += protocol->name;
    }
    return names;
}

const Protocol* protocol_named(std::string_view name) {
    const auto found = std::find_if(kProtocols.begin(), kProtocols.end(),
                                    [&](const Protocol* protocol) { return protocol->name == name; });
    return found == kProtocols.end() ? nullptr : *found;
}

const Protocol* protocol_of_address(std::string_view address) {
    const Protocol* found = nullptr;
    for (const Protocol* protocol : kProtocols) {
        const std::string_view path = protocol->path_in_version();
        if (!address.ends_with(path)) continue;
        if (found == nullptr || path.size() > found->path_in_version().size()) found = protocol;
    }
    return found;
}

bool has_field(const Protocol& protocol, bool BodyOptions::*flag) {
    return std::any_of(protocol.optional_fields.begin(), protocol.optional_fields.end(),
                       [&](const OptionalField& field) { return field.flag == flag; });
}

}  // namespace paretoken::protocol
