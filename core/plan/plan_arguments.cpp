#include "core/plan/plan_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/plan/plan.h"
#include "core/text/secrets.h"

namespace paretoken {
namespace {

constexpr std::array<std::string_view, 4> kNotRepeated{"out", "overwrite", "salt", "metadata"};

/// Returns "--no-ignore-eos" for "--ignore-eos,!--no-ignore-eos"; empty if a flag cannot be turned off.
std::string negation_of(const PlanField& field) {
    const auto mark = field.flags.find('!');
    return mark == std::string_view::npos ? "" : std::string(field.flags.substr(mark + 1));
}

/// Splits the echo of a list into its texts.
std::vector<std::string> texts_in(const std::string& echo) {
    std::vector<std::string> texts;
    for (std::size_t begin = 0; begin < echo.size();) {
        const std::size_t end = std::min(echo.find(", ", begin), echo.size());
        texts.push_back(echo.substr(begin, end - begin));
        begin = end + 2;
    }
    return texts;
}

void add(std::vector<std::string>& arguments, const PlanField& field, const std::string& value) {
    const std::string option = option_of(field);
    switch (field.type) {
        case FieldType::flag:
            if (value == "true")
                arguments.push_back(option);
            else if (const std::string negation = negation_of(field); !negation.empty())
                arguments.push_back(negation);
            return;
        case FieldType::list:
            for (const std::string& text : texts_in(value)) arguments.insert(arguments.end(), {option, text});
            return;
        case FieldType::text:
        case FieldType::count:
        case FieldType::number:
        case FieldType::duration:
            arguments.insert(arguments.end(), {option, value});
            return;
    }
}

/// The fields that have an option and are not at their defaults, without those that another run does not
/// repeat and those with hidden secrets.
std::vector<const PlanField*> given_fields(const PlanEcho& echo) {
    const PlanEcho defaults = echo_of(LoadPlan());
    std::vector<const PlanField*> given;
    for (const PlanField& field : plan_fields()) {
        const auto held = echo.find(std::string(field.name));
        if (held == echo.end() || field.flags.empty() ||
            std::ranges::find(kNotRepeated, field.name) != kNotRepeated.end())
            continue;
        if (field.shown != nullptr && held->second.find(Secrets::kHidden) != std::string::npos) continue;
        const auto usual = defaults.find(held->first);
        if (usual == defaults.end() || usual->second != held->second) given.push_back(&field);
    }
    return given;
}

}  // namespace

std::string shell_line(const std::vector<std::string>& argv) {
    static constexpr std::string_view kPlain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,@%+";
    std::string line;
    for (const std::string& argument : argv) {
        if (!line.empty()) line += ' ';
        if (!argument.empty() && argument.find_first_not_of(kPlain) == std::string::npos) {
            line += argument;
            continue;
        }
        line += '\'';
        for (const char c : argument) line += c == '\'' ? "'\\''" : std::string(1, c);
        line += '\'';
    }
    return line;
}

std::vector<std::string> with_option(std::vector<std::string> argv, std::string_view name,
                                     std::string_view value) {
    const std::string joined = fmt::format("{}=", name);
    for (std::size_t i = 0; i < argv.size(); ++i) {
        if (argv[i].starts_with(joined)) {
            argv[i] = joined + std::string(value);
            return argv;
        }
        if (argv[i] != name) continue;
        argv.resize(std::max(argv.size(), i + 2));
        argv[i + 1] = value;
        return argv;
    }
    argv.emplace_back(name);
    argv.emplace_back(value);
    return argv;
}

std::vector<std::string> arguments_of(const PlanEcho& echo) {
    const auto command = echo.find("server_cmd");
    const bool starts_server = command != echo.end() && !command->second.empty();  // it decides the URL
    std::vector<std::string> arguments;
    for (const PlanField* const field : given_fields(echo)) {
        const std::string& value = echo.at(std::string(field->name));
        if (field->name != "url")
            add(arguments, *field, value);
        else if (!value.empty() && !starts_server)
            arguments.insert(arguments.begin(), value);
    }
    return arguments;
}

PlanTexts texts_of(const PlanEcho& echo) {
    PlanTexts texts;
    for (const PlanField* const field : given_fields(echo)) {
        const std::string& value = echo.at(std::string(field->name));
        texts[std::string(field->name)] = field->type == FieldType::list ? texts_in(value) : Texts{value};
    }
    return texts;
}

}  // namespace paretoken
