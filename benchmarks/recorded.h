#pragma once
// Provides the input of the parsers' benchmarks: an answer that a real server streamed, extended to a given
// number of tokens by repeating its second event with output. Every returned piece has 64 readable bytes
// after it, as the parsers require.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace paretoken::benchmarks {

/// The answer. It owns the bytes to which the returned views refer, so it must neither be copied nor moved.
class Answer {
  public:
    /// `recording` names a file of tests/golden/streams, an HTTP response whose body is chunked. Throws
    /// std::runtime_error if there is no such file, or if the number of its events with output (text that is
    /// not empty) is below two or above `tokens`.
    Answer(std::string_view recording, int tokens);

    const std::vector<std::string_view>& events() const { return events_; }  ///< events of the body
    /// The bytes on the wire in pieces: the HTTP head, one chunk for each event, and the empty last chunk.
    const std::vector<std::string_view>& reads() const { return reads_; }
    std::size_t bytes() const;  ///< size of the body without HTTP chunks

  private:
    std::string body_;
    std::string wire_;
    std::vector<std::string_view> events_;
    std::vector<std::string_view> reads_;
};

/// Returns the data of a server-sent event that has a single line: the text after "data: ", without the end
/// of the line.
std::string_view data_of(std::string_view event);

}  // namespace paretoken::benchmarks
