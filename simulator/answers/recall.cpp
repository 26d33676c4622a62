#include "simulator/answers/recall.h"

namespace paretoken::sim {
namespace {

constexpr std::string_view kDigits = "0123456789";

}  // namespace

std::string recalled_from(std::string_view prompt) {
    const auto close = prompt.rfind('"');
    if (close == std::string_view::npos || close == 0) return {};
    const auto open = prompt.rfind('"', close - 1);
    if (open == std::string_view::npos) return {};
    const std::string_view asked = prompt.substr(open, close + 1 - open);
    const auto said = prompt.find(asked);
    if (said == open) return {};
    const auto number = prompt.find_first_of(kDigits, said + asked.size());
    if (number >= open) return {};
    const auto end = prompt.find_first_not_of(kDigits, number);
    return std::string(prompt.substr(number, end - number));
}

}  // namespace paretoken::sim
