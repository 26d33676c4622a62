#pragma once
// What the answer to a question is held against. Pure.
#include <cstdint>
#include <string>
#include <string_view>

namespace paretoken::datasets {

enum class Expect : std::uint8_t {
    exact,     ///< the answer, without white space around it
    regex,     ///< ECMAScript, found anywhere in the answer
    contains,  ///< found anywhere in the answer
    number     ///< the last number of the answer
};
std::string_view name_of(Expect expect);

struct Expectation {
    Expect kind = Expect::exact;
    std::string text = {};

    bool operator==(const Expectation&) const = default;
};

/// Why it can be met by no answer: a regular expression or a number that is none. Empty when it can.
std::string why_impossible(const Expectation& expectation);

bool is_met(const Expectation& expectation, std::string_view answer);

}  // namespace paretoken::datasets
