#pragma once
// Writes answers in the frames of llama.cpp's server: an event per token, a chat's role event in one chunk
// with the first token's event, the finish reason in its own event, timings in the last. Keys and their order
// are those of recorded streams.
#include "simulator/answers/answer_writer.h"

namespace paretoken::sim {

class LlamacppWriter final : public AnswerWriter {
  public:
    explicit LlamacppWriter(AnswerTerms terms);

    void append_opening(std::string&) const override {}
    void append_tokens(std::string& out, std::int64_t first, std::int64_t count,
                       const AnswerState& state) const override;
    std::int64_t events_for(std::int64_t count) const override { return count; }
    void append_closing(std::string& out, const AnswerState& state) const override;
    std::string whole(const AnswerState& state) const override;

  private:
    bool chat() const { return terms_.endpoint == Endpoint::chat; }
    void append_delta(std::string& out, std::int64_t k) const;
    void append_usage(std::string& out, const AnswerState& state) const;
    void append_timings(std::string& out, std::int64_t tokens, const AnswerState& state) const;
    void append_message(std::string& out) const;
    void append_chat_closing(std::string& out, const AnswerState& state) const;
    void append_completions_closing(std::string& out, const AnswerState& state) const;

    AnswerTerms terms_;
    std::string tail_;  ///< end of every event, after the choices
    std::string id_;    ///< id of a completion's events, which comes last
};

}  // namespace paretoken::sim
