#include "cards/config/name_pattern.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <stdexcept>

namespace paretoken::cards {
namespace {

using Node = NamePattern::Node;
using Nodes = std::vector<Node>;

std::bitset<256> characters(const auto& belongs) {
    std::bitset<256> set;
    for (int c = 0; c < 256; ++c) set[static_cast<std::size_t>(c)] = belongs(c);
    return set;
}

class Parser {
  public:
    explicit Parser(std::string_view text) : text_(text) {}

    Nodes all() {
        Nodes nodes{group(Node::Kind::group)};
        if (!text_.empty()) fail();
        return nodes;
    }

  private:
    [[noreturn]] static void fail() { throw std::invalid_argument("not understood"); }

    char next() {
        if (text_.empty()) fail();
        const char c = text_.front();
        text_.remove_prefix(1);
        return c;
    }

    bool take(std::string_view wanted) {
        if (!text_.starts_with(wanted)) return false;
        text_.remove_prefix(wanted.size());
        return true;
    }

    Node group(Node::Kind kind) {
        constexpr int kDeepest = 32;
        if (++depth_ > kDeepest) fail();
        Node node{.kind = kind, .alternatives = {{}}};
        while (!text_.empty() && text_.front() != ')') {
            if (take("|"))
                node.alternatives.emplace_back();
            else
                node.alternatives.back().push_back(repeated(one()));
        }
        --depth_;
        return node;
    }

    Node one() {
        const char c = next();
        if (c == '^') return {.kind = Node::Kind::begin};
        if (c == '$') return {.kind = Node::Kind::end};
        if (c == '.') return {.set = characters([](int) { return true; })};
        if (c == '[') return {.set = set_in_brackets()};
        if (c == '\\') return {.set = escaped(next())};
        if (c == '(') {
            Node::Kind kind = Node::Kind::group;
            if (take("?!"))
                kind = Node::Kind::not_ahead;
            else if (take("?="))
                kind = Node::Kind::ahead;
            else if (!take("?:") && text_.starts_with('?'))
                fail();
            Node node = group(kind);
            if (!take(")")) fail();
            return node;
        }
        if (c == '*' || c == '+' || c == '?' || c == '{' || c == ')') fail();
        return {.set = characters([c](int other) { return other == static_cast<unsigned char>(c); })};
    }

    static std::bitset<256> escaped(char c) {
        const bool negated = c == 'D' || c == 'W';
        std::bitset<256> set;
        if (c == 'd' || c == 'D')
            set = characters([](int other) { return std::isdigit(other) != 0; });
        else if (c == 'w' || c == 'W')
            set = characters([](int other) { return std::isalnum(other) != 0 || other == '_'; });
        else if (std::isalnum(static_cast<unsigned char>(c)) != 0)
            fail();
        else
            set.set(static_cast<unsigned char>(c));
        return negated ? ~set : set;
    }

    std::bitset<256> set_in_brackets() {
        std::bitset<256> set;
        const bool negated = take("^");
        while (!take("]")) {
            const char first = next();
            if (first == '\\') {
                set |= escaped(next());
                continue;
            }
            const bool range = text_.size() >= 2 && text_[0] == '-' && text_[1] != ']';
            if (range) (void)next();
            const auto last = static_cast<unsigned char>(range ? next() : first);
            for (int c = static_cast<unsigned char>(first); c <= last; ++c)
                set.set(static_cast<std::size_t>(c));
        }
        return negated ? ~set : set;
    }

    std::size_t number() {
        std::size_t value = 0;
        while (!text_.empty() && std::isdigit(static_cast<unsigned char>(text_.front())) != 0 && value < 1000)
            value = value * 10 + static_cast<std::size_t>(next() - '0');
        return value;
    }

    Node repeated(Node node) {
        if (take("*")) {
            node.least = 0;
            node.most = Node::kUnbounded;
        } else if (take("+")) {
            node.most = Node::kUnbounded;
        } else if (take("?")) {
            node.least = 0;
        } else if (take("{")) {
            node.least = node.most = number();
            if (take(",")) node.most = text_.starts_with('}') ? Node::kUnbounded : number();
            if (!take("}") || node.most < node.least) fail();
        } else {
            return node;
        }
        (void)take("?");  // a lazy repetition matches the same names
        return node;
    }

    std::string_view text_;
    int depth_ = 0;
};

/// Matching with continuations: each function calls `then` with every position at which its part may end.
class Match {
  public:
    using Then = std::function<bool(std::size_t)>;

    explicit Match(std::string_view name) : name_(name) {}

    bool sequence(const Nodes& nodes, std::size_t i, std::size_t at, const Then& then) {
        return i == nodes.size() ? then(at) : repeats(nodes, i, 0, at, then);
    }

  private:
    struct Deeper {
        explicit Deeper(std::size_t& depth) : depth_(depth) { ++depth_; }
        ~Deeper() { --depth_; }
        Deeper(const Deeper&) = delete;
        Deeper& operator=(const Deeper&) = delete;
        std::size_t& depth_;
    };

    bool repeats(const Nodes& nodes, std::size_t i, std::size_t done, std::size_t at, const Then& then) {
        constexpr std::size_t kMostSteps = 100000;
        constexpr std::size_t kDeepest = 2000;  // each level takes some hundred bytes of the stack
        if (++steps_ > kMostSteps || depth_ > kDeepest) throw std::length_error("too complex");
        const Deeper deeper(depth_);
        const Node& node = nodes[i];
        const auto again = [&, done, at](std::size_t next) {
            return (next > at || done < node.least) && repeats(nodes, i, done + 1, next, then);
        };
        if (done < node.most && once(node, at, again)) return true;
        return done >= node.least && sequence(nodes, i + 1, at, then);
    }

    bool once(const Node& node, std::size_t at, const auto& then) {
        switch (node.kind) {
            case Node::Kind::one_of:
                return at < name_.size() && node.set[static_cast<unsigned char>(name_[at])] && then(at + 1);
            case Node::Kind::begin:
                return at == 0 && then(at);
            case Node::Kind::end:
                return at == name_.size() && then(at);
            case Node::Kind::group:
                return any(node, at, then);
            case Node::Kind::ahead:
                return any(node, at, [](std::size_t) { return true; }) && then(at);
            case Node::Kind::not_ahead:
                return !any(node, at, [](std::size_t) { return true; }) && then(at);
        }
        return false;
    }

    bool any(const Node& node, std::size_t at, const Then& then) {
        return std::ranges::any_of(
            node.alternatives, [&](const Nodes& alternative) { return sequence(alternative, 0, at, then); });
    }

    std::string_view name_;
    std::size_t steps_ = 0;
    std::size_t depth_ = 0;
};

}  // namespace

NamePattern NamePattern::regular(std::string_view expression) {
    NamePattern pattern;
    pattern.nodes_ = Parser(expression).all();
    return pattern;
}

NamePattern NamePattern::shell(std::string_view pattern) {
    std::string expression;
    for (const char c : pattern) {
        if (c == '*')
            expression += ".*";
        else if (c == '?')
            expression += '.';
        else if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_')
            expression += c;
        else
            expression += {'\\', c};
    }
    return regular(expression + "(\\..*)?$");
}

bool NamePattern::matches(std::string_view name) const {
    return Match(name).sequence(nodes_, 0, 0, [](std::size_t) { return true; });
}

}  // namespace paretoken::cards
