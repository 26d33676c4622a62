#include "benchmarks/recorded.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "tests/support/golden.h"

namespace paretoken::benchmarks {
namespace {

constexpr std::size_t kPadding = 64;

std::vector<std::string> events_of(std::string_view body) {
    std::vector<std::string> events;
    while (!body.empty()) {
        const std::size_t end = body.find("\n\n");
        if (end == std::string_view::npos) throw std::runtime_error("the recording ends within an event");
        events.emplace_back(body.substr(0, end + 2));
        body.remove_prefix(end + 2);
    }
    return events;
}

bool has_output(std::string_view event) {
    constexpr std::string_view kContent = "\"content\":\"";
    const std::size_t at = event.find(kContent);
    return at != std::string_view::npos && event.substr(at + kContent.size()).front() != '"';
}

/// Returns the event with its count of tokens so far, if it has one, set to `tokens`.
std::string counted_to(std::string event, int tokens) {
    constexpr std::string_view kCount = "\"completion_tokens\":";
    const std::size_t at = event.find(kCount);
    if (at == std::string::npos) return event;
    const std::size_t digits = at + kCount.size();
    const std::size_t end = event.find_first_not_of("0123456789", digits);
    return event.replace(digits, end - digits, std::to_string(tokens));
}

/// Returns the recorded events, with the second one with output repeated until `tokens` events have output.
std::vector<std::string> drawn_out(const std::vector<std::string>& recorded, int tokens) {
    const auto have = static_cast<int>(std::count_if(recorded.begin(), recorded.end(), has_output));
    if (have < 2 || have > tokens) {
        throw std::runtime_error(fmt::format("the recording has {} events with output", have));
    }
    std::vector<std::string> events;
    int outputs = 0;
    for (const std::string& event : recorded) {
        if (has_output(event)) ++outputs;
        const int copies = has_output(event) && outputs == 2 ? tokens - have + 1 : 1;
        for (int i = 0; i < copies; ++i) events.push_back(counted_to(event, outputs + i));
        outputs += copies - 1;
    }
    return events;
}

/// Returns views of consecutive pieces of `text`.
std::vector<std::string_view> pieces(const std::string& text, const std::vector<std::size_t>& sizes) {
    std::vector<std::string_view> views;
    std::size_t at = 0;
    for (const std::size_t size : sizes) {
        views.push_back(std::string_view(text).substr(at, size));
        at += size;
    }
    return views;
}

}  // namespace

Answer::Answer(std::string_view recording, int tokens) {
    const std::string http = testing::golden(fmt::format("streams/{}", recording));
    const std::vector<std::string> events = drawn_out(events_of(testing::body_of(http)), tokens);
    std::vector<std::size_t> event_sizes, read_sizes;
    wire_ = http.substr(0, http.find("\r\n\r\n") + 4);
    read_sizes.push_back(wire_.size());
    for (const std::string& event : events) {
        event_sizes.push_back(event.size());
        body_ += event;
        const std::string chunk = fmt::format("{:x}\r\n{}\r\n", event.size(), event);
        read_sizes.push_back(chunk.size());
        wire_ += chunk;
    }
    const std::string end = "0\r\n\r\n";
    read_sizes.push_back(end.size());
    wire_ += end;
    body_.append(kPadding, '\0');
    wire_.append(kPadding, '\0');
    events_ = pieces(body_, event_sizes);
    reads_ = pieces(wire_, read_sizes);
}

std::size_t Answer::bytes() const {
    return body_.size() - kPadding;
}

std::string_view data_of(std::string_view event) {
    event.remove_prefix(std::string_view("data: ").size());
    return event.substr(0, event.find('\n'));
}

}  // namespace paretoken::benchmarks
