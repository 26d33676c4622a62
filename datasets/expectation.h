#pragma once
// The expected answer to a question, and the check of an answer against it. The functions are pure.
#include <cstdint>
#include <string>
#include <string_view>

namespace paretoken::datasets {

enum class Expect : std::uint8_t {
    exact,     ///< equal to the whole answer, without white space around it
    regex,     ///< an ECMAScript expression that matches anywhere in the answer
    contains,  ///< a text found anywhere in the answer
    number     ///< equal to the last number in the answer
};
std::string_view name_of(Expect expect);

struct Expectation {
    Expect kind = Expect::exact;
    std::string text = {};

    bool operator==(const Expectation&) const = default;
};

/// Returns why no answer can meet the expectation (a malformed pattern or number); empty if one can.
std::string why_impossible(const Expectation& expectation);

/// Returns whether an answer meets an expectation for which why_impossible() is empty. A regular expression
/// sees 64 KiB. Numbers may differ by 1e-9 of their size; "," separates thousands.
bool is_met(const Expectation& expectation, std::string_view answer);

}  // namespace paretoken::datasets
