#pragma once
// Patterns of module names, as recipes of quantisation write them: Python's regular expressions and shell
// patterns. Only what such recipes use is understood, and matching takes a bounded number of steps.
#include <bitset>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace paretoken::cards {

class NamePattern {
  public:
    /// From a regular expression: characters, ".", classes, groups, "|", "*", "+", "?", "{m,n}", "^", "$" and
    /// look-ahead. Throws std::invalid_argument for anything else.
    static NamePattern regular(std::string_view expression);
    /// From a shell pattern with "*" and "?". It also matches what is inside a module that it matches.
    static NamePattern shell(std::string_view pattern);

    /// Whether the pattern matches from the name's beginning on. Throws std::length_error for too many steps.
    bool matches(std::string_view name) const;

    struct Node {
        enum class Kind : std::uint8_t { one_of, begin, end, group, ahead, not_ahead };
        static constexpr std::size_t kUnbounded = std::numeric_limits<std::size_t>::max();
        Kind kind = Kind::one_of;
        std::bitset<256> set = {};                         ///< characters of one_of
        std::vector<std::vector<Node>> alternatives = {};  ///< of a group or look-ahead
        std::size_t least = 1;                             ///< how often the node is repeated
        std::size_t most = 1;
    };

  private:
    std::vector<Node> nodes_;
};

}  // namespace paretoken::cards
