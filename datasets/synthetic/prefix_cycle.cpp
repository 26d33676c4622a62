#include "datasets/synthetic/prefix_cycle.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/random.h"
#include "datasets/synthetic/prompt_maker.h"

namespace paretoken::datasets {
namespace {

std::uint64_t count_of(const Spec& spec, const std::string& key, std::uint64_t otherwise) {
    constexpr std::uint64_t kMost = 10'000'000;
    const std::uint64_t count = spec.fields.contains(key) ? parse_count(spec.fields.at(key)) : otherwise;
    if (count < 1 || count > kMost)
        throw UsageError(fmt::format("dataset 'prefix_cycle': {} lies between 1 and 10M", key));
    return count;
}

class PrefixCycle final : public Dataset {
  public:
    explicit PrefixCycle(const DatasetOptions& options)
        : prefixes_(count_of(options.spec, "prefixes", 8)),
          prefix_(static_cast<std::int64_t>(count_of(options.spec, "prefix", 1024))),
          suffix_(static_cast<std::int64_t>(count_of(options.spec, "suffix", 64))),
          output_(static_cast<std::int64_t>(count_of(options.spec, "osl", 16))),
          salt_(options.salt),
          maker_(options),
          ids_maker_(in_form(options, PromptForm::token_ids)) {
        maker_.require_prose_for(prefix_ + suffix_);
    }

    Request request(std::uint64_t index) const override { return request_with(maker_, index); }
    Request outline(std::uint64_t index) const override { return request_with(ids_maker_, index); }
    std::string description() const override {
        return fmt::format("prefix_cycle:prefixes={},prefix={},suffix={},osl={}", prefixes_, prefix_, suffix_,
                           output_);
    }
    std::optional<double> mean_input_tokens() const override {
        return static_cast<double>(prefix_ + suffix_);
    }
    std::optional<double> mean_output_tokens() const override { return static_cast<double>(output_); }

  private:
    Request request_with(const PromptMaker& maker, std::uint64_t index) const {
        Request request;
        request.index = index;
        request.id = request_id(salt_, index);
        request.prompt = maker.begin();
        maker.append(request.prompt, prefix_, derived_seed(index % prefixes_, "prefix"));
        maker.append(request.prompt, std::max<std::int64_t>(1, suffix_ - maker.overhead_tokens()),
                     derived_seed(index, "own"));
        request.wanted_input_tokens = prefix_ + suffix_;
        request.wanted_output_tokens = output_;
        return request;
    }

    std::uint64_t prefixes_;
    std::int64_t prefix_;
    std::int64_t suffix_;
    std::int64_t output_;
    std::string salt_;
    PromptMaker maker_;
    PromptMaker ids_maker_;
};

}  // namespace

std::unique_ptr<Dataset> make_prefix_cycle(const DatasetOptions& options) {
    options.spec.expect_only({"prefixes", "prefix", "suffix", "osl"});
    return std::make_unique<PrefixCycle>(options);
}

}  // namespace paretoken::datasets
