#include "cli/words/our_words.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "cli/console/print.h"
#include "cli/words/translation.h"
#include "core/error.h"
#include "core/plan/plan_arguments.h"
#include "simulator/engine/profile.h"

namespace paretoken::cli {
namespace {

constexpr std::array kWithLoad = {"run", "sweep", "cache", "gate", "watch"};

OwnOptions options_of(const CLI::App& command) {
    return [&command](const std::string& name) -> std::optional<Values> {
        const CLI::Option* const option = command.get_option_no_throw(name);
        if (option == nullptr) return std::nullopt;
        if (option->get_items_expected_max() == 0) return Values::none;
        const bool takes_all = option->get_allow_extra_args() && option->get_items_expected_max() > 1;
        return takes_all ? Values::many : Values::one;
    };
}

/// Throws UsageError if --profile, which starts a profiler for other tools, has the profile of a simulated
/// server as its value.
void refuse_profile_of_simulator(const std::vector<std::string>& arguments, const std::string& path) {
    constexpr std::string_view kOption = "--profile";
    for (std::size_t i = 1; i < arguments.size(); ++i) {
        std::string value;
        if (arguments[i] == kOption && i + 1 < arguments.size())
            value = arguments[i + 1];
        else if (arguments[i].starts_with(std::string(kOption) + "="))
            value = arguments[i].substr(kOption.size() + 1);
        const std::vector<std::string> known = sim::profile_names();
        const bool is_model_on_gpu = value.find('/') != std::string::npos &&
                                     value.find("://") == std::string::npos && !value.starts_with('.') &&
                                     !value.starts_with('/');
        if (is_model_on_gpu || std::ranges::find(known, value.substr(0, value.find('?'))) != known.end())
            throw UsageError(fmt::format(
                "{0}: the profile of a simulated server is a part of its address: {0} sim:{1}", path, value));
    }
}

}  // namespace

std::vector<std::string> our_words(CLI::App& app, const std::vector<std::string>& arguments) {
    // The words of another tool's line stay together and in their order.
    if (arguments.size() > 2 && arguments.front() == "translate" && !arguments[1].starts_with('-'))
        return {"translate", shell_line({arguments.begin() + 1, arguments.end()})};
    if (arguments.empty() || std::ranges::find(kWithLoad, arguments.front()) == kWithLoad.end())
        return arguments;
    const std::string& name = arguments.front();
    const CLI::App* const command = app.get_subcommand(name);
    const std::string path = "paretoken " + name;
    refuse_profile_of_simulator(arguments, path);
    const Translation translation =
        translated({arguments.begin() + 1, arguments.end()}, name, options_of(*command));
    if (const std::string complaint = complaint_of(translation, path); !complaint.empty())
        throw UsageError(fmt::format("{}; see {} --help", complaint, path));
    if (translation.several && name == "run")
        throw UsageError(fmt::format(
            "`run` measures one load level; this measures all of them: {}{}", shown_line(translation),
            std::ranges::find(translation.words, "--api-key") == translation.words.end()
                ? ""
                : " (set the variable OPENAI_API_KEY to the key)"));
    for (const std::string& note : translation.notes) print(stderr, "note: {}\n", note);
    if (const std::string text = unneeded_text(translation); !text.empty()) print(stderr, "note: {}\n", text);
    std::vector<std::string> words{name};
    words.insert(words.end(), translation.words.begin(), translation.words.end());
    return words;
}

void hide_keys(int argc, char** argv) {
    constexpr std::string_view kOption = "--api-key";
    const auto hide = [](char* text) { std::memset(text, '*', std::strlen(text)); };
    for (int i = 1; i < argc; ++i) {
        const std::string_view word = argv[i];
        if (word == kOption && i + 1 < argc)
            hide(argv[++i]);
        else if (word.starts_with(std::string(kOption) + "="))
            hide(argv[i] + kOption.size() + 1);
        else if (const auto at = word.find("api_key");
                 at != std::string_view::npos)  // in a group of guidellm
            hide(argv[i] + at);
    }
}

}  // namespace paretoken::cli
