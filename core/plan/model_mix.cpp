#include "core/plan/model_mix.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/random.h"
#include "core/spec.h"

namespace paretoken {

std::vector<ModelShare> parse_model_mix(std::string_view text) {
    if (text.find('=') == std::string_view::npos) return {{.model = std::string(text)}};
    std::vector<ModelShare> mix;
    double sum = 0;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        const std::string_view part = text.substr(begin, end - begin);
        begin = end + 1;
        const auto equals = part.rfind('=');
        if (equals == std::string_view::npos || equals == 0)
            throw UsageError(fmt::format("'{}': expected MODEL=SHARE,…, but one part is '{}'", text, part));
        const double share = parse_number(part.substr(equals + 1));
        constexpr double kMost = 1e9;
        if (!(share > 0 && share <= kMost))
            throw UsageError(
                fmt::format("'{}': a share must be above 0 and at most 1e9, not {}", text, share));
        mix.push_back({.model = std::string(part.substr(0, equals)), .share = share});
        sum += share;
    }
    for (ModelShare& of : mix) of.share /= sum;
    return mix;
}

const std::string& model_of(const std::vector<ModelShare>& mix, std::uint64_t seed, std::uint64_t index) {
    double left = Random(derived_seed(seed, "model", index)).uniform();
    for (const ModelShare& of : mix) {
        if (left < of.share) return of.model;
        left -= of.share;
    }
    return mix.back().model;
}

}  // namespace paretoken
