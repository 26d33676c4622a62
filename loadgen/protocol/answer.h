#pragma once
// Reads one answer: turns body bytes with their arrival times into a RequestRecord's events, tokens and
// outcome. Uses no sockets and no HTTP. The record depends on the bytes and on the socket read that each came
// with, not on the pieces in which the layers below pass them on. While an answer arrives, its chunks (the
// events with output) are stored in a log; the record's events are written from the log at the end.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/record/record.h"
#include "loadgen/protocol/delta.h"
#include "loadgen/protocol/repeated_text.h"
#include "loadgen/protocol/sse.h"
#include "loadgen/protocol/token_counts.h"

namespace paretoken::protocol {

/// The limits beyond which an answer is rejected, to protect memory and figures from faulty servers.
struct AnswerLimits {
    /// The request's limit on the output tokens of all choices; an answer that reaches it is not too short.
    std::optional<std::int64_t> asked_output_tokens = {};
    int choices = 1;                            ///< answers that were asked for (field "n")
    std::int64_t output_tokens = kMostTokens;   ///< most by the server's count, over all choices
    std::int64_t prompt_tokens = kMostTokens;   ///< most by the server's count
    std::size_t events = std::size_t{1} << 18;  ///< events with output
    std::uint64_t stream_bytes = std::uint64_t{1} << 32;
    std::size_t whole_bytes = std::size_t{16} << 20;  ///< bytes of an answer that is not a stream

    bool operator==(const AnswerLimits&) const = default;
};

/// Returns the limits for a request whose body has `request_bytes`. `asked_output_tokens` is its limit on the
/// output tokens of all choices together; absent if it has none. A prompt is taken to have at most as many
/// tokens as the body has bytes, plus those that a template or an image can add.
AnswerLimits limits_for(std::optional<std::int64_t> asked_output_tokens, std::size_t request_bytes);

struct AnswerOptions {
    bool stream = true;                ///< whether a stream was requested
    bool ignore_eos_accepted = false;  ///< whether fewer tokens than wanted_output_tokens are a failure
    bool keep_text = false;            ///< whether the record gets the answer's text
    bool echoes_prompt = false;        ///< whether the first event of each choice repeats the prompt
    std::size_t expected_chunks = 0;   ///< number of chunks to reserve memory for
    /// The model that was asked for; empty if it is unknown. It must exist until finish().
    std::string_view asked_model = {};
    AnswerLimits limits = {};
};

class AnswerReader {
  public:
    /// `parser` may be shared by all readers of a thread and must outlive them.
    explicit AnswerReader(DeltaParser& parser) : parser_(&parser) {}

    /// Begins a new answer for `record`, which must not move until finish(). Clears what an earlier answer
    /// has left in the record, except outcome and error. finish() writes the record's events, chunks,
    /// grouped_chunks, longest_gap, tokens and the times of events.
    void begin(RequestRecord& record, const AnswerOptions& options = {});

    /// Takes body bytes of one read, with kReadablePadding (loadgen/protocol/sse.h) readable bytes after
    /// them. `new_read` is true for the first piece of a read. `stamp` is when the read's last byte reached
    /// this host (`kernel_stamp`: by the kernel's time stamp). Returns the number of chunks (events with
    /// output) completed by these bytes, without the read's first chunk.
    std::uint32_t on_body(std::span<const char> bytes, TimePoint stamp, bool kernel_stamp, bool new_read);

    /// Returns whether the stream's end marker has come or the answer has failed; later bytes are ignored.
    bool done() const { return done_; }
    std::size_t events() const { return events_; }  ///< number of events of a stream that had output
    bool non_streaming() const { return whole_; }   ///< whether the answer is read as one JSON object

    /// Ends the answer; http_complete: the HTTP message came to its end. Decides the tokens of each
    /// event and, unless the caller has already set a failure, the outcome: ok, stream_error, truncated,
    /// disconnected, empty, too_short or malformed.
    void finish(bool http_complete);

  private:
    void on_event(const SseEvent& event);
    void on_delta(const Delta& delta);
    void on_output(const Delta& delta);
    void add_chunk(const ChoiceOutput& output, std::optional<std::int64_t> counted);
    void note_output_of(const Chunk& chunk);
    void note_end_of(int choice, bool has_output);
    bool has_blanks_alone(const Delta& delta) const;
    void note_model(std::string_view answered);
    void fail(Outcome outcome, std::string error);
    /// The number of bytes that may still come: of a stream, or of an answer that is no stream.
    std::uint64_t bytes_left() const {
        return whole_ ? options_.limits.whole_bytes - whole_body_.size()
                      : options_.limits.stream_bytes - stream_bytes_;
    }
    void finish_whole(bool http_complete);
    void finish_stream(bool http_complete);
    void check_counts();
    void write_events();
    void note_event(const Delta& delta);
    std::string beginning() const;
    std::string no_token() const;
    std::string last_words() const;
    const std::string& reason() const { return own_reason_.empty() ? record_->finish_reason : own_reason_; }
    bool all_choices_finished() const { return choices_seen_ == choices_finished_ && choices_seen_ != 0; }

    // The members that every event uses come first.
    DeltaParser* parser_;
    std::vector<Chunk> log_;
    TimePoint stamp_;
    std::uint64_t choices_seen_ = 0;  ///< one bit per choice, the 64th for all above
    bool kernel_stamp_ = true;
    bool output_in_this_read_ = false;
    bool all_counted_along_ = true;
    bool any_body_ = false;  ///< whether a byte came that is not blank
    bool indented_ = false;  ///< whether the first line of a stream begins with a blank
    bool whole_ = false;
    bool done_ = false;
    bool model_known_ = false;  ///< whether the answer has named its model
    SseParser sse_;

    std::uint64_t stream_bytes_ = 0;
    std::uint64_t choices_finished_ = 0;
    RequestRecord* record_ = nullptr;
    AnswerOptions options_;
    PaddedBuffer whole_body_;            ///< an answer that is no stream; of a stream, its beginning
    PaddedBuffer text_;                  ///< text of the answer, if it is kept
    std::size_t text_until_end_ = 0;     ///< length of `text_` when the answer's end was first stated
    std::size_t text_before_last_ = 0;   ///< length of `text_` before the last event with output
    StreamFacts facts_;                  ///< what is known of the stream besides its events with output
    TextSoFar so_far_;                   ///< whether events bring text that came before
    bool has_end_alone_ = false;         ///< whether facts_.first_alone came with or after an end
    std::size_t outputs_after_end_ = 0;  ///< events with output of a choice for which an end had been stated
    std::string own_reason_ = {};        ///< the server's word for record_->finish_reason, if it is another
    std::size_t events_ = 0;             ///< number of events with output
    std::size_t unknown_outputs_ = 0;    ///< events with text under unknown names alone
    std::string unknown_field_ = {};     ///< the first of these names
    std::string_view whole_text_in_ = {};  ///< as in Delta
    std::int64_t cache_written_ = 0;       ///< as in Delta
    std::size_t foreign_ = 0;              ///< events that are objects of another kind
    bool any_own_ = false;                 ///< whether an event was one of the protocol
};

}  // namespace paretoken::protocol
