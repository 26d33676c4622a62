#include "datasets/synthetic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "datasets/lengths.h"
#include "datasets/text.h"

namespace paretoken::datasets {
namespace {

constexpr std::uint32_t kLowestId = 1000;
constexpr std::uint32_t kHighestId = 8000;

std::string field_or(const Spec& spec, const std::string& key, std::string_view otherwise) {
    const auto field = spec.fields.find(key);
    return field == spec.fields.end() ? std::string(otherwise) : field->second;
}

/// A plain number takes the spec's common ratio.
Lengths lengths_of(const Spec& spec, const std::string& key, std::string_view otherwise) {
    std::string text = field_or(spec, key, otherwise);
    const auto ratio = spec.fields.find("ratio");
    if (ratio != spec.fields.end() && text.find(':') == std::string::npos) text += ":ratio=" + ratio->second;
    return Lengths(text);
}

class Synthetic : public Dataset {
  public:
    explicit Synthetic(const DatasetOptions& options)
        : input_(lengths_of(options.spec, "isl", "512")),
          output_(lengths_of(options.spec, "osl", "128")),
          seed_(options.seed),
          salt_(options.salt),
          form_(options.form),
          ids_(safe_token_ids(options.vocabulary)),
          writer_(options.calibration.value_or(uncalibrated())),
          prompts_("prompts " + options.salt),
          opening_(derived_seed(options.seed, "openings " + options.salt)) {}

    Request outline(std::uint64_t index) const override {
        Random lengths(derived_seed(seed_, "lengths", index));
        Request request;
        request.index = index;
        request.id = salt_.empty() ? fmt::format("{}", index) : fmt::format("{}-{}", salt_, index);
        request.wanted_input_tokens = input_.draw(lengths);
        request.wanted_output_tokens = output_.draw(lengths);
        return request;
    }

    Request request(std::uint64_t index) const override {
        Request request = outline(index);
        const Random random(derived_seed(seed_, prompts_, index));
        const std::uint64_t opening = opening_ + index;
        if (form_ == PromptForm::text) {
            request.prompt = writer_.prompt(*request.wanted_input_tokens, opening, random);
        } else {
            request.prompt = ids(*request.wanted_input_tokens, opening, random);
        }
        return request;
    }

    std::string description() const override {
        return fmt::format("synthetic:isl={},osl={}", input_.text(), output_.text());
    }
    std::optional<double> mean_input_tokens() const override { return input_.mean(); }
    std::optional<double> mean_output_tokens() const override { return output_.mean(); }

  private:
    TokenIds ids(std::int64_t count, std::uint64_t opening, Random random) const {
        const auto choices = static_cast<std::uint64_t>(ids_.high - ids_.low);
        TokenIds ids(static_cast<std::size_t>(count));
        for (auto& id : ids) id = ids_.low + static_cast<std::int32_t>(random.below(choices));
        ids.front() = ids_.low + static_cast<std::int32_t>(opening % choices);
        return ids;
    }

    Lengths input_;
    Lengths output_;
    std::uint64_t seed_;
    std::string salt_;
    PromptForm form_;
    IdRange ids_;
    TextWriter writer_;
    std::string prompts_;    ///< names the stream of randomness for words and ids
    std::uint64_t opening_;  ///< of request 0; the next ones count up
};

}  // namespace

IdRange safe_token_ids(std::optional<std::uint32_t> vocabulary) {
    constexpr std::uint32_t kTop = 16;
    const std::uint32_t size = vocabulary.value_or(kHighestId);
    if (size >= 2 * kLowestId) return {kLowestId, static_cast<std::int32_t>(std::min(size, kHighestId))};
    const std::uint32_t low = size / 2;
    return {static_cast<std::int32_t>(low),
            static_cast<std::int32_t>(std::max(low + 1, size - std::min(size, kTop)))};
}

std::unique_ptr<Dataset> make_synthetic(const DatasetOptions& options) {
    options.spec.expect_only({"isl", "osl", "ratio"});
    return std::make_unique<Synthetic>(options);
}

}  // namespace paretoken::datasets
