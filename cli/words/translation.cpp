#include "cli/words/translation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "cli/words/composition.h"
#include "cli/words/meant.h"
#include "cli/words/pasted_line.h"
#include "cli/words/reading.h"
#include "core/error.h"
#include "core/nearest.h"
#include "core/plan/plan_arguments.h"
#include "core/text/command_secrets.h"

namespace paretoken::cli {
bool is_option(std::string_view word) {
    const std::size_t dashes = word.starts_with("--") ? 2 : word.starts_with('-') ? 1 : 0;
    return dashes > 0 && word.size() > dashes && std::isalpha(static_cast<unsigned char>(word[dashes])) != 0;
}

bool is_whole_number(std::string_view word) {
    return !word.empty() && std::ranges::all_of(word, [](unsigned char c) { return std::isdigit(c) != 0; });
}

bool names_server(std::string_view word) {
    return word.starts_with("sim:") || word.find("://") != std::string_view::npos;
}

/// True for "--name" and "--name=value"; false for "-1", "-x" and for a text with blanks, which may be
/// values.
static bool is_long_option(std::string_view word) {
    return word.starts_with("--") && is_option(word) && word.find(' ') == std::string_view::npos;
}

std::string missing_value(const std::string& option, const std::string& next) {
    if (next.empty()) return fmt::format("{}: its value is missing", option);
    return fmt::format("{}: its value is missing, because {} follows; is a variable of the shell empty?",
                       option, next);
}

std::string name_in(const std::string& word) {
    if (!word.starts_with("--")) return word.size() > 2 && word != "-vv" ? word.substr(0, 2) : word;
    std::string name = word.substr(0, word.find('='));
    std::ranges::replace(name, '_', '-');
    return name;
}

std::string value_after(const std::vector<std::string>& words, std::size_t i) {
    const auto equals = words[i].find('=');
    if (words[i].starts_with("--") && equals != std::string::npos) return words[i].substr(equals + 1);
    return i + 1 < words.size() ? words[i + 1] : "";
}

namespace {

/// What a name means: a field of the plan (by one of our names or a synonym), or another tool's option.
struct Meaning {
    const PlanField* field = nullptr;
    bool negated = false;  ///< whether a flag's name turns it off
    bool is_ours = false;  ///< whether it is one of our own names
    const ForeignOption* foreign = nullptr;

    explicit operator bool() const { return field != nullptr || foreign != nullptr; }
};

Meaning own_meaning(const std::string& name) {
    for (const PlanField& field : plan_fields()) {
        for (std::string_view rest = field.flags; !rest.empty();) {
            const std::string_view flag = rest.substr(0, rest.find(','));
            const bool negated = flag.starts_with('!');
            if (flag.substr(negated ? 1 : 0) == name && name.starts_with('-')) return {&field, negated, true};
            rest.remove_prefix(std::min(flag.size() + 1, rest.size()));
        }
    }
    return {};
}

Meaning synonym_of(const std::string& name, std::optional<Tool> tool) {
    for (const PlanField& field : plan_fields()) {
        for (const Synonym& synonym : synonyms_of(field)) {
            const bool negated = synonym.name.starts_with('!');
            if (synonym.name.substr(negated ? 1 : 0) == name && (!tool || has_tool(synonym.tools, *tool)))
                return {&field, negated};
        }
    }
    return {};
}

/// The names of other tools that begin with this one; the tools' own parsers take such an abbreviation.
std::vector<std::string> completions_of(const std::string& name, std::optional<Tool> tool) {
    std::vector<std::string> names;
    const auto add = [&](std::string_view known, std::string_view tools) {
        if (known.starts_with(name) && (!tool || has_tool(tools, *tool))) names.emplace_back(known);
    };
    for (const ForeignOption& option : foreign_options()) {
        std::string_view rest = option.names;
        while (!rest.empty()) {
            const std::string_view known = rest.substr(0, rest.find(' '));
            add(known, option.tools);
            rest.remove_prefix(std::min(known.size() + 1, rest.size()));
        }
    }
    for (const PlanField& field : plan_fields()) {
        for (const Synonym& synonym : synonyms_of(field)) add(synonym.name, synonym.tools);
        if (tool && has_our_option(*tool, option_of(field))) add(option_of(field), row_of(*tool).name);
    }
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

/// A name, whose it is, and the value behind it.
struct Named {
    std::string name;
    std::optional<Tool> tool;
    std::string value;
    bool is_of_line =
        false;  ///< whether it stands in a line of the tool, where ours is meant only if both agree
};

/// The order in which a name is looked up: what the known tool means by it, what we mean, what any tool
/// means.
Meaning meaning_of(const Named& asked) {
    const auto& [name, tool, value, is_of_line] = asked;
    const ForeignOption* const of_tool = tool ? foreign_option(name, tool) : nullptr;
    if (of_tool != nullptr) return {.foreign = of_tool};
    const ForeignOption* const any = foreign_option(name, std::nullopt);
    const bool may_be_ours = !is_of_line || !tool || has_our_option(*tool, name);
    if (const Meaning own = own_meaning(name); own && may_be_ours) {
        const bool always = any != nullptr && any->always && is_foreign_value(any->about, value);
        return always ? Meaning{.foreign = any} : own;
    }
    if (tool)
        if (const Meaning synonym = synonym_of(name, tool)) return synonym;
    if (any != nullptr &&
        (!any->always || is_foreign_value(any->about, value) || !synonym_of(name, std::nullopt)))
        return {.foreign = any};
    return synonym_of(name, std::nullopt);
}

Meaning meaning_or_completion(const Named& asked) {
    const auto& [name, tool, value, is_of_line] = asked;
    const Meaning known = meaning_of(asked);
    // A name that only other tools have may be an abbreviation of one that this tool has.
    const bool only_of_others =
        tool && known && !known.is_ours && foreign_option(name, tool) == nullptr && !synonym_of(name, tool);
    constexpr std::size_t kShortest = 6;
    if ((known && !only_of_others) || name.size() < kShortest) return known;
    auto names = completions_of(name, tool);
    // "--random-input" completes --random-input-len, and not the longer names that begin with it.
    if (names.size() > 1)
        std::erase_if(names, [&, &asked_name = name](const std::string& other) {
            return other != asked_name + "-len";
        });
    const Meaning full = names.size() == 1 ? meaning_of({names.front(), tool, value, is_of_line}) : known;
    return only_of_others && full.is_ours ? known : full;
}

Values values_of(const PlanField& field) {
    if (field.type == FieldType::flag) return Values::none;
    return field.words ? Values::many : Values::one;
}

/// Returns whether an option of another tool gives the load nothing, so that our option of the same name is
/// meant unless the line is one of that tool: "-v" and "--config".
bool says_nothing(const ForeignOption& option) {
    return option.treatment == Treatment::nothing || option.treatment == Treatment::absent;
}

constexpr std::array kOfSglang = {"sglang",    "sglang-native", "sglang-oai", "sglang-oai-chat",
                                  "vllm-chat", "lmdeploy-chat", "trt",        "truss",
                                  "gserver"};

/// Returns the tool whose options and values the words are; nothing if they are only ours.
std::optional<Tool> tool_of(const std::vector<std::string>& words, const OwnOptions& own) {
    std::vector<int> points(tools().size());
    const auto point = [&](Tool tool, int by) { points[static_cast<std::size_t>(tool)] += by; };
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (!is_option(words[i])) {
            if (words[i].starts_with("kind=") || words[i].starts_with("{\"kind\""))
                point(Tool::guidellm, 100);
            continue;
        }
        const std::string name = name_in(words[i]);
        const std::string value = value_after(words, i);
        if (name == "--backend")
            point(std::ranges::find(kOfSglang, value) != kOfSglang.end() ? Tool::sglang : Tool::vllm, 2);
        if (own(name) && own_meaning(name)) continue;
        for (const ToolRow& row : tools()) {
            const ForeignOption* const foreign = foreign_option(name, row.tool);
            if (foreign != nullptr && own(name) && says_nothing(*foreign)) continue;
            if (foreign != nullptr || synonym_of(name, row.tool)) point(row.tool, 1);
        }
    }
    const auto most = std::ranges::max_element(points);
    if (*most == 0) return std::nullopt;
    return static_cast<Tool>(most - points.begin());
}

/// The beginnings of options that act only with a dataset whose name begins so.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kOfDatasets = {{
    {"--random-", "random"},
    {"--sonnet-", "sonnet"},
    {"--sharegpt-", "sharegpt"},
    {"--prefix-repetition-", "prefix_repetition"},
    {"--gsp-", "generated-shared-prefix"},
}};

/// Returns the dataset with which alone an option of vLLM or SGLang acts, if the line names another one.
std::string_view other_dataset_of(const std::string& option, std::string_view named,
                                  std::optional<Tool> tool) {
    constexpr std::array kAlsoWithTheirs = {"image", "custom", "openai"};
    const bool takes_all =
        tool == Tool::sglang && std::ranges::find(kAlsoWithTheirs, named) != kAlsoWithTheirs.end();
    if (named.empty() || takes_all || has_shell_variable(named)) return {};
    const auto* const row =
        std::ranges::find_if(kOfDatasets, [&](const auto& one) { return option.starts_with(one.first); });
    return row == kOfDatasets.end() || named.starts_with(row->second) ? "" : row->second;
}

/// True for HOST:PORT.
bool has_port(std::string_view word) {
    const auto colon = word.rfind(':');
    return colon != std::string_view::npos && colon > 0 && is_whole_number(word.substr(colon + 1));
}

/// Reads words into parts. What is not of the plan stays as it is.
class Reading {
  public:
    Reading(const std::vector<std::string>& words, const Origin& origin, const OwnOptions& own, Parts& parts,
            Translation& out)
        : words_(words),
          tool_(origin.tool),
          whole_(origin.whole),
          starts_server_(origin.starts_server()),
          own_(own),
          parts_(parts),
          out_(out) {
        if (tool_ == Tool::vllm || tool_ == Tool::sglang)
            for (std::size_t i = 0; i < words.size(); ++i)
                if (name_in(words[i]) == "--dataset-name") dataset_ = value_after(words, i);
    }

    /// Returns whether a word was not ours.
    bool read() {
        for (at_ = 0; at_ < words_.size();) read_one();
        return foreign_;
    }
    /// The options that are not of the plan, as they were typed.
    const std::vector<std::string>& kept() const { return kept_; }
    /// Returns whether a variable holds options that are not known.
    bool hides_options() const { return hides_options_; }

  private:
    void read_one() {
        const std::string& word = words_[at_];
        if (word == "--" && (tool_ == Tool::aiperf || !own_("url"))) return read_further_program();
        if (word == "--") {
            kept_.insert(kept_.end(), words_.begin() + static_cast<std::ptrdiff_t>(at_), words_.end());
            at_ = words_.size();
            return;
        }
        if (!is_option(word)) {
            ++at_;
            if (whole_ && (word == "..." || word == "…"))  // a document's sign for further options
                return out_.notes.push_back(
                    fmt::format("{}: the options that it stands for are not known", word));
            if (whole_ && word.starts_with('$')) {
                hides_options_ = true;
                return out_.absent.push_back(
                    fmt::format("{}: the options that it holds are not known, and the tool's defaults are "
                                "left out; write the options in its place",
                                word));
            }
            if (own_("url")) return own_url(word);
            return out_.unknown.push_back(fmt::format("'{}'", word));
        }
        if (tool_ == Tool::vllm && read_field_of_json()) return;
        const std::string name = name_in(word);
        // What only other tools have is the server's. A key is not printed.
        const bool is_of_other = completions_of(name, tool_).empty() && !is_secret_option(name);
        if (starts_server_ && name.starts_with("--") && (is_of_other || name == "--served-model-name"))
            return unknown(name);
        const auto own = own_(name);
        Meaning meaning = meaning_or_completion({name, tool_, value_after(words_, at_), !own_("url")});
        if (own && (!meaning || (meaning.field == nullptr && !meaning.foreign->always && !tool_)))
            return keep(*own);
        if (own && !own_meaning(name) && meaning.foreign != nullptr &&
            (meaning.foreign->treatment == Treatment::nothing || (!whole_ && says_nothing(*meaning.foreign))))
            return keep(*own);
        if (!meaning) return unknown(name);
        if (const auto only = other_dataset_of(name, dataset_, tool_); whole_ && !only.empty()) {
            (void)take(meaning.field != nullptr ? values_of(*meaning.field) : meaning.foreign->values);
            return out_.unneeded.push_back(fmt::format("{} (only for dataset {})", name, only));
        }
        if (meaning.field != nullptr && !own_(option_of(*meaning.field)) && own) return keep(*own);
        // An option that takes several values is not the plan's field of one value with the same name.
        if (meaning.field != nullptr && own == Values::many && values_of(*meaning.field) == Values::one)
            return keep(*own);
        if (!meaning.is_ours) foreign_ = true;
        if (meaning.field != nullptr)
            set_field(meaning, take(values_of(*meaning.field)));
        else
            set_foreign(*meaning.foreign, name, take(meaning.foreign->values));
    }

    /// Reads vLLM's "--extra-body.a.b VALUE", a field of an option that is JSON. Returns whether it is one.
    bool read_field_of_json() {
        std::string name = words_[at_].substr(0, words_[at_].find('='));
        const auto point = name.find('.');
        const std::string option = name_in(name.substr(0, point));
        const bool is_template = option == "--chat-template-kwargs";
        if (point == std::string::npos || (option != "--extra-body" && !is_template)) return false;
        name.erase(0, point + 1);
        foreign_ = true;
        parts_.add("extra_inputs", fmt::format("{}{}:{}", is_template ? "chat_template_kwargs." : "", name,
                                               take(Values::one).back()));
        return true;
    }

    /// The options of perf_analyzer, which genai-perf starts.
    void read_further_program() {
        for (++at_; at_ < words_.size();) {
            const std::string name = name_in(words_[at_]);
            const bool is_header = name == "-H" || name == "--header";
            const ForeignOption* const option =
                foreign_option(name, is_header ? Tool::aiperf : Tool::perf_analyzer);
            if (option != nullptr && option->treatment == Treatment::part) {
                set_foreign(*option, name, take(option->values));
            } else {
                if (is_option(words_[at_])) out_.unneeded.push_back(name);
                ++at_;
            }
        }
    }

    void own_url(const std::string& word) {
        if (is_whole_number(word)) return out_.unknown.push_back(fmt::format("'{}'", word));
        if (parts_.has("url") && !urls_given_by_option_) {
            kept_.push_back(word);  // a second address, which the parser refuses
            return;
        }
        parts_.set("url", word);
    }

    /// Returns the values of the option at the present word, and moves behind them.
    Texts take(Values values) {
        const std::string& word = words_[at_++];
        Texts texts;
        const auto equals = word.find('=');
        const bool is_long = word.starts_with("--");
        if (is_long && equals != std::string::npos)
            texts.push_back(word.substr(equals + 1));
        else if (!is_long && word.size() > 2 && word != "-vv")
            texts.push_back(word.substr(2));
        if (values == Values::none) {
            // "--use-trace-timestamps true"
            if (at_ < words_.size() && (words_[at_] == "true" || words_[at_] == "false"))
                texts.push_back(words_[at_++]);
            return texts;
        }
        if (values == Values::one && texts.empty() && at_ < words_.size() && !is_long_option(words_[at_]))
            texts.push_back(words_[at_++]);
        // A variable behind a value may hold further options.
        const auto goes_on = [&](const std::string& next) {
            const bool may_be_options = next.size() > 1 && next.front() == '$' &&
                                        next.find_first_of("/:,=.$", 1) == std::string::npos;
            return !is_option(next) && next != "--" && (texts.empty() || !may_be_options);
        };
        const bool needs_address =
            own_("url") && !parts_.has("url") && name_in(word).find("-u") == std::string::npos;
        const auto is_address = [&](const std::string& next) {
            return needs_address && !texts.empty() &&
                   (names_server(next) || (name_in(word).starts_with("-m") && has_port(next)));
        };
        if (values == Values::many)
            while (at_ < words_.size() && goes_on(words_[at_]) && !is_address(words_[at_]))
                texts.push_back(words_[at_++]);
        // AIPerf's telemetry takes any number of values, and also none.
        constexpr std::array kAlsoWithout = {"--server-metrics", "--gpu-telemetry", "--over-saturation"};
        if (texts.empty() && std::ranges::find(kAlsoWithout, word) != kAlsoWithout.end()) return texts;
        if (texts.empty()) throw UsageError(missing_value(word, at_ < words_.size() ? words_[at_] : ""));
        return texts;
    }

    void keep(Values values) {
        const std::size_t begin = at_;
        const bool inline_value = words_[at_].find('=') != std::string::npos && words_[at_].starts_with("--");
        ++at_;
        if (values == Values::one && !inline_value && at_ < words_.size()) ++at_;
        if (values == Values::many)
            while (at_ < words_.size() && !is_option(words_[at_])) ++at_;
        kept_.insert(kept_.end(), words_.begin() + static_cast<std::ptrdiff_t>(begin),
                     words_.begin() + static_cast<std::ptrdiff_t>(at_));
    }

    static bool is_of_server(std::string_view name) {
        return name == "--trust-remote-code" || name == "--tokenizer" || name == "--tokenizer-mode" ||
               name == "--skip-tokenizer-init" || name == "--log-level";
    }

    /// An option of the server that the other tool starts, with its value.
    void give_to_server() {
        out_.server.push_back(words_[at_++]);
        const bool has_value = out_.server.back().find('=') == std::string::npos && at_ < words_.size() &&
                               !is_option(words_[at_]);
        if (has_value) out_.server.push_back(words_[at_++]);
    }

    /// Returns the option of the tool that is misspelled by one letter or by its dashes; empty if none is.
    std::string misspelled(const std::string& name) const {
        const auto without_dashes = [](std::string text) {
            std::erase(text, '-');
            return text;
        };
        for (const std::string& known : completions_of("--", tool_))
            if (edit_distance(name, known) <= 1 || without_dashes(name) == without_dashes(known))
                return known;
        return {};
    }

    /// Returns the option of the line's tool that means what one of ours means: --max-concurrency. An option
    /// that the tool has is returned as it is.
    std::string of_tool(const std::string& meant) const {
        const auto theirs = completions_of("--", tool_);
        if (meant.empty() || std::ranges::find(theirs, meant) != theirs.end()) return meant;
        const PlanField* const field = own_meaning(meant).field;
        if (field == nullptr) return {};
        for (const Synonym& synonym : synonyms_of(*field))
            if (has_tool(synonym.tools, *tool_)) return std::string(synonym.name);
        const auto same = std::ranges::find_if(foreign_options(), [&](const ForeignOption& option) {
            return option.about == field->name && has_tool(option.tools, *tool_);
        });
        return same == foreign_options().end() ? ""
                                               : std::string(same->names.substr(0, same->names.find(' ')));
    }

    void unknown(const std::string& name) {
        if (starts_server_ && (name == "--served-model-name" || misspelled(name).empty()))
            return give_to_server();
        const bool is_of_line = whole_ && tool_ && !own_("url");
        std::vector<std::string> known;
        for (const PlanField& field : plan_fields())
            if (!field.flags.empty() && (is_of_line || own_(option_of(field))))
                known.push_back(option_of(field));
        for (const char* const other : {"--price", "--search"})  // options that are no fields of the plan
            if (own_(other)) known.emplace_back(other);
        for (const ToolRow& row : tools())
            for (std::string& other : completions_of("--", row.tool)) {
                const ForeignOption* const option = foreign_option(other, row.tool);
                if (option == nullptr || !says_nothing(*option)) known.push_back(std::move(other));
            }
        std::string meant;
        if (starts_server_)
            meant = misspelled(name);
        else if (is_of_line)
            meant = meant_by(name, completions_of("--", tool_));
        if (meant.empty() && !starts_server_) meant = meant_by(name, known);
        if (is_of_line) meant = of_tool(meant);
        out_.unknown.push_back(meant.empty() ? name : fmt::format("{} (did you mean {}?)", name, meant));
        ++at_;
        if (at_ < words_.size() && !is_option(words_[at_])) ++at_;
    }

    void set_field(const Meaning& meaning, Texts texts) {
        const PlanField& field = *meaning.field;
        const std::string name(field.name);
        if (field.type == FieldType::flag) {
            const bool on = (texts.empty() || texts.front() != "false") != meaning.negated;
            return parts_.set(name, on ? "true" : "false");
        }
        if (field.name == "url") urls_given_by_option_ = true;
        if (field.type != FieldType::list) return parts_.set(name, std::move(texts.back()));
        for (std::string& text : texts) parts_.add(name, std::move(text));
    }

    void set_foreign(const ForeignOption& option, const std::string& name, const Texts& texts) {
        switch (option.treatment) {
            case Treatment::nothing:
                if (starts_server_ && is_of_server(name)) {
                    out_.server.push_back(name);
                    out_.server.insert(out_.server.end(), texts.begin(), texts.end());
                } else {
                    out_.unneeded.push_back(name);
                }
                return;
            case Treatment::absent:
                // A file has another name than 8; "-c 8" is what wrk and others call the concurrency.
                if (name == "-c" && option.about.ends_with("files") && texts.size() == 1 &&
                    is_whole_number(texts.front())) {
                    out_.unknown.push_back("-c (did you mean --concurrency?)");
                    return;
                }
                out_.absent.push_back(fmt::format("{}: {}", name, option.about));
                return;
            case Treatment::part:
                if (texts.empty()) return parts_.set(option.about, "true");
                for (const std::string& text : texts) parts_.add(option.about, text);
                return;
        }
    }

    const std::vector<std::string>& words_;
    std::optional<Tool> tool_;
    bool whole_;  ///< whether the line is one of the tool
    bool starts_server_;
    const OwnOptions& own_;
    Parts& parts_;
    Translation& out_;
    std::string dataset_ = {};  ///< the dataset that the line of vLLM or SGLang names
    std::size_t at_ = 0;
    bool foreign_ = false;
    bool hides_options_ = false;
    bool urls_given_by_option_ = false;
    std::vector<std::string> kept_;
};

/// Returns the options with which our command line sets the values, in the order of the fields.
std::vector<std::string> options_for(const PlanTexts& texts) {
    std::vector<std::string> words;
    for (const PlanField& field : plan_fields()) {
        const auto found = texts.find(field.name);
        if (found == texts.end() || found->second.empty()) continue;
        if (field.name == "url") {
            words.insert(words.begin(), found->second.back());
            continue;
        }
        const std::string option = option_of(field);
        if (field.type == FieldType::flag) {
            const auto mark = field.flags.find('!');
            if (found->second.back() == "true")
                words.push_back(option);
            else if (mark != std::string_view::npos)
                words.emplace_back(field.flags.substr(mark + 1));
        } else if (field.words) {
            words.push_back(option);
            words.insert(words.end(), found->second.begin(), found->second.end());
        } else {
            for (const std::string& text : found->second) words.insert(words.end(), {option, text});
        }
    }
    if (const auto key = texts.find("api_key"); key != texts.end())
        words.insert(words.end(), {"--api-key", key->second.back()});
    return words;
}

}  // namespace

Translation composed(const std::vector<std::string>& words, Origin origin, std::string_view command,
                     const OwnOptions& own) {
    Translation out{.command = std::string(command)};
    Parts parts;
    Reading reading(words, origin, own, parts, out);
    if (!reading.read() && !origin.whole && out.unknown.empty()) {
        out.words = words;
        return out;
    }
    if (reading.hides_options()) {  // which may set what the line leaves out
        origin.whole = false;
        origin.hides_options = true;
    }
    return composed(std::move(parts), origin, std::move(out), reading.kept());
}

Translation composed(Parts parts, const Origin& origin, Translation out, const Texts& kept) {
    out.tool = origin.tool;
    if (origin.tool && origin.whole)
        out.program = origin.starts_server() ? "the line's tool" : row_of(*origin.tool).title;
    compose(parts, origin, out);
    out.words = options_for(parts.texts);
    out.words.insert(out.words.end(), kept.begin(), kept.end());
    out.words.insert(out.words.end(), out.more.begin(), out.more.end());
    std::ranges::sort(out.unneeded);
    out.unneeded.erase(std::unique(out.unneeded.begin(), out.unneeded.end()), out.unneeded.end());
    return out;
}

Translation translated(const std::vector<std::string>& words, std::string_view command,
                       const OwnOptions& own) {
    Origin origin{.tool = tool_of(words, own),
                  .names_server = std::ranges::any_of(
                      words, [](const std::string& word) { return name_in(word) == "--target"; })};
    const auto gives = [&](const char* option) {
        return std::ranges::any_of(words, [&](const std::string& word) { return name_in(word) == option; });
    };
    // A backend, a profile, or a dataset by the tool's own name shows that a whole line was pasted.
    const bool names_dataset = std::ranges::any_of(words, [&](const std::string& word) {
        const std::size_t i = static_cast<std::size_t>(&word - words.data());
        return name_in(word) == "--dataset-name" && is_foreign_value("dataset", value_after(words, i));
    });
    origin.whole = origin.tool == Tool::guidellm
                       ? gives("--profile") || gives("--rate-type") || gives("--data")
                       : origin.tool && (gives("--backend") || names_dataset);
    if (gives("--batch-size") && (gives("--input-len") || gives("--output-len"))) {
        origin.tool = gives("--num-iters") ? Tool::vllm : Tool::sglang;
        origin.form = origin.tool == Tool::vllm ? Form::vllm_static : Form::sglang_static;
    }
    Translation out = composed(words, origin, command, own);
    const bool may_be_line = origin.tool == Tool::vllm || origin.tool == Tool::sglang;
    constexpr std::array kOfLines = {"--dataset-name", "--random-input-len", "--random-output-len",
                                     "--sharegpt-output-len", "--custom-output-len"};
    constexpr std::array kLoads = {"--request-rate", "--concurrency", "--max-concurrency", "--arrivals"};
    if (may_be_line && !origin.whole && origin.form == Form::usual && std::ranges::any_of(kOfLines, gives) &&
        std::ranges::none_of(kLoads, gives))
        out.notes.push_back(
            fmt::format("{0} sends all requests at once, to /v1/completions, unless its line says otherwise; "
                        "`paretoken translate '{0} …'` prints the command for that",
                        row_of(*origin.tool).title));
    return out;
}

namespace {

/// A word that a shell is to change: its variables are replaced, and its blanks and quotes are kept. In JSON,
/// a text that is a variable has no quotes of its own, because most such values are numbers.
std::string in_double_quotes(std::string word) {
    if (word.starts_with('{'))
        for (std::size_t at = 0; (at = word.find("\"$", at)) != std::string::npos; ++at) {
            const std::size_t end = word.find('"', at + 1);
            if (end == std::string::npos || word.find_first_of(" /:,", at) < end) continue;
            word.erase(end, 1).erase(at, 1);
        }
    std::string quoted = "\"";
    for (const char c : word) {
        if (c == '"' || c == '\\') quoted += '\\';
        quoted += c;
    }
    return quoted + '"';
}

}  // namespace

std::string shown_line(const Translation& translation) {
    std::vector<std::string> words = translation.words;
    if (const auto key = std::ranges::find(words, "--api-key"); key != words.end()) words.erase(key, key + 2);
    words.insert(words.begin(), {"paretoken", translation.command});
    std::string line;
    for (const std::string& word : words) {
        const bool is_home = word.starts_with("~/");  // which the shell replaces where no quotes stand
        const std::string rest = is_home ? word.substr(2) : word;
        if (!line.empty()) line += ' ';
        if (has_shell_variable(word))
            line += in_double_quotes(word);
        else
            line += (is_home ? "~/" : "") + (is_home && rest.empty() ? "" : shell_line({rest}));
    }
    return line;
}

std::string unneeded_text(const Translation& translation) {
    if (translation.unneeded.empty()) return {};
    return fmt::format("not needed here: {}", fmt::join(translation.unneeded, ", "));
}

std::string complaint_of(const Translation& translation, std::string_view command) {
    std::string text;
    const auto& unknown = translation.unknown;
    if (unknown.size() == 1) {
        std::string one = unknown.front();
        if (const auto open = one.find(" (did"); open != std::string::npos)
            one = fmt::format("{}; {}", one.substr(0, open), one.substr(open + 2, one.size() - open - 3));
        text = fmt::format("{} has no option {}", command, one);
    } else if (!unknown.empty()) {
        text = fmt::format("{} has no options {}", command, fmt::join(unknown, ", "));
    }
    if (translation.absent.empty()) return text;
    std::vector<std::pair<std::string, std::string>> reasons;  // the names that have a reason, and the reason
    for (const std::string& one : translation.absent) {
        const auto end = one.find(": ");
        const std::string why = end == std::string::npos ? "" : one.substr(end);
        const auto same = std::ranges::find_if(
            reasons, [&](const auto& reason) { return !why.empty() && reason.second == why; });
        const std::string name = one.substr(0, end);
        if (same == reasons.end())
            reasons.emplace_back(name, why);
        else if (same->first != name && !same->first.ends_with(", " + name))
            same->first += ", " + name;
    }
    text += fmt::format("{}without a counterpart: ", text.empty() ? "" : "; ");
    for (const auto& [names, why] : reasons) text += fmt::format("{}{}; ", names, why);
    text.resize(text.size() - 2);
    if (!translation.file.empty() && unknown.empty() && translation.absent.size() == 1)
        text += fmt::format("; then: {}", shown_line(translation));
    return text;
}

}  // namespace paretoken::cli
