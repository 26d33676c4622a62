#pragma once
// Writes answers in the frames of vLLM 0.32: an event per chunk, the finish reason in the last token's event,
// usage after it. Keys and their order are those of recorded streams.
#include "simulator/answers/answer_writer.h"

namespace paretoken::sim {

class VllmWriter final : public AnswerWriter {
  public:
    explicit VllmWriter(AnswerTerms terms);

    void append_opening(std::string& out) const override;
    void append_tokens(std::string& out, std::int64_t first, std::int64_t count,
                       const AnswerState& state) const override;
    std::int64_t events_for(std::int64_t) const override { return 1; }
    void append_closing(std::string& out, const AnswerState& state) const override;
    std::string whole(const AnswerState& state) const override;

  private:
    bool chat() const { return terms_.endpoint == Endpoint::chat; }
    void append_delta(std::string& out, std::int64_t first, std::int64_t end) const;
    void append_choice_end(std::string& out, std::int64_t first, std::int64_t end) const;
    void append_usage(std::string& out, std::int64_t tokens, std::string_view details) const;
    void append_prompt_ids(std::string& out) const;
    void append_message(std::string& out) const;
    void append_token_ids(std::string& out, std::int64_t first, std::int64_t end) const;
    std::string reasoning_details(std::int64_t tokens) const;
    std::string whole_details(const AnswerState& state) const;

    AnswerTerms terms_;
    std::string head_;         ///< beginning of every frame, up to the choices
    std::string fingerprint_;  ///< fingerprint of the last frame
};

}  // namespace paretoken::sim
