#pragma once
// An answer as a real server streamed it, extended to a given number of tokens by repeating a plain event.
// Invariant: every returned piece has 64 readable bytes after it, as the parsers require.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace paretoken::benchmarks {

class Answer {
  public:
    /// `recording`: a file of tests/golden/streams with at least two and at most `tokens` events with output,
    /// else std::runtime_error.
    Answer(std::string_view recording, int tokens);

    const std::vector<std::string_view>& events() const { return events_; }  ///< events of the body
    const std::vector<std::string_view>& reads() const {
        return reads_;
    }                           ///< bytes on the wire: the head, then one chunk each
    std::size_t bytes() const;  ///< size of the body

  private:
    std::string body_;
    std::string wire_;
    std::vector<std::string_view> events_;
    std::vector<std::string_view> reads_;
};

/// Returns the text after "data: " on an event's only line, in the form that framing gives.
std::string_view data_of(std::string_view event);

}  // namespace paretoken::benchmarks
