#include "datasets/synthetic/recall.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/random.h"
#include "datasets/synthetic/prompt_maker.h"
#include "datasets/synthetic/text.h"

namespace paretoken::datasets {
namespace {

constexpr std::int64_t kTokensOfSentence = 16;  // a sentence with a number, as most tokenizers count it
constexpr std::int64_t kTokensBetween = 48;     // words between two such sentences
constexpr std::int64_t kTokensOfQuestion = 32;
constexpr std::int64_t kShortest = 128;

std::string name_of(std::uint64_t index, std::uint64_t place) {
    Random random(derived_seed(index, "recall name", place));
    const auto words = vocabulary();
    const auto word = [&] { return words[random.below(words.size())]; };
    const auto first = word();
    return fmt::format("{}-{}-{}", first, word(), 10 + random.below(90));
}

std::string value_of(std::uint64_t index, std::uint64_t place) {
    Random random(derived_seed(index, "recall value", place));
    return fmt::format("{}", 100'000 + random.below(900'000));
}

std::string sentence(const std::string& name, const std::string& value) {
    return fmt::format(" The code of \"{}\" is {}.", name, value);
}

/// Makes the texts equal in every run, so that answers can be compared question by question.
DatasetOptions of_every_run(DatasetOptions options) {
    options.seed = 0;
    options.salt.clear();
    return in_form(std::move(options), PromptForm::text);
}

class RecallDataset final : public Dataset {
  public:
    explicit RecallDataset(const DatasetOptions& options)
        : options_(recall_options(options.spec)), maker_(of_every_run(options)) {}

    Request request(std::uint64_t index) const override {
        const std::uint64_t number = index % options_.questions;
        const RecallQuestion question = recall_question(number);
        Request request;
        request.index = index;
        request.id = request_id("recall", index);
        request.prompt = text_of(number, question);
        request.wanted_input_tokens = options_.context;
        request.wanted_output_tokens = options_.output_tokens;
        return request;
    }
    std::optional<std::uint64_t> size() const override { return options_.questions; }
    std::string description() const override {
        return fmt::format("recall:ctx={},n={}", options_.context, options_.questions);
    }
    std::optional<double> mean_input_tokens() const override { return static_cast<double>(options_.context); }
    std::optional<double> mean_output_tokens() const override {
        return static_cast<double>(options_.output_tokens);
    }

  private:
    std::string text_of(std::uint64_t number, const RecallQuestion& question) const {
        const std::int64_t room =
            std::max(kTokensOfSentence, options_.context - kTokensOfQuestion - maker_.overhead_tokens());
        const auto places = std::max<std::int64_t>(1, room / (kTokensOfSentence + kTokensBetween));
        const auto asked =
            std::min(places - 1, static_cast<std::int64_t>(question.depth * static_cast<double>(places)));
        const std::int64_t between = room / places - kTokensOfSentence;
        Prompt text = std::string("Here is a text with codes in it.");
        for (std::int64_t i = 0; i < places; ++i) {
            const auto place = static_cast<std::uint64_t>(i);
            if (between > 0) maker_.append(text, between, derived_seed(number, "recall words", place));
            std::string& so_far = std::get<std::string>(text);
            so_far += '.';
            so_far += i == asked ? sentence(question.asked, question.value)
                                 : sentence(name_of(number, place + 1), value_of(number, place + 1));
        }
        return std::get<std::string>(text) +
               fmt::format("\n\nWhat is the code of \"{}\"? Answer with the number only.", question.asked);
    }

    RecallOptions options_;
    PromptMaker maker_;
};

}  // namespace

RecallQuestion recall_question(std::uint64_t index) {
    Random random(derived_seed(index, "recall depth"));
    return {.asked = name_of(index, 0), .value = value_of(index, 0), .depth = random.uniform()};
}

RecallOptions recall_options(const Spec& spec) {
    spec.expect_only({"ctx", "n", "osl"});
    constexpr std::uint64_t kMost = 10'000'000;
    RecallOptions options;
    options.context = static_cast<std::int64_t>(std::min(kMost, parse_count(spec.text_or("ctx", "4k"))));
    options.questions = parse_count(spec.text_or("n", "40"));
    options.output_tokens =
        static_cast<std::int64_t>(std::min(kMost, parse_count(spec.text_or("osl", "64"))));
    if (options.context < kShortest)
        throw UsageError(
            fmt::format("recall: ctx is {} tokens, but must be at least {}", options.context, kShortest));
    if (options.questions < 1 || options.questions > kMost)
        throw UsageError(fmt::format("recall: n is {}, but must be between 1 and 10M", options.questions));
    if (options.output_tokens < 1) throw UsageError("recall: osl is at least 1");
    return options;
}

std::unique_ptr<Dataset> make_recall(const DatasetOptions& options) {
    return std::make_unique<RecallDataset>(options);
}

}  // namespace paretoken::datasets
