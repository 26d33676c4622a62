#include "datasets/synthetic/multi_turn.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/random.h"
#include "datasets/synthetic/lengths.h"
#include "datasets/synthetic/prompt_maker.h"

namespace paretoken::datasets {
namespace {

constexpr std::int64_t kMostTurns = 1000;

class MultiTurn final : public Dataset {
  public:
    explicit MultiTurn(const DatasetOptions& options)
        : turns_(options.spec.text_or("turns", "4")),
          first_(options.spec.text_or("first", "500")),
          next_(options.spec.text_or("next", "100")),
          output_(options.spec.text_or("osl", "128")),
          seed_(options.seed),
          salt_(options.salt),
          live_replies_(options.live_replies),
          maker_(in_form(options, PromptForm::text)) {
        maker_.require_prose_for_many([this](std::uint64_t i) { return made_up_tokens(i); });
    }

    Request request(std::uint64_t index) const override {
        Request request = without_prompt(index, 0);
        request.wanted_input_tokens = first_tokens(index);
        request.prompt =
            Messages{{.role = "user",
                      .content = std::get<std::string>(maker_.prompt(*request.wanted_input_tokens, index))}};
        return request;
    }

    bool has_conversations() const override { return true; }
    bool needs_replies() const override { return live_replies_; }

    std::uint32_t turns(std::uint64_t index) const override {
        Random random(derived_seed(seed_, "turns", index));
        return static_cast<std::uint32_t>(std::min(turns_.draw(random), kMostTurns));
    }

    Request follow_up(std::uint64_t index, std::uint32_t turn, const Said& said) const override {
        Request request = without_prompt(index, turn);
        if (live_replies_) {
            Messages messages = std::get<Messages>(said.prompt);
            messages.push_back({.role = "assistant", .content = std::string(said.reply)});
            messages.push_back(message(index, turn));
            request.prompt = std::move(messages);
            return request;
        }
        Messages messages = std::get<Messages>(this->request(index).prompt);
        for (std::uint32_t t = 1; t <= turn; ++t) {
            messages.push_back(recorded_reply(index, t - 1));
            messages.push_back(message(index, t));
        }
        request.prompt = std::move(messages);
        return request;
    }

    std::string description() const override {
        return fmt::format("multi_turn:turns={},first={},next={},osl={}", turns_.text(), first_.text(),
                           next_.text(), output_.text());
    }
    /// Returns the mean over all turns, with the messages and replies before them.
    std::optional<double> mean_input_tokens() const override {
        return first_.mean() + (turns_.mean() - 1) / 2 * (next_.mean() + output_.mean());
    }
    std::optional<double> mean_output_tokens() const override { return output_.mean(); }

  private:
    static std::uint64_t name_of_turn(std::uint64_t index, std::uint32_t turn) {
        return derived_seed(index, "turn", turn);
    }

    Request without_prompt(std::uint64_t index, std::uint32_t turn) const {
        Request request;
        request.index = index;
        request.id = fmt::format("{}-{}", request_id(salt_, index), turn);
        request.wanted_output_tokens = output_tokens(index, turn);
        return request;
    }

    std::int64_t output_tokens(std::uint64_t index, std::uint32_t turn) const {
        Random random(derived_seed(seed_, "replies", name_of_turn(index, turn)));
        return output_.draw(random);
    }

    std::int64_t first_tokens(std::uint64_t index) const {
        Random random(derived_seed(seed_, "first messages", index));
        return first_.draw(random);
    }

    std::int64_t next_tokens(std::uint64_t index, std::uint32_t turn) const {
        Random random(derived_seed(seed_, "next messages", name_of_turn(index, turn)));
        return next_.draw(random);
    }

    /// The tokens of the messages and recorded replies that a conversation's last prompt holds.
    std::int64_t made_up_tokens(std::uint64_t index) const {
        std::int64_t tokens = first_tokens(index);
        for (std::uint32_t turn = 1; turn < turns(index); ++turn)
            tokens += next_tokens(index, turn) + (live_replies_ ? 0 : output_tokens(index, turn - 1));
        return tokens;
    }

    Message message(std::uint64_t index, std::uint32_t turn) const {
        return said_by("user", next_tokens(index, turn), name_of_turn(index, turn));
    }

    Message recorded_reply(std::uint64_t index, std::uint32_t turn) const {
        return said_by("assistant", output_tokens(index, turn),
                       derived_seed(name_of_turn(index, turn), "reply"));
    }

    Message said_by(std::string role, std::int64_t tokens, std::uint64_t name) const {
        Prompt text = std::string();
        maker_.append(text, tokens, name);
        return {.role = std::move(role), .content = std::get<std::string>(std::move(text))};
    }

    Lengths turns_;
    Lengths first_;
    Lengths next_;
    Lengths output_;
    std::uint64_t seed_;
    std::string salt_;
    bool live_replies_;
    PromptMaker maker_;
};

}  // namespace

std::unique_ptr<Dataset> make_multi_turn(const DatasetOptions& options) {
    options.spec.expect_only({"turns", "first", "next", "osl"});
    return std::make_unique<MultiTurn>(options);
}

}  // namespace paretoken::datasets
