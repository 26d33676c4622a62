#pragma once
// One answer: body bytes with their arrival times in, a RequestRecord's events, tokens and outcome out. Knows
// nothing of sockets or HTTP. Invariant: what it records depends on the bytes and on which read brought them,
// not on how the layers between cut them. While it arrives, an answer is a log of its chunks;
// what the record says of them is written from it at the end.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/record/record.h"
#include "loadgen/openai/delta.h"
#include "loadgen/openai/sse.h"

namespace paretoken::openai {

/// The limits beyond which an answer is rejected. They lie far above the answers of a correct server, and
/// protect memory and figures from one that is faulty or hostile.
struct AnswerLimits {
    std::optional<std::int64_t> asked_output_tokens = {};  ///< told in errors
    std::int64_t output_tokens = kMostTokens;              ///< counted by the server, of the whole answer
    std::int64_t prompt_tokens = kMostTokens;              ///< counted by the server
    std::size_t events = std::size_t{1} << 18;             ///< with output, when the length was left open
    std::uint64_t stream_bytes = std::uint64_t{1} << 32;
    std::size_t whole_bytes = std::size_t{16} << 20;  ///< of an answer that is no stream

    bool operator==(const AnswerLimits&) const = default;
};

/// For a request of `request_bytes` that asks for at most so many output tokens, all choices together;
/// nothing: it sets no limit. Prompts have no more tokens than bytes, and what a template or an image can
/// add.
AnswerLimits limits_for(std::optional<std::int64_t> asked_output_tokens, std::size_t request_bytes);

struct AnswerOptions {
    bool stream = true;                ///< a stream was asked for
    bool ignore_eos_accepted = false;  ///< fewer tokens than wanted_output_tokens is then a failure
    bool keep_text = false;            ///< the record gets the answer's text
    std::size_t expected_chunks = 0;   ///< room for so many is made beforehand
    AnswerLimits limits = {};
};

class AnswerReader {
  public:
    /// `parser` may be shared by all readers of a thread and outlives them.
    explicit AnswerReader(DeltaParser& parser) : parser_(&parser) {}

    /// Begins a new answer to `record`, which must stay where it is until finish(): only then it has events,
    /// chunks, grouped_chunks, longest_gap, tokens and the times of events.
    void begin(RequestRecord& record, const AnswerOptions& options = {});

    /// Body bytes that one read brought, kReadablePadding readable bytes after them. A read may bring several
    /// pieces: `new_read` on the first of them only. `stamp`: when the read's last byte reached this host.
    /// Returns how many chunks were completed by a read that had completed one before.
    std::uint32_t on_body(std::span<const char> bytes, TimePoint stamp, bool kernel_stamp, bool new_read);

    /// The answer is complete ([DONE]) or has failed for good; what else comes is ignored.
    bool done() const { return done_; }
    bool has_output() const { return !log_.empty(); }  ///< of a stream: its first token is there
    bool non_streaming() const { return whole_; }      ///< one JSON object came: no first token to time
    std::uint64_t comments() const { return sse_.comments(); }  ///< keep-alive comments and pings

    /// The exchange is over; http_complete: the HTTP message came to its end. Decides the tokens of each
    /// event and, unless the caller has already set a failure, the outcome: ok, stream_error, truncated,
    /// disconnected, empty, too_short or malformed.
    void finish(bool http_complete);

  private:
    /// One event with output, with what decides its tokens once the whole answer is known.
    struct Chunk {
        TimePoint time;
        std::uint32_t text_bytes = 0;
        std::uint32_t token_ids = 0;  ///< 0: none given
        std::uint32_t counted_along =
            0;  ///< tokens since the choice's chunk before, by the server's own count
        EventKind kind = EventKind::content;
        bool same_read = false;
        bool kernel_stamp = true;
    };

    void on_delta(const Delta& delta);
    void on_output(const Delta& delta);
    void fail(Outcome outcome, std::string error);
    void finish_whole(bool http_complete);
    void finish_stream(bool http_complete);
    void check_counts();
    void write_events();
    void decide_tokens();
    bool all_choices_finished() const { return choices_seen_ == choices_finished_ && choices_seen_ != 0; }

    // The members that every event uses stand together.
    DeltaParser* parser_;
    std::vector<Chunk> log_;
    TimePoint stamp_;
    std::uint64_t choices_seen_ = 0;  ///< bit per choice, the 64th for all above
    bool kernel_stamp_ = true;
    bool output_in_this_read_ = false;
    bool all_counted_along_ = true;
    bool all_token_ids_ = true;
    bool any_body_ = false;
    bool whole_ = false;
    bool done_ = false;
    SseParser sse_;

    std::uint64_t stream_bytes_ = 0;
    std::uint64_t choices_finished_ = 0;
    RequestRecord* record_ = nullptr;
    AnswerOptions options_;
    PaddedBuffer whole_body_;
    PaddedBuffer text_;                         ///< of the answer, where it is kept
    std::vector<std::int64_t> counted_so_far_;  ///< per choice
};

}  // namespace paretoken::openai
