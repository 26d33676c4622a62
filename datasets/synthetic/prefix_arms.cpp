#include "datasets/synthetic/prefix_arms.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/error.h"
#include "core/random.h"
#include "core/text/number_text.h"
#include "datasets/synthetic/prompt_maker.h"

namespace paretoken::datasets {
namespace {

std::vector<double> numbers_of(std::string_view text) {
    std::vector<double> numbers;
    while (!text.empty()) {
        const auto end = std::min(text.find(';'), text.size());
        numbers.push_back(parse_number(text.substr(0, end)));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return numbers;
}

std::vector<std::int64_t> prefixes_of(const Spec& spec) {
    constexpr double kLongestPrefix = 10e6;
    std::vector<std::int64_t> prefixes;
    for (const double tokens : numbers_of(spec.text_or("prefixes", "256;1024"))) {
        if (!(tokens >= 1 && tokens <= kLongestPrefix) || tokens != std::floor(tokens))
            throw UsageError(
                fmt::format("a prefix is a whole number of 1 to 10M tokens, not {}", number_text(tokens)));
        prefixes.push_back(static_cast<std::int64_t>(tokens));
    }
    if (prefixes.empty()) throw UsageError("there must be at least one prefix, e.g. 256");
    std::ranges::sort(prefixes);
    prefixes.erase(std::unique(prefixes.begin(), prefixes.end()), prefixes.end());
    return prefixes;
}

std::vector<double> hits_of(const Spec& spec) {
    std::vector<double> hits = numbers_of(spec.text_or("hits", "0.5;0.9"));
    for (const double hit : hits)
        if (!(hit >= 0 && hit <= 1))
            throw UsageError(fmt::format("a hit ratio lies between 0 and 1, not {}", number_text(hit)));
    std::ranges::sort(hits);
    hits.erase(std::unique(hits.begin(), hits.end()), hits.end());
    std::erase_if(hits, [](double hit) { return hit == 0 || hit == 1; });  // these are cold and warm
    return hits;
}

std::int64_t tokens_of(const Spec& spec, const std::string& key, const std::string& otherwise) {
    const std::uint64_t tokens = parse_count(spec.text_or(key, otherwise));
    constexpr std::uint64_t kMost = 10'000'000;
    if (tokens < 1 || tokens > kMost) throw UsageError(fmt::format("{} lies between 1 and 10M tokens", key));
    return static_cast<std::int64_t>(tokens);
}

std::uint64_t slots_of(const Spec& spec) {
    constexpr std::uint64_t kMost = 65536;
    const std::uint64_t slots = parse_count(spec.text_or("slots", "0"));
    if (slots > kMost) throw UsageError(fmt::format("a server has at most {} slots", kMost));
    return slots;
}

template <class Item>
void shuffle(std::vector<Item>& items, Random& random) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random.below(i)]);
}

/// Draws log-uniformly from [1, most]: as many short lengths as long ones, to find where reuse begins.
std::int64_t varied_tokens(std::int64_t most, Random& random) {
    const double length = std::exp(random.uniform() * std::log(static_cast<double>(most) + 1));
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(length), 1, most);
}

constexpr std::array kArmNames = {"cold",          "primer", "primed", "warm",  "pinned",
                                  "dynamic-first", "shared", "varied", "repeat"};

class PrefixArmsDataset final : public Dataset {
  public:
    explicit PrefixArmsDataset(const DatasetOptions& options)
        : arms_(options.spec, options.seed),
          salt_(options.salt),
          maker_(options),
          ids_maker_(in_form(options, PromptForm::token_ids)) {
        maker_.require_prose_for(arms_.prefixes().back() + arms_.suffix());
    }

    Request request(std::uint64_t index) const override { return request_with(maker_, index); }
    Request outline(std::uint64_t index) const override { return request_with(ids_maker_, index); }
    std::string description() const override { return arms_.text(); }

  private:
    Request request_with(const PromptMaker& maker, std::uint64_t index) const {
        const ArmRequest arm = arms_.at(index);
        Request request;
        request.index = index;
        request.id = request_id(salt_, index);
        request.request_class = arm.class_name();
        if (arm.slot) request.body = fmt::format("{{\"id_slot\":{}}}", *arm.slot);
        request.prompt = maker.begin();
        const std::int64_t own = std::max<std::int64_t>(1, arms_.suffix() - maker.overhead_tokens());
        const auto append_own = [&](std::int64_t tokens) {
            maker.append(request.prompt, tokens,
                         arm.arm == Arm::repeat ? derived_seed(1, "repeat") : derived_seed(index, "own"));
        };
        const auto append_family = [&] {
            if (arm.reused > 0) maker.append(request.prompt, arm.reused, arm.family);
        };
        if (arm.arm == Arm::dynamic_first) {
            append_own(own);
            maker.append(request.prompt, arm.prefix, arm.family);
        } else {
            append_family();
            append_own(arm.prefix - arm.reused + own);
        }
        request.wanted_input_tokens = arm.prefix + arms_.suffix();
        request.wanted_output_tokens = arms_.output_tokens();
        return request;
    }

    PrefixArms arms_;
    std::string salt_;
    PromptMaker maker_;
    PromptMaker ids_maker_;
};

}  // namespace

std::string_view name_of(Arm arm) {
    return kArmNames[static_cast<std::size_t>(arm)];
}

std::string ArmRequest::class_name() const {
    if (round == 0) return "setup";
    if (arm == Arm::shared) return fmt::format("shared-{}/{}", number_text(hit), prefix);
    return fmt::format("{}/{}", name_of(arm), prefix);
}

PrefixArms::PrefixArms(const Spec& spec, std::uint64_t seed)
    : seed_(seed),
      prefixes_(prefixes_of(spec)),
      hits_(hits_of(spec)),
      suffix_(tokens_of(spec, "suffix", "64")),
      output_(tokens_of(spec, "osl", "16")),
      slots_(slots_of(spec)),
      round_size_(prefixes_.size() * (5 + hits_.size() + (slots_ > 0 ? 1 : 0)) + 2) {}

std::string PrefixArms::text() const {
    const std::string slots = slots_ > 0 ? fmt::format(",slots={}", slots_) : "";
    return fmt::format("prefix_arms:prefixes={},suffix={},osl={},hits={}{}", fmt::join(prefixes_, ";"),
                       suffix_, output_, fmt::join(hits_, ";"), slots);
}

std::vector<ArmRequest> PrefixArms::round(std::uint64_t number) const {
    Random random(derived_seed(seed_, "prefix arms", number));
    std::vector<std::vector<ArmRequest>> units;
    std::uint64_t place = 0;
    for (const std::int64_t prefix : prefixes_) {
        const auto tokens = static_cast<std::uint64_t>(prefix);
        const std::uint64_t warm = derived_seed(tokens, "warm");
        const std::uint64_t fresh = derived_seed(number * 2 + 1, "primed", tokens);
        const auto request = [&](Arm arm, std::int64_t reused, std::uint64_t family, double hit = 0) {
            return ArmRequest{arm, number, prefix, hit, reused, family, {}};
        };
        units.push_back({request(Arm::cold, 0, 0)});
        units.push_back({request(Arm::primer, prefix, fresh), request(Arm::primed, prefix, fresh)});
        units.push_back({request(Arm::warm, prefix, warm)});
        units.push_back({request(Arm::dynamic_first, 0, warm)});
        if (slots_ > 0) {
            ArmRequest pinned = request(Arm::pinned, prefix, derived_seed(tokens, "pinned"));
            pinned.slot = place % slots_;
            units.push_back({pinned});
        }
        ++place;
        for (const double hit : hits_) {
            const auto reused = static_cast<std::int64_t>(std::llround(hit * static_cast<double>(prefix)));
            units.push_back({request(Arm::shared, reused, warm, hit)});
        }
    }
    const std::int64_t longest = prefixes_.back();
    units.push_back({{Arm::varied,
                      number,
                      longest,
                      0,
                      varied_tokens(longest, random),
                      derived_seed(static_cast<std::uint64_t>(longest), "warm"),
                      {}}});
    units.push_back(
        {{Arm::repeat, number, prefixes_.front(), 0, prefixes_.front(), derived_seed(0, "repeat"), {}}});
    shuffle(units, random);
    std::vector<ArmRequest> requests;
    for (const auto& unit : units) requests.insert(requests.end(), unit.begin(), unit.end());
    return requests;
}

ArmRequest PrefixArms::at(std::uint64_t index) const {
    return round(index / round_size_)[index % round_size_];
}

std::unique_ptr<Dataset> make_prefix_arms(const DatasetOptions& options) {
    options.spec.expect_only({"prefixes", "suffix", "osl", "hits", "slots"});
    return std::make_unique<PrefixArmsDataset>(options);
}

}  // namespace paretoken::datasets
