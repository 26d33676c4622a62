#pragma once
// The meaning of one stream event's JSON, and of the JSON answers around a stream (errors, answers that did
// not stream). Tolerant by design: unknown keys, nulls and odd types are skipped, only what is no JSON is
// malformed. No I/O; an ordinary content chunk allocates nothing.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/record/record.h"
#include "core/text/secrets.h"
#include "loadgen/openai/delta_shape.h"
#include "loadgen/openai/sse.h"

namespace paretoken::openai {

/// A count of tokens above this, or below zero, is no count of one request's tokens.
inline constexpr std::int64_t kMostTokens = 1'000'000'000;

struct Delta {
    bool done = false;              ///< "[DONE]"
    bool malformed = false;         ///< no JSON object
    bool impossible_count = false;  ///< a count of tokens in it is negative or above kMostTokens
    bool has_output = false;        ///< text, reasoning, a tool call, or token ids
    EventKind kind = EventKind::content;
    std::uint32_t text_bytes = 0;  ///< UTF-8 bytes of all output in it
    std::uint32_t token_ids = 0;   ///< token ids or logprobs in it; 0: none given
    int choice = 0;                ///< index of the (last) choice in it
    /// Output tokens of this choice up to and with this chunk, where the server counts along.
    std::optional<std::int64_t> completion_tokens_so_far;
    std::string finish_reason;        ///< empty: not finished; cut after 64 bytes
    std::optional<TokenUsage> usage;  ///< as far as given; fields that are not there stay as they were
    std::string error;                ///< one line of at most 400 bytes; empty: none

    bool operator==(const Delta&) const = default;
};

/// An answer that came as one JSON object.
struct WholeAnswer {
    bool impossible_count = false;  ///< as of Delta
    std::string error;              ///< as of Delta
    std::string finish_reason;      ///< as of Delta
    std::uint64_t text_bytes = 0;
    std::string text;  ///< of the first choice's answer
    std::optional<TokenUsage> usage;

    bool operator==(const WholeAnswer&) const = default;
};

/// Keeps the JSON parser's memory and the shapes of events seen: one per thread.
class DeltaParser {
  public:
    /// `secrets` are hidden in every text that it gives out.
    explicit DeltaParser(Secrets secrets = {});
    ~DeltaParser();
    DeltaParser(DeltaParser&&) noexcept;
    DeltaParser& operator=(DeltaParser&&) noexcept;

    /// `data` of one event, with kReadablePadding readable bytes after it.
    /// An event of the same shape as one before (delta_shape.h) is not parsed again. Valid until the next
    /// call.
    const Delta& parse(std::string_view data);

    /// Appends the text that the event parsed last adds to its first choice's answer: no reasoning and no
    /// tool calls. `delta` is what parse() returned for it. The event's bytes must still be there.
    void append_text(const Delta& delta, PaddedBuffer& text) const {
        if (output_.empty()) return append_other_text(delta, text);
        if (delta.kind != EventKind::content || delta.choice != 0) return;
        if (output_.size() == delta.text_bytes) return text.append_padded(output_);
        append_unescaped(output_, text);
    }

    const Secrets& secrets() const;
    std::uint64_t recognised() const;  ///< events, so far, that needed no JSON parser

  private:
    class Shapes;
    struct State;
    void read(std::string_view data);  ///< into the state's delta
    void append_other_text(const Delta& delta, PaddedBuffer& text) const;

    /// The output of the event parsed last as it stands there, with its escapes, if one string is certainly
    /// all of it; otherwise empty.
    std::string_view output_;
    std::unique_ptr<State> state_;
};

/// Adds to `usage` what `news` knows; what it does not know stays.
void update(TokenUsage& usage, const TokenUsage& news);

/// The server's error message as one line: "message (type)". `body` of an answer that is not 200, in any of
/// the known shapes; else its first 200 bytes; empty for an empty body. `secrets` are hidden in it.
std::string error_text_of(std::string_view body, const Secrets& secrets = {});

/// Nothing when `body` is no JSON object. `secrets` are hidden in the texts.
std::optional<WholeAnswer> parse_whole_answer(std::string_view body, const Secrets& secrets = {});

}  // namespace paretoken::openai
