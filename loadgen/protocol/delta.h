#pragma once
// Reads the JSON of one stream event, and JSON answers without a stream. Unknown keys, nulls and wrong types
// are skipped; only a text that is not a JSON object is malformed. No I/O; ordinary events allocate nothing.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/record/record.h"
#include "core/text/secrets.h"
#include "loadgen/protocol/delta_shape.h"
#include "loadgen/protocol/protocol.h"
#include "loadgen/protocol/sse.h"

namespace paretoken::protocol {

/// The largest possible count of one request's tokens. Counts above it or below zero are impossible.
inline constexpr std::int64_t kMostTokens = 1'000'000'000;

struct ChoiceOutput {
    int choice = 0;  ///< its index
    EventKind kind = EventKind::content;
    std::uint32_t text_bytes = 0;  ///< UTF-8 bytes of its output
    std::uint32_t token_ids = 0;   ///< number of token ids or logprobs; 0 means none given
    bool has_output = false;       ///< whether it has text, reasoning, a tool call, or token ids
    bool finished = false;         ///< whether it ends with this event

    bool operator==(const ChoiceOutput&) const = default;
};

struct Delta {
    bool done = false;              ///< whether the answer ends with it, such as "[DONE]"
    bool malformed = false;         ///< whether it is not a JSON object
    bool impossible_count = false;  ///< whether a count of tokens is negative or above kMostTokens
    bool has_output = false;        ///< whether it has text, reasoning, a tool call, or token ids
    bool hidden_reasoning = false;  ///< whether it announces reasoning whose text does not come
    bool progress = false;          ///< whether it tells how much of the prompt has been read
    bool foreign = false;           ///< whether it is an object that is no event of the protocol
    EventKind kind = EventKind::content;
    std::uint32_t text_bytes = 0;  ///< UTF-8 bytes of all its output
    std::uint32_t token_ids = 0;   ///< number of token ids or logprobs; 0 means none given
    int choice = 0;                ///< index of its (last) choice
    /// The output tokens of this choice up to and including this chunk, if the server counts along.
    std::optional<std::int64_t> completion_tokens_so_far;
    /// The reason why the answer ended, at most 64 bytes; empty if it has not ended. It has its name in chat
    /// completions ("stop", "length"), or the server's own if there is none.
    std::string finish_reason;
    std::string own_reason;           ///< the server's word for it if that is another one; otherwise empty
    std::optional<TokenUsage> usage;  ///< the server's token counts in this event; absent counts say nothing
    std::optional<std::int64_t> total_tokens;  ///< the sum of prompt and output tokens that the usage states
    /// Tokens that were written to the cache, which the usage states beside input_tokens; 0 if it has none.
    std::int64_t cache_written = 0;
    std::string unknown_field = {};  ///< name of the text, if it has no output but text under an unknown name
    /// The type of the event if it has the whole text of a part, which came before; otherwise empty.
    std::string_view whole_text_in = {};
    /// If the event has several choices: the output of each of them. Otherwise empty.
    std::vector<ChoiceOutput> choices;
    std::string error;  ///< one line of at most 400 bytes; empty means none

    bool operator==(const Delta&) const = default;
};

/// An answer that came as one JSON object.
struct WholeAnswer {
    bool impossible_count = false;  ///< as in Delta
    std::string error;              ///< as in Delta
    std::string finish_reason;      ///< as in Delta
    std::string own_reason;         ///< as in Delta
    std::uint64_t text_bytes = 0;   ///< bytes of all output, with reasoning and tool calls
    std::string text;               ///< text of the first choice's answer
    std::string model;              ///< model that the answer names; at most 64 bytes
    std::optional<TokenUsage> usage;
    std::optional<std::int64_t> total_tokens;  ///< as in Delta

    bool operator==(const WholeAnswer&) const = default;
};

/// Parses events, and keeps the shapes of those seen. Only one thread may use it.
class DeltaParser {
  public:
    /// `secrets` are hidden in errors and finish reasons, but not in the text of answers. `protocol` must
    /// outlive the parser.
    explicit DeltaParser(Secrets secrets = {}, const Protocol& protocol = default_protocol());
    ~DeltaParser();
    DeltaParser(DeltaParser&&) noexcept;
    DeltaParser& operator=(DeltaParser&&) noexcept;

    /// Parses the data of one event, with kReadablePadding (loadgen/protocol/sse.h) readable bytes after it.
    /// The result is valid until the next call.
    const Delta& parse(std::string_view data);

    /// Appends the text that the event parsed last adds to its first choice's answer, without reasoning and
    /// tool calls. `delta` is the result of parse() for it. The event's bytes must still exist.
    void append_text(const Delta& delta, PaddedBuffer& text) const {
        if (output_.empty()) return append_other_text(delta, text);
        if (delta.kind != EventKind::content || delta.choice != 0) return;
        if (output_.size() == delta.text_bytes) return text.append_padded(output_);
        append_unescaped(output_, text);
    }

    /// Returns the output of the event parsed last as it was written: the first of its JSON strings with
    /// output, with escapes. Empty if no string holds it. The event's bytes must still exist.
    std::string_view written_output() const { return output_.empty() ? first_output_ : output_; }

    /// Returns whether the text of the event parsed last, which must still exist, has letters beyond ASCII.
    bool is_beyond_ascii() const;

    /// Returns whether the three-byte output of the event parsed last, which must still exist, has no width.
    bool is_invisible() const;

    /// The model that the event parsed last names; empty if it names none or was recognised by its shape.
    /// Valid until the next call of parse().
    std::string_view model() const { return model_; }

    const Secrets& secrets() const;
    const Protocol& protocol() const;
    std::uint64_t recognised() const;  ///< events that needed no JSON parser

  private:
    class Shapes;
    struct State;
    void read(std::string_view data);  ///< writes to the state's delta
    void append_other_text(const Delta& delta, PaddedBuffer& text) const;

    /// The output of the event parsed last as it was written, if one string holds all of it; else empty.
    std::string_view output_;
    std::string_view first_output_;  ///< has no meaning if `output_` is not empty
    std::string_view model_;
    std::unique_ptr<State> state_;
};

/// Replaces the values of `usage` by those that `news` has; the others stay. A zero replaces no count,
/// because some servers send zeros in the events that have nothing to report. A count of the prompt without
/// the cached tokens which an earlier event stated, and the `cache_written` ones, replaces only the others.
void update(TokenUsage& usage, const TokenUsage& news, std::int64_t cache_written = 0);

/// Returns the error that a JSON text states, in any known form, as one line; empty if it states none.
std::string stated_error(std::string_view json, const Secrets& secrets = {});

/// Returns the error message in the body of an answer that is not 200, as one line "message (type)", else the
/// body's first 200 bytes. `secrets` are hidden in it.
std::string error_text_of(std::string_view body, const Secrets& secrets = {});

/// Reads a whole answer; returns nothing when `body` is not a JSON object. `secrets` are hidden in `error`
/// and `finish_reason`, but not in `text`.
std::optional<WholeAnswer> parse_whole_answer(std::string_view body, const Secrets& secrets = {},
                                              const Protocol& protocol = default_protocol());

}  // namespace paretoken::protocol
