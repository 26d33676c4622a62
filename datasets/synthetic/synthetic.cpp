#include "datasets/synthetic/synthetic.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "datasets/synthetic/lengths.h"
#include "datasets/synthetic/prompt_maker.h"

namespace paretoken::datasets {
namespace {

constexpr std::uint32_t kLowestId = 1000;
constexpr std::uint32_t kHighestId = 8000;

/// Reads lengths; a plain number takes the ratio of the spec.
Lengths lengths_of(const Spec& spec, const std::string& key, std::string_view otherwise) {
    std::string text = spec.text_or(key, otherwise);
    const auto ratio = spec.fields.find("ratio");
    if (ratio != spec.fields.end() && text.find(':') == std::string::npos) text += ":ratio=" + ratio->second;
    return naming("--" + key, [&] { return Lengths(text); });
}

/// Returns the pairs if the input length is "pairs:…", which also gives the output length.
std::optional<LengthPairs> pairs_of(const Spec& spec) {
    const std::string text = spec.text_or("isl", "");
    if (!text.starts_with("pairs:")) return std::nullopt;
    if (spec.fields.contains("osl") || spec.fields.contains("ratio"))
        throw UsageError("--isl pairs:… gives the output lengths as well; leave --osl and --range-ratio out");
    return naming("--isl", [&] { return LengthPairs(text); });
}

bool is_plain(const Spec& spec, const std::string& key) {
    const auto length = spec.fields.find(key);
    return length == spec.fields.end() || length->second.find(':') == std::string::npos;
}

/// Refuses a ratio that no length would take, because both are distributions.
void check_ratio(const Spec& spec) {
    const auto ratio = spec.fields.find("ratio");
    if (ratio == spec.fields.end() || is_plain(spec, "isl") || is_plain(spec, "osl")) return;
    throw UsageError(
        fmt::format("--range-ratio {}: it is for lengths that are plain numbers, and --isl and --osl are "
                    "distributions; leave it out, or write a length as 512:ratio={}",
                    ratio->second, ratio->second));
}

class Synthetic : public Dataset {
  public:
    explicit Synthetic(const DatasetOptions& options)
        : pairs_(pairs_of(options.spec)),
          input_(pairs_ ? Lengths("1") : lengths_of(options.spec, "isl", "512")),
          output_(pairs_ ? Lengths("1") : lengths_of(options.spec, "osl", "128")),
          seed_(options.seed),
          salt_(options.salt),
          maker_(options) {
        maker_.require_prose_for_many(
            [this](std::uint64_t i) { return *Synthetic::outline(i).wanted_input_tokens; });
    }

    Request outline(std::uint64_t index) const override {
        Random lengths(derived_seed(seed_, "lengths", index));
        Request request;
        request.index = index;
        request.id = request_id(salt_, index);
        if (pairs_) {
            const LengthPair pair = pairs_->draw(lengths);
            request.wanted_input_tokens = pair.input;
            request.wanted_output_tokens = pair.output;
            return request;
        }
        request.wanted_input_tokens = input_.draw(lengths);
        request.wanted_output_tokens = output_.draw(lengths);
        return request;
    }

    Request request(std::uint64_t index) const override {
        Request request = outline(index);
        request.prompt = maker_.prompt(*request.wanted_input_tokens, index);
        return request;
    }

    std::string description() const override {
        if (pairs_) return fmt::format("synthetic:isl={}", pairs_->text());
        return fmt::format("synthetic:isl={},osl={}", input_.text(), output_.text());
    }
    std::optional<double> mean_input_tokens() const override {
        return pairs_ ? pairs_->mean_input() : input_.mean();
    }
    std::optional<double> mean_output_tokens() const override {
        return pairs_ ? pairs_->mean_output() : output_.mean();
    }

  private:
    std::optional<LengthPairs> pairs_;
    Lengths input_;
    Lengths output_;
    std::uint64_t seed_;
    std::string salt_;
    PromptMaker maker_;
};

}  // namespace

IdRange safe_token_ids(std::optional<std::uint32_t> vocabulary) {
    constexpr std::uint32_t kTop = 16;
    const std::uint32_t size = vocabulary.value_or(kHighestId + kTop);
    if (size >= 2 * kLowestId)
        return {kLowestId, static_cast<std::int32_t>(std::min(size - kTop, kHighestId))};
    const std::uint32_t low = size / 2;
    return {static_cast<std::int32_t>(low),
            static_cast<std::int32_t>(std::max(low + 1, size - std::min(size, kTop)))};
}

std::unique_ptr<Dataset> make_synthetic(const DatasetOptions& options) {
    options.spec.expect_only({"isl", "osl", "ratio"});
    check_ratio(options.spec);
    return std::make_unique<Synthetic>(options);
}

}  // namespace paretoken::datasets
