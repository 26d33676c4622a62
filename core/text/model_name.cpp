#include "core/text/model_name.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "core/text/letter_case.h"

namespace paretoken {
namespace {

bool are_all(std::string_view text, int (*is)(int)) {
    return std::ranges::all_of(text, [&](char c) { return is(static_cast<unsigned char>(c)) != 0; });
}

/// Returns a name without organisation, vendors ("us.anthropic." before more words), points and capitals.
std::string bare_name(std::string_view name) {
    std::string bare = lower_case(name.substr(name.rfind('/') + 1));
    const auto begins_with_vendor = [&](std::size_t dot) {
        return dot != std::string::npos && are_all(bare.substr(0, dot), std::isalpha) &&
               bare.find('-', dot) != std::string::npos;
    };
    for (auto dot = bare.find('.'); begins_with_vendor(dot); dot = bare.find('.')) bare.erase(0, dot + 1);
    std::erase(bare, '.');
    return bare;
}

/// Returns whether the end of a longer name has a word for a smaller or faster model of the same family.
bool names_a_sibling(std::string_view end) {
    constexpr std::array<std::string_view, 8> kWords = {"mini", "nano",  "micro", "lite",
                                                        "tiny", "flash", "air",   "instant"};
    for (std::size_t at = 0; at < end.size();) {
        const std::size_t next = std::min(end.find_first_of("-_:@", at), end.size());
        if (std::ranges::find(kWords, end.substr(at, next - at)) != kWords.end()) return true;
        at = next + 1;
    }
    return false;
}

bool is_newest(std::string_view end) {
    return end == "latest" || end == "0";
}

bool is_date(std::string_view end) {
    constexpr std::size_t kShortest = 6;
    return end.size() >= kShortest && are_all(end, std::isdigit);
}

}  // namespace

std::string shown_model(std::string_view model) {
    constexpr std::string_view kExtension = ".gguf";
    const bool is_file = model.size() > kExtension.size() &&
                         lower_case(model.substr(model.size() - kExtension.size())) == kExtension;
    const std::size_t directory = is_file ? model.find_last_of("/\\") : std::string_view::npos;
    return std::string(directory == std::string_view::npos ? model : model.substr(directory + 1));
}

bool may_be_model(std::string_view asked, std::string_view answered) {
    std::string shorter = bare_name(asked);
    std::string longer = bare_name(answered);
    if (shorter.size() > longer.size()) std::swap(shorter, longer);
    if (longer.starts_with(shorter)) return !names_a_sibling(std::string_view(longer).substr(shorter.size()));
    const auto differs = std::ranges::mismatch(shorter, longer).in1;
    const auto same = static_cast<std::size_t>(differs - shorter.begin());
    const std::size_t word = same == 0 ? 0 : shorter.find_last_of('-', same - 1) + 1;
    const std::string_view a = std::string_view(shorter).substr(word);
    const std::string_view b = std::string_view(longer).substr(word);
    return word > 0 && ((is_newest(a) && is_date(b)) || (is_newest(b) && is_date(a)));
}

}  // namespace paretoken
