#pragma once
// Describes the shape of an event stream: the events of each HTTP chunk, the keys of each event in order, and
// the types of their values. Two streams with equal shapes differ only in values.
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace paretoken::testing {

/// Returns the shape of a value: {"a":[1,"x"]} → {a:[number,string]}.
inline std::string shape_of(const nlohmann::ordered_json& value) {
    std::string shape;
    if (value.is_object()) {
        for (const auto& [key, inner] : value.items())
            shape += (shape.empty() ? "" : ",") + key + ":" + shape_of(inner);
        return "{" + shape + "}";
    }
    if (value.is_array()) {
        for (const auto& inner : value) shape += (shape.empty() ? "" : ",") + shape_of(inner);
        return "[" + shape + "]";
    }
    return value.is_number() ? "number" : std::string(value.type_name());
}

/// Returns the shape of each event in a chunk of an event stream; the name of an event that has one precedes
/// it.
inline std::vector<std::string> event_shapes(std::string_view chunk) {
    constexpr std::string_view kEvent = "data: ";
    std::vector<std::string> shapes;
    while (!chunk.empty()) {
        std::string_view event = chunk.substr(0, chunk.find("\n\n"));
        chunk.remove_prefix(std::min(chunk.size(), event.size() + 2));
        std::string name;
        if (event.starts_with("event: ")) {
            name = std::string(event.substr(7, event.find('\n') - 7)) + " ";
            event.remove_prefix(std::min(event.size(), event.find('\n') + 1));
        }
        if (!event.starts_with(kEvent)) {
            shapes.push_back("no event: " + std::string(event));
        } else if (event == "data: [DONE]") {
            shapes.emplace_back(event);
        } else {
            shapes.push_back(name + shape_of(nlohmann::ordered_json::parse(event.substr(kEvent.size()))));
        }
    }
    return shapes;
}

/// Returns the shapes of all events: one list for each chunk.
inline std::vector<std::vector<std::string>> stream_shape(const std::vector<std::string>& chunks) {
    std::vector<std::vector<std::string>> shape;
    for (const std::string& chunk : chunks) shape.push_back(event_shapes(chunk));
    return shape;
}

}  // namespace paretoken::testing
