// Loops of a shell around a translated command: the sweep that measures all of their levels.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "cli/words/composing.h"
#include "cli/words/pasted_line.h"
#include "cli/words/reading.h"
#include "core/error.h"

namespace paretoken::cli {
namespace {

using Words = std::vector<std::string>;

/// The names in a text that may be those of variables.
std::set<std::string> names_in(std::string_view text) {
    std::set<std::string> names;
    std::string name;
    for (const char c : std::string(text) + ' ')
        if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_')
            name += c;
        else if (!name.empty())
            names.insert(std::exchange(name, {}));
    return names;
}

/// Returns the numbers of "{1..8}", "{8..64..8}" or "$(seq 1 8)"; nothing if the text is another one.
std::optional<Words> range_in(std::string text) {
    const bool is_seq = text.starts_with("$(seq ") && text.ends_with(')');
    if (!is_seq && !(text.starts_with('{') && text.ends_with('}'))) return std::nullopt;
    text = is_seq ? text.substr(6, text.size() - 7) : text.substr(1, text.size() - 2);
    if (!is_seq)
        for (std::size_t at = 0; (at = text.find("..", at)) != std::string::npos;) text.replace(at, 2, " ");
    std::vector<std::int64_t> values;
    for (const char* at = text.c_str(); *at != '\0';) {
        char* end = nullptr;
        values.push_back(std::strtoll(at, &end, 10));
        constexpr std::ptrdiff_t kMostDigits = 9;
        if (end == at || end - at > kMostDigits) return std::nullopt;
        for (at = end; *at == ' ';) ++at;
    }
    if (values.empty() || values.size() > 3 || (!is_seq && values.size() == 1)) return std::nullopt;
    if (values.size() == 1) values.insert(values.begin(), 1);
    const std::int64_t step = values.size() == 2 ? 1 : is_seq ? values[1] : values[2];
    const std::int64_t last = is_seq ? values.back() : values[1];
    constexpr std::int64_t kMost = 1000;
    if (step <= 0 || last < values.front() || (last - values.front()) / step >= kMost) return std::nullopt;
    Words numbers;
    for (std::int64_t value = values.front(); value <= last; value += step)
        numbers.push_back(std::to_string(value));
    return numbers;
}

struct Loop {
    std::set<std::string> variables;  ///< that it sets: one, or those of "while read A B"
    std::optional<Words> levels;      ///< the values of its one variable, if the text says them
};

Loop loop_of(Words::const_iterator word, Words::const_iterator end) {
    Loop loop;
    if (*word == "for" && end - word > 1) {
        loop.variables.insert(*(word + 1));
        if (end - word < 4 || *(word + 2) != "in") return loop;
        loop.levels.emplace();
        for (word += 3; word != end; ++word) {
            const auto range = range_in(*word);
            if (!range && (has_shell_variable(*word) || word->find_first_of("{*") != std::string::npos))
                return {.variables = loop.variables, .levels = {}};
            loop.levels->insert(loop.levels->end(), range ? range->begin() : word,
                                range ? range->end() : word + 1);
        }
        return loop;
    }
    for (word = std::find(word, end, "read"); word != end && ++word != end;)
        if (!word->starts_with('-')) loop.variables.insert(*word);
    return loop;
}

/// The loops around a command, and what is set inside them.
class Loops {
  public:
    Loops(const std::vector<Words>& commands, std::size_t place) {
        constexpr std::array kBefore = {"do", "then", "else", "{", "export", "local"};
        for (std::size_t i = 0; i < place; ++i) {
            const auto word = std::ranges::find_if(commands[i], [&](const std::string& one) {
                return std::ranges::find(kBefore, one) == kBefore.end();
            });
            if (word == commands[i].end()) continue;
            if (*word == "for" || *word == "while" || *word == "until")
                loops_.push_back(loop_of(word, commands[i].end()));
            else if (*word == "done" && !loops_.empty())
                end_loop();
            else if (!loops_.empty())
                learn(*word);
        }
    }

    const Loop& operator[](std::size_t index) const { return loops_[index]; }
    bool empty() const { return loops_.empty(); }

    /// Returns the indices of the loops whose variables change a text.
    std::set<std::size_t> changing(std::string_view text, int depth = 0) const {
        constexpr int kDeepest = 8;
        std::set<std::size_t> found;
        if (!has_shell_variable(text) || depth > kDeepest) return found;
        for (const std::string& name : names_in(text)) {
            for (std::size_t i = 0; i < loops_.size(); ++i)
                if (loops_[i].variables.contains(name)) found.insert(i);
            const auto set = formulas_.find(name);
            if (set == formulas_.end()) continue;
            const auto& [formula, loop] = set->second;
            const bool is_computed = formula.find("$(") != formula.find("$((");
            if (is_computed || names_in(formula).contains(name)) found.insert(loop);
            found.merge(changing(formula, depth + 1));
        }
        return found;
    }

    /// Returns the names of the variables in a text that the loops set.
    std::set<std::string> set_in(std::string_view text) const {
        std::set<std::string> names;
        if (has_shell_variable(text)) names = names_in(text);
        std::erase_if(names, [&](const std::string& name) { return changing("$" + name).empty(); });
        return names;
    }

    /// Returns the value that a text has at each level of a loop; nothing if it is not known.
    std::optional<Words> values_at(const std::string& text, std::size_t loop) const {
        if (!loops_[loop].levels) return std::nullopt;
        Words values;
        for (const std::string& level : *loops_[loop].levels) {
            auto value = value_of(text, *loops_[loop].variables.begin(), level, 0);
            if (!value || value->empty() || value->find_first_of(", ") != std::string::npos)
                return std::nullopt;
            values.push_back(*std::move(value));
        }
        return values;
    }

  private:
    void end_loop() {
        loops_.pop_back();
        std::erase_if(formulas_, [&](const auto& one) { return one.second.second >= loops_.size(); });
    }

    void learn(const std::string& word) {
        const std::size_t equals = word.find('=');
        if (equals != std::string::npos)
            formulas_[word.substr(0, equals)] = {word.substr(equals + 1), loops_.size() - 1};
    }

    std::optional<std::string> value_of(const std::string& text, const std::string& variable,
                                        const std::string& level, int depth) const {
        constexpr int kDeepest = 8;
        if (!has_shell_variable(text)) return text;
        if (depth > kDeepest) return std::nullopt;
        const auto of_name = [&](const std::string& name) -> std::optional<std::string> {
            if (name == variable) return level;
            const auto set = formulas_.find(name);
            if (set == formulas_.end()) return std::nullopt;
            return value_of(set->second.first, variable, level, depth + 1);
        };
        if (text.starts_with("$((") && text.ends_with("))")) {
            const auto number =
                Arithmetic{std::string_view(text).substr(3, text.size() - 5), of_name}.value();
            return number ? std::optional(std::to_string(*number)) : std::nullopt;
        }
        const bool has_braces = text.starts_with("${") && text.ends_with('}');
        const std::string name =
            has_braces ? text.substr(2, text.size() - 3) : text.substr(text.starts_with('$') ? 1 : 0);
        return text.starts_with('$') && names_in(name) == std::set{name} ? of_name(name) : std::nullopt;
    }

    /// A computation of the shell: whole numbers, variables, + - * / % and parentheses.
    class Arithmetic {
      public:
        using Lookup = std::function<std::optional<std::string>(const std::string& name)>;
        Arithmetic(std::string_view text, Lookup of_name) : text_(text), of_name_(std::move(of_name)) {}

        std::optional<std::int64_t> value() {
            const auto sum = sum_of_terms();
            return skip_blanks() == '\0' ? sum : std::nullopt;
        }

      private:
        using Number = std::optional<std::int64_t>;

        char skip_blanks() {
            while (at_ < text_.size() && text_[at_] == ' ') ++at_;
            return at_ < text_.size() ? text_[at_] : '\0';
        }
        /// A number above 2^31 is no number of requests, tokens or users; two smaller ones have a product.
        static Number within(std::int64_t number) {
            constexpr std::int64_t kMost = std::int64_t{1} << 31U;
            return std::abs(number) <= kMost ? Number(number) : std::nullopt;
        }
        Number sum_of_terms() {
            Number sum = product();
            for (char c = skip_blanks(); sum && (c == '+' || c == '-'); c = skip_blanks()) {
                ++at_;
                const Number next = product();
                sum = next ? within(c == '+' ? *sum + *next : *sum - *next) : std::nullopt;
            }
            return sum;
        }
        Number product() {
            Number product = factor();
            for (char c = skip_blanks(); product && (c == '*' || c == '/' || c == '%'); c = skip_blanks()) {
                ++at_;
                const Number next = factor();
                if (!next || (c != '*' && *next == 0)) return std::nullopt;
                product = within(c == '*'   ? *product * *next
                                 : c == '/' ? *product / *next
                                            : *product % *next);
                if (!product) return std::nullopt;
            }
            return product;
        }
        Number factor() {
            if (skip_blanks() == '(') {
                constexpr int kDeepest = 64;
                if (++depth_ > kDeepest) return std::nullopt;
                ++at_;
                const Number inner = sum_of_terms();
                --depth_;
                return skip_blanks() == ')' && ++at_ > 0 ? inner : std::nullopt;
            }
            std::string word;
            for (; at_ < text_.size(); ++at_) {
                const char c = text_[at_];
                if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_')
                    word += c;
                else if (std::string_view("${}").find(c) == std::string_view::npos)
                    break;
            }
            const bool is_name = !word.empty() && std::isdigit(static_cast<unsigned char>(word.front())) == 0;
            if (const auto value = is_name ? of_name_(word) : std::nullopt) word = *value;
            constexpr std::size_t kMostDigits = 9;
            const bool is_number = !word.empty() && word.size() <= kMostDigits &&
                                   std::ranges::all_of(word, [](unsigned char c) { return std::isdigit(c); });
            return is_number ? Number(std::strtoll(word.c_str(), nullptr, 10)) : std::nullopt;
        }

        std::string_view text_;
        Lookup of_name_;
        std::size_t at_ = 0;
        int depth_ = 0;  ///< open parentheses
    };

    std::vector<Loop> loops_;
    std::map<std::string, std::pair<std::string, std::size_t>> formulas_;  ///< with the loop that sets them
};

/// The options of a sweep in place of those of a line in loops.
struct Sweep {
    Words options;
    Words places;                   ///< what they are in place of
    Words without;                  ///< the other options that change, which a sweep does not need
    std::set<std::size_t> covered;  ///< the loops of which they have all levels
    bool is_whole = true;           ///< whether no other option changes
};

std::string joined(const Words& words) {
    if (words.size() < 3) return fmt::format("{}", fmt::join(words, " and "));
    return fmt::format("{} and {}", fmt::join(words.begin(), words.end() - 1, ", "), words.back());
}

Sweep sweep_of(const Words& line, const Loops& loops) {
    constexpr std::array kGrids = {"--isl", "--osl", "--range-ratio", "--temperature", "--burstiness"};
    constexpr std::array kDropped = {"--num-prompts", "--num-warmups", "--out", "--seed", "--metadata"};
    const auto is_in = [](const auto& names, const std::string& name) {
        return std::ranges::find(names, name) != names.end();
    };
    const bool has_both = is_in(line, "--concurrency") && is_in(line, "--request-rate");
    Sweep sweep;
    std::map<std::size_t, Words> rates;  // by the loop that gives them
    for (std::size_t i = 0; i < line.size(); ++i) {
        const std::string& option = i == 0 ? line[i] : line[i - 1];
        const std::string& text = line[i];
        const bool is_rate = option == "--request-rate";
        const auto changing = loops.changing(text);
        if (is_rate && has_both && changing.empty() && i > 0) {
            sweep.options.push_back("--grid arrivals=poisson:rate=" + text);
            sweep.places.push_back("--request-rate " + text);
        }
        if (changing.empty()) continue;
        const std::string process = option == "--arrivals" && text.find(":rate=") != std::string::npos
                                        ? text.substr(0, text.find('=') + 1)
                                        : "";
        const bool is_load = is_rate || option == "--concurrency";
        const std::size_t loop = *changing.begin();
        const bool may_be_axis = (is_load || !process.empty() || is_in(kGrids, option)) &&
                                 changing.size() == 1 && !sweep.covered.contains(loop);
        const auto values = may_be_axis ? loops.values_at(text.substr(process.size()), loop) : std::nullopt;
        if (!values) {
            if (is_in(kDropped, option))
                sweep.without.push_back(option);
            else
                sweep.is_whole = false;
            continue;
        }
        sweep.covered.insert(loop);
        if (is_rate || !process.empty()) rates[loop] = *values;
        const bool is_grid_of_rates = !process.empty() || (is_rate && has_both);
        if (is_grid_of_rates && !is_in(line, "--concurrency"))
            sweep.options.emplace_back("--concurrency 512");
        const std::string of = process.empty() ? "poisson:rate=" : process;
        sweep.options.push_back(
            is_grid_of_rates ? fmt::format("--grid arrivals={}{}", of, fmt::join(*values, "," + of))
            : is_load        ? fmt::format("{} {}", option, fmt::join(*values, ","))
                             : fmt::format("--grid {}={}", option.substr(2), fmt::join(*values, ",")));
        sweep.places.push_back(is_load ? text : fmt::format("{} {}", option, text));
    }
    // As many requests as the rate sends in a time are that time.
    const auto count = std::ranges::find(line, "--num-prompts");
    const auto dropped = std::ranges::find(sweep.without, "--num-prompts");
    for (const auto& [loop, of_loop] : rates) {
        if (dropped == sweep.without.end() || loops.changing(*(count + 1)) != std::set{loop}) continue;
        const auto counts = loops.values_at(*(count + 1), loop);
        if (!counts) continue;
        std::set<std::string> times;
        for (std::size_t i = 0; i < counts->size(); ++i)
            times.insert(
                text_of_number(number("--num-prompts", (*counts)[i]) / number("a rate", of_loop[i])));
        if (times.size() != 1) continue;
        sweep.options.push_back(fmt::format("--duration {}s", *times.begin()));
        sweep.places.emplace_back("--num-prompts");
        sweep.without.erase(dropped);
        break;
    }
    return sweep;
}

/// Gives the directory of a result a name of its own in each round of the loops.
void name_rounds(Words& line, const Loops& loops, const std::set<std::size_t>& changing) {
    const auto out = std::ranges::find(line, "--out");
    if (out == line.end() || out + 1 == line.end() || !loops.changing(*(out + 1)).empty()) return;
    for (const std::size_t loop : changing)
        for (const std::string& name : loops[loop].variables) *(out + 1) += fmt::format("-${{{}}}", name);
}

}  // namespace

void note_loops(const std::vector<Words>& commands, std::size_t place, Translation& translation) {
    const Loops loops(commands, place);
    if (loops.empty()) return;
    std::set<std::size_t> changing;
    std::set<std::string> names;
    for (const std::string& word : translation.words) {
        changing.merge(loops.changing(word));
        names.merge(loops.set_in(word));
    }
    if (changing.empty()) return;
    Sweep sweep;
    try {
        if (translation.command == "run") sweep = sweep_of(translation.words, loops);
    } catch (const UsageError&) {  // a level is no number
        sweep = {};
    }
    std::erase_if(changing, [&](std::size_t loop) { return sweep.covered.contains(loop); });
    if (sweep.covered.empty() || (changing.empty() && !sweep.is_whole)) {
        changing.insert(sweep.covered.begin(), sweep.covered.end());
        name_rounds(translation.words, loops, changing);
        return translation.notes.push_back(
            fmt::format("the line stays inside the loop, which sets {}", fmt::join(names, ", ")));
    }
    std::set<std::string> outer;
    for (const std::size_t loop : changing)
        outer.insert(loops[loop].variables.begin(), loops[loop].variables.end());
    if (!outer.empty()) name_rounds(translation.words, loops, changing);
    translation.notes.push_back(fmt::format(
        "one `paretoken sweep` with {} in place of {}{} measures all levels of the {}{}",
        fmt::join(sweep.options, " "), joined(sweep.places),
        sweep.without.empty() ? "" : fmt::format(", and without {},", joined(sweep.without)),
        sweep.covered.size() > 1 ? "loops" : "loop",
        outer.empty() ? "" : fmt::format(" inside the one that sets {}", fmt::join(outer, ", "))));
}

}  // namespace paretoken::cli
