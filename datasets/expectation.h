#pragma once
// The expected answer to a question, and the check of an answer against it. Pure.
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

/// Returns why no answer can meet it: the regular expression or the number is malformed. Empty if one can.
std::string why_impossible(const Expectation& expectation);

bool is_met(const Expectation& expectation, std::string_view answer);

}  // namespace paretoken::datasets
