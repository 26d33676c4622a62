#pragma once
// The parts that chat completions and completions have in common: the options of a request, and the frames
// around a choice, to which the writers that derive from these add the choice itself.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "simulator/answers/answer_writer.h"
#include "simulator/answers/protocol.h"

namespace paretoken::sim {

/// Reads the options of a request except tools, and returns the limit of output tokens, if there is one;
/// `limit_key` (may be empty) replaces "max_tokens". Throws Refused for a wrong field.
std::optional<std::int64_t> read_choice_options(const RequestBody& body, std::string_view limit_key,
                                                const ServedModel& model, GenerationRequest& request);

/// Returns the event of an error and the end of the stream.
std::string choices_failure(const DialectTraits& dialect, const Refusal& refusal);

/// The names in which the answers of the two protocols differ.
struct ChoiceNames {
    std::string_view id_prefix;
    std::string_view event;  ///< type of the events of a stream
    std::string_view whole;  ///< type of an answer in one piece
};

/// Writes answers in the frames of vLLM 0.32: an event per chunk, the finish reason in the last token's
/// event, usage after it. Keys and their order are those of recorded streams.
class VllmChoices : public AnswerWriter {
  public:
    void append_tokens(std::string& out, std::int64_t first, std::int64_t count,
                       const AnswerState& state) const override;
    std::int64_t events_for(std::int64_t) const override { return 1; }
    void append_closing(std::string& out, const AnswerState& state) const override;
    std::string whole(const AnswerState& state) const override;

  protected:
    VllmChoices(AnswerTerms terms, const ChoiceNames& names);

    /// Appends the whole JSON object of an event's only choice, with the tokens [first, end) of the answer.
    /// `last`: whether these are the last tokens, so that the choice has a finish reason.
    virtual void append_choice(std::string& out, std::int64_t first, std::int64_t end, bool last) const = 0;
    /// Appends the output of an answer in one piece, as a field of its choice.
    virtual void append_output(std::string& out) const = 0;
    /// Appends the fields between the token ids and the end of the only choice.
    virtual void append_choice_end(std::string&) const {}
    /// Appends the fields after usage.
    virtual void append_whole_end(std::string&) const {}

    const AnswerTerms& terms() const { return terms_; }
    std::size_t open_frame(std::string& out) const;
    void close_frame(std::string& out, std::size_t begin) const;
    void append_continuous_usage(std::string& out, std::int64_t tokens) const;
    void append_prompt_ids(std::string& out) const;
    void append_finish_reason(std::string& out, bool last) const;
    void append_token_ids(std::string& out, std::int64_t first, std::int64_t end) const;

  private:
    void append_usage(std::string& out, std::int64_t tokens, std::string_view details) const;
    std::string reasoning_details(std::int64_t tokens) const;
    std::string whole_details(const AnswerState& state) const;

    AnswerTerms terms_;
    bool chat_;                ///< whether usage has the fields of a chat
    std::string head_;         ///< beginning of every frame, up to the choices
    std::string fingerprint_;  ///< fingerprint of the last frame
};

/// Writes answers in the frames of llama.cpp's server: an event per token, the finish reason in its own
/// event, timings in the last. Keys and their order are those of recorded streams.
class LlamacppChoices : public AnswerWriter {
  public:
    void append_opening(std::string&) const override {}
    void append_tokens(std::string& out, std::int64_t first, std::int64_t count,
                       const AnswerState& state) const override;
    std::int64_t events_for(std::int64_t count) const override { return count; }
    void append_closing(std::string& out, const AnswerState& state) const override;
    std::string whole(const AnswerState& state) const override;

  protected:
    LlamacppChoices(AnswerTerms terms, const ChoiceNames& names);

    /// Appends the events that precede the first token in one chunk with it.
    virtual void append_first(std::string&) const {}
    virtual void append_choice(std::string& out, std::int64_t k) const = 0;
    /// Appends the events with the finish reason, usage and timings.
    virtual void append_finish(std::string& out, const AnswerState& state) const = 0;
    /// Appends the fields of the only choice of an answer in one piece.
    virtual void append_whole_choice(std::string& out) const = 0;

    const AnswerTerms& terms() const { return terms_; }
    void open_frame(std::string& out) const;
    void close_frame(std::string& out) const;
    /// Appends the end of a frame's choices and the fields that follow them.
    void append_tail(std::string& out) const { out += tail_; }
    void append_id(std::string& out) const { out += id_; }
    void append_usage(std::string& out, const AnswerState& state) const;
    void append_timings(std::string& out, std::int64_t tokens, const AnswerState& state) const;

  private:
    AnswerTerms terms_;
    std::string tail_;  ///< end of every event, after the choices
    std::string id_;    ///< id of an event whose id comes last
};

}  // namespace paretoken::sim
