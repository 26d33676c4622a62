#include "datasets/synthetic/shared_prefix.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "core/error.h"
#include "core/random.h"
#include "datasets/synthetic/lengths.h"
#include "datasets/synthetic/prompt_maker.h"

namespace paretoken::datasets {
namespace {

std::vector<std::int64_t> levels_of(const std::string& text) {
    std::vector<std::int64_t> levels;
    std::string_view rest = text;
    while (true) {
        const auto end = rest.find(';');
        const auto tokens = static_cast<std::int64_t>(parse_count(rest.substr(0, end)));
        if (tokens < 1) throw UsageError("dataset 'shared_prefix': a level has at least one token");
        levels.push_back(tokens);
        if (end == std::string_view::npos) return levels;
        rest.remove_prefix(end + 1);
    }
}

Lengths ranks_of(const Spec& spec) {
    const std::uint64_t groups = parse_count(spec.text_or("groups", "8"));
    if (groups < 1 || groups > 1'000'000)
        throw UsageError("dataset 'shared_prefix': groups lies between 1 and 1M");
    return Lengths(fmt::format("zipf:s={},max={}", spec.number_or("zipf", 0), groups));
}

class SharedPrefix final : public Dataset {
  public:
    explicit SharedPrefix(const DatasetOptions& options)
        : ranks_(ranks_of(options.spec)),
          levels_(levels_of(options.spec.text_or("levels", "1000;500"))),
          unique_(options.spec.text_or("unique", "200")),
          output_(options.spec.text_or("osl", "128")),
          seed_(options.seed),
          salt_(options.salt),
          maker_(options),
          ids_maker_(in_form(options, PromptForm::token_ids)),
          groups_(options.spec.text_or("groups", "8")),
          zipf_(options.spec.number_or("zipf", 0)) {
        for (const std::int64_t level : levels_) shared_tokens_ += level;
        maker_.require_prose_for_many([this](std::uint64_t i) { return shared_tokens_ + own_tokens(i); });
    }

    Request request(std::uint64_t index) const override { return request_with(maker_, index); }
    Request outline(std::uint64_t index) const override { return request_with(ids_maker_, index); }

    std::string description() const override {
        return fmt::format("shared_prefix:groups={},levels={},unique={},zipf={},osl={}", groups_,
                           fmt::join(levels_, ";"), unique_.text(), zipf_, output_.text());
    }
    std::optional<double> mean_input_tokens() const override {
        return static_cast<double>(shared_tokens_) + unique_.mean();
    }
    std::optional<double> mean_output_tokens() const override { return output_.mean(); }

  private:
    /// The tokens that only this request has, as request_with() draws them.
    std::int64_t own_tokens(std::uint64_t index) const {
        Random random(derived_seed(seed_, "shared prefix", index));
        for (std::size_t level = 0; level < levels_.size(); ++level) (void)ranks_.draw(random);
        return unique_.draw(random);
    }

    Request request_with(const PromptMaker& maker, std::uint64_t index) const {
        Random random(derived_seed(seed_, "shared prefix", index));
        Request request;
        request.index = index;
        request.id = request_id(salt_, index);
        request.prompt = maker.begin();
        std::uint64_t name = 0;  // name of the path down the tree
        for (const std::int64_t tokens : levels_) {
            name = derived_seed(name, "level", static_cast<std::uint64_t>(ranks_.draw(random)));
            maker.append(request.prompt, tokens, name);
        }
        const std::int64_t own = unique_.draw(random);
        maker.append(request.prompt, std::max<std::int64_t>(1, own - maker.overhead_tokens()),
                     derived_seed(index, "unique"));
        request.wanted_input_tokens = shared_tokens_ + own;
        request.wanted_output_tokens = output_.draw(random);
        return request;
    }

    Lengths ranks_;
    std::vector<std::int64_t> levels_;
    Lengths unique_;
    Lengths output_;
    std::uint64_t seed_;
    std::string salt_;
    PromptMaker maker_;
    PromptMaker ids_maker_;
    std::string groups_;
    double zipf_;
    std::int64_t shared_tokens_ = 0;
};

}  // namespace

std::unique_ptr<Dataset> make_shared_prefix(const DatasetOptions& options) {
    options.spec.expect_only({"groups", "levels", "unique", "zipf", "osl"});
    return std::make_unique<SharedPrefix>(options);
}

}  // namespace paretoken::datasets
