#include "reports/analysis/gate/answers.h"

#include <fmt/format.h>

#include <functional>

#include "core/text/printable.h"

namespace paretoken::reports {
namespace {

constexpr std::size_t kLeast = 96;  // bytes; shorter answers may be equal without a fault
constexpr std::size_t kMost = 16 << 10;
constexpr std::size_t kRun = 16;
constexpr double kDifferent = 0.3;
constexpr std::size_t kShown = 60;

std::string example(std::uint64_t index, std::string_view text) {
    return fmt::format("request {}: \"{}\"", index, printable_line(text, kShown));
}

}  // namespace

bool repeats_itself(std::string_view text) {
    if (text.size() < kLeast) return false;
    text = text.substr(0, kMost);
    const std::size_t runs = text.size() - kRun + 1;
    std::unordered_set<std::string_view> different;
    for (std::size_t i = 0; i < runs; ++i) different.insert(text.substr(i, kRun));
    return static_cast<double>(different.size()) < kDifferent * static_cast<double>(runs);
}

void AnswerCheck::add(std::uint64_t index, std::string_view text) {
    ++faults_.answers;
    if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
        if (faults_.empty++ == 0) faults_.empty_example = fmt::format("request {}", index);
        return;
    }
    const bool said_before =
        text.size() >= kLeast && !seen_.insert(std::hash<std::string_view>()(text)).second;
    if (!said_before && !repeats_itself(text)) return;
    if (faults_.repeated++ == 0) faults_.repeated_example = example(index, text);
}

}  // namespace paretoken::reports
