#pragma once
// Writes one answer in the format of a protocol (simulator/answers/protocol.h) and a dialect
// (simulator/answers/dialect.h), into a buffer of the caller, so that no token allocates memory. No I/O.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/record/request.h"
#include "core/units.h"
#include "simulator/answers/answer_plan.h"
#include "simulator/answers/dialect.h"
#include "simulator/answers/http_frame.h"

namespace paretoken::sim {

/// The values that stay the same from the first event to the last.
struct AnswerTerms {
    Dialect dialect = Dialect::vllm;
    Endpoint endpoint = Endpoint::chat;
    bool stream = true;
    bool include_usage = false;
    bool continuous_usage = false;
    bool token_ids = false;
    bool timings_per_token = false;  ///< option of llama.cpp
    bool reasoning_model = false;    ///< whether usage counts reasoning tokens separately
    std::string id = {};             ///< id without the dialect's prefix
    std::int64_t created = 0;        ///< seconds of the epoch
    std::string model = {};
    std::int64_t vocabulary = 0;
    std::int64_t prompt_tokens = 0;
    std::int64_t max_tokens = 0;     ///< limit of output tokens
    TokenIds prompt_token_ids = {};  ///< sent together with token_ids
    Framing framing = Framing::chunked;
    AnswerPlan plan = {};
};

/// When an event was due and when it is written.
struct EventTruth {
    TimePoint due;
    TimePoint written;

    bool operator==(const EventTruth&) const = default;
};

/// The state of an answer at the time of an event.
struct AnswerState {
    std::optional<std::int64_t> cached_tokens = {};  ///< cached prompt tokens; absent means no prefix cache
    Duration prefill{};                              ///< time from admission to the first token
    Duration decode{};                               ///< time since the first token
    std::int64_t events = 0;                         ///< events with output that were written before
    std::optional<EventTruth> truth = {};            ///< truth to send with the event, if requested

    bool operator==(const AnswerState&) const = default;
};

class AnswerWriter {
  public:
    virtual ~AnswerWriter() = default;

    /// Appends the part that precedes the first token: for a chat of vLLM, the event with the role. llama.cpp
    /// writes that event together with the first token.
    virtual void append_opening(std::string& out) const = 0;

    /// Returns whether the opening is written together with the head, before the first token is computed.
    virtual bool opens_at_once() const { return false; }

    /// Appends the events of tokens [first, first + count), count ≥ 1: one (vLLM), or one each (llama.cpp).
    virtual void append_tokens(std::string& out, std::int64_t first, std::int64_t count,
                               const AnswerState& state) const = 0;

    /// Returns the number of events with tokens that append_tokens() writes for `count` tokens of one part of
    /// the answer. An event that only has the role is not counted.
    virtual std::int64_t events_for(std::int64_t count) const = 0;

    /// Appends the number of tokens of each event that append_tokens() writes for [first, first + count).
    virtual void append_event_tokens(std::vector<std::int32_t>& out, std::int64_t first,
                                     std::int64_t count) const;

    /// Appends the part that follows the last token: usage if it was asked for, [DONE], the end of the body.
    virtual void append_closing(std::string& out, const AnswerState& state) const = 0;

    /// Returns the body of an answer that is not streamed.
    virtual std::string whole(const AnswerState& state) const = 0;
};

/// Appends the key "sim", which real servers do not have, with the times of state.truth in nanoseconds of
/// CLOCK_MONOTONIC. Appends nothing if state.truth is empty.
void append_event_truth(std::string& out, const AnswerState& state);

/// Divides tokens [first, first + count) at the boundaries between parts of the answer (Part) and appends the
/// number of tokens of each piece: the tokens per event if each part is an event.
void append_tokens_of_parts(std::vector<std::int32_t>& out, const AnswerPlan& plan, std::int64_t first,
                            std::int64_t count);

/// Appends llama.cpp's "timings" for `tokens` generated tokens; the first one takes no time of its own.
void append_llamacpp_timings(std::string& out, std::int64_t prompt_tokens, std::int64_t tokens,
                             const AnswerState& state);

std::unique_ptr<AnswerWriter> answer_writer(AnswerTerms terms);

}  // namespace paretoken::sim
