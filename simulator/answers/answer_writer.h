#pragma once
// The frames of one answer, appended to a buffer of the caller (which is reused: nothing is allocated per
// token), in the words of a dialect. No I/O; when and in which writes is the server's business.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/record/request.h"
#include "core/units.h"
#include "simulator/answers/answer_plan.h"
#include "simulator/answers/dialect.h"
#include "simulator/answers/http_frame.h"

namespace paretoken::sim {

enum class Endpoint : std::uint8_t { chat, completions };

/// The values that stay the same from the first frame to the last.
struct AnswerTerms {
    Dialect dialect = Dialect::vllm;
    Endpoint endpoint = Endpoint::chat;
    bool stream = true;
    bool include_usage = false;
    bool continuous_usage = false;
    bool token_ids = false;
    bool timings_per_token = false;  ///< llama.cpp's own option
    bool reasoning_model = false;    ///< usage tells reasoning tokens apart
    std::string id = {};             ///< without the dialect's prefix
    std::int64_t created = 0;        ///< seconds of the epoch
    std::string model = {};
    std::int64_t vocabulary = 0;
    std::int64_t prompt_tokens = 0;
    TokenIds prompt_token_ids = {};  ///< told along with token_ids
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
    std::optional<std::int64_t> cached_tokens = {};  ///< of the prompt; nothing: there is no prefix cache
    Duration prefill{};                              ///< from being taken up to the first token
    Duration decode{};                               ///< since then
    std::optional<EventTruth> truth = {};            ///< to be told along, where it was asked for

    bool operator==(const AnswerState&) const = default;
};

class AnswerWriter {
  public:
    virtual ~AnswerWriter() = default;

    /// Writes the part that precedes the first token: vLLM's role frame.
    virtual void append_opening(std::string& out) const = 0;

    /// The event of tokens [first, first + count) of the plan, count ≥ 1.
    virtual void append_tokens(std::string& out, std::int64_t first, std::int64_t count,
                               const AnswerState& state) const = 0;

    /// Into how many events append_tokens puts them.
    virtual std::int64_t events_for(std::int64_t count) const = 0;

    /// Writes the part that follows the last token: usage if it was asked for, [DONE], the end of the body.
    virtual void append_closing(std::string& out, const AnswerState& state) const = 0;

    /// The body of an answer that is not streamed.
    virtual std::string whole(const AnswerState& state) const = 0;
};

/// A key of our own at the end of an event, when it is to be told along: nanoseconds of CLOCK_MONOTONIC.
void append_event_truth(std::string& out, const AnswerState& state);

std::unique_ptr<AnswerWriter> answer_writer(AnswerTerms terms);

}  // namespace paretoken::sim
