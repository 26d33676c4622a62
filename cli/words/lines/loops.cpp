// Loops of a shell around a translated command: the sweep that measures all of their levels.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "cli/words/composing.h"
#include "cli/words/pasted_line.h"
#include "cli/words/reading.h"
#include "cli/words/shell/arithmetic.h"
#include "core/error.h"

namespace paretoken::cli {
namespace {

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
    std::set<std::string> variables = {};  ///< that it sets
    std::optional<Words> levels = {};      ///< the values of its one variable, if the text says them
    std::string condition = {};            ///< as a computation; empty: none that can be computed
    bool is_until = false;
    std::size_t begin = 0;  ///< its place among the commands
};

/// "[ $N -le 8 ]" and "((N <= 8))" as a computation; empty if the condition is another one.
std::string condition_in(std::span<const std::string> words) {
    if (words.empty()) return {};
    if (const auto computation = computation_in(words[0])) return std::string(*computation);
    constexpr std::array kSigns = {std::pair{"-le", "<="}, std::pair{"-lt", "<"},  std::pair{"-ge", ">="},
                                   std::pair{"-gt", ">"},  std::pair{"-eq", "=="}, std::pair{"-ne", "!="}};
    if (words.size() < 4 || (words[0] != "[" && words[0] != "[[" && words[0] != "test")) return {};
    const auto* const sign =
        std::ranges::find_if(kSigns, [&](const auto& one) { return words[2] == one.first; });
    if (sign == kSigns.end() || (words.size() > 4 && words[4] != "]" && words[4] != "]]")) return {};
    return words[1] + sign->second + words[3];
}

Loop loop_of(std::span<const std::string> words, std::size_t place) {
    Loop loop{.begin = place};
    if (words[0] != "for") {
        loop.is_until = words[0] == "until";
        loop.condition = condition_in(words.subspan(1));
        auto word = std::ranges::find(words, "read");
        for (; word != words.end() && ++word != words.end();)
            if (!word->starts_with('-')) loop.variables.insert(*word);
        return loop;
    }
    if (words.size() < 2) return loop;
    if (const auto computation = computation_in(words[1])) {  // "((N = 1; N <= 8; N *= 2))"
        const auto end = computation->find(';');
        for (const std::string& set : assignments_in_computation(computation->substr(0, end)))
            loop.variables.insert(set.substr(0, set.find('=')));
        return loop;
    }
    loop.variables.insert(words[1]);
    if (words.size() < 4 || words[2] != "in") return loop;
    loop.levels.emplace();
    for (const std::string& word : words.subspan(3)) {
        const auto range = range_in(word);
        if (!range && (has_shell_variable(word) || word.find_first_of("{*") != std::string::npos))
            return {.variables = loop.variables, .begin = place};
        if (range)
            loop.levels->insert(loop.levels->end(), range->begin(), range->end());
        else
            loop.levels->push_back(word);
    }
    return loop;
}

/// The loops around a command, and what is set inside them.
class Loops {
  public:
    Loops(const std::vector<Words>& commands, std::size_t place) : commands_(commands) {
        for (std::size_t i = 0; i < place; ++i) {
            const auto words = bare(commands[i]);
            if (words.empty()) continue;
            if (words[0] == "for" || words[0] == "while" || words[0] == "until")
                loops_.push_back(loop_of(words, i));
            else if (words[0] == "done" && !loops_.empty())
                end_loop();
            else if (!loops_.empty())
                learn(words);
        }
        if (!loops_.empty()) read_ends(place);
        for (Loop& loop : loops_)
            if (!loop.levels && loop.variables.size() == 1) loop.levels = counted_levels(loop);
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

    /// Returns the words of a command without those that may stand before it.
    static std::span<const std::string> bare(const Words& command) {
        constexpr std::array kBefore = {"do", "then", "else", "{", "export", "local"};
        const auto first = std::ranges::find_if(command, [&](const std::string& one) {
            return std::ranges::find(kBefore, one) == kBefore.end();
        });
        return {first, command.end()};
    }

    void learn(std::span<const std::string> words) {
        for (const std::string& word : words) {
            const std::size_t equals = word.find('=');
            if (equals == std::string::npos || word.starts_with('-')) return;
            formulas_[word.substr(0, equals)] = {word.substr(equals + 1), loops_.size() - 1};
        }
    }

    /// Reads what the loops set behind the command at `place`, for their next rounds.
    void read_ends(std::size_t place) {
        std::size_t open = loops_.size();  // of the loops around the command
        int inner = 0;                     // further open loops and conditions
        for (std::size_t i = place + 1; i < commands_.size() && open > 0; ++i) {
            const auto words = bare(commands_[i]);
            if (words.empty()) continue;
            const std::string& first = words[0];
            if (first == "for" || first == "while" || first == "until" || first == "if" || first == "case") {
                ++inner;
            } else if (first == "fi" || first == "esac") {
                inner -= inner > 0 ? 1 : 0;  // one of those around the command
            } else if (first == "done") {
                inner > 0 ? --inner : static_cast<int>(--open);
            } else {
                for (const std::string& word : words) {
                    const std::size_t equals = word.find('=');
                    if (equals == std::string::npos || word.starts_with('-')) break;
                    const std::string name = word.substr(0, equals);
                    const auto set = formulas_.find(name);  // in the same round, before the command
                    if (set != formulas_.end() && set->second.second + 1 >= open) continue;
                    loops_[open - 1].variables.insert(name);
                    steps_[name] = inner == 0 ? word.substr(equals + 1) : "";
                }
            }
        }
    }

    /// Returns the last value that a variable gets before a command.
    std::optional<std::string> value_before(const std::string& name, std::size_t place) const {
        while (place-- > 0)
            for (const std::string& word : bare(commands_[place]))
                if (word.starts_with(name + "=")) return word.substr(name.size() + 1);
        return std::nullopt;
    }

    /// Returns the values of a variable that is counted: "N=1; while [ $N -le 8 ]; do …; N=$((N*2)); done".
    std::optional<Words> counted_levels(const Loop& loop) const {
        const std::string& name = *loop.variables.begin();
        std::string condition = loop.condition;
        std::string step;
        auto value = value_before(name, loop.begin);
        const auto words = bare(commands_[loop.begin]);
        if (const auto parts = words.size() > 1 ? computation_in(words[1]) : std::nullopt;
            parts && words[0] == "for") {
            const auto first = parts->find(';');
            const auto second = parts->find(';', std::min(first, parts->size() - 1) + 1);
            if (second == std::string_view::npos) return std::nullopt;
            condition = parts->substr(first + 1, second - first - 1);
            const Words sets = assignments_in_computation(parts->substr(0, first));
            const Words steps = assignments_in_computation(parts->substr(second + 1));
            if (sets.size() != 1 || steps.size() != 1 || !steps[0].starts_with(name + "="))
                return std::nullopt;
            value = sets[0].substr(name.size() + 1);
            step = steps[0].substr(name.size() + 1);
        } else if (const auto found = steps_.find(name); found != steps_.end()) {
            step = found->second;
        }
        if (!names_in(condition).contains(name) || !step.starts_with("$((") || !value) return std::nullopt;
        const auto number_of = [&](std::string_view text) {
            if (text.starts_with("$((")) text = text.substr(3, text.size() - 5);
            return value_of_computation(text, [&](const std::string& other) {
                return other == name ? value : value_before(other, loop.begin);
            });
        };
        constexpr std::size_t kMost = 1000;
        Words levels;
        while (levels.size() < kMost) {
            const auto number = number_of(*value);
            if (!number) return std::nullopt;
            value = std::to_string(*number);
            const auto holds = number_of(condition);
            if (!holds) return std::nullopt;
            if ((*holds != 0) == loop.is_until) return levels.empty() ? std::nullopt : std::optional(levels);
            levels.push_back(*value);
            const auto next = number_of(step);
            if (!next) return std::nullopt;
            value = std::to_string(*next);
        }
        return std::nullopt;
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
                value_of_computation(std::string_view(text).substr(3, text.size() - 5), of_name);
            return number ? std::optional(std::to_string(*number)) : std::nullopt;
        }
        const bool has_braces = text.starts_with("${") && text.ends_with('}');
        const std::string name =
            has_braces ? text.substr(2, text.size() - 3) : text.substr(text.starts_with('$') ? 1 : 0);
        return text.starts_with('$') && names_in(name) == std::set{name} ? of_name(name) : std::nullopt;
    }

    const std::vector<Words>& commands_;
    std::vector<Loop> loops_;
    std::map<std::string, std::string> steps_;  ///< what is set behind the command; empty: on a condition
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
